//! MobileCLIP in OpenCLIP's form: FastViT sees, a small transformer reads.

use std::path::Path;

use candle_core::{DType, Device, Tensor};
use candle_nn::{Func, Module, VarBuilder};
use candle_transformers::models::fastvit;
use serde::Deserialize;
use stitch_core::features::Features;

use super::config::{OPENAI_MEAN, OPENAI_STD, Preparation};
use super::text::{Cleaning, Fill, Pooling, Reader, Tokens};
use super::transformer::{Curve, Naming, Sizes, Transformer, norm, unbiased};
use crate::encoder::pictures::Colours;
use crate::encoder::tower::{Filter, Fit, ImageTower, TextTower, Wants};
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
    network: Func<'static>,
    preparation: Preparation,
    dim: usize,
}

impl Viewer {
    fn load(folder: &Path, weights: &Weights, config: &Config) -> Result<Self, EncoderError> {
        let model = &config.model_cfg;
        let network =
            match model.vision_cfg.timm_model_name.as_str() {
                "fastvit_mci0" => fastvit::Config::mci0(),
                "fastvit_mci1" => fastvit::Config::mci1(),
                "fastvit_mci2" => fastvit::Config::mci2(),
                other => {
                    return Err(wrong(folder, format!(
                    "the image tower `{other}` is not known; fastvit_mci0, fastvit_mci1 and \
                     fastvit_mci2 are (MobileCLIP S0 to S2). Export others to ONNX and write an \
                     encoder.toml"
                ))
                .into());
                }
            };
        check_branches(weights, &network)?;
        let preparation = config.preparation(folder)?;
        let tensors = weights.all("visual.trunk.")?;
        let builder = VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu);
        let network = fastvit::fastvit(&network, model.embed_dim, builder.pp("visual.trunk"))
            .map_err(WeightsError::from)?;
        Ok(Self { network, preparation, dim: model.embed_dim })
    }
}

/// The network takes branches that it does not find, or finds in another shape, for left out; so
/// each of them is looked for first.
fn check_branches(weights: &Weights, config: &fastvit::Config) -> Result<(), WeightsError> {
    for (name, shape) in branches(config) {
        let name = format!("visual.trunk.{name}");
        weights.check(&format!("{name}.weight"), &shape)?;
        let norm = match name.strip_suffix(".conv") {
            Some(before) => format!("{before}.bn"),
            None if name.ends_with("identity") => name,
            None => continue,
        };
        for part in ["weight", "bias", "running_mean", "running_var"] {
            weights.check(&format!("{norm}.{part}"), &shape[..1])?;
        }
    }
    Ok(())
}

/// Names and shapes of the branches.
fn branches(config: &fastvit::Config) -> Vec<(String, Vec<usize>)> {
    let c = config.in_channels;
    let mut all = vec![
        ("stem.0.conv_kxk.0.conv".into(), vec![c, 3, 3, 3]),
        ("stem.0.conv_scale.conv".into(), vec![c, 3, 1, 1]),
        ("stem.1.conv_kxk.0.conv".into(), vec![c, 1, 3, 3]),
        ("stem.1.conv_scale.conv".into(), vec![c, 1, 1, 1]),
        ("stem.2.conv_kxk.0.conv".into(), vec![c, c, 1, 1]),
        ("stem.2.identity".into(), vec![c]),
        ("final_conv.conv_kxk.0.conv".into(), vec![16 * c, 1, 3, 3]),
        ("final_conv.conv_scale.conv".into(), vec![16 * c, 1, 1, 1]),
        ("final_conv.se.fc1".into(), vec![c, 16 * c, 1, 1]),
        ("final_conv.se.fc2".into(), vec![16 * c, c, 1, 1]),
        ("stages.3.pos_emb.pos_enc".into(), vec![8 * c, 1, 7, 7]),
    ];
    for (stage, blocks) in config.blocks.iter().enumerate() {
        let d = c << stage;
        let entrance = |part: &str| format!("stages.{stage}.downsample.proj.{part}");
        if stage > 0 {
            all.push((entrance("0.large_conv.conv"), vec![d, 1, 7, 7]));
            all.push((entrance("0.small_conv.conv"), vec![d, 1, 3, 3]));
            all.push((entrance("1.conv_kxk.0.conv"), vec![d, d, 1, 1]));
            all.push((entrance("1.identity"), vec![d]));
        }
        if stage > 1 {
            all.push((entrance("0.se.fc1"), vec![d / 4, d, 1, 1]));
            all.push((entrance("0.se.fc2"), vec![d, d / 4, 1, 1]));
        }
        for block in (0..*blocks).filter(|_| stage < 3) {
            let mixer = |part: &str| format!("stages.{stage}.blocks.{block}.token_mixer.{part}");
            all.push((mixer("mixer.conv_kxk.0.conv"), vec![d, 1, 3, 3]));
            all.push((mixer("mixer.conv_scale.conv"), vec![d, 1, 1, 1]));
            all.push((mixer("mixer.identity"), vec![d]));
            all.push((mixer("norm.identity"), vec![d]));
        }
    }
    all
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
        let wants = Wants { width: side, height: side, fit, filter, fps: FPS, frames: 1 };
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
        let planes = |picture: &&[u8]| (0..3).flat_map(|c| colours.plane(picture, c)).collect();
        let planes: Vec<f32> = pictures.iter().map(planes).collect::<Vec<Vec<f32>>>().concat();
        let rows = Tensor::from_vec(planes, (pictures.len(), 3, side, side), &Device::Cpu)
            .and_then(|pictures| self.network.forward(&pictures)?.flatten_all()?.to_vec1());
        Ok(Features::new(self.dim, rows.map_err(WeightsError::from)?)?)
    }
}
