//! FastViT as MobileCLIP uses it: stages of convolutions, the last of which have attention, with every
//! batch norm and side branch of its training folded into the kernels.

use super::convolution::{Conv2d, DepthwiseConv2d, Grid, SqueezeExcite, Window};
use super::fused_kernel::{FusedKernel, KernelShape};
use crate::error::NnError;
use crate::kernels::Activation;
use crate::layers::{Attention, LayerNorm, Linear};
use crate::weights::Scope;

const GELU: Option<Activation> = Some(Activation::Gelu);
/// Channels of an attention head.
const HEAD_CHANNELS: usize = 32;
/// The first stage with attention.
const FIRST_ATTENTION_STAGE: usize = 3;
/// Keeps the norms' division finite.
const EPS: f64 = 1e-5;

/// A published size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FastVitConfig {
    /// Blocks of each stage.
    blocks: &'static [usize],
    /// Channels of the first stage; each further one has twice as many.
    channels: usize,
    /// The width of hidden layers, as a multiple of the channels.
    wider: usize,
    /// The larger two: no squeeze and excitation, no scales in the stem, layer norms before attention.
    large: bool,
}

impl FastVitConfig {
    /// The size that `timm` calls by this name.
    pub fn named(name: &str) -> Option<Self> {
        let (blocks, channels, large): (&[usize], usize, bool) = match name {
            "fastvit_mci0" => (&[2, 6, 10, 2], 64, false),
            "fastvit_mci1" => (&[4, 12, 20, 4], 64, false),
            "fastvit_mci2" => (&[4, 12, 24, 4], 80, false),
            "fastvit_mci3" => (&[2, 12, 24, 4, 2], 96, true),
            "fastvit_mci4" => (&[2, 12, 24, 4, 4], 128, true),
            _ => return None,
        };
        Some(Self { blocks, channels, wider: if large { 4 } else { 3 }, large })
    }
}

pub struct FastVit {
    stem: (Conv2d, DepthwiseConv2d, Linear),
    stages: Vec<Stage>,
    final_conv: DepthwiseConv2d,
    squeeze_excite: SqueezeExcite,
    head: Linear,
}

struct Stage {
    downsample: Option<Downsample>,
    positions: Option<DepthwiseConv2d>,
    blocks: Vec<Block>,
}

/// Halves the sides and doubles the channels.
struct Downsample {
    conv: DepthwiseConv2d,
    squeeze_excite: Option<SqueezeExcite>,
    mix: Linear,
}

struct Block {
    mixer: TokenMixer,
    conv: DepthwiseConv2d,
    wide: Linear,
    narrow: Linear,
}

enum TokenMixer {
    Convolution(DepthwiseConv2d),
    Attention { norm: Option<LayerNorm>, qkv: Linear, out: Linear },
}

impl FastVit {
    /// Its head makes `dim` numbers.
    pub fn load(scope: &Scope<'_>, config: FastVitConfig, dim: usize) -> Result<Self, NnError> {
        let (c, stem) = (config.channels, scope.at("stem"));
        let branches = Branches { scale: !config.large, identity: false };
        let first = branched(&stem.at(0), (c, 3, 3), branches)?;
        let second = branched(&stem.at(1), (c, 1, 3), branches)?;
        let third = branched(&stem.at(2), (c, c, 1), Branches::SAME)?;
        let stage = |i: usize| Stage::load(&scope.at("stages").at(i), config, i);
        let (d, last) = (c << config.blocks.len(), scope.at("final_conv"));
        let final_conv = branched(&last, (d, 1, 3), Branches { scale: true, identity: false })?;
        Ok(Self {
            stem: (
                Conv2d::new(&first, Window::centred(3, 2)),
                DepthwiseConv2d::new(&second, 2, GELU),
                third.linear(),
            ),
            stages: (0..config.blocks.len()).map(stage).collect::<Result<_, _>>()?,
            final_conv: DepthwiseConv2d::new(&final_conv, 1, None),
            squeeze_excite: SqueezeExcite::load(&last.at("se"), d, d / 16)?,
            head: scope.linear("head.fc", dim, d)?,
        })
    }

    /// From pixels \[pixels, 3\] to a row for each picture \[pictures, dim\].
    pub fn forward(&self, pixels: &[f32], grid: Grid) -> Vec<f32> {
        let (conv, depthwise, mix) = &self.stem;
        let (x, grid) = conv.forward(pixels, grid, GELU);
        let (x, mut grid) = depthwise.forward(&x, grid);
        let mut x = mix.forward(&x, GELU);
        for stage in &self.stages {
            (x, grid) = stage.forward(x, grid);
        }
        let (mut x, grid) = self.final_conv.forward(&x, grid);
        self.squeeze_excite.forward(&mut x, grid);
        self.head.forward(&grid.mean(&x), None)
    }
}

impl Stage {
    fn load(scope: &Scope<'_>, config: FastVitConfig, number: usize) -> Result<Self, NnError> {
        let d = config.channels << number;
        let gated = number > 1 && !config.large;
        let downsample = || Downsample::load(&scope.at("downsample.proj"), d, gated);
        let downsample = (number > 0).then(downsample).transpose()?;
        let positions = || positions(&scope.at("pos_emb"), d);
        let positions = (number >= FIRST_ATTENTION_STAGE).then(positions).transpose()?;
        let block = |i: usize| Block::load(&scope.at("blocks").at(i), config, number);
        let blocks = (0..config.blocks[number]).map(block).collect::<Result<_, _>>()?;
        Ok(Self { downsample, positions, blocks })
    }

    fn forward(&self, mut x: Vec<f32>, mut grid: Grid) -> (Vec<f32>, Grid) {
        if let Some(downsample) = &self.downsample {
            (x, grid) = downsample.forward(&x, grid);
        }
        if let Some(positions) = &self.positions {
            x = positions.forward(&x, grid).0;
        }
        (self.blocks.iter().fold(x, |x, block| block.forward(x, grid)), grid)
    }
}

impl Downsample {
    fn load(scope: &Scope<'_>, d: usize, gated: bool) -> Result<Self, NnError> {
        let conv = large_kernel(&scope.at(0), d)?;
        let squeeze_excite = || SqueezeExcite::load(&scope.at("0.se"), d, d / 4);
        let squeeze_excite = gated.then(squeeze_excite).transpose()?;
        let mix = branched(&scope.at(1), (d, d, 1), Branches::SAME)?.linear();
        // Squeeze and excitation ends with the activation; without it the convolution does.
        let activation = if gated { None } else { GELU };
        Ok(Self { conv: DepthwiseConv2d::new(&conv, 2, activation), squeeze_excite, mix })
    }

    fn forward(&self, x: &[f32], grid: Grid) -> (Vec<f32>, Grid) {
        let (mut x, grid) = self.conv.forward(x, grid);
        if let Some(squeeze_excite) = &self.squeeze_excite {
            squeeze_excite.forward(&mut x, grid);
        }
        (self.mix.forward(&x, GELU), grid)
    }
}

impl Block {
    fn load(scope: &Scope<'_>, config: FastVitConfig, stage: usize) -> Result<Self, NnError> {
        let d = config.channels << stage;
        let hidden = config.wider * d;
        let (mixer, scale) = match stage >= FIRST_ATTENTION_STAGE {
            true => (TokenMixer::attention(scope, d, config.large)?, "layer_scale_2.gamma"),
            false => {
                let conv = mixing_kernel(&scope.at("token_mixer"), d)?;
                (TokenMixer::Convolution(conv), "layer_scale.gamma")
            }
        };
        let mlp = scope.at("mlp");
        let wide = FusedKernel::plain(&mlp.at("fc1"), (hidden, d, 1), true)?;
        let narrow = FusedKernel::plain(&mlp.at("fc2"), (d, hidden, 1), true)?;
        let conv = FusedKernel::normed(&mlp.at("conv"), (d, 1, 7))?;
        Ok(Self {
            mixer,
            conv: DepthwiseConv2d::new(&conv, 1, None),
            wide: wide.linear(),
            narrow: narrow.scaled(&scope.tensor(scale, &[d, 1, 1])?).linear(),
        })
    }

    fn forward(&self, x: Vec<f32>, grid: Grid) -> Vec<f32> {
        let mut x = self.mixer.forward(x, grid);
        let (mixed, _) = self.conv.forward(&x, grid);
        self.narrow.add_to(&mut x, &self.wide.forward(&mixed, GELU));
        x
    }
}

impl TokenMixer {
    fn attention(scope: &Scope<'_>, d: usize, large: bool) -> Result<Self, NnError> {
        let mut qkv = scope.unbiased("token_mixer.qkv.weight", 3 * d, d)?;
        let mut out = scope.linear("token_mixer.proj", d, d)?;
        out.scale_outputs(&scope.tensor("layer_scale_1.gamma", &[d, 1, 1])?);
        if large {
            let norm = Some(scope.layer_norm("norm", d, EPS)?);
            return Ok(Self::Attention { norm, qkv, out });
        }
        let norm = FusedKernel::identity_normed(&scope.at("norm"), (d, 1, 1))?;
        qkv.fold_input_affine(&norm.taps(), &norm.bias());
        Ok(Self::Attention { norm: None, qkv, out })
    }

    fn forward(&self, mut x: Vec<f32>, grid: Grid) -> Vec<f32> {
        match self {
            Self::Convolution(conv) => conv.forward(&x, grid).0,
            Self::Attention { norm, qkv, out } => {
                let qkv = match norm {
                    Some(norm) => qkv.forward(&norm.forward(&x), None),
                    None => qkv.forward(&x, None),
                }; // [pixels, 3·d]
                let (d, spans) = (out.outputs(), grid.spans());
                let attention = Attention { heads: d / HEAD_CHANNELS, spans: &spans, bias: None };
                out.add_to(&mut x, &attention.forward(&qkv, d));
                x
            }
        }
    }
}

/// What was trained beside a kernel.
#[derive(Clone, Copy)]
struct Branches {
    /// A kernel of one pixel.
    scale: bool,
    /// A norm of the input itself.
    identity: bool,
}

impl Branches {
    /// Beside a kernel of one pixel with as many outputs as inputs.
    const SAME: Self = Self { scale: false, identity: true };
}

/// The one kernel of a file in which side branches are folded already, else `fold` of them.
fn reparameterised(
    scope: &Scope<'_>,
    shape: KernelShape,
    fold: impl FnOnce() -> Result<FusedKernel, NnError>,
) -> Result<FusedKernel, NnError> {
    match scope.has("reparam_conv.weight") {
        true => FusedKernel::plain(&scope.at("reparam_conv"), shape, true),
        false => fold(),
    }
}

/// A kernel with its branches.
fn branched(
    scope: &Scope<'_>,
    shape: KernelShape,
    branches: Branches,
) -> Result<FusedKernel, NnError> {
    reparameterised(scope, shape, || {
        let mut sum = FusedKernel::normed(&scope.at("conv_kxk.0"), shape)?;
        if branches.scale {
            let one_pixel = (shape.0, shape.1, 1);
            sum = sum.plus(&FusedKernel::normed(&scope.at("conv_scale"), one_pixel)?, 1.0);
        }
        if branches.identity {
            sum = sum.plus(&FusedKernel::identity_normed(&scope.at("identity"), shape)?, 1.0);
        }
        Ok(sum)
    })
}

/// x + scale · (mixed - normed)
fn mixing_kernel(scope: &Scope<'_>, d: usize) -> Result<DepthwiseConv2d, NnError> {
    let shape = (d, 1, 3);
    let kernel = reparameterised(scope, shape, || {
        let both = Branches { scale: true, identity: true };
        let mixed = branched(&scope.at("mixer"), shape, both)?;
        let normed = FusedKernel::identity_normed(&scope.at("norm.identity"), shape)?;
        let scale = scope.tensor("layer_scale.gamma", &[d, 1, 1])?;
        Ok(FusedKernel::identity(shape).plus(&mixed.plus(&normed, -1.0).scaled(&scale), 1.0))
    })?;
    Ok(DepthwiseConv2d::new(&kernel, 1, None))
}

/// A kernel of seven pixels and one of three, added.
fn large_kernel(scope: &Scope<'_>, d: usize) -> Result<FusedKernel, NnError> {
    reparameterised(scope, (d, 1, 7), || {
        let large = FusedKernel::normed(&scope.at("large_conv"), (d, 1, 7))?;
        Ok(large.plus(&FusedKernel::normed(&scope.at("small_conv"), (d, 1, 3))?, 1.0))
    })
}

/// x and what its neighbourhood adds.
fn positions(scope: &Scope<'_>, d: usize) -> Result<DepthwiseConv2d, NnError> {
    let shape = (d, 1, 7);
    let kernel = reparameterised(scope, shape, || {
        let near = FusedKernel::plain(&scope.at("pos_enc"), shape, true)?;
        Ok(near.plus(&FusedKernel::identity(shape), 1.0))
    })?;
    Ok(DepthwiseConv2d::new(&kernel, 1, None))
}

#[cfg(test)]
mod tests {
    use super::super::convolution::golden;
    use super::*;

    #[test]
    fn small_random_networks_give_the_numbers_of_timm() {
        let small = FastVitConfig { blocks: &[1, 2, 1, 1], channels: 8, wider: 3, large: false };
        let large = FastVitConfig { blocks: &[1; 5], channels: 8, wider: 4, large: true };
        for (name, size) in [("fastvit", small), ("fastvit-large", large)] {
            golden::check(name, 64, |weights, pixels, grid| {
                FastVit::load(&weights.scope("visual.trunk"), size, 12)
                    .unwrap()
                    .forward(pixels, grid)
            });
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let weights = golden::weights("fastvit");
        let another = FastVitConfig { blocks: &[1, 2, 1, 2], channels: 8, wider: 3, large: false };
        let error = FastVit::load(&weights.scope("visual.trunk"), another, 12).err().unwrap();
        assert!(error.to_string().contains("visual.trunk.stages.3.blocks.1"), "{error}");
        let wider = FastVitConfig { blocks: &[1, 2, 1, 1], channels: 8, wider: 4, large: false };
        let error = FastVit::load(&weights.scope("visual.trunk"), wider, 12).err().unwrap();
        assert!(matches!(error, NnError::WrongShape { .. }), "{error}");
    }
}
