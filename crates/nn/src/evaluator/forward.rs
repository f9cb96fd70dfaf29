//! The forward pass on CPU, from steps to logits. Sequences lie one after the other, without padding.
//! R = all rows, B = sequences, A = rows with a query: all of them, but in the last layer only the CLS
//! tokens, because nothing reads the rest.

use std::ops::Range;

use super::activations::{Activations, LayerActivations, NormCache};
use super::attention::{PackedAttention, Sequences, attend_to_inputs};
use super::config::EvaluatorConfig;
use super::dropout::{Dropout, EMBEDDING_SITE, LayerSite};
use super::layers::{activate, add_bias, add_residual, apply_dropout};
use super::parameters::{LayerRange, LinearRange, NormRange, ParameterLayout};
use crate::kernels::{add, dot};
use crate::matrix::{Cores, Matrix, multiply, multiply_into};

/// Sequences of steps, ready for the network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// \[steps of all sequences, inputs\]
    pub inputs: Vec<f32>,
    /// How many steps each sequence has.
    pub lengths: Vec<usize>,
}

/// The network with its parameters, for one pass.
#[derive(Clone, Copy)]
pub(super) struct Network<'a> {
    pub config: &'a EvaluatorConfig,
    pub layout: &'a ParameterLayout,
    pub parameters: &'a [f32],
    pub dropout: Dropout,
    pub cores: Cores,
}

/// Embedded tokens with their queries, keys and values in the first layer.
pub struct EmbeddedTokens {
    width: usize,
    x: Vec<f32>,           // [T, d]
    queries: Vec<f32>,     // [T, d]
    keys_values: Vec<f32>, // [T, 2·d]
}

impl Activations {
    /// Begins a pass over sequences of embedded tokens, given as rows of these.
    pub(super) fn begin_with_tokens(
        &mut self,
        lengths: impl Iterator<Item = usize>,
        rows: impl Iterator<Item = usize> + Clone,
        tokens: &EmbeddedTokens,
        layers: usize,
    ) {
        self.sequences = Sequences::new(lengths);
        let d = tokens.width;
        gather(&tokens.x, d, rows.clone(), &mut self.x);
        let saved = &mut self.layers[0];
        gather(&tokens.keys_values, 2 * d, rows.clone(), &mut saved.keys_values);
        match layers {
            1 => {
                let rows: Vec<usize> = rows.collect();
                let cls = self.sequences.cls_rows().map(|row| rows[row]);
                gather(&tokens.queries, d, cls, &mut saved.queries);
            }
            _ => gather(&tokens.queries, d, rows, &mut saved.queries),
        }
    }
}

impl Network<'_> {
    pub(super) fn at(&self, range: &Range<usize>) -> &[f32] {
        &self.parameters[range.clone()]
    }

    fn norm_parameters(&self, range: &NormRange) -> (&[f32], &[f32]) {
        (self.at(&range.weight), self.at(&range.bias))
    }

    /// x Wᵀ, without the bias.
    fn product(&self, range: &LinearRange, x: &[f32], out: &mut Vec<f32>) {
        resize(out, x.len() / range.inputs * range.outputs);
        let weight = Matrix::new(self.at(&range.weight), range.inputs);
        multiply(Matrix::new(x, range.inputs), weight.transposed(), out, false, self.cores);
    }

    /// x Wᵀ + b
    fn linear(&self, range: &LinearRange, x: &[f32], out: &mut Vec<f32>) {
        self.product(range, x, out);
        add_bias(out, self.at(&range.bias), self.cores);
    }

    /// The logit of each sequence of a batch. \[steps, inputs\] -> \[B\]
    pub fn forward(&self, batch: &Batch, saved: &mut Activations) -> Vec<f32> {
        self.embed(batch, saved);
        self.layers_and_head(saved, false)
    }

    /// Steps projected, with their positions, each sequence behind a CLS token.
    fn embed(&self, batch: &Batch, saved: &mut Activations) {
        let d = self.config.width;
        saved.sequences = Sequences::new(batch.lengths.iter().map(|length| 1 + length));
        self.linear(&self.layout.project, &batch.inputs, &mut saved.projected);
        saved.x.clear();
        let mut steps = saved.projected.chunks_exact(d);
        for span in &saved.sequences.spans {
            let tokens = std::iter::once(self.at(&self.layout.cls)).chain(steps.by_ref());
            for (place, token) in tokens.take(span.len()).enumerate() {
                saved.x.extend(token.iter().zip(self.position(place)).map(|(a, b)| a + b));
            }
        }
        apply_dropout(&mut saved.x, d, self.dropout.mask(EMBEDDING_SITE), self.cores);
    }

    /// The embedding of a position; the last one for positions beyond the trained ones.
    fn position(&self, place: usize) -> &[f32] {
        let d = self.config.width;
        &self.at(&self.layout.position)[place.min(self.config.max_steps) * d..][..d]
    }

    /// Tokens at these positions (from 1), with the CLS token first. \[T, inputs\] -> \[1 + T, ..\]
    pub fn tokens(&self, inputs: &[f32], positions: impl Iterator<Item = usize>) -> EmbeddedTokens {
        let d = self.config.width;
        let mut projected = Vec::new();
        self.linear(&self.layout.project, inputs, &mut projected);
        let mut x = self.at(&self.layout.cls).to_vec();
        add(&mut x, self.position(0));
        for (row, place) in projected.chunks_exact(d).zip(positions) {
            x.extend(row.iter().zip(self.position(place)).map(|(a, b)| a + b));
        }
        let layer = &self.layout.layers[0];
        let mut input = x.clone();
        if self.config.norm_first {
            let mut norm: NormCache = NormCache::default();
            norm.rows.clone_from(&x);
            norm.forward(&mut input, self.norm_parameters(&layer.norm1), self.cores);
        }
        let (mut queries, mut keys_values) = (Vec::new(), Vec::new());
        self.linear(&layer.query, &input, &mut queries);
        self.linear(&layer.key_value, &input, &mut keys_values);
        EmbeddedTokens { width: d, x, queries, keys_values }
    }

    /// From tokens to logits; `cached` where the first layer's queries, keys and values are known.
    pub fn layers_and_head(&self, saved: &mut Activations, cached: bool) -> Vec<f32> {
        let last = self.layout.layers.len() - 1;
        let all = std::mem::take(&mut saved.sequences);
        let cls = all.with_cls_queries();
        for (number, layer) in self.layout.layers.iter().enumerate() {
            let at = number.min(saved.layers.len() - 1);
            let (x, saved) = (&mut saved.x, &mut saved.layers[at]);
            let sequences = if number == last { &cls } else { &all };
            std::mem::swap(x, &mut saved.input);
            match (cached, number) {
                (true, 0) => self.attention(sequences, saved),
                (true, _) if number == last => self.cls_attention(layer, sequences, saved),
                _ => {
                    self.qkv(layer, sequences, saved);
                    self.attention(sequences, saved);
                }
            }
            self.attention_output(number, sequences, saved);
            self.feed_forward(number, x, saved);
        }
        saved.sequences = all;
        self.head(saved)
    }

    /// Queries of some rows, keys and values of all.
    fn qkv(&self, layer: &LayerRange, sequences: &Sequences, saved: &mut LayerActivations) {
        self.input_norm(layer, saved);
        let input = if self.config.norm_first { &saved.attention_in } else { &saved.input };
        self.linear(&layer.key_value, input, &mut saved.keys_values);
        if sequences.cls_only {
            gather(input, self.config.width, sequences.cls_rows(), &mut saved.cls_in);
            self.linear(&layer.query, &saved.cls_in, &mut saved.queries);
        } else {
            self.linear(&layer.query, input, &mut saved.queries);
        }
    }

    fn input_norm(&self, layer: &LayerRange, saved: &mut LayerActivations) {
        if self.config.norm_first {
            saved.outer_norm.rows.clone_from(&saved.input);
            let parameters = self.norm_parameters(&layer.norm1);
            saved.outer_norm.forward(&mut saved.attention_in, parameters, self.cores);
        }
    }

    /// The same as [`Self::qkv`] and [`Self::attention`] in the last layer, where each sequence has one
    /// query, without keys and values of all rows: a query is multiplied by the key weights once and
    /// meets the rows themselves, and their mean is multiplied by the value weights. (Biases of keys
    /// change no probability, and probabilities add up to 1.)
    fn cls_attention(
        &self,
        layer: &LayerRange,
        sequences: &Sequences,
        saved: &mut LayerActivations,
    ) {
        let (d, heads) = (self.config.width, self.config.heads);
        let (size, count) = (d / heads, sequences.len());
        self.input_norm(layer, saved);
        let input = if self.config.norm_first { &saved.attention_in } else { &saved.input };
        gather(input, d, sequences.cls_rows(), &mut saved.cls_in);
        self.linear(&layer.query, &saved.cls_in, &mut saved.queries);
        let (keys, values) = self.at(&layer.key_value.weight).split_at(d * d); // [d, d] each
        let folded = &mut saved.keys_values;
        resize(folded, heads * count * d); // [heads, B, d]
        for (head, folded) in folded.chunks_exact_mut(count * d).enumerate() {
            let queries = Matrix::new(&saved.queries, d).columns(head * size..(head + 1) * size);
            let keys = Matrix::new(&keys[head * size * d..(head + 1) * size * d], d);
            multiply(queries, keys, folded, false, self.cores);
        }
        attend_to_inputs(folded, input, sequences, (heads, d));
        resize(&mut saved.attended, count * d);
        for (head, means) in folded.chunks_exact(count * d).enumerate() {
            let values = &values[head * size * d..(head + 1) * size * d];
            let values = Matrix::new(values, d).transposed();
            let out = (&mut saved.attended[head * size..], d);
            multiply_into(Matrix::new(means, d), values, out, false, self.cores);
        }
        add_bias(&mut saved.attended, &self.at(&layer.key_value.bias)[d..], self.cores);
    }

    fn attention(&self, sequences: &Sequences, saved: &mut LayerActivations) {
        let (d, heads) = (self.config.width, self.config.heads);
        resize(&mut saved.probs, sequences.probs(heads));
        resize(&mut saved.attended, sequences.queries() * d);
        let attention = PackedAttention {
            sequences,
            heads,
            width: d,
            queries: &saved.queries,
            keys_values: &saved.keys_values,
        };
        attention.forward(&mut saved.probs, &mut saved.attended, self.cores);
    }

    /// The attended values projected and added to the rows with a query.
    fn attention_output(&self, number: usize, sequences: &Sequences, saved: &mut LayerActivations) {
        let (d, layer) = (self.config.width, &self.layout.layers[number]);
        self.product(&layer.out, &saved.attended, &mut saved.sum);
        let mask = self.dropout.mask(LayerSite::Attention.of(number));
        let bias = self.at(&layer.out.bias);
        if sequences.cls_only {
            let mut cls = Vec::new();
            gather(&saved.input, d, sequences.cls_rows(), &mut cls);
            add_residual(&mut saved.sum, bias, &cls, mask, self.cores);
        } else {
            add_residual(&mut saved.sum, bias, &saved.input, mask, self.cores);
        }
    }

    /// The feed-forward block of a layer, into x. \[A, d\] -> \[A, d\]
    fn feed_forward(&self, number: usize, x: &mut Vec<f32>, saved: &mut LayerActivations) {
        let (layer, config) = (&self.layout.layers[number], self.config);
        let (middle, outer) = layer.norms(config.norm_first);
        let mask = |site: LayerSite| self.dropout.mask(site.of(number));
        saved.middle_norm.rows.clone_from(&saved.sum);
        let parameters = self.norm_parameters(middle);
        saved.middle_norm.forward(&mut saved.hidden_in, parameters, self.cores);
        self.product(&layer.linear1, &saved.hidden_in, &mut saved.hidden);
        let (bias, pre) = (self.at(&layer.linear1.bias), &mut saved.pre);
        let (activation, hidden) = (config.activation, &mut saved.hidden);
        activate(hidden, bias, pre, activation, mask(LayerSite::Hidden), self.cores);
        self.product(&layer.linear2, &saved.hidden, x);
        let residual = if config.norm_first { &saved.sum } else { &saved.hidden_in };
        let bias = self.at(&layer.linear2.bias);
        add_residual(x, bias, residual, mask(LayerSite::FeedForward), self.cores);
        if !config.norm_first {
            std::mem::swap(x, &mut saved.outer_norm.rows);
            saved.outer_norm.forward(x, self.norm_parameters(outer), self.cores);
        }
    }

    /// From the CLS tokens to the outputs. \[B, d\] -> \[B, outputs\]
    fn head(&self, saved: &mut Activations) -> Vec<f32> {
        let top = &mut saved.top;
        match &self.layout.norm {
            None => top.hidden_in.clone_from(&saved.x),
            Some(range) => {
                top.outer_norm.rows.clone_from(&saved.x);
                let parameters = self.norm_parameters(range);
                top.outer_norm.forward(&mut top.hidden_in, parameters, self.cores);
            }
        }
        let (first, second) = &self.layout.head;
        self.product(first, &top.hidden_in, &mut top.hidden);
        let (bias, activation) = (self.at(&first.bias), self.config.activation);
        activate(&mut top.hidden, bias, &mut top.pre, activation, None, self.cores);
        let (d, weight, bias) = (self.config.width, self.at(&second.weight), self.at(&second.bias));
        let outputs = |row| weight.chunks_exact(d).zip(bias).map(move |(w, b)| dot(row, w) + b);
        top.hidden.chunks_exact(d).flat_map(outputs).collect()
    }
}

/// Room for so many values, whatever they are.
pub(super) fn resize(values: &mut Vec<f32>, count: usize) {
    values.resize(count, 0.0);
}

fn gather(x: &[f32], d: usize, rows: impl Iterator<Item = usize>, out: &mut Vec<f32>) {
    out.clear();
    rows.for_each(|row| out.extend_from_slice(&x[row * d..(row + 1) * d]));
}

pub(super) fn scatter_add(x: &[f32], d: usize, rows: impl Iterator<Item = usize>, out: &mut [f32]) {
    for (x, row) in x.chunks_exact(d).zip(rows) {
        add(&mut out[row * d..(row + 1) * d], x);
    }
}
