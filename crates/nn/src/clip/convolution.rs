//! Convolutions over pictures whose pixels are rows of channels.

use rayon::prelude::*;

use super::fused_kernel::FusedKernel;
use crate::error::NnError;
use crate::kernels::{self, Activation, gelu, sigmoid, simd};
use crate::layers::Linear;
use crate::weights::Scope;

/// How many pictures, and how many pixels each has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub count: usize,
    pub height: usize,
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

    /// The mean over each picture's pixels: \[pixels, channels\] to \[pictures, channels\]
    pub fn mean(&self, x: &[f32]) -> Vec<f32> {
        let (each, channels) = (self.height * self.width, x.len() / self.pixels().max(1));
        let mut means = vec![0.0; self.count * channels];
        let pictures = x.chunks_exact(each * channels).zip(means.chunks_exact_mut(channels));
        for (picture, mean) in pictures {
            picture.chunks_exact(channels).for_each(|pixel| kernels::add(mean, pixel));
            mean.iter_mut().for_each(|x| *x /= each as f32);
        }
        means
    }
}

/// The square window of a convolution, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub side: usize,
    pub stride: usize,
    pub padding: usize,
}

impl Window {
    /// With as much padding as keeps the size at stride 1.
    pub fn centred(side: usize, stride: usize) -> Self {
        Self { side, stride, padding: side / 2 }
    }

    /// Without overlap or padding.
    pub fn tile(side: usize) -> Self {
        Self { side, stride: side, padding: 0 }
    }

    /// The output's grid.
    pub fn over(&self, grid: Grid) -> Grid {
        let along = |length: usize| {
            (length + 2 * self.padding).checked_sub(self.side).map_or(0, |n| n / self.stride + 1)
        };
        Grid { height: along(grid.height), width: along(grid.width), ..grid }
    }

    /// The input pixel under a tap at an output place along one direction, if it is inside.
    #[inline(always)]
    fn under(&self, place: usize, tap: usize, length: usize) -> Option<usize> {
        (place * self.stride + tap).checked_sub(self.padding).filter(|at| *at < length)
    }
}

/// A convolution in which every output depends on every input.
pub struct Conv2d {
    pub window: Window,
    pub linear: Linear, // [outputs, side²·inputs]
}

impl Conv2d {
    pub fn new(kernel: &FusedKernel, window: Window) -> Self {
        Self { window, linear: kernel.linear() }
    }

    /// \[pixels, inputs\] to \[output pixels, outputs\].
    pub fn forward(
        &self,
        x: &[f32],
        grid: Grid,
        activation: Option<Activation>,
    ) -> (Vec<f32>, Grid) {
        let y = self.linear.forward(&self.patches(x, grid), activation);
        (y, self.window.over(grid))
    }

    /// The pixels under the window at each output pixel: \[output pixels, side², inputs\] (im2col).
    fn patches(&self, x: &[f32], grid: Grid) -> Vec<f32> {
        let (window, out) = (self.window, self.window.over(grid));
        let channels = x.len() / grid.pixels().max(1);
        let each = window.side * window.side * channels;
        let mut rows = vec![0.0f32; out.pixels() * each];
        for (place, row) in rows.chunks_exact_mut(each).enumerate() {
            let (left, line) = (place % out.width, place / out.width);
            let (top, picture) = (line % out.height, line / out.height);
            for (tap, to) in row.chunks_exact_mut(channels).enumerate() {
                let y = window.under(top, tap / window.side, grid.height);
                let at = window.under(left, tap % window.side, grid.width);
                if let (Some(y), Some(at)) = (y, at) {
                    let from = ((picture * grid.height + y) * grid.width + at) * channels;
                    to.copy_from_slice(&x[from..from + channels]);
                }
            }
        }
        rows
    }
}

/// A convolution in which every output depends on one input; an input may have several outputs.
pub struct DepthwiseConv2d {
    window: Window,
    taps: Vec<f32>, // [side², outputs]
    bias: Vec<f32>, // [outputs]
    activation: Option<Activation>,
}

impl DepthwiseConv2d {
    /// From a kernel with one input for each output.
    pub fn new(kernel: &FusedKernel, stride: usize, activation: Option<Activation>) -> Self {
        let window = Window::centred(kernel.side(), stride);
        Self { window, taps: kernel.taps(), bias: kernel.bias(), activation }
    }

    /// \[pixels, inputs\] to \[output pixels, outputs\].
    pub fn forward(&self, x: &[f32], grid: Grid) -> (Vec<f32>, Grid) {
        let (out, outputs) = (self.window.over(grid), self.bias.len());
        let mut y = vec![0.0f32; out.pixels() * outputs];
        let lines = y.par_chunks_mut((out.width * outputs).max(1)).enumerate();
        lines.for_each(|(line, to)| {
            let place = (line / out.height, line % out.height);
            simd!(self.line(x, grid, place, to));
        });
        (y, out)
    }

    /// One line of output pixels.
    #[inline(always)]
    fn line(&self, pictures: &[f32], grid: Grid, (picture, top): (usize, usize), to: &mut [f32]) {
        let (channels, outputs) = (pictures.len() / grid.pixels().max(1), self.bias.len());
        for (left, sums) in to.chunks_exact_mut(outputs).enumerate() {
            sums.copy_from_slice(&self.bias);
            for (tap, taps) in self.taps.chunks_exact(outputs).enumerate() {
                let y = self.window.under(top, tap / self.window.side, grid.height);
                let x = self.window.under(left, tap % self.window.side, grid.width);
                if let (Some(y), Some(x)) = (y, x) {
                    let at = ((picture * grid.height + y) * grid.width + x) * channels;
                    add_products(sums, taps, &pictures[at..at + channels]);
                }
            }
            if let Some(activation) = self.activation {
                activation.apply(sums);
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
    groups.zip(pixel).for_each(|((sums, taps), x)| kernels::add_scaled(sums, *x, taps));
}

/// Squeeze and excitation: scales every channel by what the whole picture says of it; then GELU.
pub struct SqueezeExcite {
    squeeze: Linear,
    excite: Linear,
}

impl SqueezeExcite {
    pub fn load(scope: &Scope<'_>, channels: usize, squeezed: usize) -> Result<Self, NnError> {
        let part = |name: &str, shape| FusedKernel::plain(&scope.at(name), shape, true);
        let squeeze = part("fc1", (squeezed, channels, 1))?.linear();
        Ok(Self { squeeze, excite: part("fc2", (channels, squeezed, 1))?.linear() })
    }

    /// \[pixels, channels\] to the same, in place.
    pub fn forward(&self, x: &mut [f32], grid: Grid) {
        let squeezed = self.squeeze.forward(&grid.mean(x), Some(Activation::Relu));
        let gates = self.excite.forward(&squeezed, None); // [pictures, channels]
        let channels = self.excite.outputs();
        let lines = x.par_chunks_mut(grid.width * channels).enumerate();
        lines.for_each(|(line, pixels)| {
            let picture = line / grid.height;
            let gates = &gates[picture * channels..(picture + 1) * channels];
            simd!({
                for pixel in pixels.chunks_exact_mut(channels) {
                    let gated = pixel.iter_mut().zip(gates);
                    gated.for_each(|(x, gate)| *x = gelu(*x * sigmoid(*gate)));
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::fused_kernel::KernelShape;
    use crate::kernels::tests::{assert_near, random};

    fn kernel((outputs, inputs, side): KernelShape, seed: u32) -> FusedKernel {
        let kernel = random(outputs * inputs * side * side, seed);
        FusedKernel::new((outputs, inputs, side), &kernel, &random(outputs, seed + 1))
    }

    /// The convolution by its definition: output o of group o / (outputs / groups).
    fn plain(
        x: &[f32],
        grid: Grid,
        shape: KernelShape,
        (seed, groups): (u32, usize),
        window: Window,
    ) -> Vec<f32> {
        let (outputs, inputs, side) = shape;
        let kernel = random(outputs * inputs * side * side, seed);
        let bias = random(outputs, seed + 1);
        let (out, channels) = (window.over(grid), inputs * groups);
        let pixel = |picture: usize, y: isize, x_at: isize, c: usize| {
            let inside =
                (0..grid.height as isize).contains(&y) && (0..grid.width as isize).contains(&x_at);
            let row = (picture * grid.height + y.max(0) as usize) * grid.width;
            if inside { x[(row + x_at as usize) * channels + c] } else { 0.0 }
        };
        let mut y = Vec::new();
        for place in 0..out.pixels() {
            let (left, line) = (place % out.width, place / out.width);
            let (top, picture) = (line % out.height, line / out.height);
            let start = |at: usize| (at * window.stride) as isize - window.padding as isize;
            for o in 0..outputs {
                let first = o / (outputs / groups) * inputs;
                let mut sum = bias[o];
                for (i, tap) in (0..inputs).flat_map(|i| (0..side * side).map(move |t| (i, t))) {
                    let (dy, dx) = ((tap / side) as isize, (tap % side) as isize);
                    let x = pixel(picture, start(top) + dy, start(left) + dx, first + i);
                    sum += kernel[(o * inputs + i) * side * side + tap] * x;
                }
                y.push(sum);
            }
        }
        y
    }

    #[test]
    fn both_kinds_equal_the_plain_convolution() {
        for (height, width, channels) in [(5, 7, 3), (8, 8, 4), (1, 2, 1)] {
            let grid = Grid { count: 2, height, width };
            let x = random(grid.pixels() * channels, 1);
            for (side, stride) in [(1, 1), (3, 1), (3, 2), (7, 2)] {
                let window = Window::centred(side, stride);
                let dense = (6, channels, side);
                let (ours, out) = Conv2d::new(&kernel(dense, 2), window).forward(&x, grid, None);
                assert_near(&ours, &plain(&x, grid, dense, (2, 1), window), 1e-4);
                assert_eq!(out.pixels() * 6, ours.len());
                for each in [1, 2] {
                    let deep = (channels * each, 1, side);
                    let ours = DepthwiseConv2d::new(&kernel(deep, 3), stride, None);
                    let expected = plain(&x, grid, deep, (3, channels), window);
                    assert_near(&ours.forward(&x, grid).0, &expected, 1e-4);
                }
            }
        }
    }

    #[test]
    fn a_sum_of_kernels_is_the_sum_of_what_they_give() {
        let grid = Grid { count: 1, height: 6, width: 5 };
        let x = random(90, 5);
        let (large, small) = (kernel((3, 1, 7), 1), kernel((3, 1, 3), 2));
        let of = |kernel: &FusedKernel| DepthwiseConv2d::new(kernel, 1, None).forward(&x, grid).0;
        let pairs = of(&large).into_iter().zip(of(&small));
        let apart: Vec<f32> = pairs.map(|(a, b)| a - b).collect();
        assert_near(&of(&large.clone().plus(&small, -1.0)), &apart, 1e-4);
        assert_near(&of(&FusedKernel::identity((3, 1, 3))), &x, 1e-4);
        let scales = [2.0f32, -1.0, 0.5];
        let after = of(&small).into_iter().enumerate().map(|(i, x)| x * scales[i % 3]);
        let after: Vec<f32> = after.collect();
        assert_near(&of(&small.scaled(&scales)), &after, 1e-4);
    }
}

/// Small networks of recipes/golden/clip.py, for the tests of the image encoders.
#[cfg(test)]
pub mod golden {
    use std::path::{Path, PathBuf};

    use super::Grid;
    use crate::weights::Weights;

    fn file(name: &str) -> PathBuf {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny-mobileclip");
        data.join(name)
    }

    /// The weights of one.
    pub fn weights(name: &str) -> Weights {
        Weights::open_file(&file(&format!("{name}.safetensors"))).unwrap()
    }

    /// That a network gives the golden rows for two pictures whose pixels follow from a formula.
    pub fn check(name: &str, side: usize, network: impl Fn(&Weights, &[f32], Grid) -> Vec<f32>) {
        let grid = Grid { count: 2, height: side, width: side };
        let value = |n: usize| (n * 7919 % 251 + n * n / 97 % 193) as f32 / 444.0;
        let pixels: Vec<f32> = (0..3 * grid.pixels()).map(value).collect();
        let ours = network(&weights(name), &pixels, grid);
        let theirs = std::fs::read(file(&format!("{name}.json"))).unwrap();
        let theirs: Vec<Vec<f32>> = serde_json::from_slice(&theirs).unwrap();
        assert_eq!(ours.len(), theirs.len() * theirs[0].len());
        for (ours, theirs) in ours.chunks_exact(theirs[0].len()).zip(&theirs) {
            let largest = theirs.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            let far = ours.iter().zip(theirs).fold(0.0f32, |far, (a, b)| far.max((a - b).abs()));
            assert!(far < 2e-5 * largest, "{name}: off by {far} of {largest}");
        }
    }
}
