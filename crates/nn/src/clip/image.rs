//! The image encoder of CLIP, SigLIP and SigLIP2: patches as rows, a transformer, one row for the whole
//! picture, a projection.

use super::config::{Family, ImageConfig};
use super::normalize::Normalize;
use super::transformer::{FeedForward, Naming, Transformer, TransformerConfig, in_proj};
use crate::error::NnError;
use crate::kernels::{self, attend, vectorised};
use crate::layers::{LayerNorm, Linear};
use crate::weights::{Scope, Weights};

pub struct ImageEncoder {
    normalize: Normalize,
    config: ImageConfig,
    /// Whether the channels of a pixel lie side by side in a patch's row, instead of in planes.
    interleaved: bool,
    patches: Linear, // [d, 3·patch²]
    network: VisionTransformer,
}

/// From embedded patches to one row for each picture.
pub(super) struct VisionTransformer {
    pub class: Option<Vec<f32>>, // [d]
    /// \[tokens, d\]; the class token may have none.
    pub positions: Vec<f32>,
    pub first_norm: Option<LayerNorm>,
    pub transformer: Transformer,
    pub last_norm: LayerNorm,
    pub pooling: ImagePooling,
}

/// How the tokens become one row.
pub(super) enum ImagePooling {
    /// The class token's row, projected.
    Class(Linear),
    Attention(Box<AttentionPooling>),
}

impl VisionTransformer {
    /// \[pictures·patches, d\] to \[pictures, dim\]; `patches` counts those of one picture.
    pub fn forward(&self, x: &[f32], patches: usize, d: usize) -> Vec<f32> {
        let tokens = patches + usize::from(self.class.is_some());
        let mut x = self.embed(x, patches * d); // [pictures·tokens, d]
        if let Some(norm) = &self.first_norm {
            norm.forward_in_place(&mut x);
        }
        let spans: Vec<_> = (0..x.len() / (tokens * d)).map(|i| (i * tokens, tokens)).collect();
        self.transformer.forward(&mut x, &spans);
        match &self.pooling {
            ImagePooling::Class(projection) => {
                let class = x.chunks_exact(tokens * d).flat_map(|x| &x[..d]).copied();
                let class: Vec<f32> = class.collect(); // [pictures, d]
                projection.forward(&self.last_norm.forward(&class), None)
            }
            ImagePooling::Attention(pooling) => {
                self.last_norm.forward_in_place(&mut x);
                pooling.forward(&x, tokens)
            }
        }
    }

    /// The patches with their positions, each picture's behind the class token.
    fn embed(&self, x: &[f32], picture_length: usize) -> Vec<f32> {
        let class = self.class.as_deref().unwrap_or_default();
        let mut out = Vec::with_capacity(x.len() + x.len() / picture_length * class.len());
        for picture in x.chunks_exact(picture_length) {
            out.extend_from_slice(class);
            out.extend_from_slice(picture);
            let end = out.len();
            kernels::add(&mut out[end - self.positions.len()..], &self.positions);
        }
        out
    }
}

impl ImageEncoder {
    /// The image encoder of a file in Hugging Face's form.
    pub fn load(
        weights: &Weights,
        family: Family,
        config: ImageConfig,
        normalize: Normalize,
    ) -> Result<Self, NnError> {
        let TransformerConfig { width: d, eps, .. } = config.transformer;
        let scope = weights.scope("vision_model");
        let embeddings = scope.at("embeddings");
        let clip = family == Family::Clip;
        let tokens = config.patches_per_side().pow(2) + usize::from(clip);
        let positions = embeddings.tensor("position_embedding.weight", &[tokens, d])?;
        let (class, first_norm, pooling) = if clip {
            let class = embeddings.tensor("class_embedding", &[d])?;
            let projection =
                weights.scope("").unbiased("visual_projection.weight", config.dim, d)?;
            let norm = scope.layer_norm("pre_layrnorm", d, eps)?;
            (Some(class), Some(norm), ImagePooling::Class(projection))
        } else {
            let pooling = AttentionPooling::load(&scope.at("head"), &config.transformer)?;
            (None, None, ImagePooling::Attention(Box::new(pooling)))
        };
        let layers = scope.at("encoder.layers");
        let transformer = Transformer::load(&layers, Naming::HuggingFace, &config.transformer)?;
        let last_norm = scope.layer_norm("post_layernorm", d, eps)?;
        Ok(Self {
            normalize,
            config,
            interleaved: family == Family::Siglip2,
            patches: patches(&embeddings.at("patch_embedding"), family, &config)?,
            network: VisionTransformer {
                class,
                positions,
                first_norm,
                transformer,
                last_norm,
                pooling,
            },
        })
    }

    /// The patches of a picture as rows, added to `rows`.
    fn cut(&self, picture: &[u8], rows: &mut Vec<f32>) {
        let (image, patch) = (self.config.image, self.config.patch);
        let along = self.config.patches_per_side();
        let value = |x: usize, y: usize, channel: usize| {
            self.normalize.value(picture[3 * (y * image + x) + channel], channel)
        };
        for (top, left) in (0..along * along).map(|i| (i / along * patch, i % along * patch)) {
            let pixels = (0..patch * patch).map(|i| (left + i % patch, top + i / patch));
            match self.interleaved {
                true => rows.extend(pixels.flat_map(|(x, y)| [0, 1, 2].map(|c| value(x, y, c)))),
                false => {
                    let planes = (0..3).flat_map(|c| pixels.clone().map(move |(x, y)| (x, y, c)));
                    rows.extend(planes.map(|(x, y, c)| value(x, y, c)));
                }
            }
        }
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.config.dim
    }

    /// One row per picture of RGB bytes: \[pictures, dim\]
    pub fn forward(&self, pictures: &[&[u8]]) -> Vec<f32> {
        let mut rows = Vec::new(); // [pictures·patches, 3·patch²]
        pictures.iter().for_each(|picture| self.cut(picture, &mut rows));
        let x = self.patches.forward(&rows, None); // [pictures·patches, d]
        let patches = self.config.patches_per_side().pow(2);
        self.network.forward(&x, patches, self.config.transformer.width)
    }
}

/// The patches' projection; a convolution whose stride is its side is a product.
fn patches(scope: &Scope<'_>, family: Family, config: &ImageConfig) -> Result<Linear, NnError> {
    let (d, patch) = (config.transformer.width, config.patch);
    let inputs = 3 * patch * patch;
    let weight = match family {
        Family::Siglip2 => scope.tensor("weight", &[d, inputs])?,
        _ => scope.tensor("weight", &[d, 3, patch, patch])?,
    };
    let bias = match family {
        Family::Clip => None,
        _ => Some(scope.tensor("bias", &[d])?),
    };
    Ok(Linear::new(weight, bias, inputs))
}

/// A learnt query that attends to all tokens of a picture; then a feed-forward block.
pub(super) struct AttentionPooling {
    heads: usize,
    query: Vec<f32>, // [d]
    kv: Linear,      // [2·d, d]
    out: Linear,     // [d, d]
    feed_forward: FeedForward,
}

impl AttentionPooling {
    fn load(scope: &Scope<'_>, config: &TransformerConfig) -> Result<Self, NnError> {
        let d = config.width;
        let qkv = in_proj(&scope.at("attention"), d)?;
        let probe = scope.tensor("probe", &[1, 1, d])?;
        let mlp = ["mlp.fc1", "mlp.fc2"];
        Ok(Self {
            heads: config.heads,
            query: qkv.outputs_only(0..d).forward(&probe, None),
            kv: qkv.outputs_only(d..3 * d),
            out: scope.linear("attention.out_proj", d, d)?,
            feed_forward: FeedForward::load(scope, "layernorm", mlp, config)?,
        })
    }

    /// \[pictures·tokens, d\] to \[pictures, d\]
    fn forward(&self, x: &[f32], tokens: usize) -> Vec<f32> {
        let (d, size) = (self.query.len(), self.query.len() / self.heads);
        let kv = self.kv.forward(x, None); // [pictures·tokens, 2·d]
        let mut attended = vec![0.0; x.len() / tokens];
        let mut probs = vec![0.0; tokens];
        for (kv, out) in kv.chunks_exact(tokens * 2 * d).zip(attended.chunks_exact_mut(d)) {
            for (at, out) in (0..d).step_by(size).zip(out.chunks_exact_mut(size)) {
                let part =
                    |from: usize| kv.chunks_exact(2 * d).map(move |row| &row[from..][..size]);
                let (query, keys, values) = (&self.query[at..at + size], part(at), part(d + at));
                vectorised(
                    #[inline(always)]
                    || attend(query, keys, values, None, &mut probs, out),
                );
            }
        }
        let mut x = self.out.forward(&attended, None); // [pictures, d]
        self.feed_forward.forward(&mut x);
        x
    }
}
