//! Whisper's decoder: one token for each of a few lines at a time.

use half::f16;
use rayon::prelude::*;

use super::half_linear::{HalfLinear, widen};
use super::{EPS, WhisperConfig};
use crate::error::{NnError, Result};
use crate::kernels::{self, Activation, attend, simd};
use crate::layers::{LayerNorm, Linear, scaled_softmax};
use crate::matrix::{Cores, Matrix, multiply};
use crate::transformer::QKV;
use crate::weights::Scope;

/// Keys and values of one window's encoder output, by layer, in 16 bits: keys
/// \[heads, d / heads, positions\] and values \[heads, positions, d / heads\].
pub struct CrossCache {
    pub(super) layers: Vec<(Vec<f16>, Vec<f16>)>,
}

/// Keys and values of a line's tokens so far, by layer: \[tokens, d\] each.
#[derive(Clone, Default)]
pub struct SelfCache {
    pub(super) layers: Vec<(Vec<f32>, Vec<f32>)>,
}

pub(super) struct DecoderLayer {
    attention_norm: LayerNorm,
    qkv: HalfLinear, // [3·d, d]
    out: HalfLinear, // [d, d]
    cross_norm: LayerNorm,
    cross_query: HalfLinear, // [d, d]
    cross_kv: Linear,        // [2·d, d]
    cross_out: HalfLinear,   // [d, d]
    norm: LayerNorm,
    wide: HalfLinear,   // [4·d, d]
    narrow: HalfLinear, // [d, 4·d]
}

impl DecoderLayer {
    pub(super) fn load(scope: &Scope<'_>, config: &WhisperConfig) -> Result<Self> {
        let (d, hidden) = (config.d_model, config.decoder_ffn_dim);
        let half = |name: &str, outputs, inputs| {
            Ok::<_, NnError>(HalfLinear::new(&scope.linear(name, outputs, inputs)?))
        };
        Ok(Self {
            attention_norm: scope.layer_norm("self_attn_layer_norm", d, EPS)?,
            qkv: HalfLinear::new(&scope.at("self_attn").stacked(&QKV, d)?),
            out: half("self_attn.out_proj", d, d)?,
            cross_norm: scope.layer_norm("encoder_attn_layer_norm", d, EPS)?,
            cross_query: half("encoder_attn.q_proj", d, d)?,
            cross_kv: scope.at("encoder_attn").stacked(&QKV[1..], d)?,
            cross_out: half("encoder_attn.out_proj", d, d)?,
            norm: scope.layer_norm("final_layer_norm", d, EPS)?,
            wide: half("fc1", hidden, d)?,
            narrow: half("fc2", d, hidden)?,
        })
    }

    /// Keys and values of the encoder's output \[positions, d\].
    pub(super) fn cross(&self, x: &[f32], heads: usize) -> (Vec<f16>, Vec<f16>) {
        let kv = self.cross_kv.forward(x, None); // [positions, 2·d]
        let (d, mut keys) = (self.cross_kv.outputs() / 2, Vec::with_capacity(x.len()));
        for column in 0..d {
            keys.extend(kv.iter().skip(column).step_by(2 * d).map(|x| f16::from_f32(*x)));
        }
        let (size, mut values) = (d / heads, Vec::with_capacity(x.len()));
        for head in 0..heads {
            for row in kv.chunks_exact(2 * d) {
                values.extend(row[d + head * size..][..size].iter().map(|x| f16::from_f32(*x)));
            }
        }
        (keys, values)
    }

    /// One token of each line: \[lines, d\] to the same, in place. `attention` gets the weights of the
    /// encoder's positions, by window and head: \[lines, positions\] each.
    pub(super) fn forward(
        &self,
        x: &mut [f32],
        number: usize,
        heads: usize,
        lines: &mut [&mut SelfCache],
        windows: &[(&CrossCache, usize)],
        attention: Option<&mut Vec<f32>>,
    ) {
        let d = x.len() / lines.len().max(1);
        let qkv = self.qkv.forward(&self.attention_norm.forward(x), None); // [lines, 3·d]
        let mut attended = vec![0.0; x.len()];
        let rows = qkv.par_chunks_exact(3 * d).zip(lines).zip(attended.par_chunks_exact_mut(d));
        rows.for_each(|((qkv, line), out)| {
            let (keys, values) = &mut line.layers[number];
            keys.extend_from_slice(&qkv[d..2 * d]);
            values.extend_from_slice(&qkv[2 * d..]);
            self_attention(&qkv[..d], keys, values, heads, out);
        });
        kernels::add(x, &self.out.forward(&attended, None));
        let queries = self.cross_query.forward(&self.cross_norm.forward(x), None); // [lines, d]
        let attended = cross_attention(&queries, number, heads, windows, d, attention);
        kernels::add(x, &self.cross_out.forward(&attended, None));
        let hidden = self.wide.forward(&self.norm.forward(x), Some(Activation::Gelu));
        kernels::add(x, &self.narrow.forward(&hidden, None));
    }
}

/// The newest token attends to all of its line, itself included: all heads, keys and values
/// \[tokens, d\].
fn self_attention(query: &[f32], keys: &[f32], values: &[f32], heads: usize, out: &mut [f32]) {
    let (d, size) = (query.len(), query.len() / heads);
    let mut probs = vec![0.0; keys.len() / d];
    simd!({
        for at in (0..d).step_by(size) {
            let head = at..at + size;
            let keys = keys.chunks_exact(d).map(|row| &row[head.clone()]);
            let values = values.chunks_exact(d).map(|row| &row[head.clone()]);
            let (query, out) = (&query[head.clone()], &mut out[head.clone()]);
            attend(query, keys, values, None, &mut probs, out);
        }
    });
}

/// Every line attends to the encoder's output of its window: from \[lines, d\] to \[lines, d\].
fn cross_attention(
    queries: &[f32],
    number: usize,
    heads: usize,
    windows: &[(&CrossCache, usize)],
    d: usize,
    attention: Option<&mut Vec<f32>>,
) -> Vec<f32> {
    let size = d / heads;
    let starts = windows.iter().scan(0, |at, (_, lines)| {
        *at += lines;
        Some(*at - lines)
    });
    let windows = windows.iter().zip(starts);
    let tasks: Vec<_> = windows.flat_map(|window| (0..heads).map(move |h| (window, h))).collect();
    let parts: Vec<(Vec<f32>, Vec<f32>)> = tasks
        .par_iter()
        .map(|(((cache, lines), first), head)| {
            let (keys, values) = &cache.layers[number];
            let block = keys.len() / heads;
            let part = head * block..(head + 1) * block;
            let queries = &queries[first * d..(first + lines) * d];
            let of_head = |query: &[f32]| query[head * size..(head + 1) * size].to_vec();
            let queries: Vec<f32> = queries.chunks_exact(d).flat_map(of_head).collect();
            cross_attention_head(&queries, size, &keys[part.clone()], &values[part])
        })
        .collect();
    if let Some(attention) = attention {
        parts.iter().for_each(|(_, probs)| attention.extend_from_slice(probs));
    }
    let mut out = vec![0.0; queries.len()];
    for ((((_, lines), first), head), (part, _)) in tasks.iter().zip(&parts) {
        let rows = out[first * d..(first + lines) * d].chunks_exact_mut(d);
        for (row, part) in rows.zip(part.chunks_exact(size)) {
            row[head * size..(head + 1) * size].copy_from_slice(part);
        }
    }
    out
}

/// One head of a window's lines: queries \[lines, size\], keys \[size, positions\], values
/// \[positions, size\]. Each is converted to f32 once for all lines. Returns \[lines, size\] and the weights
/// \[lines, positions\].
fn cross_attention_head(
    queries: &[f32],
    size: usize,
    keys: &[f16],
    values: &[f16],
) -> (Vec<f32>, Vec<f32>) {
    let positions = keys.len() / size;
    let mut wide = vec![0.0f32; keys.len()];
    let mut scores = vec![0.0f32; queries.len() / size * positions];
    let mut out = vec![0.0f32; queries.len()];
    widen(keys, &mut wide);
    let (queries, keys) = (Matrix::new(queries, size), Matrix::new(&wide, positions));
    multiply(queries, keys, &mut scores, false, Cores::One);
    scaled_softmax(&mut scores, positions, size);
    widen(values, &mut wide);
    let (probs, values) = (Matrix::new(&scores, positions), Matrix::new(&wide, size));
    multiply(probs, values, &mut out, false, Cores::One);
    (out, scores)
}
