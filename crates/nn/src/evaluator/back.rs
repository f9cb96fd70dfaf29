//! The way back through the network: from the gradient of each logit to that of every weight.

use super::attention::{Attention, Sequences};
use super::layers::{Normed, activate_back, column_sums, drop_out, norm_back};
use super::matrix::{Matrix, multiply};
use super::network::{Back, Batch, Network, Saved, Tape, dropped, norms, scatter_add, sized};
use super::numbers::{LinearPlace, NormPlace};

impl Network<'_> {
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
