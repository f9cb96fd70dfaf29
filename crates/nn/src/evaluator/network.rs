//! The network on CPU: from tokens to logits; `back` has the way from there to the gradient of every
//! weight. Sequences lie one after the other, without padding. R = all rows, B = sequences, A = rows that ask:
//! all of them, but in the last layer only the CLS tokens, because nobody reads the rest.

use std::ops::Range;

use super::attention::{Attention, Sequences, attend_rows};
use super::config::EvaluatorConfig;
use super::dropout::Dropout;
use super::layers::{activate, add_bias, drop_out, join, norm};
use super::matrix::{Cores, Matrix, multiply, multiply_into};
use super::numbers::{LayerPlace, Layout, LinearPlace, NormPlace};
use crate::kernels::dot;

/// Sequences of steps, ready for the network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// What is known of each step: \[steps of all sequences, inputs\]
    pub inputs: Vec<f32>,
    /// How many steps each sequence has.
    pub lengths: Vec<usize>,
}

/// The network with its weights.
#[derive(Clone, Copy)]
pub(super) struct Network<'a> {
    pub config: &'a EvaluatorConfig,
    pub layout: &'a Layout,
    pub weights: &'a [f32],
    pub dropout: Dropout,
    pub cores: Cores,
}

/// What a pass leaves behind for the way back; kept between passes so that its memory is.
#[derive(Default)]
pub struct Tape {
    pub(super) sequences: Sequences,
    /// \[R, d\], then \[B, d\]
    pub(super) x: Vec<f32>,
    pub(super) projected: Vec<f32>, // [steps, d]
    pub(super) layers: Vec<Saved>,
    pub(super) last_rows: Vec<f32>,   // [B, d], only with norm_first
    pub(super) last_scales: Vec<f32>, // [B]
    pub(super) head_in: Vec<f32>,     // [B, d]
    pub(super) head_before: Vec<f32>, // [B, d], only with GELU
    pub(super) head_hidden: Vec<f32>, // [B, d]
    pub(super) back: Back,
}

/// What one layer leaves behind.
#[derive(Default)]
pub(super) struct Saved {
    pub(super) input: Vec<f32>,         // [R, d]
    pub(super) outer_rows: Vec<f32>,    // [R, d] before all with norm_first, else [A, d] after all
    pub(super) outer_scales: Vec<f32>,  // [R] or [A]
    pub(super) attention_in: Vec<f32>,  // [R, d], only with norm_first
    pub(super) asking: Vec<f32>,        // [B, d], only in the last layer
    pub(super) queries: Vec<f32>,       // [A, d]
    pub(super) keys_values: Vec<f32>,   // [R, 2·d]
    pub(super) shares: Vec<f32>,        // [sequences: heads, asking, length]
    pub(super) attended: Vec<f32>,      // [A, d]
    pub(super) sum: Vec<f32>,           // [A, d]: what the hidden part is added to
    pub(super) middle_rows: Vec<f32>,   // [A, d]
    pub(super) middle_scales: Vec<f32>, // [A]
    pub(super) hidden_in: Vec<f32>,     // [A, d]
    pub(super) before: Vec<f32>,        // [A, hidden], only with GELU
    pub(super) hidden: Vec<f32>,        // [A, hidden]
}

/// Room for the way back.
#[derive(Default)]
pub(super) struct Back {
    pub(super) masked: Vec<f32>,         // [A, d]
    pub(super) of_hidden: Vec<f32>,      // [A, hidden]
    pub(super) of_attended: Vec<f32>,    // [A, d]
    pub(super) of_queries: Vec<f32>,     // [A, d]
    pub(super) of_keys_values: Vec<f32>, // [R, 2·d]
    pub(super) other: Vec<f32>,          // [R, d]
}

impl Tape {
    /// A tape that keeps every layer, for the way back.
    pub fn new(config: &EvaluatorConfig) -> Self {
        Self { layers: (0..config.layers).map(|_| Saved::default()).collect(), ..Self::default() }
    }

    /// A tape for passes without a way back: every layer writes over the last.
    pub(super) fn short() -> Self {
        Self { layers: vec![Saved::default()], ..Self::default() }
    }

    /// Begins a pass over sequences whose tokens are known already, as are the queries, keys and
    /// values of the first layer.
    pub(super) fn begin_with_tokens(
        &mut self,
        lengths: impl Iterator<Item = usize>,
        rows: impl Iterator<Item = usize> + Clone,
        known: &Tokens,
        layers: usize,
    ) {
        self.sequences = Sequences::new(lengths);
        let d = known.width;
        gather(&known.x, d, rows.clone(), &mut self.x);
        let saved = &mut self.layers[0];
        gather(&known.keys_values, 2 * d, rows.clone(), &mut saved.keys_values);
        match layers {
            1 => {
                let rows: Vec<usize> = rows.collect();
                let firsts = self.sequences.firsts().map(|first| rows[first]);
                gather(&known.queries, d, firsts, &mut saved.queries);
            }
            _ => gather(&known.queries, d, rows, &mut saved.queries),
        }
    }
}

/// Tokens with what the first layer makes of each alone.
pub struct Tokens {
    width: usize,
    x: Vec<f32>,           // [P, d]
    queries: Vec<f32>,     // [P, d]
    keys_values: Vec<f32>, // [P, 2·d]
}

/// Where in the network numbers are left out.
pub(super) fn dropped(layer: usize, part: u64) -> u64 {
    1 + 3 * layer as u64 + part
}

impl Network<'_> {
    pub(super) fn at(&self, range: &Range<usize>) -> &[f32] {
        &self.weights[range.clone()]
    }

    fn norm_at(&self, place: &NormPlace) -> (&[f32], &[f32]) {
        (self.at(&place.weight), self.at(&place.bias))
    }

    /// x Wᵀ, without the bias.
    fn product(&self, place: &LinearPlace, x: &[f32], out: &mut Vec<f32>) {
        sized(out, x.len() / place.into * place.out);
        let weight = Matrix::new(self.at(&place.weight), place.into);
        multiply(Matrix::new(x, place.into), weight.turned(), out, false, self.cores);
    }

    /// x Wᵀ + b
    fn linear(&self, place: &LinearPlace, x: &[f32], out: &mut Vec<f32>) {
        self.product(place, x, out);
        add_bias(out, self.at(&place.bias), self.cores);
    }

    /// The logit of each sequence of a batch. \[steps, inputs\] -> \[B\]
    pub fn forward(&self, batch: &Batch, tape: &mut Tape) -> Vec<f32> {
        self.embed(batch, tape);
        self.finish(tape, false)
    }

    /// Tokens: steps projected, with their places, each sequence behind a CLS token.
    fn embed(&self, batch: &Batch, tape: &mut Tape) {
        let d = self.config.width;
        tape.sequences = Sequences::new(batch.lengths.iter().map(|length| 1 + length));
        self.linear(&self.layout.project, &batch.inputs, &mut tape.projected);
        sized(&mut tape.x, tape.sequences.rows() * d);
        let mut steps = tape.projected.chunks_exact(d);
        for span in tape.sequences.spans() {
            let rows = &mut tape.x[span.start * d..span.end * d];
            for (place, row) in rows.chunks_exact_mut(d).enumerate() {
                let token = if place == 0 { Some(self.at(&self.layout.cls)) } else { steps.next() };
                let token = token.unwrap_or_default().iter();
                row.iter_mut()
                    .zip(token)
                    .zip(self.position(place))
                    .for_each(|((x, a), b)| *x = a + b);
            }
        }
        drop_out(&mut tape.x, d, self.dropout.mask(0), self.cores);
    }

    /// The place's row; the last one for places that nobody trained.
    fn position(&self, place: usize) -> &[f32] {
        let d = self.config.width;
        &self.at(&self.layout.position)[place.min(self.config.max_steps) * d..][..d]
    }

    /// Tokens at these places (from 1), and what the first layer makes of them; the CLS token comes
    /// first. \[P, inputs\] -> \[1 + P, ..\]
    pub fn tokens(&self, inputs: &[f32], places: impl Iterator<Item = usize>) -> Tokens {
        let d = self.config.width;
        let mut projected = Vec::new();
        self.linear(&self.layout.project, inputs, &mut projected);
        let mut x = Vec::with_capacity(projected.len() + d);
        let cls = self.at(&self.layout.cls).iter().zip(self.position(0));
        x.extend(cls.map(|(a, b)| a + b));
        for (row, place) in projected.chunks_exact(d).zip(places) {
            x.extend(row.iter().zip(self.position(place)).map(|(a, b)| a + b));
        }
        let layer = &self.layout.layers[0];
        let mut into = x.clone();
        if self.config.norm_first {
            let (mut rows, mut scales) = (x.clone(), vec![0.0; x.len() / d]);
            norm(&mut rows, &mut into, &mut scales, self.norm_at(&layer.norm1), self.cores);
        }
        let (mut queries, mut keys_values) = (Vec::new(), Vec::new());
        self.linear(&layer.query, &into, &mut queries);
        self.linear(&layer.key_value, &into, &mut keys_values);
        Tokens { width: d, x, queries, keys_values }
    }

    /// From the tokens on a tape to the logits; `known` tells that the first layer's queries, keys and
    /// values are on it too.
    pub fn finish(&self, tape: &mut Tape, known: bool) -> Vec<f32> {
        let last = self.layout.layers.len() - 1;
        let all = std::mem::take(&mut tape.sequences);
        let first = all.with_first_asking();
        for (number, layer) in self.layout.layers.iter().enumerate() {
            let at = number.min(tape.layers.len() - 1);
            let (x, saved) = (&mut tape.x, &mut tape.layers[at]);
            let sequences = if number == last { &first } else { &all };
            std::mem::swap(x, &mut saved.input);
            match (known, number) {
                (true, _) if number == last && number > 0 => {
                    self.ask_of_rows(number, sequences, saved)
                }
                (true, 0) => self.attend(sequences, saved),
                _ => {
                    self.ask(layer, sequences, saved);
                    self.attend(sequences, saved);
                }
            }
            self.add_attended(number, sequences, saved);
            self.think(number, x, saved);
        }
        tape.sequences = all;
        self.judge(tape)
    }

    /// Queries of the rows that ask, keys and values of all.
    fn ask(&self, layer: &LayerPlace, sequences: &Sequences, saved: &mut Saved) {
        let d = self.config.width;
        self.norm_input(layer, sequences, saved);
        let into = if self.config.norm_first { &saved.attention_in } else { &saved.input };
        self.linear(&layer.key_value, into, &mut saved.keys_values);
        if sequences.only_first_asks() {
            gather(into, d, sequences.firsts(), &mut saved.asking);
            self.linear(&layer.query, &saved.asking, &mut saved.queries);
        } else {
            self.linear(&layer.query, into, &mut saved.queries);
        }
    }

    fn norm_input(&self, layer: &LayerPlace, sequences: &Sequences, saved: &mut Saved) {
        if self.config.norm_first {
            saved.outer_rows.clone_from(&saved.input);
            sized(&mut saved.outer_scales, sequences.rows());
            sized(&mut saved.attention_in, saved.input.len());
            let (rows, into) = (&mut saved.outer_rows, &mut saved.attention_in);
            norm(rows, into, &mut saved.outer_scales, self.norm_at(&layer.norm1), self.cores);
        }
    }

    /// The same as asking and attending in the last layer, where one row of each sequence asks, without
    /// keys and values of all rows: a query is turned by the keys' weights once and meets the rows
    /// themselves, and their mean is turned by the values' weights. (Keys' biases change no share, and
    /// shares add up to 1.)
    fn ask_of_rows(&self, number: usize, sequences: &Sequences, saved: &mut Saved) {
        let (d, heads, layer) = (self.config.width, self.config.heads, &self.layout.layers[number]);
        let (size, count) = (d / heads, sequences.len());
        self.norm_input(layer, sequences, saved);
        let into = if self.config.norm_first { &saved.attention_in } else { &saved.input };
        gather(into, d, sequences.firsts(), &mut saved.asking);
        self.linear(&layer.query, &saved.asking, &mut saved.queries);
        let (keys, values) = self.at(&layer.key_value.weight).split_at(d * d); // [d, d] each
        let folded = &mut saved.keys_values;
        sized(folded, heads * count * d); // [heads, B, d]
        for (head, folded) in folded.chunks_exact_mut(count * d).enumerate() {
            let queries = Matrix::new(&saved.queries, d).columns(head * size..(head + 1) * size);
            let keys = Matrix::new(&keys[head * size * d..(head + 1) * size * d], d);
            multiply(queries, keys, folded, false, self.cores);
        }
        attend_rows(folded, into, sequences, (heads, d));
        sized(&mut saved.attended, count * d);
        for (head, means) in folded.chunks_exact(count * d).enumerate() {
            let values = Matrix::new(&values[head * size * d..(head + 1) * size * d], d).turned();
            let out = (&mut saved.attended[head * size..], d);
            multiply_into(Matrix::new(means, d), values, out, false, self.cores);
        }
        add_bias(&mut saved.attended, &self.at(&layer.key_value.bias)[d..], self.cores);
    }

    /// What the rows that ask are told.
    fn attend(&self, sequences: &Sequences, saved: &mut Saved) {
        let (d, heads) = (self.config.width, self.config.heads);
        sized(&mut saved.shares, sequences.shares(heads));
        sized(&mut saved.attended, sequences.all_asking() * d);
        let attention = Attention {
            sequences,
            heads,
            width: d,
            queries: &saved.queries,
            keys_values: &saved.keys_values,
        };
        attention.forward(&mut saved.shares, &mut saved.attended, self.cores);
    }

    /// Adds what they are told to the rows that ask.
    fn add_attended(&self, number: usize, sequences: &Sequences, saved: &mut Saved) {
        let (d, layer) = (self.config.width, &self.layout.layers[number]);
        self.product(&layer.out, &saved.attended, &mut saved.sum);
        let mask = self.dropout.mask(dropped(number, 0));
        let bias = self.at(&layer.out.bias);
        if sequences.only_first_asks() {
            let mut firsts = Vec::new();
            gather(&saved.input, d, sequences.firsts(), &mut firsts);
            join(&mut saved.sum, bias, &firsts, mask, self.cores);
        } else {
            join(&mut saved.sum, bias, &saved.input, mask, self.cores);
        }
    }

    /// The hidden part of a layer: into x. \[A, d\] -> \[A, d\]
    fn think(&self, number: usize, x: &mut Vec<f32>, saved: &mut Saved) {
        let (layer, config) = (&self.layout.layers[number], self.config);
        let (middle, outer) = norms(layer, config.norm_first);
        let rows = saved.sum.len() / config.width;
        saved.middle_rows.clone_from(&saved.sum);
        sized(&mut saved.middle_scales, rows);
        sized(&mut saved.hidden_in, saved.sum.len());
        let (normed, into) = (&mut saved.middle_rows, &mut saved.hidden_in);
        norm(normed, into, &mut saved.middle_scales, self.norm_at(middle), self.cores);
        self.product(&layer.linear1, &saved.hidden_in, &mut saved.hidden);
        let (bias, mask) = (self.at(&layer.linear1.bias), self.dropout.mask(dropped(number, 1)));
        let before = &mut saved.before;
        activate(&mut saved.hidden, bias, before, config.activation, mask, self.cores);
        self.product(&layer.linear2, &saved.hidden, x);
        let (bias, mask) = (self.at(&layer.linear2.bias), self.dropout.mask(dropped(number, 2)));
        let residual = if config.norm_first { &saved.sum } else { &saved.hidden_in };
        join(x, bias, residual, mask, self.cores);
        if !config.norm_first {
            std::mem::swap(x, &mut saved.outer_rows);
            sized(&mut saved.outer_scales, rows);
            sized(x, saved.outer_rows.len());
            let (rows, scales) = (&mut saved.outer_rows, &mut saved.outer_scales);
            norm(rows, x, scales, self.norm_at(outer), self.cores);
        }
    }

    /// From the CLS tokens to the logits. \[B, d\] -> \[B\]
    fn judge(&self, tape: &mut Tape) -> Vec<f32> {
        let d = self.config.width;
        sized(&mut tape.head_in, tape.x.len());
        match &self.layout.norm {
            None => tape.head_in.copy_from_slice(&tape.x),
            Some(place) => {
                tape.last_rows.clone_from(&tape.x);
                sized(&mut tape.last_scales, tape.x.len() / d);
                let (rows, scales) = (&mut tape.last_rows, &mut tape.last_scales);
                norm(rows, &mut tape.head_in, scales, self.norm_at(place), self.cores);
            }
        }
        let (first, second) = &self.layout.head;
        self.product(first, &tape.head_in, &mut tape.head_hidden);
        let (bias, activation) = (self.at(&first.bias), self.config.activation);
        let before = &mut tape.head_before;
        activate(&mut tape.head_hidden, bias, before, activation, None, self.cores);
        let (weight, bias) = (self.at(&second.weight), self.at(&second.bias)[0]);
        tape.head_hidden.chunks_exact(d).map(|row| dot(row, weight) + bias).collect()
    }
}

/// The norm before the hidden part, and the one at the layer's edge.
pub(super) fn norms(layer: &LayerPlace, norm_first: bool) -> (&NormPlace, &NormPlace) {
    match norm_first {
        true => (&layer.norm2, &layer.norm1),
        false => (&layer.norm1, &layer.norm2),
    }
}

/// Room for so many numbers, whatever they are.
pub(super) fn sized(numbers: &mut Vec<f32>, count: usize) {
    numbers.resize(count, 0.0);
}

fn gather(x: &[f32], d: usize, rows: impl Iterator<Item = usize>, out: &mut Vec<f32>) {
    out.clear();
    rows.for_each(|row| out.extend_from_slice(&x[row * d..(row + 1) * d]));
}

pub(super) fn scatter_add(x: &[f32], d: usize, rows: impl Iterator<Item = usize>, out: &mut [f32]) {
    for (x, row) in x.chunks_exact(d).zip(rows) {
        out[row * d..(row + 1) * d].iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
    }
}
