//! FastViT as MobileCLIP uses it: stages of convolutions, the last of which attend, with every norm
//! and side branch of its training folded into the kernels.

use candle_core::{Device, Tensor};

use super::convolution::{Dense, Depthwise, Folded, Gate, Grid, Window};
use super::transformer::{linear, norm, unbiased};
use crate::kernels::{Activation, Attention, Linear, Norm, Queries};
use crate::weights::{Weights, WeightsError};

const GELU: Option<Activation> = Some(Activation::Gelu);
/// Channels that a head attends with.
const HEAD: usize = 32;
/// The first stage that attends.
const ATTENDING: usize = 3;
/// Keeps the norms' division finite.
const EPS: f64 = 1e-5;

/// A published size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Blocks of each stage.
    blocks: &'static [usize],
    /// Channels of the first stage; each further one has twice as many.
    channels: usize,
    /// How many times wider the hidden layers are.
    wider: usize,
    /// The larger two: no gates, no scales in the stem, and norms over channels before attention.
    large: bool,
}

impl Size {
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

/// The network.
pub struct FastVit {
    first: Dense,
    second: Depthwise,
    third: Linear,
    stages: Vec<Stage>,
    last: Depthwise,
    gate: Gate,
    head: Linear,
}

struct Stage {
    entrance: Option<Entrance>,
    positions: Option<Depthwise>,
    blocks: Vec<Block>,
}

/// Halves the sides and doubles the channels.
struct Entrance {
    large: Depthwise,
    gate: Option<Gate>,
    mix: Linear,
}

struct Block {
    mixer: Mixer,
    spread: Depthwise,
    wide: Linear,
    narrow: Linear,
}

/// What lets pixels see each other.
enum Mixer {
    Near(Depthwise),
    All { norm: Option<Norm>, qkv: Linear, out: Linear },
}

impl FastVit {
    /// The network of a file, whose tensors begin with `name`; its head makes `dim` numbers.
    pub fn load(
        weights: &Weights,
        name: &str,
        size: Size,
        dim: usize,
    ) -> Result<Self, WeightsError> {
        let c = size.channels;
        let part = |part: &str| format!("{name}.{part}");
        let stem = Branches { scale: !size.large, identity: false };
        let first = branched(weights, &part("stem.0"), (c, 3, 3), stem)?;
        let second = branched(weights, &part("stem.1"), (c, 1, 3), stem)?;
        let third = branched(weights, &part("stem.2"), (c, c, 1), Branches::SAME)?;
        let stage = |i: usize| Stage::load(weights, &part(&format!("stages.{i}")), size, i);
        let (d, last) = (c << size.blocks.len(), part("final_conv"));
        let scaled = Branches { scale: true, identity: false };
        Ok(Self {
            first: Dense::new(&first, Window::centred(3, 2))?,
            second: Depthwise::new(&second, 2, GELU),
            third: third.linear()?,
            stages: (0..size.blocks.len()).map(stage).collect::<Result<_, _>>()?,
            last: Depthwise::new(&branched(weights, &last, (d, 1, 3), scaled)?, 1, None),
            gate: Gate::load(weights, &format!("{last}.se"), d, d / 16)?,
            head: linear(weights, &part("head.fc"), dim, d)?,
        })
    }

    /// From pixels \[pixels, 3\] to a row for each picture \[pictures, dim\].
    pub fn forward(&self, pixels: &Tensor, grid: Grid) -> candle_core::Result<Tensor> {
        let (x, grid) = self.first.forward(pixels, grid, GELU)?;
        let (x, grid) = self.second.forward(&x, grid)?;
        let x = self.third.forward_activated(&x, Activation::Gelu)?;
        let (x, grid) =
            self.stages.iter().try_fold((x, grid), |(x, grid), stage| stage.forward(x, grid))?;
        let (x, grid) = self.last.forward(&x, grid)?;
        let x = self.gate.forward(&x, grid)?;
        let (_, d) = x.dims2()?;
        self.head.forward(&x.reshape((grid.count, grid.height * grid.width, d))?.mean(1)?)
    }
}

impl Stage {
    fn load(
        weights: &Weights,
        name: &str,
        size: Size,
        number: usize,
    ) -> Result<Self, WeightsError> {
        let d = size.channels << number;
        let gated = number > 1 && !size.large;
        let entrance = match number {
            0 => None,
            _ => Some(Entrance::load(weights, &format!("{name}.downsample.proj"), d, gated)?),
        };
        let positions = match number >= ATTENDING {
            true => Some(positions(weights, &format!("{name}.pos_emb"), d)?),
            false => None,
        };
        let block = |i: usize| Block::load(weights, &format!("{name}.blocks.{i}"), size, number);
        let blocks = (0..size.blocks[number]).map(block).collect::<Result<_, _>>()?;
        Ok(Self { entrance, positions, blocks })
    }

    fn forward(&self, mut x: Tensor, mut grid: Grid) -> candle_core::Result<(Tensor, Grid)> {
        if let Some(entrance) = &self.entrance {
            (x, grid) = entrance.forward(&x, grid)?;
        }
        if let Some(positions) = &self.positions {
            x = positions.forward(&x, grid)?.0;
        }
        let x = self.blocks.iter().try_fold(x, |x, block| block.forward(x, grid))?;
        Ok((x, grid))
    }
}

impl Entrance {
    fn load(weights: &Weights, name: &str, d: usize, gated: bool) -> Result<Self, WeightsError> {
        let large = large_kernel(weights, &format!("{name}.0"), d)?;
        let gate = match gated {
            true => Some(Gate::load(weights, &format!("{name}.0.se"), d, d / 4)?),
            false => None,
        };
        let mix = branched(weights, &format!("{name}.1"), (d, d, 1), Branches::SAME)?.linear()?;
        // A gate bends what it lets through; without one the convolution does.
        let bends = if gated { None } else { GELU };
        Ok(Self { large: Depthwise::new(&large, 2, bends), gate, mix })
    }

    fn forward(&self, x: &Tensor, grid: Grid) -> candle_core::Result<(Tensor, Grid)> {
        let (mut x, grid) = self.large.forward(x, grid)?;
        if let Some(gate) = &self.gate {
            x = gate.forward(&x, grid)?;
        }
        Ok((self.mix.forward_activated(&x, Activation::Gelu)?, grid))
    }
}

impl Block {
    fn load(weights: &Weights, name: &str, size: Size, stage: usize) -> Result<Self, WeightsError> {
        let d = size.channels << stage;
        let hidden = size.wider * d;
        let part = |part: &str| format!("{name}.{part}");
        let attends = stage >= ATTENDING;
        let scale = part(if attends { "layer_scale_2.gamma" } else { "layer_scale.gamma" });
        let mixer = match attends {
            true => Mixer::attending(weights, name, d, size.large)?,
            false => Mixer::Near(near(weights, &part("token_mixer"), d)?),
        };
        let wide = Folded::plain(weights, &part("mlp.fc1"), (hidden, d, 1), true)?;
        let narrow = Folded::plain(weights, &part("mlp.fc2"), (d, hidden, 1), true)?;
        let spread = Folded::normed(weights, &part("mlp.conv"), (d, 1, 7))?;
        Ok(Self {
            mixer,
            spread: Depthwise::new(&spread, 1, None),
            wide: wide.linear()?,
            narrow: narrow.scaled(&weights.numbers(&scale, &[d, 1, 1])?).linear()?,
        })
    }

    fn forward(&self, x: Tensor, grid: Grid) -> candle_core::Result<Tensor> {
        let x = self.mixer.forward(x, grid)?;
        let (spread, _) = self.spread.forward(&x, grid)?;
        let wide = self.wide.forward_activated(&spread, Activation::Gelu)?;
        self.narrow.forward_added(&wide, &x)
    }
}

impl Mixer {
    fn attending(
        weights: &Weights,
        name: &str,
        d: usize,
        large: bool,
    ) -> Result<Self, WeightsError> {
        let part = |part: &str| format!("{name}.{part}");
        let weight = part("token_mixer.qkv.weight");
        let qkv = unbiased(weights.tensor(&weight, &[3 * d, d], &Device::Cpu)?)?;
        let out = linear(weights, &part("token_mixer.proj"), d, d)?;
        let gamma = weights.tensor(&part("layer_scale_1.gamma"), &[d, 1, 1], &Device::Cpu)?;
        let gamma = gamma.reshape(d)?;
        let out = Linear {
            weight: out.weight.broadcast_mul(&gamma.reshape((d, 1))?)?,
            bias: (out.bias * gamma)?,
        };
        if large {
            let norm = Some(norm(weights, &part("norm"), d, EPS)?);
            return Ok(Self::All { norm, qkv, out });
        }
        let fixed = Folded::identity_normed(weights, &part("norm"), (d, 1, 1))?;
        Ok(Self::All { norm: None, qkv: fixed.before(&qkv)?, out })
    }

    fn forward(&self, x: Tensor, grid: Grid) -> candle_core::Result<Tensor> {
        match self {
            Self::Near(kernel) => Ok(kernel.forward(&x, grid)?.0),
            Self::All { norm, qkv, out } => {
                let normed =
                    norm.as_ref().map_or_else(|| Ok(x.clone()), |norm| norm.forward(&x))?;
                let qkv = qkv.forward(&normed)?; // [pixels, 3·d]
                let spans = grid.spans();
                let heads = x.dim(1)? / HEAD;
                let attention =
                    Attention { heads, spans: &spans, relative: None, queries: Queries::All };
                out.forward_added(&attention.forward(&qkv)?, &x)
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

/// A kernel with its branches, or the one kernel that somebody made of them.
fn branched(
    weights: &Weights,
    name: &str,
    shape: (usize, usize, usize),
    branches: Branches,
) -> Result<Folded, WeightsError> {
    if let Some(folded) = made_one(weights, name, shape)? {
        return Ok(folded);
    }
    let (out, into, _) = shape;
    let mut sum = Folded::normed(weights, &format!("{name}.conv_kxk.0"), shape)?;
    if branches.scale {
        let scale = Folded::normed(weights, &format!("{name}.conv_scale"), (out, into, 1))?;
        sum = sum.plus(&scale, 1.0);
    }
    if branches.identity {
        let same = Folded::identity_normed(weights, &format!("{name}.identity"), shape)?;
        sum = sum.plus(&same, 1.0);
    }
    Ok(sum)
}

/// The kernel of a folder whose branches are folded already.
fn made_one(
    weights: &Weights,
    name: &str,
    shape: (usize, usize, usize),
) -> Result<Option<Folded>, WeightsError> {
    let name = format!("{name}.reparam_conv");
    match weights.has(&format!("{name}.weight")) {
        true => Ok(Some(Folded::plain(weights, &name, shape, true)?)),
        false => Ok(None),
    }
}

/// x + scale · (mixed - normed)
fn near(weights: &Weights, name: &str, d: usize) -> Result<Depthwise, WeightsError> {
    let shape = (d, 1, 3);
    let folded = match made_one(weights, name, shape)? {
        Some(folded) => folded,
        None => {
            let both = Branches { scale: true, identity: true };
            let mixed = branched(weights, &format!("{name}.mixer"), shape, both)?;
            let normed = Folded::identity_normed(weights, &format!("{name}.norm.identity"), shape)?;
            let scale = weights.numbers(&format!("{name}.layer_scale.gamma"), &[d, 1, 1])?;
            Folded::identity(d, 1, 3).plus(&mixed.plus(&normed, -1.0).scaled(&scale), 1.0)
        }
    };
    Ok(Depthwise::new(&folded, 1, None))
}

/// A kernel of seven pixels and one of three, added.
fn large_kernel(weights: &Weights, name: &str, d: usize) -> Result<Folded, WeightsError> {
    if let Some(folded) = made_one(weights, name, (d, 1, 7))? {
        return Ok(folded);
    }
    let large = Folded::normed(weights, &format!("{name}.large_conv"), (d, 1, 7))?;
    let small = Folded::normed(weights, &format!("{name}.small_conv"), (d, 1, 3))?;
    Ok(large.plus(&small, 1.0))
}

/// x and what its neighbourhood adds.
fn positions(weights: &Weights, name: &str, d: usize) -> Result<Depthwise, WeightsError> {
    let shape = (d, 1, 7);
    let folded = match made_one(weights, name, shape)? {
        Some(folded) => folded,
        None => {
            let near = Folded::plain(weights, &format!("{name}.pos_enc"), shape, true)?;
            near.plus(&Folded::identity(d, 1, 7), 1.0)
        }
    };
    Ok(Depthwise::new(&folded, 1, None))
}

#[cfg(test)]
mod tests {
    use super::super::convolution::golden;
    use super::*;

    #[test]
    fn small_random_networks_give_the_numbers_of_timm() {
        let small = Size { blocks: &[1, 2, 1, 1], channels: 8, wider: 3, large: false };
        let large = Size { blocks: &[1; 5], channels: 8, wider: 4, large: true };
        for (name, size) in [("fastvit", small), ("fastvit-large", large)] {
            golden::check(name, 64, |weights, pixels, grid| {
                let network = FastVit::load(weights, "visual.trunk", size, 12).unwrap();
                network.forward(pixels, grid).unwrap()
            });
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let weights = golden::weights("fastvit");
        let another = Size { blocks: &[1, 2, 1, 2], channels: 8, wider: 3, large: false };
        let error = FastVit::load(&weights, "visual.trunk", another, 12).err().unwrap();
        assert!(error.to_string().contains("visual.trunk.stages.3.blocks.1"), "{error}");
        let wider = Size { blocks: &[1, 2, 1, 1], channels: 8, wider: 4, large: false };
        let error = FastVit::load(&weights, "visual.trunk", wider, 12).err().unwrap();
        assert!(matches!(error, WeightsError::WrongShape { .. }), "{error}");
    }
}
