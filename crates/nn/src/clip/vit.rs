//! The vision transformers of CLIP, SigLIP and SigLIP2 in Hugging Face's names, and of MobileCLIP's
//! larger models in `timm`'s: patches by one convolution or by three, a transformer, one row for each
//! picture.

use super::config::{Family, ImageConfig};
use super::convolution::{Conv2d, Grid, Window};
use super::fused_kernel::FusedKernel;
use crate::error::NnError;
use crate::kernels::{self, Activation, attend, simd};
use crate::layers::{LayerNorm, Linear};
use crate::transformer::{FeedForward, GeluKind, Naming, Transformer, TransformerConfig, in_proj};
use crate::weights::{Scope, Weights};

/// A published size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VitConfig {
    transformer: TransformerConfig,
    /// Whether three convolutions make the patches, instead of one.
    stem: bool,
    patch: usize,
}

impl VitConfig {
    /// The size that `timm` calls by this name.
    pub fn named(name: &str) -> Option<Self> {
        let of = |width: usize, layers: usize, heads: usize, eps: f64| TransformerConfig {
            width,
            hidden: 4 * width,
            layers,
            heads,
            eps,
            gelu: GeluKind::Exact,
        };
        match name {
            "vit_base_mci_224" => {
                Some(Self { transformer: of(768, 12, 12, 1e-6), stem: true, patch: 16 })
            }
            "vit_large_patch14_clip_224" => {
                Some(Self { transformer: of(1024, 24, 16, 1e-5), stem: false, patch: 14 })
            }
            _ => None,
        }
    }
}

pub struct Vit {
    patches: Vec<Conv2d>,
    class: Option<Vec<f32>>, // [d]
    /// \[tokens, d\]; the class token may have none.
    positions: Vec<f32>,
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

impl Vit {
    /// In Hugging Face's names.
    pub fn load(weights: &Weights, family: Family, config: &ImageConfig) -> Result<Self, NnError> {
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
            patches: vec![patches(&embeddings, family, (d, config.patch))?],
            class,
            positions,
            first_norm,
            transformer: Transformer::load(&layers, Naming::HuggingFace, &config.transformer)?,
            last_norm: scope.layer_norm("post_layernorm", d, eps)?,
            pooling,
            width: d,
        })
    }

    /// In `timm`'s names, for square pictures of `image` pixels; the head makes `dim` numbers.
    pub fn load_timm(
        scope: &Scope<'_>,
        config: VitConfig,
        (image, dim): (usize, usize),
    ) -> Result<Self, NnError> {
        let TransformerConfig { width: d, eps, .. } = config.transformer;
        let positions = (image / config.patch).pow(2) + usize::from(!config.stem);
        let blocks = scope.at("blocks");
        Ok(Self {
            patches: timm_patches(&scope.at("patch_embed"), config)?,
            class: Some(scope.tensor("cls_token", &[1, 1, d])?),
            positions: scope.tensor("pos_embed", &[1, positions, d])?,
            first_norm: (!config.stem).then(|| scope.layer_norm("norm_pre", d, eps)).transpose()?,
            transformer: Transformer::load(&blocks, Naming::Timm, &config.transformer)?,
            last_norm: scope.layer_norm("norm", d, eps)?,
            pooling: ImagePooling::Class(scope.linear("head", dim, d)?),
            width: d,
        })
    }

    /// From pixels \[pixels, 3\] to a row for each picture \[pictures, dim\].
    pub fn forward(&self, pixels: &[f32], grid: Grid) -> Vec<f32> {
        let (mut x, mut places) = (pixels.to_vec(), grid);
        for (i, patches) in self.patches.iter().enumerate() {
            let activation = (i + 1 < self.patches.len()).then_some(Activation::Gelu);
            (x, places) = patches.forward(&x, places, activation); // [patches, d]
        }
        let (d, patches) = (self.width, places.height * places.width);
        let tokens = patches + usize::from(self.class.is_some());
        let mut x = self.embed(&x, patches * d); // [pictures·tokens, d]
        if let Some(norm) = &self.first_norm {
            norm.forward_in_place(&mut x);
        }
        let spans: Vec<_> = (0..grid.count).map(|i| (i * tokens, tokens)).collect();
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

/// SigLIP2 keeps the patches' convolution as a linear layer, with a pixel's channels side by side.
fn patches(
    scope: &Scope<'_>,
    family: Family,
    (d, patch): (usize, usize),
) -> Result<Conv2d, NnError> {
    let linear = match family {
        Family::Siglip2 => scope.linear("patch_embedding", d, 3 * patch * patch)?,
        _ => {
            let (scope, biased) = (scope.at("patch_embedding"), family != Family::Clip);
            FusedKernel::plain(&scope, (d, 3, patch), biased)?.linear()
        }
    };
    Ok(Conv2d { window: Window::tile(patch), linear })
}

fn timm_patches(scope: &Scope<'_>, config: VitConfig) -> Result<Vec<Conv2d>, NnError> {
    let (d, patch) = (config.transformer.width, config.patch);
    let tiled = |kernel: FusedKernel| Conv2d::new(&kernel, Window::tile(kernel.side()));
    if !config.stem {
        let one = FusedKernel::plain(&scope.at("proj"), (d, 3, patch), false)?;
        return Ok(vec![tiled(one)]);
    }
    let (stem, narrow) = (scope.at("backbone"), d / 4);
    let first = FusedKernel::normed(&stem.at(0), (narrow, 3, 4))?;
    let second = FusedKernel::normed(&stem.at(1), (narrow, narrow, 2))?;
    let third = FusedKernel::plain(&stem.at("2.conv"), (d, narrow, 2), true)?;
    Ok([first, second, third].map(tiled).into())
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
                simd!(attend(query, keys, values, None, &mut probs, out));
            }
        }
        let mut x = self.out.forward(&attended, None); // [pictures, d]
        self.feed_forward.forward(&mut x);
        x
    }
}

#[cfg(test)]
mod tests {
    use super::super::convolution::golden;
    use super::*;

    #[test]
    fn small_random_networks_give_the_numbers_of_timm() {
        let of = |eps| TransformerConfig {
            width: 32,
            hidden: 128,
            layers: 2,
            heads: 2,
            eps,
            gelu: GeluKind::Exact,
        };
        let hybrid = VitConfig { transformer: of(1e-6), stem: true, patch: 16 };
        let plain = VitConfig { transformer: of(1e-5), stem: false, patch: 8 };
        for (name, config) in [("hybrid", hybrid), ("plain", plain)] {
            golden::check(name, 32, |weights, pixels, grid| {
                let network =
                    Vit::load_timm(&weights.scope("visual.trunk"), config, (32, 12)).unwrap();
                network.forward(pixels, grid)
            });
        }
    }
}
