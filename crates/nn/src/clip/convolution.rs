//! Convolutions over pictures whose pixels are rows of channels, and the folding of what networks
//! were trained with (norms, side branches) into one kernel each.

use candle_core::{CpuStorage, CustomOp1, Device, Layout, Shape, Tensor};
use rayon::prelude::*;

use crate::kernels::{self, Activation, Linear};
use crate::weights::{Weights, WeightsError};

/// Keeps the norms' division finite, in every published network.
const EPS: f64 = 1e-5;

/// How many pictures, and how many pixels each has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Pictures.
    pub count: usize,
    /// Rows of pixels.
    pub height: usize,
    /// Pixels in a row.
    pub width: usize,
}

impl Grid {
    /// Pixels of all pictures.
    pub fn pixels(&self) -> usize {
        self.count * self.height * self.width
    }

    /// Each picture as (first row, length).
    pub fn spans(&self) -> Vec<(usize, usize)> {
        let each = self.height * self.width;
        (0..self.count).map(|i| (i * each, each)).collect()
    }
}

/// A square window that walks over a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Pixels along a side.
    pub side: usize,
    /// Pixels from one place to the next.
    pub stride: usize,
    /// Pixels of nothing around the picture.
    pub padding: usize,
}

impl Window {
    /// A window whose places lie in the middle of it.
    pub fn centred(side: usize, stride: usize) -> Self {
        Self { side, stride, padding: side / 2 }
    }

    /// A window whose places do not touch each other.
    pub fn tile(side: usize) -> Self {
        Self { side, stride: side, padding: 0 }
    }

    /// The places over a grid.
    pub fn over(&self, grid: Grid) -> Grid {
        let along = |length: usize| {
            (length + 2 * self.padding).checked_sub(self.side).map_or(0, |n| n / self.stride + 1)
        };
        Grid { height: along(grid.height), width: along(grid.width), ..grid }
    }

    /// The pixel under a part of the window at a place along one direction, if it is inside.
    #[inline(always)]
    fn under(&self, place: usize, part: usize, length: usize) -> Option<usize> {
        (place * self.stride + part).checked_sub(self.padding).filter(|at| *at < length)
    }
}

/// A kernel with everything folded in: \[out\]\[in of its group\]\[side\]\[side\], and what is added.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// Outputs.
    pub out: usize,
    /// Inputs that each output looks at.
    pub into: usize,
    /// Pixels along a side.
    pub side: usize,
    kernel: Vec<f64>,
    bias: Vec<f64>,
}

/// A norm by fixed means and spreads: x · scale + shift.
struct Affine {
    scale: Vec<f64>,
    shift: Vec<f64>,
}

impl Affine {
    fn read(weights: &Weights, name: &str, channels: usize) -> Result<Self, WeightsError> {
        let part = |part: &str| weights.numbers(&format!("{name}.{part}"), &[channels]);
        let (weight, bias) = (part("weight")?, part("bias")?);
        let (mean, variance) = (part("running_mean")?, part("running_var")?);
        let scale = |(w, v): (&f32, &f32)| f64::from(*w) / (f64::from(v.max(0.0)) + EPS).sqrt();
        let scale: Vec<f64> = weight.iter().zip(&variance).map(scale).collect();
        let shifts = bias.iter().zip(&mean).zip(&scale);
        let shift = shifts.map(|((b, m), s)| f64::from(*b) - f64::from(*m) * s).collect();
        Ok(Self { scale, shift })
    }
}

impl Folded {
    /// One that does nothing.
    pub fn nothing(out: usize, into: usize, side: usize) -> Self {
        let kernel = vec![0.0; out * into * side * side];
        Self { out, into, side, kernel, bias: vec![0.0; out] }
    }

    /// A convolution as it stands in the file; `biased` if it adds something of its own.
    pub fn plain(
        weights: &Weights,
        name: &str,
        (out, into, side): (usize, usize, usize),
        biased: bool,
    ) -> Result<Self, WeightsError> {
        let kernel = weights.numbers(&format!("{name}.weight"), &[out, into, side, side])?;
        let bias = match biased {
            true => weights.numbers(&format!("{name}.bias"), &[out])?,
            false => vec![0.0; out],
        };
        let wide = |numbers: Vec<f32>| numbers.into_iter().map(f64::from).collect();
        Ok(Self { out, into, side, kernel: wide(kernel), bias: wide(bias) })
    }

    /// A convolution and the norm after it.
    pub fn normed(
        weights: &Weights,
        name: &str,
        shape: (usize, usize, usize),
    ) -> Result<Self, WeightsError> {
        let plain = Self::plain(weights, &format!("{name}.conv"), shape, false)?;
        Ok(plain.then(&Affine::read(weights, &format!("{name}.bn"), shape.0)?))
    }

    /// A norm alone, as a kernel that looks at its own pixel and channel.
    pub fn identity_normed(
        weights: &Weights,
        name: &str,
        (out, into, side): (usize, usize, usize),
    ) -> Result<Self, WeightsError> {
        Ok(Self::identity(out, into, side).then(&Affine::read(weights, name, out)?))
    }

    /// What leaves everything as it is, where outputs and inputs are as many.
    pub fn identity(out: usize, into: usize, side: usize) -> Self {
        let mut same = Self::nothing(out, into, side);
        let middle = side / 2 * side + side / 2;
        (0..out).for_each(|o| same.kernel[(o * into + o % into) * side * side + middle] = 1.0);
        same
    }

    fn then(mut self, affine: &Affine) -> Self {
        let each = self.into * self.side * self.side;
        for (o, kernel) in self.kernel.chunks_exact_mut(each).enumerate() {
            kernel.iter_mut().for_each(|x| *x *= affine.scale[o]);
            self.bias[o] = self.bias[o] * affine.scale[o] + affine.shift[o];
        }
        self
    }

    /// Every output times its own number.
    pub fn scaled(mut self, by: &[f32]) -> Self {
        let each = self.into * self.side * self.side;
        for (o, kernel) in self.kernel.chunks_exact_mut(each).enumerate() {
            kernel.iter_mut().for_each(|x| *x *= f64::from(by[o]));
            self.bias[o] *= f64::from(by[o]);
        }
        self
    }

    /// The sum of both, where a smaller kernel stands in the middle; `sign` -1 takes it away.
    pub fn plus(mut self, other: &Self, sign: f64) -> Self {
        let (side, inner) = (self.side, other.side);
        let edge = (side - inner) / 2;
        for (o, part) in (0..self.out * self.into).map(|i| (i * side * side, i * inner * inner)) {
            for (y, x) in (0..inner * inner).map(|i| (i / inner, i % inner)) {
                let at = o + (y + edge) * side + x + edge;
                self.kernel[at] += sign * other.kernel[part + y * inner + x];
            }
        }
        self.bias.iter_mut().zip(&other.bias).for_each(|(a, b)| *a += sign * b);
        self
    }

    /// As a product of rows: inputs lie as \[pixel of the window\]\[channel\].
    pub fn linear(&self) -> candle_core::Result<Linear> {
        let (parts, into) = (self.side * self.side, self.into);
        let places = (0..self.out).flat_map(|o| (0..parts).map(move |part| (o, part)));
        let numbers = places.flat_map(|(o, part)| {
            (0..into).map(move |i| self.kernel[(o * into + i) * parts + part] as f32)
        });
        let shape = (self.out, parts * into);
        Ok(Linear {
            weight: Tensor::from_vec(numbers.collect::<Vec<f32>>(), shape, &Device::Cpu)?,
            bias: Tensor::from_vec(self.added(), self.out, &Device::Cpu)?,
        })
    }

    /// A linear layer that takes what this, a norm of each channel, gives.
    pub fn before(&self, linear: &Linear) -> candle_core::Result<Linear> {
        let scale: Vec<f32> = self.kernel.iter().map(|x| *x as f32).collect();
        let scale = Tensor::new(scale, &Device::Cpu)?;
        let shift = Tensor::new(self.added(), &Device::Cpu)?.reshape((1, ()))?;
        let bias = linear.forward(&shift)?.flatten_all()?;
        Ok(Linear { weight: linear.weight.broadcast_mul(&scale)?, bias })
    }

    fn added(&self) -> Vec<f32> {
        self.bias.iter().map(|x| *x as f32).collect()
    }
}

/// A convolution in which every output looks at every input.
pub struct Dense {
    window: Window,
    linear: Linear,
}

impl Dense {
    /// From a folded kernel.
    pub fn new(folded: &Folded, window: Window) -> candle_core::Result<Self> {
        Ok(Self { window, linear: folded.linear()? })
    }

    /// \[pixels, in\] to \[places, out\].
    pub fn forward(
        &self,
        x: &Tensor,
        grid: Grid,
        activation: Option<Activation>,
    ) -> candle_core::Result<(Tensor, Grid)> {
        let rows = x.apply_op1_no_bwd(&Patches { window: self.window, grid })?;
        let y = match activation {
            Some(activation) => self.linear.forward_activated(&rows, activation)?,
            None => self.linear.forward(&rows)?,
        };
        Ok((y, self.window.over(grid)))
    }
}

/// The pixels under a window at each of its places, one row for a place.
struct Patches {
    window: Window,
    grid: Grid,
}

impl CustomOp1 for Patches {
    fn name(&self) -> &'static str {
        "patches"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let (_, channels) = layout.shape().dims2()?;
        let (window, grid, places) = (self.window, self.grid, self.window.over(self.grid));
        let x = kernels::numbers(storage, layout)?;
        let each = window.side * window.side * channels;
        let mut rows = vec![0.0f32; places.pixels() * each];
        for (place, row) in rows.chunks_exact_mut(each).enumerate() {
            let (left, line) = (place % places.width, place / places.width);
            let (top, picture) = (line % places.height, line / places.height);
            for (part, to) in row.chunks_exact_mut(channels).enumerate() {
                let y = window.under(top, part / window.side, grid.height);
                let x_at = window.under(left, part % window.side, grid.width);
                if let (Some(y), Some(at)) = (y, x_at) {
                    let from = ((picture * grid.height + y) * grid.width + at) * channels;
                    to.copy_from_slice(&x[from..from + channels]);
                }
            }
        }
        Ok((CpuStorage::F32(rows), (places.pixels(), each).into()))
    }
}

/// A convolution in which every output looks at one input; an input may have several outputs.
pub struct Depthwise {
    window: Window,
    out: usize,
    taps: Vec<f32>, // [side²][out]
    bias: Vec<f32>,
    activation: Option<Activation>,
}

impl Depthwise {
    /// From a folded kernel whose outputs look at one input each.
    pub fn new(folded: &Folded, stride: usize, activation: Option<Activation>) -> Self {
        let (out, parts) = (folded.out, folded.side * folded.side);
        let tap = |part: usize| (0..out).map(move |o| o * parts + part);
        let taps = (0..parts).flat_map(tap).map(|at| folded.kernel[at] as f32).collect();
        let window = Window::centred(folded.side, stride);
        Self { window, out, taps, bias: folded.added(), activation }
    }

    /// \[pixels, in\] to \[places, out\].
    pub fn forward(&self, x: &Tensor, grid: Grid) -> candle_core::Result<(Tensor, Grid)> {
        Ok((x.apply_op1_no_bwd(&Walk { by: self, grid })?, self.window.over(grid)))
    }

    /// One row of places.
    #[inline(always)]
    fn line(&self, pictures: &[f32], grid: Grid, (picture, top): (usize, usize), to: &mut [f32]) {
        let channels = pictures.len() / grid.pixels().max(1);
        for (left, sums) in to.chunks_exact_mut(self.out).enumerate() {
            sums.copy_from_slice(&self.bias);
            for (part, taps) in self.taps.chunks_exact(self.out).enumerate() {
                let y = self.window.under(top, part / self.window.side, grid.height);
                let x = self.window.under(left, part % self.window.side, grid.width);
                if let (Some(y), Some(x)) = (y, x) {
                    let at = ((picture * grid.height + y) * grid.width + x) * channels;
                    add_products(sums, taps, &pictures[at..at + channels]);
                }
            }
            match self.activation {
                Some(Activation::Gelu) => sums.iter_mut().for_each(|x| *x = kernels::gelu(*x)),
                Some(Activation::Relu) => sums.iter_mut().for_each(|x| *x = x.max(0.0)),
                None => {}
            }
        }
    }
}

#[inline(always)]
fn add_products(sums: &mut [f32], taps: &[f32], pixel: &[f32]) {
    if sums.len() == pixel.len() {
        let products = taps.iter().zip(pixel);
        sums.iter_mut().zip(products).for_each(|(sum, (tap, x))| *sum += tap * x);
        return;
    }
    let each = sums.len() / pixel.len().max(1);
    let groups = sums.chunks_exact_mut(each).zip(taps.chunks_exact(each));
    for ((sums, taps), x) in groups.zip(pixel) {
        sums.iter_mut().zip(taps).for_each(|(sum, tap)| *sum += tap * x);
    }
}

struct Walk<'a> {
    by: &'a Depthwise,
    grid: Grid,
}

impl CustomOp1 for Walk<'_> {
    fn name(&self) -> &'static str {
        "depthwise"
    }

    fn cpu_fwd(
        &self,
        storage: &CpuStorage,
        layout: &Layout,
    ) -> candle_core::Result<(CpuStorage, Shape)> {
        let (rows, channels) = layout.shape().dims2()?;
        if rows != self.grid.pixels() || channels == 0 || !self.by.out.is_multiple_of(channels) {
            let reason = format!("a depthwise convolution over [{rows}, {channels}]");
            return Err(candle_core::Error::Msg(reason));
        }
        let x = kernels::numbers(storage, layout)?;
        let places = self.by.window.over(self.grid);
        let mut out = vec![0.0f32; places.pixels() * self.by.out];
        let lines = out.par_chunks_mut((places.width * self.by.out).max(1)).enumerate();
        lines.for_each(|(line, to)| {
            let place = (line / places.height, line % places.height);
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || self.by.line(x, self.grid, place, to),
            );
        });
        Ok((CpuStorage::F32(out), (places.pixels(), self.by.out).into()))
    }
}

/// Scales every channel by what the whole picture says of it (squeeze and excitation).
pub struct Gate {
    squeeze: Linear,
    excite: Linear,
}

impl Gate {
    /// The gate of a file.
    pub fn load(
        weights: &Weights,
        name: &str,
        channels: usize,
        squeezed: usize,
    ) -> Result<Self, WeightsError> {
        let part =
            |part: &str, shape| Folded::plain(weights, &format!("{name}.{part}"), shape, true);
        Ok(Self {
            squeeze: part("fc1", (squeezed, channels, 1))?.linear()?,
            excite: part("fc2", (channels, squeezed, 1))?.linear()?,
        })
    }

    /// \[pixels, channels\] to the same, bent afterwards.
    pub fn forward(&self, x: &Tensor, grid: Grid) -> candle_core::Result<Tensor> {
        let (_, channels) = x.dims2()?;
        let pictures = x.reshape((grid.count, grid.height * grid.width, channels))?;
        let squeezed = self.squeeze.forward_activated(&pictures.mean(1)?, Activation::Relu)?;
        let shares = candle_nn::ops::sigmoid(&self.excite.forward(&squeezed)?)?;
        let gated = pictures.broadcast_mul(&shares.unsqueeze(1)?)?.gelu_erf()?;
        gated.reshape((grid.pixels(), channels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are the same every time.
    fn random(count: usize, seed: u32) -> Vec<f32> {
        let hash = |i: usize| (i as u32 + 7 * seed + 1).wrapping_mul(2_654_435_761);
        (0..count).map(|i| (hash(i).rotate_left(13) >> 8) as f32 / 8_388_608.0 - 1.0).collect()
    }

    fn folded(out: usize, into: usize, side: usize, seed: u32) -> Folded {
        let numbers = |count, seed| random(count, seed).into_iter().map(f64::from).collect();
        let kernel = numbers(out * into * side * side, seed);
        Folded { out, into, side, kernel, bias: numbers(out, seed + 1) }
    }

    /// The tensor library's convolution, rows in and out.
    fn plain(x: &Tensor, grid: Grid, folded: &Folded, window: Window, groups: usize) -> Tensor {
        let channels = x.dim(1).unwrap();
        let x = x.reshape((grid.count, grid.height, grid.width, channels)).unwrap();
        let x = x.permute((0, 3, 1, 2)).unwrap().contiguous().unwrap();
        let kernel: Vec<f32> = folded.kernel.iter().map(|x| *x as f32).collect();
        let shape = (folded.out, folded.into, folded.side, folded.side);
        let kernel = Tensor::from_vec(kernel, shape, &Device::Cpu).unwrap();
        let y = x.conv2d(&kernel, window.padding, window.stride, 1, groups).unwrap();
        let y = y.permute((0, 2, 3, 1)).unwrap().reshape(((), folded.out)).unwrap();
        y.broadcast_add(&Tensor::new(folded.added(), &Device::Cpu).unwrap()).unwrap()
    }

    fn assert_near(a: &Tensor, b: &Tensor) {
        assert_eq!(a.dims(), b.dims());
        let far = (a - b).unwrap().abs().unwrap().flatten_all().unwrap().max(0).unwrap();
        assert!(far.to_scalar::<f32>().unwrap() < 1e-4, "{far}");
    }

    #[test]
    fn both_kinds_equal_the_plain_convolution() {
        for (height, width, channels) in [(5, 7, 3), (8, 8, 4), (1, 2, 1)] {
            let grid = Grid { count: 2, height, width };
            let x = random(grid.pixels() * channels, 1);
            let x = Tensor::from_vec(x, (grid.pixels(), channels), &Device::Cpu).unwrap();
            for (side, stride) in [(1, 1), (3, 1), (3, 2), (7, 2)] {
                let window = Window::centred(side, stride);
                let dense = folded(6, channels, side, 2);
                let (ours, places) =
                    Dense::new(&dense, window).unwrap().forward(&x, grid, None).unwrap();
                assert_near(&ours, &plain(&x, grid, &dense, window, 1));
                assert_eq!(places.pixels(), ours.dim(0).unwrap());
                for each in [1, 2] {
                    let deep = folded(channels * each, 1, side, 3);
                    let (ours, _) = Depthwise::new(&deep, stride, None).forward(&x, grid).unwrap();
                    assert_near(&ours, &plain(&x, grid, &deep, window, channels));
                }
            }
        }
    }

    #[test]
    fn a_sum_of_kernels_is_the_sum_of_what_they_give() {
        let grid = Grid { count: 1, height: 6, width: 5 };
        let x = Tensor::from_vec(random(90, 5), (30, 3), &Device::Cpu).unwrap();
        let (large, small) = (folded(3, 1, 7, 1), folded(3, 1, 3, 2));
        let of = |folded: &Folded| Depthwise::new(folded, 1, None).forward(&x, grid).unwrap().0;
        let apart = (of(&large) - of(&small)).unwrap();
        assert_near(&of(&large.clone().plus(&small, -1.0)), &apart);
        assert_near(&of(&Folded::identity(3, 1, 3)), &x);
        let scales = [2.0f32, -1.0, 0.5];
        let by = Tensor::new(&scales[..], &Device::Cpu).unwrap();
        let after = of(&small).broadcast_mul(&by).unwrap();
        assert_near(&of(&small.scaled(&scales)), &after);
    }
}

/// Small networks of recipes/golden/clip.py, for the tests of those who are made of convolutions.
#[cfg(test)]
pub mod golden {
    use std::path::{Path, PathBuf};

    use super::*;

    fn file(name: &str) -> PathBuf {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny-mobileclip");
        data.join(name)
    }

    /// The weights of one.
    pub fn weights(name: &str) -> Weights {
        Weights::open_file(&file(&format!("{name}.safetensors"))).unwrap()
    }

    /// That a network gives the golden rows for two pictures whose pixels follow from a formula.
    pub fn check(name: &str, side: usize, network: impl Fn(&Weights, &Tensor, Grid) -> Tensor) {
        let grid = Grid { count: 2, height: side, width: side };
        let value = |n: usize| (n * 7919 % 251 + n * n / 97 % 193) as f32 / 444.0;
        let pixels: Vec<f32> = (0..3 * grid.pixels()).map(value).collect();
        let pixels = Tensor::from_vec(pixels, (grid.pixels(), 3), &Device::Cpu).unwrap();
        let ours = network(&weights(name), &pixels, grid).to_vec2::<f32>().unwrap();
        let theirs = std::fs::read(file(&format!("{name}.json"))).unwrap();
        let theirs: Vec<Vec<f32>> = serde_json::from_slice(&theirs).unwrap();
        assert_eq!((ours.len(), ours[0].len()), (theirs.len(), theirs[0].len()));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let largest = theirs.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            let far = ours.iter().zip(theirs).fold(0.0f32, |far, (a, b)| far.max((a - b).abs()));
            assert!(far < 2e-5 * largest, "{name}: off by {far} of {largest}");
        }
    }
}
