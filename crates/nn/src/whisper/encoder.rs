//! Whisper's encoder: two convolutions, then transformer layers over all positions of a window.

use rayon::prelude::*;

use super::mel::FRAMES;
use super::{EPS, QKV, WhisperConfig, stacked};
use crate::error::NnError;
use crate::kernels::{self, Activation, vectorised};
use crate::layers::{LayerNorm, Linear};
use crate::matrix::{Cores, Matrix, multiply, multiply_into};
use crate::weights::Scope;

/// Queries that one task takes: their scores stay in the cache.
const QUERIES_PER_TASK: usize = 250;

const GELU: Option<Activation> = Some(Activation::Gelu);

/// Two convolutions, of which the second halves the frames, and the positions.
pub(super) struct Stem {
    conv1: Linear, // [d, 3·bands]
    conv2: Linear, // [d, 3·d]
    positions: Vec<f32>,
}

impl Stem {
    pub(super) fn load(scope: &Scope<'_>, config: &WhisperConfig) -> Result<Self, NnError> {
        let d = config.d_model;
        let convolution = |name: &str, inputs: usize| {
            let scope = scope.at(name);
            let (weight, bias) =
                (scope.tensor("weight", &[d, inputs, 3])?, scope.tensor("bias", &[d])?);
            Ok::<_, NnError>(Linear::conv1d(&weight, bias, inputs))
        };
        let shape = [config.max_source_positions, d];
        Ok(Self {
            conv1: convolution("conv1", config.num_mel_bins)?,
            conv2: convolution("conv2", d)?,
            positions: scope.tensor("embed_positions.weight", &shape)?,
        })
    }

    /// Three taps lie side by side in memory, so a convolution is a product of overlapping rows.
    pub(super) fn forward(&self, spectrum: &[f32]) -> Vec<f32> {
        let bands = spectrum.len() / FRAMES;
        let padded = padded(spectrum, bands);
        let taps = Matrix::strided(&padded, FRAMES, 3 * bands, bands);
        let x = self.conv1.forward_strided(taps, GELU); // [FRAMES, d]
        let d = self.conv2.outputs();
        let padded = self::padded(&x, d);
        let taps = Matrix::strided(&padded, FRAMES / 2, 3 * d, 2 * d);
        let mut x = self.conv2.forward_strided(taps, GELU); // [positions, d]
        kernels::add(&mut x, &self.positions);
        x
    }
}

/// A row of zeros before and after.
fn padded(x: &[f32], width: usize) -> Vec<f32> {
    let mut padded = vec![0.0; x.len() + 2 * width];
    padded[width..width + x.len()].copy_from_slice(x);
    padded
}

pub(super) struct EncoderLayer {
    attention_norm: LayerNorm,
    qkv: Linear, // [3·d, d]
    out: Linear, // [d, d]
    norm: LayerNorm,
    wide: Linear,   // [4·d, d]
    narrow: Linear, // [d, 4·d]
    heads: usize,
}

impl EncoderLayer {
    pub(super) fn load(scope: &Scope<'_>, config: &WhisperConfig) -> Result<Self, NnError> {
        let (d, hidden) = (config.d_model, config.encoder_ffn_dim);
        Ok(Self {
            attention_norm: scope.layer_norm("self_attn_layer_norm", d, EPS)?,
            qkv: stacked(&scope.at("self_attn"), &QKV, d)?,
            out: scope.linear("self_attn.out_proj", d, d)?,
            norm: scope.layer_norm("final_layer_norm", d, EPS)?,
            wide: scope.linear("fc1", hidden, d)?,
            narrow: scope.linear("fc2", d, hidden)?,
            heads: config.encoder_attention_heads,
        })
    }

    /// \[positions, d\] to the same, in place.
    pub(super) fn forward(&self, x: &mut [f32]) {
        let qkv = self.qkv.forward(&self.attention_norm.forward(x), None); // [positions, 3·d]
        self.out.add_to(x, &attention(&qkv, self.out.outputs(), self.heads));
        let hidden = self.wide.forward(&self.norm.forward(x), GELU); // [positions, 4·d]
        self.narrow.add_to(x, &hidden);
    }
}

/// Every position attends to every position: from \[positions, 3·d\] to \[positions, d\]. By matrix
/// products, which pay for sequences of this length.
fn attention(qkv: &[f32], d: usize, heads: usize) -> Vec<f32> {
    let (size, positions) = (d / heads, qkv.len() / (3 * d));
    let qkv = Matrix::new(qkv, 3 * d);
    let mut out = vec![0.0; positions * d];
    out.par_chunks_mut(QUERIES_PER_TASK * d).enumerate().for_each(|(task, out)| {
        let (first, count) = (task * QUERIES_PER_TASK, out.len() / d);
        let mut scores = vec![0.0; count * positions];
        for at in (0..d).step_by(size) {
            let part = |part: usize| qkv.columns(part * d + at..part * d + at + size);
            let queries = part(0).rows(first..first + count);
            multiply(queries, part(1).transposed(), &mut scores, false, Cores::One);
            scaled_softmax(&mut scores, positions, size);
            let probs = Matrix::new(&scores, positions);
            multiply_into(probs, part(2), (&mut out[at..], d), false, Cores::One);
        }
    });
    out
}

/// softmax(scores / √size) of every row.
pub(super) fn scaled_softmax(scores: &mut [f32], width: usize, size: usize) {
    let scale = 1.0 / (size as f32).sqrt();
    vectorised(
        #[inline(always)]
        || {
            for row in scores.chunks_exact_mut(width) {
                row.iter_mut().for_each(|score| *score *= scale);
                kernels::softmax(row);
            }
        },
    );
}
