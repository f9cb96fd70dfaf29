//! MobileCLIP and MobileCLIP2 in OpenCLIP's form: FastViT or a vision transformer for images, a small
//! transformer for texts.

use std::path::Path;

use serde::Deserialize;

use super::fastvit::{FastVit, FastVitConfig};
use super::image::{ImageEncoder, ImageNetwork};
use super::normalize::Normalize;
use super::text::{Cleaning, ClipTokenizer, Padding, Pooling, TextEncoder};
use super::vit::{Vit, VitConfig};
use crate::error::NnError;
use crate::layers::Linear;
use crate::transformer::{GeluKind, Naming, Transformer, TransformerConfig};
use crate::weights::{Scope, Weights};

/// The config's name in a model's folder.
pub const CONFIG: &str = "open_clip_config.json";
/// The weights' name there.
pub const WEIGHTS: &str = "open_clip_model.safetensors";

/// The networks' part of open_clip_config.json.
#[derive(Deserialize)]
pub struct MobileClipConfig {
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

impl MobileClipConfig {
    /// The side of the square picture.
    pub fn image_size(&self) -> u32 {
        self.vision_cfg.image_size
    }
}

/// The text encoder.
pub fn text_encoder(
    folder: &Path,
    weights: Weights,
    config: &MobileClipConfig,
) -> Result<TextEncoder, NnError> {
    let text = &config.text_cfg;
    let (d, max_tokens) = (text.width, text.context_length);
    let transformer = TransformerConfig {
        width: d,
        hidden: 4 * d,
        layers: text.layers,
        heads: text.heads,
        eps: 1e-5,
        gelu: GeluKind::Exact,
    };
    if !transformer.is_valid() || !(1..100_000).contains(&max_tokens) {
        return Err(wrong(folder, "the sizes of the text tower make no model".into()));
    }
    let words = "text.token_embedding.weight".to_owned();
    weights.check(&words, &[text.vocab_size, d])?;
    let scope = weights.scope("text");
    let norm = scope.layer_norm("ln_final", d, transformer.eps)?;
    let layers = scope.at("transformer.resblocks");
    let transformer = Transformer::load(&layers, Naming::OpenClip, &transformer)?;
    // Without a mask the padding is read too, so it must be as in training.
    let padding = Padding { length: max_tokens, token: 0, left: false };
    let padding = text.no_causal_mask.then_some(padding);
    let path = folder.join("tokenizer.json");
    Ok(TextEncoder {
        tokenizer: ClipTokenizer::read(path, max_tokens, Cleaning::None, padding)?,
        words,
        vocabulary: text.vocab_size,
        positions: scope.tensor("positional_embedding", &[max_tokens, d])?,
        transformer: if text.no_causal_mask { transformer } else { transformer.causal(max_tokens) },
        norm,
        pooling: Pooling::Highest,
        projection: projection(&scope, config.embed_dim, d)?,
        weights,
        width: d,
    })
}

/// The file has it as \[d, dim\].
fn projection(scope: &Scope<'_>, dim: usize, d: usize) -> Result<Linear, NnError> {
    let weight = scope.tensor("text_projection", &[d, dim])?;
    let columns = (0..dim).flat_map(|column| weight.iter().skip(column).step_by(dim));
    Ok(Linear::new(columns.copied().collect(), None, d))
}

/// What is wrong with the config.
pub fn wrong(folder: &Path, reason: String) -> NnError {
    NnError::Config { path: folder.join(CONFIG), reason }
}

/// The image encoder.
pub fn image_encoder(
    folder: &Path,
    weights: &Weights,
    config: &MobileClipConfig,
    normalize: Normalize,
) -> Result<ImageEncoder, NnError> {
    let trunk = weights.scope("visual.trunk");
    let (side, dim) = (config.vision_cfg.image_size as usize, config.embed_dim);
    if !(1..=4096).contains(&side) || dim == 0 {
        return Err(wrong(folder, "the sizes of the image tower make no model".into()));
    }
    let name = config.vision_cfg.timm_model_name.as_str();
    let network = match (FastVitConfig::named(name), VitConfig::named(name)) {
        (Some(config), _) => ImageNetwork::FastVit(FastVit::load(&trunk, config, dim)?),
        (_, Some(config)) => ImageNetwork::Vit(Vit::load_timm(&trunk, config, (side, dim))?),
        _ => return Err(wrong(folder, unknown(name))),
    };
    Ok(ImageEncoder { network, normalize, side })
}

fn unknown(name: &str) -> String {
    format!(
        "the image tower `{name}` is not known; fastvit_mci0 to fastvit_mci4, vit_base_mci_224 and \
         vit_large_patch14_clip_224 are (MobileCLIP and MobileCLIP2). Export others to ONNX and \
         write an encoder.toml"
    )
}
