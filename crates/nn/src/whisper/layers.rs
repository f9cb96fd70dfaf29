//! The layers of the recogniser on plain rows of numbers. What is wide (a whole window of sound) goes
//! through matrix products in f32; what is narrow (one token each of a few windows) is bound by
//! reading the weights, so these are kept in 16 bits and read once for all windows.

use gemm::{Parallelism, gemm};
use half::f16;
use rayon::prelude::*;

use crate::kernels::{self, vectorised};
use crate::weights::{Weights, WeightsError};

/// Rows that one task of a norm takes.
const ROWS: usize = 250;
/// Outputs of a narrow layer that are in f32 at a time: their weights stay in the cache.
const BLOCK: usize = 64;

/// Rows of numbers that may lie apart, or overlap.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The numbers.
    pub data: &'a [f32],
    /// How many rows there are.
    pub count: usize,
    /// How many numbers a row has.
    pub width: usize,
    /// From the start of a row to the start of the next.
    pub stride: usize,
}

impl<'a> Rows<'a> {
    /// Rows that lie one after the other.
    pub fn new(data: &'a [f32], width: usize) -> Self {
        Self { data, count: data.len() / width.max(1), width, stride: width }
    }

    fn some(self, from: usize, count: usize) -> Self {
        Self { data: &self.data[from * self.stride..], count, ..self }
    }

    /// That the last row ends inside the numbers; the products below rely on it.
    fn check(&self) {
        let end = self.count.saturating_sub(1) * self.stride + self.width;
        assert!(self.count == 0 || end <= self.data.len(), "rows end outside their numbers");
    }
}

/// out = x Wᵀ (+ out, where `add`), on this thread. `weight` is \[out width, x width\].
pub fn product(x: Rows, weight: Rows, out: &mut [f32], out_stride: usize, add: bool) {
    assert_eq!(x.width, weight.width, "a product of unequal widths");
    let strides = (1, weight.stride);
    multiply(x, weight, weight.count, strides, out, (out_stride, add));
}

/// out = Σ share · value: shares \[n, m\] times values \[m, width\], on this thread.
pub fn weighted(shares: Rows, values: Rows, out: &mut [f32], out_stride: usize) {
    assert_eq!(shares.width, values.count, "a product of unequal lengths");
    let strides = (values.stride, 1);
    multiply(shares, values, values.width, strides, out, (out_stride, false));
}

/// out = left · right (+ out, where `add`), of so many columns; `right` is walked down and across by
/// these strides, so that it may be taken as it stands or turned.
fn multiply(
    left: Rows,
    right: Rows,
    columns: usize,
    (down, across): (usize, usize),
    out: &mut [f32],
    (out_stride, add): (usize, bool),
) {
    left.check();
    right.check();
    let end = left.count.saturating_sub(1) * out_stride + columns;
    assert!(left.count == 0 || end <= out.len(), "a product has no room for its result");
    // SAFETY: every row of the three lies inside its slice, as checked above.
    unsafe {
        gemm(
            left.count,
            columns,
            left.width,
            out.as_mut_ptr(),
            1,
            out_stride as isize,
            add,
            left.data.as_ptr(),
            1,
            left.stride as isize,
            right.data.as_ptr(),
            across as isize,
            down as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// Rows that one task of a wide layer takes: as many as keep all cores busy, because every task
/// orders the weights anew.
fn share(rows: usize) -> usize {
    rows.div_ceil(rayon::current_num_threads()).max(1)
}

/// What a layer does with its sums.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// Nothing more.
    Nothing,
    /// The exact Gaussian error linear unit.
    Gelu,
}

/// A linear layer for many rows.
pub struct Wide {
    weight: Vec<f32>, // [out, into]
    bias: Vec<f32>,   // [out]
    into: usize,
}

impl Wide {
    /// A layer from its numbers; no bias means zeros.
    pub fn new(weight: Vec<f32>, bias: Option<Vec<f32>>, into: usize) -> Self {
        let out = weight.len() / into.max(1);
        Self { bias: bias.unwrap_or_else(|| vec![0.0; out]), weight, into }
    }

    /// How long a row of the result is.
    pub fn out(&self) -> usize {
        self.bias.len()
    }

    /// x Wᵀ + b for all rows, on all cores.
    pub fn forward(&self, x: Rows, after: After) -> Vec<f32> {
        let width = self.out();
        let mut out = vec![0.0; x.count * width];
        let share = share(x.count);
        out.par_chunks_mut(share * width).enumerate().for_each(|(i, out)| {
            let rows = out.len() / width;
            self.into(x.some(i * share, rows), out, after);
        });
        out
    }

    /// The same on this thread, into room that is there.
    fn into(&self, x: Rows, out: &mut [f32], after: After) {
        product(x, Rows::new(&self.weight, self.into), out, self.out(), false);
        vectorised(
            #[inline(always)]
            || {
                for row in out.chunks_exact_mut(self.bias.len()) {
                    kernels::add(row, &self.bias);
                    if after == After::Gelu {
                        row.iter_mut().for_each(|x| *x = kernels::gelu(*x));
                    }
                }
            },
        );
    }

    /// x += y Wᵀ + b for all rows, on all cores.
    pub fn add_to(&self, x: &mut [f32], y: Rows) {
        let (width, share) = (self.out(), share(y.count));
        x.par_chunks_mut(share * width).enumerate().for_each(|(i, x)| {
            let y = y.some(i * share, x.len() / width);
            product(y, Rows::new(&self.weight, self.into), x, width, true);
            vectorised(
                #[inline(always)]
                || x.chunks_exact_mut(width).for_each(|row| kernels::add(row, &self.bias)),
            );
        });
    }
}

/// A linear layer for a few rows: its weights are in 16 bits, in blocks of outputs that lie side by
/// side, so that a product takes them as they are.
pub struct Narrow {
    weight: Vec<f16>, // blocks of [into, BLOCK]
    bias: Option<Vec<f32>>,
    into: usize,
}

impl Narrow {
    /// A layer from its numbers \[out, into\].
    pub fn new(weight: &[f32], bias: Option<Vec<f32>>, into: usize) -> Self {
        let mut turned = Vec::with_capacity(weight.len());
        for block in weight.chunks(BLOCK * into) {
            for i in 0..into {
                turned.extend(block.iter().skip(i).step_by(into).map(|x| f16::from_f32(*x)));
            }
        }
        Self { weight: turned, bias, into }
    }

    fn out(&self) -> usize {
        self.weight.len() / self.into
    }

    /// One row of the weights, as an embedding.
    pub fn row(&self, number: usize) -> Option<Vec<f32>> {
        let (block, place) = (number / BLOCK, number % BLOCK);
        let block = self.weight.chunks(BLOCK * self.into).nth(block)?;
        let width = block.len() / self.into;
        let row = block.iter().skip(place).step_by(width).map(|x| x.to_f32());
        (place < width).then(|| row.collect())
    }

    /// x Wᵀ + b: each weight is read once, whatever the number of rows.
    pub fn forward(&self, x: &[f32], after: After) -> Vec<f32> {
        let (into, out) = (self.into, self.out());
        let count = x.len() / into;
        let blocks = out.div_ceil(BLOCK).div_ceil(2 * rayon::current_num_threads());
        let tasks = self.weight.par_chunks(blocks * BLOCK * into);
        let parts: Vec<Vec<f32>> = tasks.map(|weights| some_columns(x, weights, into)).collect();
        let mut rows = Vec::with_capacity(count * out);
        for c in 0..count {
            for part in &parts {
                let width = part.len() / count;
                rows.extend_from_slice(&part[c * width..(c + 1) * width]);
            }
        }
        rows.par_chunks_exact_mut(out.max(1)).for_each(|row| self.finish(row, after));
        rows
    }

    /// Bias and activation.
    fn finish(&self, row: &mut [f32], after: After) {
        vectorised(
            #[inline(always)]
            || {
                if let Some(bias) = &self.bias {
                    kernels::add(row, bias);
                }
                if after == After::Gelu {
                    row.iter_mut().for_each(|x| *x = kernels::gelu(*x));
                }
            },
        );
    }
}

/// The product of x with some blocks of a weight, one in the cache at a time.
fn some_columns(x: &[f32], weights: &[f16], into: usize) -> Vec<f32> {
    let (count, width) = (x.len() / into, weights.len() / into);
    let mut out = vec![0.0; count * width]; // [count, width]
    let mut block = vec![0.0f32; BLOCK * into];
    for (i, weights) in weights.chunks(BLOCK * into).enumerate() {
        let block = &mut block[..weights.len()];
        widened(weights, block);
        let block = Rows::new(block, weights.len() / into);
        weighted(Rows::new(x, into), block, &mut out[i * BLOCK..], width);
    }
    out
}

/// A layer norm.
pub struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// What keeps the division of a layer norm finite.
const EPS: f32 = 1e-5;

impl Norm {
    /// The norm of this name.
    pub fn load(weights: &Weights, name: &str, d: usize) -> Result<Self, WeightsError> {
        let part = |part: &str| weights.numbers(&format!("{name}.{part}"), &[d]);
        Ok(Self { weight: part("weight")?, bias: part("bias")? })
    }

    /// Every row normed, on all cores.
    pub fn forward(&self, x: &[f32]) -> Vec<f32> {
        let d = self.weight.len();
        let mut out = x.to_vec();
        out.par_chunks_mut(ROWS * d).for_each(|rows| {
            vectorised(
                #[inline(always)]
                || {
                    for row in rows.chunks_exact_mut(d) {
                        kernels::norm(row, &self.weight, &self.bias, EPS);
                    }
                },
            );
        });
        out
    }
}

/// From 16 bits to 32, for finite numbers, in whole-number arithmetic that vectorises everywhere.
#[inline(always)]
fn widen(from: &[f16], to: &mut [f32]) {
    /// Between the exponents of the two, and one more for the smallest numbers of 16 bits, which have
    /// no leading one.
    const BIAS: u32 = 112 << 23;
    const SMALL: u32 = 113 << 23;
    for (to, from) in to.iter_mut().zip(from) {
        let bits = u32::from(from.to_bits());
        let shifted = (bits & 0x7fff) << 13;
        let small = f32::from_bits(shifted + SMALL) - f32::from_bits(SMALL);
        let value = if bits & 0x7c00 == 0 { small.to_bits() } else { shifted + BIAS };
        *to = f32::from_bits(value | (bits & 0x8000) << 16);
    }
}

/// The same with the widest vector instructions of this machine.
pub fn widened(from: &[f16], to: &mut [f32]) {
    vectorised(
        #[inline(always)]
        || widen(from, to),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let hash = |i: usize| (i as u32 + 7 * seed + 1).wrapping_mul(2_654_435_761);
        (0..count).map(|i| (hash(i).rotate_left(13) >> 8) as f32 / 8_388_608.0 - 1.0).collect()
    }

    fn plain(x: &[f32], weight: &[f32], bias: &[f32], into: usize) -> Vec<f32> {
        let row = |x: &[f32]| -> Vec<f32> {
            let sum = |w: &[f32]| -> f32 { x.iter().zip(w).map(|(a, b)| a * b).sum() };
            weight.chunks(into).zip(bias).map(|(w, b)| sum(w) + b).collect()
        };
        x.chunks(into).flat_map(row).collect()
    }

    fn near(a: &[f32], b: &[f32], by: f32) {
        assert_eq!(a.len(), b.len());
        let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < by, "{far}");
    }

    #[test]
    fn wide_and_narrow_layers_are_the_plain_sums() {
        let (x, weight, bias) = (numbers(70 * 33, 1), numbers(150 * 33, 2), numbers(150, 3));
        let weight: Vec<f32> = weight.iter().map(|w| f16::from_f32(*w).to_f32()).collect();
        let expected = plain(&x, &weight, &bias, 33);
        let wide = Wide::new(weight.clone(), Some(bias.clone()), 33);
        near(&wide.forward(Rows::new(&x, 33), After::Nothing), &expected, 1e-4);
        let narrow = Narrow::new(&weight, Some(bias), 33);
        near(&narrow.forward(&x, After::Nothing), &expected, 1e-4);
        near(&narrow.forward(&x[..33], After::Nothing), &expected[..150], 1e-4);
        assert_eq!(narrow.row(149).as_deref(), Some(&weight[149 * 33..]));
        assert_eq!(narrow.row(150), None);
        let mut sum = numbers(70 * 150, 4);
        let added: Vec<f32> = sum.iter().zip(&expected).map(|(a, b)| a + b).collect();
        wide.add_to(&mut sum, Rows::new(&x, 33));
        near(&sum, &added, 1e-4);
    }

    #[test]
    fn every_finite_number_of_16_bits_is_widened_exactly() {
        let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).filter(|x| x.is_finite()).collect();
        let mut wide = vec![0.0; all.len()];
        widen(&all, &mut wide);
        assert!(all.iter().zip(&wide).all(|(a, b)| a.to_f32().to_bits() == b.to_bits()));
    }

    #[test]
    fn rows_may_overlap() {
        let x = numbers(40, 1);
        let weight = numbers(2 * 10, 2);
        let rows = Rows { data: &x, count: 6, width: 10, stride: 5 };
        let copied: Vec<f32> = (0..6).flat_map(|i| x[i * 5..i * 5 + 10].to_vec()).collect();
        let wide = Wide::new(weight.clone(), None, 10);
        let expected = plain(&copied, &weight, &[0.0, 0.0], 10);
        near(&wide.forward(rows, After::Nothing), &expected, 1e-5);
    }

    #[test]
    #[should_panic(expected = "rows end outside")]
    fn rows_outside_their_numbers_are_refused() {
        let x = [0.0; 9];
        product(
            Rows { data: &x, count: 2, width: 5, stride: 5 },
            Rows::new(&x[..5], 5),
            &mut [0.0; 2],
            1,
            false,
        );
    }
}
