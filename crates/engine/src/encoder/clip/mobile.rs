//! MobileCLIP and MobileCLIP2 in OpenCLIP's form: FastViT or a vision transformer sees, a small
//! transformer reads.

use std::path::Path;

use candle_core::{Device, Tensor};
use serde::Deserialize;
use stitch_core::features::Features;

use super::config::{OPENAI_MEAN, OPENAI_STD, Preparation};
use super::convolution::Grid;
use super::fastvit::{self, FastVit};
use super::hybrid::{self, Hybrid};
use super::text::{Cleaning, Fill, Pooling, Reader, Tokens};
use super::transformer::{Curve, Naming, Sizes, Transformer, norm, unbiased};
use crate::encoder::pictures::Colours;
use crate::encoder::tower::{ImageTower, TextTower};
use crate::encoder::wants::{Filter, Fit, Wants};
use crate::encoder::{EncoderError, EncoderId, TwoTowers};
use crate::models::hash_of;
use crate::models::weights::{Weights, WeightsError, read_json};

const CONFIG: &str = "open_clip_config.json";
const WEIGHTS: &str = "open_clip_model.safetensors";

/// Pictures looked at in a second.
const FPS: u32 = 4;

/// open_clip_config.json, as far as it matters here.
#[derive(Deserialize)]
struct Config {
    model_cfg: ModelConfig,
    #[serde(default)]
    preprocess_cfg: PreprocessConfig,
}

#[derive(Deserialize)]
struct ModelConfig {
    embed_dim: usize,
    vision_cfg: VisionConfig,
    text_cfg: TextConfig,
}

#[derive(Deserialize)]
struct VisionConfig {
    #[serde(default)]
    timm_model_name: String,
    #[serde(default = "usual_image_size")]
    image_size: u32,
}

fn usual_image_size() -> u32 {
    256
}

#[derive(Deserialize)]
struct TextConfig {
    context_length: usize,
    vocab_size: usize,
    width: usize,
    heads: usize,
    layers: usize,
    #[serde(default)]
    no_causal_mask: bool,
}

#[derive(Default, Deserialize)]
struct PreprocessConfig {
    mean: Option<[f64; 3]>,
    std: Option<[f64; 3]>,
    interpolation: Option<String>,
    resize_mode: Option<String>,
}

/// Whether a folder is in OpenCLIP's form.
pub fn is_one(folder: &Path) -> bool {
    folder.join(CONFIG).is_file()
}

/// The encoder in such a folder.
pub fn load(folder: &Path, name: &str) -> Result<TwoTowers, EncoderError> {
    let config: Config = read_json(folder, CONFIG)?;
    let weights = Weights::open_file(&folder.join(WEIGHTS))?;
    let viewer = Viewer::load(folder, &weights, &config)?;
    let reader = reader(folder, weights, &config.model_cfg)?;
    let weights = hash_of(folder, WEIGHTS)?;
    let id = EncoderId { name: name.into(), dim: config.model_cfg.embed_dim, weights };
    Ok(TwoTowers::new(id, Box::new(viewer), Box::new(reader)))
}

/// The side that reads alone.
pub fn load_text(folder: &Path) -> Result<(Box<dyn TextTower>, usize, String), EncoderError> {
    let config: Config = read_json(folder, CONFIG)?;
    let weights = Weights::open_file(&folder.join(WEIGHTS))?;
    let reader = reader(folder, weights, &config.model_cfg)?;
    Ok((Box::new(reader), config.model_cfg.embed_dim, hash_of(folder, WEIGHTS)?))
}

fn reader(folder: &Path, weights: Weights, config: &ModelConfig) -> Result<Reader, EncoderError> {
    let text = &config.text_cfg;
    let (d, longest) = (text.width, text.context_length);
    let sizes = Sizes {
        width: d,
        hidden: 4 * d,
        layers: text.layers,
        heads: text.heads,
        eps: 1e-5,
        curve: Curve::Exact,
    };
    if !sizes.are_sound() || !(1..100_000).contains(&longest) {
        return Err(wrong(folder, "the sizes of the text tower make no model".into()).into());
    }
    let words = "text.token_embedding.weight".to_owned();
    weights.check(&words, &[text.vocab_size, d])?;
    let layers = "text.transformer.resblocks";
    let transformer = Transformer::load(&weights, layers, Naming::OpenClip, &sizes)?;
    // Without a mask the filling is read too, so it must be as in training.
    let fill = Fill { to: longest, with: 0, before: false };
    let filled = text.no_causal_mask.then_some(fill);
    let projection =
        weights.tensor("text.text_projection", &[d, config.embed_dim], &Device::Cpu)?;
    let projection = projection.t().and_then(|p| unbiased(p.contiguous()?));
    Ok(Reader {
        tokens: Tokens::read(folder.join("tokenizer.json"), longest, Cleaning::None, filled)?,
        words,
        vocabulary: text.vocab_size,
        positions: weights.tensor("text.positional_embedding", &[longest, d], &Device::Cpu)?,
        transformer: if text.no_causal_mask { transformer } else { transformer.causal(longest) },
        norm: norm(&weights, "text.ln_final", d, sizes.eps)?,
        pooling: Pooling::Highest,
        projection: projection.map_err(WeightsError::from)?,
        weights,
    })
}

fn wrong(folder: &Path, reason: String) -> WeightsError {
    WeightsError::Config { path: folder.join(CONFIG), reason }
}

/// The image tower.
struct Viewer {
    network: Network,
    preparation: Preparation,
    dim: usize,
}

/// What it sees with.
enum Network {
    Convolutions(FastVit),
    Transformer(Hybrid),
}

impl Viewer {
    fn load(folder: &Path, weights: &Weights, config: &Config) -> Result<Self, EncoderError> {
        const TRUNK: &str = "visual.trunk";
        let (model, preparation) = (&config.model_cfg, config.preparation(folder)?);
        let (image, dim) = (model.vision_cfg.image_size as usize, model.embed_dim);
        let name = model.vision_cfg.timm_model_name.as_str();
        let network = match (fastvit::Size::named(name), hybrid::Size::named(name)) {
            (Some(size), _) => Network::Convolutions(FastVit::load(weights, TRUNK, size, dim)?),
            (_, Some(size)) => {
                Network::Transformer(Hybrid::load(weights, TRUNK, size, (image, dim))?)
            }
            _ => return Err(wrong(folder, unknown(name)).into()),
        };
        Ok(Self { network, preparation, dim })
    }
}

fn unknown(name: &str) -> String {
    format!(
        "the image tower `{name}` is not known; fastvit_mci0 to fastvit_mci4, vit_base_mci_224 and \
         vit_large_patch14_clip_224 are (MobileCLIP and MobileCLIP2). Export others to ONNX and \
         write an encoder.toml"
    )
}

impl Config {
    fn preparation(&self, folder: &Path) -> Result<Preparation, WeightsError> {
        let side = self.model_cfg.vision_cfg.image_size;
        let fit = match self.preprocess_cfg.resize_mode.as_deref() {
            None | Some("shortest") => Fit::Crop,
            Some("squash") => Fit::Squash,
            Some(other) => return Err(wrong(folder, format!("the resize mode `{other}`"))),
        };
        let filter = match self.preprocess_cfg.interpolation.as_deref() {
            Some("bilinear") => Filter::Bilinear,
            None | Some("bicubic") => Filter::Bicubic,
            Some(other) => return Err(wrong(folder, format!("the interpolation `{other}`"))),
        };
        let wants = Wants::pictures((side, side), fit, filter, FPS);
        let mean = self.preprocess_cfg.mean.unwrap_or(OPENAI_MEAN);
        let std = self.preprocess_cfg.std.unwrap_or(OPENAI_STD);
        Ok(Preparation { wants, colours: Colours::new(1.0 / 255.0, mean, std) })
    }
}

impl ImageTower for Viewer {
    fn wants(&self) -> &Wants {
        &self.preparation.wants
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn see(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError> {
        if pictures.is_empty() {
            return Ok(Features::empty(self.dim));
        }
        let side = self.preparation.wants.width as usize;
        let colours = &self.preparation.colours;
        let values = |picture: &&[u8]| {
            let bytes = picture.iter().enumerate();
            bytes.map(|(i, byte)| colours.value(*byte, i % 3)).collect::<Vec<f32>>()
        };
        let pixels = pictures.iter().flat_map(values).collect::<Vec<f32>>();
        let grid = Grid { count: pictures.len(), height: side, width: side };
        let rows = Tensor::from_vec(pixels, (grid.pixels(), 3), &Device::Cpu)
            .and_then(|pixels| match &self.network {
                Network::Convolutions(network) => network.forward(&pixels, grid),
                Network::Transformer(network) => network.forward(&pixels, grid),
            })
            .and_then(|rows| rows.flatten_all()?.to_vec1());
        Ok(Features::new(self.dim, rows.map_err(WeightsError::from)?)?)
    }
}
