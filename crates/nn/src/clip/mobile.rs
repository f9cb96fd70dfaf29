//! MobileCLIP and MobileCLIP2 in OpenCLIP's form: FastViT or a vision transformer sees, a small
//! transformer reads.

use std::path::Path;

use candle_core::{Device, Tensor};
use serde::Deserialize;

use super::colours::Colours;
use super::convolution::Grid;
use super::fastvit::{self, FastVit};
use super::hybrid::{self, Hybrid};
use super::text::{Cleaning, Fill, Pooling, Reader, Tokens};
use super::transformer::{Curve, Naming, Sizes, Transformer, norm, unbiased};
use crate::weights::{Weights, WeightsError};

/// The config's name in a model's folder.
pub const CONFIG: &str = "open_clip_config.json";
/// The weights' name there.
pub const WEIGHTS: &str = "open_clip_model.safetensors";

/// The networks' part of open_clip_config.json.
#[derive(Deserialize)]
pub struct ModelConfig {
    /// The length of a vector.
    pub embed_dim: usize,
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

impl ModelConfig {
    /// The side of the square picture.
    pub fn image_size(&self) -> u32 {
        self.vision_cfg.image_size
    }
}

/// The text tower.
pub fn reader(
    folder: &Path,
    weights: Weights,
    config: &ModelConfig,
) -> Result<Reader, WeightsError> {
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
        return Err(wrong(folder, "the sizes of the text tower make no model".into()));
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
        projection: projection?,
        weights,
    })
}

/// What is wrong with the config.
pub fn wrong(folder: &Path, reason: String) -> WeightsError {
    WeightsError::Config { path: folder.join(CONFIG), reason }
}

/// The image tower.
pub struct Viewer {
    network: Network,
    colours: Colours,
    side: usize,
    dim: usize,
}

/// What it sees with.
enum Network {
    Convolutions(FastVit),
    Transformer(Hybrid),
}

impl Viewer {
    /// The image tower of a folder in OpenCLIP's form.
    pub fn load(
        folder: &Path,
        weights: &Weights,
        model: &ModelConfig,
        colours: Colours,
    ) -> Result<Self, WeightsError> {
        const TRUNK: &str = "visual.trunk";
        let (image, dim) = (model.vision_cfg.image_size as usize, model.embed_dim);
        let name = model.vision_cfg.timm_model_name.as_str();
        let network = match (fastvit::Size::named(name), hybrid::Size::named(name)) {
            (Some(size), _) => Network::Convolutions(FastVit::load(weights, TRUNK, size, dim)?),
            (_, Some(size)) => {
                Network::Transformer(Hybrid::load(weights, TRUNK, size, (image, dim))?)
            }
            _ => return Err(wrong(folder, unknown(name))),
        };
        Ok(Self { network, colours, side: image, dim })
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// One row per picture, one after the other: \[pictures, dim\]
    pub fn encode(&self, pictures: &[&[u8]]) -> candle_core::Result<Vec<f32>> {
        if pictures.is_empty() {
            return Ok(Vec::new());
        }
        let (side, colours) = (self.side, &self.colours);
        let values = |picture: &&[u8]| {
            let bytes = picture.iter().enumerate();
            bytes.map(|(i, byte)| colours.value(*byte, i % 3)).collect::<Vec<f32>>()
        };
        let pixels = pictures.iter().flat_map(values).collect::<Vec<f32>>();
        let grid = Grid { count: pictures.len(), height: side, width: side };
        let pixels = Tensor::from_vec(pixels, (grid.pixels(), 3), &Device::Cpu)?;
        let rows = match &self.network {
            Network::Convolutions(network) => network.forward(&pixels, grid),
            Network::Transformer(network) => network.forward(&pixels, grid),
        };
        rows?.flatten_all()?.to_vec1()
    }
}

fn unknown(name: &str) -> String {
    format!(
        "the image tower `{name}` is not known; fastvit_mci0 to fastvit_mci4, vit_base_mci_224 and \
         vit_large_patch14_clip_224 are (MobileCLIP and MobileCLIP2). Export others to ONNX and \
         write an encoder.toml"
    )
}
