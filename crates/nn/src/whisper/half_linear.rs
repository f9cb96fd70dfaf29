//! A linear layer for a few rows: bound by reading the weights, so these are kept in 16 bits and each
//! is read once for all rows.

use half::f16;
use rayon::prelude::*;

use crate::kernels::{Activation, simd};
use crate::layers::{Linear, finish};
use crate::matrix::{Cores, Matrix, multiply_into};

/// Outputs that are converted to f32 at a time: their weights stay in the cache.
const BLOCK_OUTPUTS: usize = 64;

/// Blocks of outputs lie as \[inputs, outputs\], so that a product takes them as they are.
pub(super) struct HalfLinear {
    weight: Vec<f16>, // blocks of [inputs, BLOCK_OUTPUTS]
    bias: Vec<f32>,
    inputs: usize,
}

impl HalfLinear {
    pub fn new(Linear { weight, bias, inputs }: &Linear) -> Self {
        let (inputs, mut blocks) = (*inputs, Vec::with_capacity(weight.len()));
        for block in weight.chunks(BLOCK_OUTPUTS * inputs) {
            for i in 0..inputs {
                blocks.extend(block.iter().skip(i).step_by(inputs).map(|x| f16::from_f32(*x)));
            }
        }
        Self { weight: blocks, bias: bias.clone(), inputs }
    }

    /// One row of the weight, as an embedding.
    pub fn row(&self, number: usize) -> Option<Vec<f32>> {
        let (block, place) = (number / BLOCK_OUTPUTS, number % BLOCK_OUTPUTS);
        let block = self.weight.chunks(BLOCK_OUTPUTS * self.inputs).nth(block)?;
        let width = block.len() / self.inputs;
        let row = block.iter().skip(place).step_by(width).map(|x| x.to_f32());
        (place < width).then(|| row.collect())
    }

    /// activation(x Wᵀ + b)
    pub fn forward(&self, x: &[f32], activation: Option<Activation>) -> Vec<f32> {
        let (inputs, outputs) = (self.inputs, self.bias.len());
        let count = x.len() / inputs;
        let blocks = outputs.div_ceil(BLOCK_OUTPUTS).div_ceil(2 * rayon::current_num_threads());
        let tasks = self.weight.par_chunks(blocks * BLOCK_OUTPUTS * inputs);
        let parts: Vec<Vec<f32>> = tasks.map(|weight| some_outputs(x, weight, inputs)).collect();
        let mut rows = Vec::with_capacity(count * outputs);
        for c in 0..count {
            for part in &parts {
                let width = part.len() / count;
                rows.extend_from_slice(&part[c * width..(c + 1) * width]);
            }
        }
        let each = rows.par_chunks_exact_mut(outputs.max(1));
        each.for_each(|row| finish(row, &self.bias, activation));
        rows
    }
}

/// The product of x with some blocks of a weight, one in the cache at a time.
fn some_outputs(x: &[f32], weight: &[f16], inputs: usize) -> Vec<f32> {
    let (x, width) = (Matrix::new(x, inputs), weight.len() / inputs);
    let mut out = vec![0.0; x.row_count() * width];
    let mut block = vec![0.0f32; BLOCK_OUTPUTS * inputs];
    for (i, weight) in weight.chunks(BLOCK_OUTPUTS * inputs).enumerate() {
        let block = &mut block[..weight.len()];
        widen(weight, block);
        let block = Matrix::new(block, weight.len() / inputs);
        multiply_into(x, block, (&mut out[i * BLOCK_OUTPUTS..], width), false, Cores::One);
    }
    out
}

/// From 16 bits to 32, for finite values, in integer arithmetic that vectorises everywhere.
pub(super) fn widen(from: &[f16], to: &mut [f32]) {
    /// Between the exponents of the two, and one more for subnormal values.
    const BIAS: u32 = 112 << 23;
    const SUBNORMAL: u32 = 113 << 23;
    simd!({
        for (to, from) in to.iter_mut().zip(from) {
            let bits = u32::from(from.to_bits());
            let shifted = (bits & 0x7fff) << 13;
            let small = f32::from_bits(shifted + SUBNORMAL) - f32::from_bits(SUBNORMAL);
            let value = if bits & 0x7c00 == 0 { small.to_bits() } else { shifted + BIAS };
            *to = f32::from_bits(value | (bits & 0x8000) << 16);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::{assert_near, random};

    #[test]
    fn a_layer_in_16_bits_is_the_one_in_32() {
        let (x, weight, bias) = (random(70 * 33, 1), random(150 * 33, 2), random(150, 3));
        let weight: Vec<f32> = weight.iter().map(|w| f16::from_f32(*w).to_f32()).collect();
        let linear = Linear::new(weight.clone(), Some(bias), 33);
        let (expected, half) = (linear.forward(&x, None), HalfLinear::new(&linear));
        assert_near(&half.forward(&x, None), &expected, 1e-4);
        assert_near(&half.forward(&x[..33], None), &expected[..150], 1e-4);
        assert_eq!(half.row(149).as_deref(), Some(&weight[149 * 33..]));
        assert_eq!(half.row(150), None);
    }

    #[test]
    fn every_finite_value_of_16_bits_is_widened_exactly() {
        let all: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).filter(|x| x.is_finite()).collect();
        let mut wide = vec![0.0; all.len()];
        widen(&all, &mut wide);
        assert!(all.iter().zip(&wide).all(|(a, b)| a.to_f32().to_bits() == b.to_bits()));
    }
}
