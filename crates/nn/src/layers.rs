//! Linear layers, layer norms and attention over rows, forward only. Sequences lie one after the
//! other as rows, without padding.

use rayon::prelude::*;

use crate::error::Result;
use crate::kernels::{self, Activation, attend, simd};
use crate::matrix::{Cores, Matrix, in_shares, multiply, multiply_into};
use crate::weights::Scope;

/// From this many rows per core on, each core multiplies its own rows and finishes them in its cache;
/// with fewer the product itself is shared. Chosen by hand.
const MIN_ROWS_PER_CORE: usize = 64;

/// From this length of a sequence on, attention is faster by matrix products. Chosen by hand.
const MIN_PRODUCT_LENGTH: usize = 512;

/// Queries that one task of these products takes: their scores stay in the cache.
const QUERIES_PER_TASK: usize = 250;

impl Scope<'_> {
    /// `name.weight` and `name.bias`.
    pub fn linear(&self, name: &str, outputs: usize, inputs: usize) -> Result<Linear> {
        let scope = self.at(name);
        let weight = scope.tensor("weight", &[outputs, inputs])?;
        Ok(Linear { weight, bias: scope.tensor("bias", &[outputs])?, inputs })
    }

    /// The tensor `name` as a layer without bias.
    pub fn unbiased(&self, name: &str, outputs: usize, inputs: usize) -> Result<Linear> {
        Ok(Linear::new(self.tensor(name, &[outputs, inputs])?, None, inputs))
    }

    /// Layers \[d, d\] with one input, stacked. Keys may lack their bias, which changes no probability.
    pub fn stacked(&self, parts: &[&str], d: usize) -> Result<Linear> {
        let part = |name: &&str| match *name {
            "k_proj" if !self.has("k_proj.bias") => self.unbiased("k_proj.weight", d, d),
            name => self.linear(name, d, d),
        };
        Ok(Linear::stack(parts.iter().map(part).collect::<Result<Vec<_>, _>>()?))
    }

    /// `name.weight` and `name.bias`.
    pub fn layer_norm(&self, name: &str, d: usize, eps: f64) -> Result<LayerNorm> {
        let scope = self.at(name);
        let (weight, bias) = (scope.tensor("weight", &[d])?, scope.tensor("bias", &[d])?);
        Ok(LayerNorm { weight, bias, eps: eps as f32 })
    }
}

/// y = x Wᵀ + b
#[derive(Clone, Debug)]
pub struct Linear {
    pub(crate) weight: Vec<f32>, // [out, in]
    pub(crate) bias: Vec<f32>,   // [out]
    pub(crate) inputs: usize,
}

impl Linear {
    /// No bias means zeros. `weight` is \[out, in\].
    pub fn new(weight: Vec<f32>, bias: Option<Vec<f32>>, inputs: usize) -> Self {
        let outputs = weight.len() / inputs.max(1);
        Self { bias: bias.unwrap_or_else(|| vec![0.0; outputs]), weight, inputs }
    }

    /// A convolution as a layer over \[taps, inputs\]; its weight is \[out, inputs, taps\].
    pub fn convolution(weight: &[f32], bias: Option<Vec<f32>>, inputs: usize, taps: usize) -> Self {
        let mut taps_first = Vec::with_capacity(weight.len());
        for row in weight.chunks_exact(taps * inputs) {
            (0..taps).for_each(|tap| taps_first.extend(row.iter().skip(tap).step_by(taps)));
        }
        Self::new(taps_first, bias, taps * inputs)
    }

    /// Layers with the same inputs as one, their outputs side by side.
    pub fn stack(parts: impl IntoIterator<Item = Self>) -> Self {
        let stack = |mut sum: Self, part: Self| {
            sum.weight.extend(part.weight);
            sum.bias.extend(part.bias);
            sum
        };
        parts.into_iter().reduce(stack).unwrap_or_else(|| Self::new(Vec::new(), None, 1))
    }

    /// The layer that computes only these outputs.
    pub fn outputs_only(&self, which: std::ops::Range<usize>) -> Self {
        let weight = self.weight[which.start * self.inputs..which.end * self.inputs].to_vec();
        Self::new(weight, Some(self.bias[which].to_vec()), self.inputs)
    }

    pub fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// activation(x Wᵀ + b): \[rows, in\] to \[rows, out\]
    pub fn forward(&self, x: &[f32], activation: Option<Activation>) -> Vec<f32> {
        self.forward_strided(Matrix::new(x, self.inputs), activation)
    }

    /// The same for rows that may overlap.
    pub(crate) fn forward_strided(
        &self,
        x: Matrix<'_>,
        activation: Option<Activation>,
    ) -> Vec<f32> {
        let mut out = vec![0.0; x.row_count() * self.outputs()];
        self.run(x, &mut out, false, activation);
        out
    }

    /// sum += x Wᵀ + b
    pub fn add_to(&self, sum: &mut [f32], x: &[f32]) {
        self.run(Matrix::new(x, self.inputs), sum, true, None);
    }

    fn run(
        &self,
        x: Matrix<'_>,
        out: &mut [f32],
        accumulate: bool,
        activation: Option<Activation>,
    ) {
        let (width, share) = (self.outputs(), x.row_count().div_ceil(rayon::current_num_threads()));
        let weight = Matrix::new(&self.weight, self.inputs).transposed();
        if share < MIN_ROWS_PER_CORE {
            multiply(x, weight, out, accumulate, Cores::All);
            return finish(out, &self.bias, activation);
        }
        out.par_chunks_mut(share * width).enumerate().for_each(|(i, out)| {
            let rows = x.rows(i * share..i * share + out.len() / width);
            multiply(rows, weight, out, accumulate, Cores::One);
            finish(out, &self.bias, activation);
        });
    }
}

/// activation(x + bias) of every row.
pub(crate) fn finish(x: &mut [f32], bias: &[f32], activation: Option<Activation>) {
    simd!(for row in x.chunks_exact_mut(bias.len()) {
        kernels::add(row, bias);
        if let Some(activation) = activation {
            activation.apply(row);
        }
    });
}

/// Layer normalisation over the last dimension.
#[derive(Clone, Debug)]
pub struct LayerNorm {
    weight: Vec<f32>, // [d]
    bias: Vec<f32>,   // [d]
    eps: f32,
}

impl LayerNorm {
    pub fn forward(&self, x: &[f32]) -> Vec<f32> {
        let mut out = x.to_vec();
        self.forward_in_place(&mut out);
        out
    }

    pub fn forward_in_place(&self, x: &mut [f32]) {
        let d = self.weight.len();
        in_shares!(x, Cores::All.row_share(x.len(), d), |_, part| {
            for row in part.chunks_exact_mut(d) {
                kernels::layer_norm(row, &self.weight, &self.bias, self.eps);
            }
        });
    }
}

/// Multi-head self-attention inside each sequence.
pub struct Attention<'a> {
    pub heads: usize,
    /// (first row, length) of each sequence.
    pub spans: &'a [(usize, usize)],
    pub bias: Option<&'a RelativeBias>,
}

/// What is added to the score of a key, by head and by its distance from the query.
#[derive(Clone, Debug)]
pub struct RelativeBias {
    /// The longest sequence it serves.
    pub max_length: usize,
    /// \[heads, 2·max_length - 1\]; the middle is distance 0.
    pub table: Vec<f32>,
}

impl RelativeBias {
    /// Forbids keys after their query.
    pub fn causal(heads: usize, max_length: usize) -> Self {
        let head = (0..2 * max_length - 1).map(|i| if i >= max_length { -1e9 } else { 0.0 });
        let table = std::iter::repeat_n(head.collect::<Vec<f32>>(), heads).flatten().collect();
        Self { max_length, table }
    }

    /// For one head and query, the terms of the keys 0, 1, ..
    #[inline(always)]
    fn row(&self, head: usize, query: usize) -> &[f32] {
        let start = head * (2 * self.max_length - 1) + self.max_length - 1 - query;
        &self.table[start..start + self.max_length]
    }
}

impl Attention<'_> {
    /// From queries, keys and values side by side \[rows, 3·d\] to \[rows, d\].
    ///
    /// # Panics
    /// If the heads do not divide d, or a sequence ends outside the rows or is longer than the bias.
    pub fn forward(&self, qkv: &[f32], d: usize) -> Vec<f32> {
        let rows = qkv.len() / (3 * d);
        let max_length = self.bias.map_or(usize::MAX, |bias| bias.max_length);
        let fits =
            |&(start, length): &(usize, usize)| start + length <= rows && length <= max_length;
        assert!(self.heads > 0 && d.is_multiple_of(self.heads), "heads do not divide the width");
        assert!(self.spans.iter().all(fits), "a sequence outside its rows");
        let mut out = vec![0.0; rows * d];
        for &(start, length) in self.spans {
            let sequence = &qkv[start * 3 * d..(start + length) * 3 * d];
            let out = &mut out[start * d..(start + length) * d];
            match self.bias {
                None if length >= MIN_PRODUCT_LENGTH => self.by_products(sequence, d, out),
                _ => simd!(self.by_rows(sequence, d, out)),
            }
        }
        out
    }

    #[inline(always)]
    fn by_rows(&self, sequence: &[f32], d: usize, out: &mut [f32]) {
        let (size, length) = (d / self.heads, out.len() / d);
        let mut probs = vec![0.0f32; length];
        for at in (0..d).step_by(size) {
            for (i, out) in out.chunks_exact_mut(d).enumerate() {
                let query = &sequence[i * 3 * d + at..][..size];
                let bias = self.bias.map(|bias| &bias.row(at / size, i)[..length]);
                let part = |from: usize| {
                    sequence.chunks_exact(3 * d).map(move |row| &row[from..from + size])
                };
                let (keys, values) = (part(d + at), part(2 * d + at));
                attend(query, keys, values, bias, &mut probs, &mut out[at..at + size]);
            }
        }
    }

    fn by_products(&self, sequence: &[f32], d: usize, out: &mut [f32]) {
        let (size, length) = (d / self.heads, out.len() / d);
        let qkv = Matrix::new(sequence, 3 * d);
        out.par_chunks_mut(QUERIES_PER_TASK * d).enumerate().for_each(|(task, out)| {
            let (first, count) = (task * QUERIES_PER_TASK, out.len() / d);
            let mut scores = vec![0.0; count * length];
            for at in (0..d).step_by(size) {
                let part = |part: usize| qkv.columns(part * d + at..part * d + at + size);
                let queries = part(0).rows(first..first + count);
                multiply(queries, part(1).transposed(), &mut scores, false, Cores::One);
                scaled_softmax(&mut scores, length, size);
                let probs = Matrix::new(&scores, length);
                multiply_into(probs, part(2), (&mut out[at..], d), false, Cores::One);
            }
        });
    }
}

/// softmax(scores / √size) of every row.
pub(crate) fn scaled_softmax(scores: &mut [f32], width: usize, size: usize) {
    let scale = 1.0 / (size as f32).sqrt();
    simd!(for row in scores.chunks_exact_mut(width) {
        row.iter_mut().for_each(|score| *score *= scale);
        kernels::softmax(row);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::{assert_near, random};

    /// The layer as plain sums.
    fn plain(linear: &Linear, x: &[f32]) -> Vec<f32> {
        let row = |x: &[f32]| -> Vec<f32> {
            let sum = |w: &[f32]| -> f32 { x.iter().zip(w).map(|(a, b)| a * b).sum() };
            let sums = linear.weight.chunks(linear.inputs).zip(&linear.bias);
            sums.map(|(w, b)| sum(w) + b).collect()
        };
        x.chunks(linear.inputs).flat_map(row).collect()
    }

    fn linear(outputs: usize, inputs: usize) -> Linear {
        Linear::new(random(outputs * inputs, 1), Some(random(outputs, 2)), inputs)
    }

    #[test]
    fn a_linear_layer_is_the_plain_sums() {
        for (rows, inputs, outputs) in [(1, 5, 3), (7, 32, 32), (70, 33, 150), (700, 33, 15)] {
            let (layer, x) = (linear(outputs, inputs), random(rows * inputs, 3));
            let expected = plain(&layer, &x);
            assert_near(&layer.forward(&x, None), &expected, 1e-4);
            let positive: Vec<f32> = expected.iter().map(|x| x.max(0.0)).collect();
            assert_near(&layer.forward(&x, Some(Activation::Relu)), &positive, 1e-4);
            let curved: Vec<f32> = expected.iter().map(|x| kernels::gelu(*x)).collect();
            assert_near(&layer.forward(&x, Some(Activation::Gelu)), &curved, 1e-4);
            let mut sum = random(rows * outputs, 4);
            let added: Vec<f32> = sum.iter().zip(&expected).map(|(a, b)| a + b).collect();
            layer.add_to(&mut sum, &x);
            assert_near(&sum, &added, 1e-4);
        }
    }

    #[test]
    fn rows_may_overlap() {
        let (layer, x) = (linear(2, 10), random(40, 1));
        let copied: Vec<f32> = (0..6).flat_map(|i| x[i * 5..i * 5 + 10].to_vec()).collect();
        let overlapping = Matrix::strided(&x, 6, 10, 5);
        let found = layer.forward_strided(overlapping, None);
        assert_near(&found, &plain(&layer, &copied), 1e-5);
    }

    #[test]
    fn layers_are_stacked_and_cut() {
        let (a, b, x) = (linear(4, 6), linear(3, 6), random(6, 5));
        let both = Linear::stack([a.clone(), b.clone()]);
        assert_near(&both.forward(&x, None), &[plain(&a, &x), plain(&b, &x)].concat(), 1e-5);
        assert_near(&both.outputs_only(4..7).forward(&x, None), &plain(&b, &x), 1e-5);
    }

    #[test]
    fn a_layer_norm_gives_mean_0_and_variance_1() {
        for (rows, d) in [(1, 5), (7, 32), (300, 100)] {
            let (weight, bias) = (random(d, 3), random(d, 4));
            let x = random(rows * d, 5);
            let norm = LayerNorm { weight: weight.clone(), bias: bias.clone(), eps: 1e-5 };
            let row = |x: &[f32]| -> Vec<f32> {
                let mean = x.iter().sum::<f32>() / d as f32;
                let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / d as f32;
                let one = |i: usize| (x[i] - mean) / (variance + 1e-5).sqrt() * weight[i] + bias[i];
                (0..d).map(one).collect()
            };
            let expected: Vec<f32> = x.chunks(d).flat_map(row).collect();
            assert_near(&norm.forward(&x), &expected, 1e-5);
        }
    }

    #[test]
    fn attention_stays_inside_its_sequence() {
        let (rows, d, heads) = (9, 24, 3);
        let qkv = random(rows * 3 * d, 1);
        let spans = [(0, 4), (4, 1), (5, 4)];
        let attention = |qkv: &[f32], spans: &[(usize, usize)]| {
            Attention { heads, spans, bias: None }.forward(qkv, d)
        };
        let all = attention(&qkv, &spans);
        for &(start, length) in &spans {
            let alone = attention(&qkv[start * 3 * d..(start + length) * 3 * d], &[(0, length)]);
            assert_near(&alone, &all[start * d..(start + length) * d], 1e-6);
        }
        // A sequence of one token attends to itself alone.
        assert_near(&all[4 * d..5 * d], &qkv[4 * 3 * d + 2 * d..5 * 3 * d], 1e-6);
    }

    #[test]
    fn a_causal_bias_hides_later_keys() {
        let (d, bias) = (4, RelativeBias::causal(2, 5));
        let mut qkv = random(3 * 3 * d, 1);
        let attention = Attention { heads: 2, spans: &[(0, 3)], bias: Some(&bias) };
        let before = attention.forward(&qkv, d);
        qkv[2 * 3 * d..].fill(7.0);
        let after = attention.forward(&qkv, d);
        assert_near(&before[..2 * d], &after[..2 * d], 1e-9);
    }

    #[test]
    fn sequences_outside_the_rows_are_refused() {
        let qkv = random(4 * 12, 1);
        for (heads, span) in [(2, (3, 2)), (3, (0, 4)), (0, (0, 4))] {
            let refused = std::panic::catch_unwind(|| {
                Attention { heads, spans: &[span], bias: None }.forward(&qkv, 4)
            });
            assert!(refused.is_err());
        }
    }
}
