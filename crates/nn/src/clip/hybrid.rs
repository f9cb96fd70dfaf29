//! The vision transformers that MobileCLIP's larger models see with: patches by one convolution or
//! by three, then layers as everywhere, in `timm`'s names.

use candle_core::{Device, IndexOp, Tensor};

use super::convolution::{Dense, Folded, Grid, Window};
use super::transformer::{Curve, Naming, Sizes, Transformer, linear, norm};
use crate::kernels::{Activation, Linear, Norm};
use crate::weights::{Weights, WeightsError};

/// A published size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    sizes: Sizes,
    /// Whether three convolutions make the patches, instead of one.
    stem: bool,
    patch: usize,
}

impl Size {
    /// The size that `timm` calls by this name.
    pub fn named(name: &str) -> Option<Self> {
        let of = |width: usize, layers: usize, heads: usize, eps: f64| Sizes {
            width,
            hidden: 4 * width,
            layers,
            heads,
            eps,
            curve: Curve::Exact,
        };
        match name {
            "vit_base_mci_224" => {
                Some(Self { sizes: of(768, 12, 12, 1e-6), stem: true, patch: 16 })
            }
            "vit_large_patch14_clip_224" => {
                Some(Self { sizes: of(1024, 24, 16, 1e-5), stem: false, patch: 14 })
            }
            _ => None,
        }
    }
}

/// The network.
pub struct Hybrid {
    patches: Vec<Dense>,
    class: Tensor,     // [1, 1, d]
    positions: Tensor, // [1, tokens, d]
    /// Whether the class token has a position too.
    whole: bool,
    first_norm: Option<Norm>,
    transformer: Transformer,
    last_norm: Norm,
    head: Linear,
}

impl Hybrid {
    /// The network of a file, whose tensors begin with `name`, for square pictures of `image`; its
    /// head makes `dim` numbers.
    pub fn load(
        weights: &Weights,
        name: &str,
        size: Size,
        (image, dim): (usize, usize),
    ) -> Result<Self, WeightsError> {
        let Sizes { width: d, eps, .. } = size.sizes;
        let part = |part: &str| format!("{name}.{part}");
        let whole = !size.stem;
        let tokens = (image / size.patch).pow(2) + usize::from(whole);
        let first_norm = match size.stem {
            true => None,
            false => Some(norm(weights, &part("norm_pre"), d, eps)?),
        };
        Ok(Self {
            patches: patches(weights, &part("patch_embed"), size)?,
            class: weights.tensor(&part("cls_token"), &[1, 1, d], &Device::Cpu)?,
            positions: weights.tensor(&part("pos_embed"), &[1, tokens, d], &Device::Cpu)?,
            whole,
            first_norm,
            transformer: Transformer::load(weights, &part("blocks"), Naming::Timm, &size.sizes)?,
            last_norm: norm(weights, &part("norm"), d, eps)?,
            head: linear(weights, &part("head"), dim, d)?,
        })
    }

    /// From pixels \[pixels, 3\] to a row for each picture \[pictures, dim\].
    pub fn forward(&self, pixels: &Tensor, grid: Grid) -> candle_core::Result<Tensor> {
        let (mut x, mut places) = (pixels.clone(), grid);
        for (i, patches) in self.patches.iter().enumerate() {
            let bends = (i + 1 < self.patches.len()).then_some(Activation::Gelu);
            (x, places) = patches.forward(&x, places, bends)?;
        }
        let (count, d) = (grid.count, x.dim(1)?);
        let x = self.placed(x.reshape((count, places.height * places.width, d))?)?;
        let tokens = x.dim(1)?;
        let mut x = x.reshape((count * tokens, d))?;
        if let Some(norm) = &self.first_norm {
            x = norm.forward_owned(x)?;
        }
        let spans: Vec<(usize, usize)> = (0..count).map(|i| (i * tokens, tokens)).collect();
        let x = self.transformer.forward(x, &spans)?.reshape((count, tokens, d))?;
        let class = x.i((.., 0))?.contiguous()?; // [pictures, d]
        self.head.forward(&self.last_norm.forward(&class)?)
    }

    /// The patches with their positions, after the class token.
    fn placed(&self, x: Tensor) -> candle_core::Result<Tensor> {
        let class = self.class.repeat((x.dim(0)?, 1, 1))?;
        match self.whole {
            true => Tensor::cat(&[&class, &x], 1)?.broadcast_add(&self.positions),
            false => Tensor::cat(&[&class, &x.broadcast_add(&self.positions)?], 1),
        }
    }
}

fn patches(weights: &Weights, name: &str, size: Size) -> Result<Vec<Dense>, WeightsError> {
    let (d, patch) = (size.sizes.width, size.patch);
    if !size.stem {
        let one = Folded::plain(weights, &format!("{name}.proj"), (d, 3, patch), false)?;
        return Ok(vec![Dense::new(&one, Window::tile(patch))?]);
    }
    let part = |i: usize| format!("{name}.backbone.{i}");
    let narrow = d / 4;
    let first = Folded::normed(weights, &part(0), (narrow, 3, 4))?;
    let second = Folded::normed(weights, &part(1), (narrow, narrow, 2))?;
    let third = Folded::plain(weights, &format!("{}.conv", part(2)), (d, narrow, 2), true)?;
    let tiled = |(folded, side): (Folded, usize)| Dense::new(&folded, Window::tile(side));
    let all = [(first, 4), (second, 2), (third, 2)].into_iter().map(tiled);
    Ok(all.collect::<candle_core::Result<_>>()?)
}

#[cfg(test)]
mod tests {
    use super::super::convolution::golden;
    use super::*;

    #[test]
    fn small_random_networks_give_the_numbers_of_timm() {
        let of =
            |eps| Sizes { width: 32, hidden: 128, layers: 2, heads: 2, eps, curve: Curve::Exact };
        let hybrid = Size { sizes: of(1e-6), stem: true, patch: 16 };
        let plain = Size { sizes: of(1e-5), stem: false, patch: 8 };
        for (name, size) in [("hybrid", hybrid), ("plain", plain)] {
            golden::check(name, 32, |weights, pixels, grid| {
                let network = Hybrid::load(weights, "visual.trunk", size, (32, 12)).unwrap();
                network.forward(pixels, grid).unwrap()
            });
        }
    }
}
