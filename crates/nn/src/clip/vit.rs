//! The vision transformers of MobileCLIP's larger models: patches by one convolution or by three, then
//! a transformer, in `timm`'s names.

use super::convolution::{Conv2d, Grid, Window};
use super::fused_kernel::FusedKernel;
use super::image::{ImagePooling, VisionTransformer};
use super::transformer::{GeluKind, Naming, Transformer, TransformerConfig};
use crate::error::NnError;
use crate::kernels::Activation;
use crate::weights::Scope;

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
    network: VisionTransformer,
    width: usize,
}

impl Vit {
    /// For square pictures of `image` pixels; the head makes `dim` numbers.
    pub fn load(
        scope: &Scope<'_>,
        config: VitConfig,
        (image, dim): (usize, usize),
    ) -> Result<Self, NnError> {
        let TransformerConfig { width: d, eps, .. } = config.transformer;
        let positions = (image / config.patch).pow(2) + usize::from(!config.stem);
        let first_norm = match config.stem {
            true => None,
            false => Some(scope.layer_norm("norm_pre", d, eps)?),
        };
        let blocks = scope.at("blocks");
        let network = VisionTransformer {
            class: Some(scope.tensor("cls_token", &[1, 1, d])?),
            positions: scope.tensor("pos_embed", &[1, positions, d])?,
            first_norm,
            transformer: Transformer::load(&blocks, Naming::Timm, &config.transformer)?,
            last_norm: scope.layer_norm("norm", d, eps)?,
            pooling: ImagePooling::Class(scope.linear("head", dim, d)?),
        };
        Ok(Self { patches: patches(&scope.at("patch_embed"), config)?, network, width: d })
    }

    /// From pixels \[pixels, 3\] to a row for each picture \[pictures, dim\].
    pub fn forward(&self, pixels: &[f32], grid: Grid) -> Vec<f32> {
        let (mut x, mut places) = (pixels.to_vec(), grid);
        for (i, patches) in self.patches.iter().enumerate() {
            let activation = (i + 1 < self.patches.len()).then_some(Activation::Gelu);
            (x, places) = patches.forward(&x, places, activation); // [patches, d]
        }
        self.network.forward(&x, places.height * places.width, self.width)
    }
}

fn patches(scope: &Scope<'_>, config: VitConfig) -> Result<Vec<Conv2d>, NnError> {
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
                let network = Vit::load(&weights.scope("visual.trunk"), config, (32, 12)).unwrap();
                network.forward(pixels, grid)
            });
        }
    }
}
