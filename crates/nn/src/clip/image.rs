//! The image encoder of the family: square patches by one convolution, a transformer, and the class
//! token's row or attention pooling as the row of the picture.

use super::config::{Family, ImageConfig};
use super::normalize::Normalize;
use crate::error::Result;
use crate::kernels::{self, attend, simd};
use crate::layers::{LayerNorm, Linear};
use crate::transformer::{FeedForward, Naming, Transformer, TransformerConfig};
use crate::weights::{Scope, Weights};

pub struct ImageEncoder {
    normalize: Normalize,
    /// The sides of the picture and of a patch, in pixels.
    side: usize,
    patch: usize,
    patches: Linear,         // [d, patch²·3]
    class: Option<Vec<f32>>, // [d]
    positions: Vec<f32>,     // [tokens, d]
    first_norm: Option<LayerNorm>,
    transformer: Transformer,
    last_norm: LayerNorm,
    pooling: ImagePooling,
    width: usize,
}

/// How the tokens become one row.
enum ImagePooling {
    /// The class token's row, projected.
    Class(Linear),
    Attention(Box<AttentionPooling>),
}

impl ImageEncoder {
    pub fn load(
        weights: &Weights,
        family: Family,
        config: &ImageConfig,
        normalize: Normalize,
    ) -> Result<Self> {
        let TransformerConfig { width: d, eps, .. } = config.transformer;
        let scope = weights.scope("vision_model");
        let embeddings = scope.at("embeddings");
        let clip = family == Family::Clip;
        let tokens = (config.image / config.patch).pow(2) + usize::from(clip);
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
        Ok(Self {
            normalize,
            side: config.image,
            patch: config.patch,
            patches: patches(&embeddings, family, (d, config.patch))?,
            class,
            positions,
            first_norm,
            transformer: Transformer::load(&layers, Naming::HuggingFace, &config.transformer)?,
            last_norm: scope.layer_norm("post_layernorm", d, eps)?,
            pooling,
            width: d,
        })
    }

    /// \[pictures, dim\]
    pub fn forward(&self, pictures: &[&[u8]]) -> Vec<f32> {
        if pictures.is_empty() {
            return Vec::new();
        }
        let (d, tokens) = (self.width, self.positions.len() / self.width);
        let patches = self.patches.forward(&self.cut(pictures), None); // [pictures·patches, d]
        let mut x = self.embed(&patches); // [pictures·tokens, d]
        if let Some(norm) = &self.first_norm {
            norm.forward_in_place(&mut x);
        }
        let spans: Vec<_> = (0..pictures.len()).map(|i| (i * tokens, tokens)).collect();
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

    /// The normalised pixels of each patch: \[pictures·patches, patch²·3\]
    fn cut(&self, pictures: &[&[u8]]) -> Vec<f32> {
        let (line, width) = (3 * self.side, 3 * self.patch);
        let mut rows = Vec::with_capacity(pictures.len() * self.side * line);
        for band in pictures.iter().flat_map(|picture| picture.chunks_exact(self.patch * line)) {
            for left in (0..line).step_by(width) {
                let bytes = band.chunks_exact(line).flat_map(|line| &line[left..left + width]);
                let values = bytes.enumerate().map(|(i, byte)| self.normalize.value(*byte, i % 3));
                rows.extend(values);
            }
        }
        rows
    }

    /// The patches with their positions, each picture's behind the class token.
    fn embed(&self, patches: &[f32]) -> Vec<f32> {
        let class = self.class.as_deref().unwrap_or_default();
        let mut out = Vec::new();
        for picture in patches.chunks_exact(self.positions.len() - class.len()) {
            let start = out.len();
            out.extend_from_slice(class);
            out.extend_from_slice(picture);
            kernels::add(&mut out[start..], &self.positions);
        }
        out
    }
}

/// SigLIP2 keeps the patches' convolution as a linear layer, with a pixel's channels side by side.
fn patches(scope: &Scope<'_>, family: Family, (d, patch): (usize, usize)) -> Result<Linear> {
    if family == Family::Siglip2 {
        return scope.linear("patch_embedding", d, 3 * patch * patch);
    }
    let scope = scope.at("patch_embedding");
    let weight = scope.tensor("weight", &[d, 3, patch, patch])?;
    let biased = family != Family::Clip;
    let bias = biased.then(|| scope.tensor("bias", &[d])).transpose()?;
    Ok(Linear::convolution(&weight, bias, 3, patch * patch))
}

/// A learnt query that attends to all tokens of a picture; then a feed-forward block.
struct AttentionPooling {
    heads: usize,
    query: Vec<f32>, // [d]
    kv: Linear,      // [2·d, d]
    out: Linear,     // [d, d]
    feed_forward: FeedForward,
}

impl AttentionPooling {
    fn load(scope: &Scope<'_>, config: &TransformerConfig) -> Result<Self> {
        let d = config.width;
        let bias = scope.tensor("attention.in_proj_bias", &[3 * d])?;
        let weight = scope.tensor("attention.in_proj_weight", &[3 * d, d])?;
        let qkv = Linear::new(weight, Some(bias), d);
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
                simd!(attend(query, keys, values, None, &mut probs, out));
            }
        }
        let mut x = self.out.forward(&attended, None); // [pictures, d]
        self.feed_forward.forward(&mut x);
        x
    }
}
