//! The network on CPU: from tokens to logits, and back from a loss to the gradient of every weight.
//! Sequences lie one after the other, without padding. R = all rows, B = sequences, A = rows that ask:
//! all of them, but in the last layer only the CLS tokens, because nobody reads the rest.

use std::ops::Range;

use super::config::Config;
use super::dropout::Dropout;
use super::layers::{
    Attention, Cores, Matrix, Normed, Sequences, activate, activate_back, add_bias, column_sums,
    drop_out, join, multiply, norm, norm_back,
};
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
    pub config: &'a Config,
    pub layout: &'a Layout,
    pub weights: &'a [f32],
    pub dropout: Dropout,
    pub cores: Cores,
}

/// What a pass leaves behind for the way back; kept between passes so that its memory is.
#[derive(Default)]
pub struct Tape {
    sequences: Sequences,
    /// \[R, d\], then \[B, d\]
    x: Vec<f32>,
    projected: Vec<f32>, // [steps, d]
    layers: Vec<Saved>,
    last_rows: Vec<f32>,   // [B, d], only with norm_first
    last_scales: Vec<f32>, // [B]
    head_in: Vec<f32>,     // [B, d]
    head_before: Vec<f32>, // [B, d], only with GELU
    head_hidden: Vec<f32>, // [B, d]
    back: Back,
}

/// What one layer leaves behind.
#[derive(Default)]
struct Saved {
    input: Vec<f32>,         // [R, d]
    outer_rows: Vec<f32>,    // [R, d] before all with norm_first, else [A, d] after all
    outer_scales: Vec<f32>,  // [R] or [A]
    attention_in: Vec<f32>,  // [R, d], only with norm_first
    asking: Vec<f32>,        // [B, d], only in the last layer
    queries: Vec<f32>,       // [A, d]
    keys_values: Vec<f32>,   // [R, 2·d]
    shares: Vec<f32>,        // [sequences: heads, asking, length]
    attended: Vec<f32>,      // [A, d]
    sum: Vec<f32>,           // [A, d]: what the hidden part is added to
    middle_rows: Vec<f32>,   // [A, d]
    middle_scales: Vec<f32>, // [A]
    hidden_in: Vec<f32>,     // [A, d]
    before: Vec<f32>,        // [A, hidden], only with GELU
    hidden: Vec<f32>,        // [A, hidden]
}

/// Room for the way back.
#[derive(Default)]
struct Back {
    masked: Vec<f32>,         // [A, d]
    of_hidden: Vec<f32>,      // [A, hidden]
    of_attended: Vec<f32>,    // [A, d]
    of_queries: Vec<f32>,     // [A, d]
    of_keys_values: Vec<f32>, // [R, 2·d]
    other: Vec<f32>,          // [R, d]
}

impl Tape {
    /// A tape that keeps every layer, for the way back.
    pub fn new(config: &Config) -> Self {
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
pub(super) struct Tokens {
    pub width: usize,
    pub x: Vec<f32>,           // [P, d]
    pub queries: Vec<f32>,     // [P, d]
    pub keys_values: Vec<f32>, // [P, 2·d]
}

/// Where in the network numbers are left out.
fn dropped(layer: usize, part: u64) -> u64 {
    1 + 3 * layer as u64 + part
}

impl Network<'_> {
    fn at(&self, range: &Range<usize>) -> &[f32] {
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
            if !(known && number == 0) {
                self.ask(layer, sequences, saved);
            }
            self.attend(number, sequences, saved);
            self.think(number, x, saved);
        }
        tape.sequences = all;
        self.judge(tape)
    }

    /// Queries of the rows that ask, keys and values of all.
    fn ask(&self, layer: &LayerPlace, sequences: &Sequences, saved: &mut Saved) {
        let d = self.config.width;
        if self.config.norm_first {
            saved.outer_rows.clone_from(&saved.input);
            sized(&mut saved.outer_scales, sequences.rows());
            sized(&mut saved.attention_in, saved.input.len());
            let (rows, into) = (&mut saved.outer_rows, &mut saved.attention_in);
            norm(rows, into, &mut saved.outer_scales, self.norm_at(&layer.norm1), self.cores);
        }
        let into = if self.config.norm_first { &saved.attention_in } else { &saved.input };
        self.linear(&layer.key_value, into, &mut saved.keys_values);
        if sequences.only_first_asks() {
            gather(into, d, sequences.firsts(), &mut saved.asking);
            self.linear(&layer.query, &saved.asking, &mut saved.queries);
        } else {
            self.linear(&layer.query, into, &mut saved.queries);
        }
    }

    /// What the rows that ask are told, added to them.
    fn attend(&self, number: usize, sequences: &Sequences, saved: &mut Saved) {
        let (d, heads, layer) = (self.config.width, self.config.heads, &self.layout.layers[number]);
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

    /// The gradient of every weight, from that of each logit, after [`Network::forward`] on this tape.
    pub fn back(&self, of_logits: &[f32], batch: &Batch, tape: &mut Tape, gradient: &mut [f32]) {
        self.judge_back(of_logits, tape, gradient);
        let all = std::mem::take(&mut tape.sequences);
        let first = all.with_first_asking();
        let last = self.layout.layers.len() - 1;
        for number in (0..=last).rev() {
            let (x, saved, back) = (&mut tape.x, &tape.layers[number], &mut tape.back);
            let sequences = if number == last { &first } else { &all };
            self.think_back(number, x, saved, back, gradient);
            self.attend_back(number, x, sequences, saved, back, gradient);
            self.ask_back(number, x, sequences, saved, back, gradient);
        }
        tape.sequences = all;
        self.embed_back(batch, tape, gradient);
    }

    /// Leaves the gradient of the CLS tokens in x.
    fn judge_back(&self, of_logits: &[f32], tape: &mut Tape, gradient: &mut [f32]) {
        let d = self.config.width;
        let (first, second) = &self.layout.head;
        let hidden = Matrix::new(&tape.head_hidden, d);
        let of_logit = Matrix::new(of_logits, 1);
        let weight = &mut gradient[second.weight.clone()];
        multiply(of_logit.turned(), hidden, weight, false, self.cores);
        gradient[second.bias.start] = of_logits.iter().sum();
        let of_hidden = &mut tape.back.masked;
        sized(of_hidden, tape.head_hidden.len());
        let weight = Matrix::new(self.at(&second.weight), d);
        multiply(of_logit, weight, of_hidden, false, self.cores);
        let (result, before) = (&tape.head_hidden, &tape.head_before);
        activate_back(of_hidden, result, before, self.config.activation, None, d, self.cores);
        sized(&mut tape.x, tape.head_in.len());
        self.linear_back(first, &tape.head_in, of_hidden, Some((&mut tape.x, false)), gradient);
        if let Some(place) = &self.layout.norm {
            let (rows, scales) = (&tape.last_rows, &tape.last_scales);
            self.norm_back(place, &mut tape.x, rows, scales, gradient);
        }
    }

    /// From \[A, d\] of a layer's result to \[A, d\] of what the hidden part was added to.
    fn think_back(
        &self,
        number: usize,
        x: &mut [f32],
        saved: &Saved,
        back: &mut Back,
        gradient: &mut [f32],
    ) {
        let (layer, config) = (&self.layout.layers[number], self.config);
        let (middle, outer) = norms(layer, config.norm_first);
        if !config.norm_first {
            self.norm_back(outer, x, &saved.outer_rows, &saved.outer_scales, gradient);
        }
        self.masked(x, dropped(number, 2), &mut back.masked);
        sized(&mut back.of_hidden, saved.hidden.len());
        let of_hidden = &mut back.of_hidden;
        let into = Some((&mut of_hidden[..], false));
        self.linear_back(&layer.linear2, &saved.hidden, &back.masked, into, gradient);
        let mask = self.dropout.mask(dropped(number, 1));
        let (before, width) = (&saved.before, config.hidden);
        activate_back(of_hidden, &saved.hidden, before, config.activation, mask, width, self.cores);
        let (rows, scales) = (&saved.middle_rows, &saved.middle_scales);
        if config.norm_first {
            sized(&mut back.other, x.len());
            let into = Some((&mut back.other[..], false));
            self.linear_back(&layer.linear1, &saved.hidden_in, of_hidden, into, gradient);
            self.norm_back(middle, &mut back.other, rows, scales, gradient);
            x.iter_mut().zip(&back.other).for_each(|(x, other)| *x += other);
        } else {
            self.linear_back(
                &layer.linear1,
                &saved.hidden_in,
                of_hidden,
                Some((x, true)),
                gradient,
            );
            self.norm_back(middle, x, rows, scales, gradient);
        }
    }

    /// From \[A, d\] to queries, keys and values; x stays, for it was added.
    fn attend_back(
        &self,
        number: usize,
        x: &[f32],
        sequences: &Sequences,
        saved: &Saved,
        back: &mut Back,
        gradient: &mut [f32],
    ) {
        let layer = &self.layout.layers[number];
        self.masked(x, dropped(number, 0), &mut back.masked);
        sized(&mut back.of_attended, x.len());
        let into = Some((&mut back.of_attended[..], false));
        self.linear_back(&layer.out, &saved.attended, &back.masked, into, gradient);
        sized(&mut back.of_queries, saved.queries.len());
        sized(&mut back.of_keys_values, saved.keys_values.len());
        let attention = Attention {
            sequences,
            heads: self.config.heads,
            width: self.config.width,
            queries: &saved.queries,
            keys_values: &saved.keys_values,
        };
        let (of_queries, of_keys_values) = (&mut back.of_queries, &mut back.of_keys_values);
        attention.back(&back.of_attended, &saved.shares, of_queries, of_keys_values);
    }

    /// From queries, keys and values to all rows \[R, d\] of the layer's input, into x.
    fn ask_back(
        &self,
        number: usize,
        x: &mut Vec<f32>,
        sequences: &Sequences,
        saved: &Saved,
        back: &mut Back,
        gradient: &mut [f32],
    ) {
        let (layer, d) = (&self.layout.layers[number], self.config.width);
        let into = if self.config.norm_first { &saved.attention_in } else { &saved.input };
        let of_rows = &mut back.other;
        sized(of_rows, saved.input.len());
        let out = Some((&mut of_rows[..], false));
        self.linear_back(&layer.key_value, into, &back.of_keys_values, out, gradient);
        if sequences.only_first_asks() {
            sized(&mut back.masked, saved.asking.len());
            let out = Some((&mut back.masked[..], false));
            self.linear_back(&layer.query, &saved.asking, &back.of_queries, out, gradient);
            scatter_add(&back.masked, d, sequences.firsts(), of_rows);
        } else {
            let out = Some((&mut of_rows[..], true));
            self.linear_back(&layer.query, into, &back.of_queries, out, gradient);
        }
        if self.config.norm_first {
            let (rows, scales) = (&saved.outer_rows, &saved.outer_scales);
            self.norm_back(&layer.norm1, of_rows, rows, scales, gradient);
        }
        if sequences.only_first_asks() {
            scatter_add(x, d, sequences.firsts(), of_rows);
        } else {
            of_rows.iter_mut().zip(&*x).for_each(|(sum, x)| *sum += x);
        }
        std::mem::swap(x, of_rows);
    }

    /// From all rows to the projection, the CLS token and the places.
    fn embed_back(&self, batch: &Batch, tape: &mut Tape, gradient: &mut [f32]) {
        let d = self.config.width;
        drop_out(&mut tape.x, d, self.dropout.mask(0), self.cores);
        gradient[self.layout.cls.clone()].fill(0.0);
        gradient[self.layout.position.clone()].fill(0.0);
        sized(&mut tape.projected, batch.lengths.iter().sum::<usize>() * d);
        let mut steps = tape.projected.chunks_exact_mut(d);
        for span in tape.sequences.spans() {
            let rows = tape.x[span.start * d..span.end * d].chunks_exact(d);
            for (place, row) in rows.enumerate() {
                let at = self.layout.position.start + place.min(self.config.max_steps) * d;
                gradient[at..at + d].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
                match (place, if place == 0 { None } else { steps.next() }) {
                    (_, Some(step)) => step.copy_from_slice(row),
                    _ => {
                        let cls = gradient[self.layout.cls.clone()].iter_mut();
                        cls.zip(row).for_each(|(sum, x)| *sum += x);
                    }
                }
            }
        }
        self.linear_back(&self.layout.project, &batch.inputs, &tape.projected, None, gradient);
    }

    /// A copy with the numbers that were left out at this place left out again.
    fn masked(&self, x: &[f32], place: u64, out: &mut Vec<f32>) {
        out.clear();
        out.extend_from_slice(x);
        drop_out(out, self.config.width, self.dropout.mask(place), self.cores);
    }

    /// The gradients of a linear layer's weight and bias, from that of its result; and that of its
    /// input where it is wanted, written or added.
    fn linear_back(
        &self,
        place: &LinearPlace,
        x: &[f32],
        of_result: &[f32],
        of_x: Option<(&mut [f32], bool)>,
        gradient: &mut [f32],
    ) {
        let result = Matrix::new(of_result, place.out);
        let weight = &mut gradient[place.weight.clone()];
        multiply(result.turned(), Matrix::new(x, place.into), weight, false, self.cores);
        column_sums(of_result, &mut gradient[place.bias.clone()], self.cores);
        if let Some((of_x, add)) = of_x {
            let weight = Matrix::new(self.at(&place.weight), place.into);
            multiply(result, weight, of_x, add, self.cores);
        }
    }

    fn norm_back(
        &self,
        place: &NormPlace,
        x: &mut [f32],
        rows: &[f32],
        scales: &[f32],
        gradient: &mut [f32],
    ) {
        let normed = Normed { rows, scales, weight: self.at(&place.weight) };
        // The bias lies right behind the weight.
        let (weight, rest) = gradient[place.weight.start..].split_at_mut(place.weight.len());
        let bias = &mut rest[..place.bias.len()];
        norm_back(x, normed, (weight, bias), self.cores);
    }
}

/// The norm before the hidden part, and the one at the layer's edge.
fn norms(layer: &LayerPlace, norm_first: bool) -> (&NormPlace, &NormPlace) {
    match norm_first {
        true => (&layer.norm2, &layer.norm1),
        false => (&layer.norm1, &layer.norm2),
    }
}

/// Room for so many numbers, whatever they are.
fn sized(numbers: &mut Vec<f32>, count: usize) {
    numbers.resize(count, 0.0);
}

fn gather(x: &[f32], d: usize, rows: impl Iterator<Item = usize>, out: &mut Vec<f32>) {
    out.clear();
    rows.for_each(|row| out.extend_from_slice(&x[row * d..(row + 1) * d]));
}

fn scatter_add(x: &[f32], d: usize, rows: impl Iterator<Item = usize>, out: &mut [f32]) {
    for (x, row) in x.chunks_exact(d).zip(rows) {
        out[row * d..(row + 1) * d].iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
    }
}
