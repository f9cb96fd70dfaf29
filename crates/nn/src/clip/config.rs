//! config.json of a model in Hugging Face's form: the sizes of both encoders.

use std::path::Path;

use serde::Deserialize;

use crate::error::{NnError, Result};
use crate::transformer::{GeluKind, TransformerConfig};
use crate::weights::read_json;

/// config.json; what is missing has the value that `transformers` gives it.
#[derive(Clone, Debug, Deserialize)]
pub struct ClipConfig {
    /// `clip`, `siglip` or `siglip2`.
    pub model_type: String,
    #[serde(default)]
    projection_dim: Option<usize>,
    #[serde(default)]
    text_config: Side,
    #[serde(default)]
    vision_config: Side,
}

/// One side's part of config.json.
#[derive(Clone, Debug, Default, Deserialize)]
struct Side {
    vocab_size: Option<usize>,
    hidden_size: Option<usize>,
    intermediate_size: Option<usize>,
    num_hidden_layers: Option<usize>,
    num_attention_heads: Option<usize>,
    max_position_embeddings: Option<usize>,
    projection_size: Option<usize>,
    image_size: Option<usize>,
    patch_size: Option<usize>,
    num_patches: Option<usize>,
    layer_norm_eps: Option<f64>,
    hidden_act: Option<GeluKind>,
    eos_token_id: Option<u32>,
    pad_token_id: Option<u32>,
    vision_use_head: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// CLIP: class token, causal text, projections.
    Clip,
    /// SigLIP and SigLIP2 of fixed size: attention pooling of the patches, padded text.
    Siglip,
    /// SigLIP2 of free size: patches as rows, used here with square pictures.
    Siglip2,
}

/// The text encoder's sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextConfig {
    pub transformer: TransformerConfig,
    pub vocabulary: usize,
    pub max_tokens: usize,
    /// The token that ends a text; old files say 2, which is wrong.
    pub end: u32,
    /// The token that fills up a text.
    pub pad: u32,
    /// The length of a vector.
    pub dim: usize,
}

/// The image encoder's sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageConfig {
    pub transformer: TransformerConfig,
    /// The side of the square picture.
    pub image: usize,
    /// The side of a patch.
    pub patch: usize,
    /// The length of a vector.
    pub dim: usize,
}

impl ClipConfig {
    /// Reads and checks config.json.
    pub fn read(folder: &Path) -> Result<(Self, Family)> {
        let config: Self = read_json(folder, "config.json")?;
        let family = match config.model_type.as_str() {
            "clip" => Family::Clip,
            "siglip" => Family::Siglip,
            "siglip2" => Family::Siglip2,
            other => {
                return Err(wrong(
                    folder,
                    format!(
                        "the model type `{other}` is not known; clip, siglip and siglip2 are, and \
                         any pair of ONNX graphs with an encoder.toml"
                    ),
                ));
            }
        };
        if config.vision_config.vision_use_head == Some(false) {
            return Err(wrong(folder, "its image tower has no head that makes one vector".into()));
        }
        let (text, image) = (config.text(family), config.image(family));
        if text.transformer.is_valid()
            && image.is_valid()
            && (1..100_000).contains(&text.max_tokens)
        {
            return Ok((config, family));
        }
        Err(wrong(folder, "the sizes in it make no model; fetch the model again".into()))
    }

    pub fn text(&self, family: Family) -> TextConfig {
        let side = &self.text_config;
        let clip = family == Family::Clip;
        let transformer =
            side.transformer(clip, if clip { (512, 2048, 8) } else { (768, 3072, 12) });
        TextConfig {
            transformer,
            vocabulary: side.vocab_size.unwrap_or(if clip { 49408 } else { 32000 }),
            max_tokens: side.max_position_embeddings.unwrap_or(if clip { 77 } else { 64 }),
            end: side.eos_token_id.unwrap_or(49407),
            pad: side.pad_token_id.unwrap_or(1),
            dim: if clip {
                self.projection_dim.unwrap_or(512)
            } else {
                side.projection_size.unwrap_or(transformer.width)
            },
        }
    }

    pub fn image(&self, family: Family) -> ImageConfig {
        let side = &self.vision_config;
        let clip = family == Family::Clip;
        let transformer = side.transformer(clip, (768, 3072, 12));
        let patch = side.patch_size.unwrap_or(if clip { 32 } else { 16 });
        let image = match family {
            Family::Siglip2 => side.num_patches.unwrap_or(256).isqrt() * patch,
            _ => side.image_size.unwrap_or(224),
        };
        let dim = if clip { self.projection_dim.unwrap_or(512) } else { transformer.width };
        ImageConfig { transformer, image, patch, dim }
    }
}

impl Side {
    fn transformer(
        &self,
        clip: bool,
        (width, hidden, heads): (usize, usize, usize),
    ) -> TransformerConfig {
        TransformerConfig {
            width: self.hidden_size.unwrap_or(width),
            hidden: self.intermediate_size.unwrap_or(hidden),
            layers: self.num_hidden_layers.unwrap_or(12),
            heads: self.num_attention_heads.unwrap_or(heads),
            eps: self.layer_norm_eps.unwrap_or(if clip { 1e-5 } else { 1e-6 }),
            gelu: self.hidden_act.unwrap_or(if clip { GeluKind::Quick } else { GeluKind::Tanh }),
        }
    }
}

impl ImageConfig {
    fn is_valid(&self) -> bool {
        let divides = self.patch > 0 && self.image.is_multiple_of(self.patch);
        self.transformer.is_valid() && divides && (1..=4096).contains(&self.image) && self.dim > 0
    }
}

fn wrong(folder: &Path, reason: String) -> NnError {
    NnError::Config { path: folder.join("config.json"), reason }
}

/// Mean and standard deviation of each channel in CLIP's training pictures.
pub const OPENAI_MEAN: [f64; 3] = [0.48145466, 0.4578275, 0.40821073];
pub const OPENAI_STD: [f64; 3] = [0.26862954, 0.26130258, 0.27577711];
