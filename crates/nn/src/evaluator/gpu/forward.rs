//! From steps to the loss of each sequence, on the GPU; the shapes are those of network.rs.

use super::device::{Arg, At, Blocks, GpuError, Matrix, Outcome};
use super::tape::{Normed, Rows, Saved, Sizes, Tape};
use super::{GpuNetwork, Pass};
use crate::evaluator::Labels;
use crate::evaluator::network::{Batch, dropped, norms};
use crate::evaluator::numbers::{LayerPlace, LinearPlace, NormPlace};
use crate::kernels::Activation;

/// A queue of arguments for a kernel.
macro_rules! args {
    ($($arg:expr),* $(,)?) => { &[$(Arg::from($arg)),*] };
}
pub(super) use args;

impl GpuNetwork {
    /// Sends a batch to the GPU.
    pub(super) fn send(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        sizes: Sizes,
        tape: &mut Tape,
    ) -> Result<Rows, GpuError> {
        let (device, count) = (&mut self.device, batch.inputs.len());
        let given = device.room(&mut tape.given, 4 * count)?;
        device.write_many(given, &batch.inputs)?;
        let inputs = device.room(&mut tape.inputs, device.arithmetic.bytes() * count)?;
        device.launch("converted", Blocks::numbers(count), args![given, inputs, count])?;
        let numbers = sizes.numbers(batch, &labels.right);
        let starts = device.room(&mut tape.numbers, 4 * numbers.len())?;
        device.write(starts, &numbers)?;
        let sequence_of = starts.plus(4 * (sizes.sequences + 1));
        Ok(Rows { starts, sequence_of, right: sequence_of.plus(4 * sizes.rows) })
    }
}

impl Pass<'_> {
    /// The weights that begin at this number, in 32 bits.
    pub(super) fn weights(&self, start: usize) -> At {
        self.network.weights.plus(4 * start)
    }

    /// The weights that begin at this number, to multiply with.
    pub(super) fn factors(&self, place: &LinearPlace) -> Matrix {
        let at = self.network.factors.plus(self.bytes(place.weight.start));
        Matrix::new(at, place.into)
    }

    /// The bytes of so many numbers.
    pub(super) fn bytes(&self, count: usize) -> usize {
        self.network.device.arithmetic.bytes() * count
    }

    pub(super) fn width(&self) -> usize {
        self.network.config.width
    }

    /// How many rows ask in a layer, and where the others' rows are found, if not in the same place.
    pub(super) fn asking(&self, number: usize) -> (usize, At) {
        match self.is_last(number) {
            true => (self.sizes.sequences, self.rows.starts),
            false => (self.sizes.rows, At::NONE),
        }
    }

    pub(super) fn is_last(&self, number: usize) -> bool {
        number + 1 == self.network.config.layers
    }

    /// What is left out at a place of the network: key, threshold, and what the others are multiplied by.
    pub(super) fn mask(&self, place: u64) -> (u32, u32, f32) {
        self.dropout.mask(place).map_or((0, 0, 1.0), |mask| (mask.key, mask.below, mask.scale))
    }

    /// x Wᵀ, without the bias. \[rows, in\] -> \[rows, out\]
    fn product(&self, place: &LinearPlace, x: At, rows: usize, out: At) -> Result<(), GpuError> {
        let matrices =
            (Matrix::new(x, place.into), self.factors(place).turned(), Matrix::new(out, place.out));
        self.network.device.multiply(matrices, (rows, place.out, place.into), Outcome::Written)
    }

    /// From the batch to the loss of each sequence.
    pub(super) fn forward(&self, weight_of_right: f32, tape: &mut Tape) -> Result<(), GpuError> {
        self.embed(tape)?;
        for number in 0..self.network.config.layers {
            let (before, after) = tape.layers.split_at_mut(number + 1);
            let (Some(saved), next) = (before.last_mut(), after.first_mut()) else { continue };
            let out = &mut next.unwrap_or(&mut tape.top).input;
            let (asking, _) = self.asking(number);
            let out = self.network.device.room(out, self.bytes(asking * self.width()))?;
            let product = &mut tape.product;
            let bytes = self.bytes(self.sizes.rows * self.width());
            let product = self.network.device.room(product, bytes)?;
            self.attend(number, saved)?;
            self.add_attended(number, saved, product)?;
            self.think(number, saved, product, out)?;
        }
        self.judge(weight_of_right, tape)
    }

    fn embed(&self, tape: &mut Tape) -> Result<(), GpuError> {
        let (device, layout, d) = (&self.network.device, &self.network.layout, self.width());
        let Sizes { rows, steps, .. } = self.sizes;
        let inputs = device.room(&mut tape.inputs, 0)?;
        let projected = device.room(&mut tape.projected, self.bytes(steps * d))?;
        self.product(&layout.project, inputs, steps, projected)?;
        let Some(first) = tape.layers.first_mut() else { return Ok(()) };
        let x = device.room(&mut first.input, self.bytes(rows * d))?;
        let bias = self.weights(layout.project.bias.start);
        let (cls, position) = (self.weights(layout.cls.start), self.weights(layout.position.start));
        let Rows { starts, sequence_of, .. } = self.rows;
        let (key, below, kept) = self.mask(0);
        device.launch(
            "embed",
            Blocks::rows(rows),
            args![projected, bias, cls, position, starts, sequence_of, rows, key, below, kept, x],
        )
    }

    /// The rows of a norm: normed, their scales, and the result.
    fn norm(
        &self,
        place: &NormPlace,
        (x, rows): (At, usize),
        normed: &mut Normed,
        out: At,
    ) -> Result<(), GpuError> {
        let (normed, scales) = self.normed(normed, rows)?;
        let (weight, bias) = self.both(place);
        self.network.device.launch(
            "norm_rows",
            Blocks::rows(rows),
            args![x, rows, normed, scales, out, weight, bias],
        )
    }

    pub(super) fn normed(&self, normed: &mut Normed, rows: usize) -> Result<(At, At), GpuError> {
        let device = &self.network.device;
        let scales = device.room(&mut normed.scales, 4 * rows)?;
        Ok((device.room(&mut normed.rows, self.bytes(rows * self.width()))?, scales))
    }

    fn both(&self, place: &NormPlace) -> (At, At) {
        (self.weights(place.weight.start), self.weights(place.bias.start))
    }

    /// Queries, keys and values, and what the rows that ask are told.
    fn attend(&self, number: usize, saved: &mut Saved) -> Result<(), GpuError> {
        let (device, config) = (&self.network.device, &self.network.config);
        let layer = &self.network.layout.layers[number];
        let Sizes { rows, sequences, longest, .. } = self.sizes;
        let (d, last) = (self.width(), self.is_last(number));
        let x = device.room(&mut saved.input, 0)?;
        let into = match config.norm_first {
            true => {
                let into = device.room(&mut saved.attention_in, self.bytes(rows * d))?;
                self.norm(&layer.norm1, (x, rows), &mut saved.outer, into)?;
                into
            }
            false => x,
        };
        if last {
            let asking = device.room(&mut saved.asking, self.bytes(sequences * d))?;
            let blocks = Blocks::numbers(sequences * d);
            device.launch("gather", blocks, args![into, self.rows.starts, sequences, asking])?;
            let queries = device.room(&mut saved.queries, self.bytes(sequences * d))?;
            self.product(&layer.query, asking, sequences, queries)?;
            let keys_values = device.room(&mut saved.keys_values, self.bytes(rows * 2 * d))?;
            self.product(&layer.key_value, into, rows, keys_values)?;
        } else {
            let all = device.room(&mut saved.queries, self.bytes(rows * 3 * d))?;
            self.product(&all_three(layer), into, rows, all)?;
        }
        let (asking, _) = self.asking(number);
        let shares = device.room(&mut saved.shares, 4 * asking * config.heads * longest)?;
        let attended = device.room(&mut saved.attended, self.bytes(asking * d))?;
        let ((q, q_pitch), (kv, kv_pitch)) = self.asked(last, saved)?;
        let bias = self.weights(layer.query.bias.start);
        let floats = 3 * longest * (d / config.heads + 1) + 4 * longest;
        device.launch(
            "attend",
            Blocks::sharing((sequences, config.heads), floats),
            args![
                q,
                q_pitch,
                kv,
                kv_pitch,
                bias,
                self.rows.starts,
                u32::from(last),
                longest,
                shares,
                attended
            ],
        )
    }

    /// Where queries, and keys and values, are, and how long a row of them is.
    pub(super) fn asked(
        &self,
        last: bool,
        saved: &mut Saved,
    ) -> Result<((At, usize), (At, usize)), GpuError> {
        let (device, d) = (&self.network.device, self.width());
        let queries = device.room(&mut saved.queries, 0)?;
        match last {
            true => {
                let keys_values = device.room(&mut saved.keys_values, 0)?;
                Ok(((queries, d), (keys_values, 2 * d)))
            }
            false => Ok(((queries, 3 * d), (queries.plus(self.bytes(d)), 3 * d))),
        }
    }

    /// Adds what they are told to the rows that ask; and the norm behind that.
    fn add_attended(&self, number: usize, saved: &mut Saved, product: At) -> Result<(), GpuError> {
        let (device, norm_first) = (&self.network.device, self.network.config.norm_first);
        let layer = &self.network.layout.layers[number];
        let (asking, firsts) = self.asking(number);
        let bytes = self.bytes(asking * self.width());
        let attended = device.room(&mut saved.attended, 0)?;
        self.product(&layer.out, attended, asking, product)?;
        let x = device.room(&mut saved.input, 0)?;
        let sum = if norm_first { device.room(&mut saved.sum, bytes)? } else { At::NONE };
        let (normed, scales) = self.normed(&mut saved.middle, asking)?;
        let hidden_in = device.room(&mut saved.hidden_in, bytes)?;
        let (weight, shift) = self.both(norms(layer, norm_first).0);
        let bias = self.weights(layer.out.bias.start);
        let (key, below, kept) = self.mask(dropped(number, 0));
        device.launch(
            "join",
            Blocks::rows(asking),
            args![
                product, bias, x, firsts, asking, key, below, kept, sum, normed, scales, hidden_in,
                weight, shift
            ],
        )
    }

    /// The hidden part of a layer. \[A, d\] -> \[A, d\]
    fn think(
        &self,
        number: usize,
        saved: &mut Saved,
        product: At,
        out: At,
    ) -> Result<(), GpuError> {
        let (device, config) = (&self.network.device, &self.network.config);
        let layer = &self.network.layout.layers[number];
        let (asking, _) = self.asking(number);
        let hidden_in = device.room(&mut saved.hidden_in, 0)?;
        let count = asking * config.hidden;
        let hidden = device.room(&mut saved.hidden, self.bytes(count))?;
        self.product(&layer.linear1, hidden_in, asking, hidden)?;
        let before = self.before(saved, count)?;
        let bias = self.weights(layer.linear1.bias.start);
        let (key, below, kept) = self.mask(dropped(number, 1));
        let args = args![hidden, bias, before, count, key, below, kept];
        device.launch("activate", Blocks::numbers(count), args)?;
        self.product(&layer.linear2, hidden, asking, product)?;
        let residual = if config.norm_first { &mut saved.sum } else { &mut saved.hidden_in };
        let residual = device.room(residual, 0)?;
        let bias = self.weights(layer.linear2.bias.start);
        let (weight, shift) = self.both(norms(layer, config.norm_first).1);
        let (sum, normed, scales, y) = match config.norm_first {
            true => (out, At::NONE, At::NONE, At::NONE),
            false => {
                let (normed, scales) = self.normed(&mut saved.outer, asking)?;
                (At::NONE, normed, scales, out)
            }
        };
        let (key, below, kept) = self.mask(dropped(number, 2));
        device.launch(
            "join",
            Blocks::rows(asking),
            args![
                product,
                bias,
                residual,
                At::NONE,
                asking,
                key,
                below,
                kept,
                sum,
                normed,
                scales,
                y,
                weight,
                shift
            ],
        )
    }

    /// Room for the sums before an activation, where the way back needs them.
    pub(super) fn before(&self, saved: &mut Saved, count: usize) -> Result<At, GpuError> {
        match self.network.config.activation {
            Activation::Relu => Ok(At::NONE),
            Activation::Gelu => self.network.device.room(&mut saved.before, self.bytes(count)),
        }
    }

    /// From the CLS tokens to the losses and the gradient of the head's hidden sums.
    fn judge(&self, weight_of_right: f32, tape: &mut Tape) -> Result<(), GpuError> {
        let (device, layout) = (&self.network.device, &self.network.layout);
        let (count, d) = (self.sizes.sequences, self.width());
        let head_in = self.head_in(&mut tape.top)?;
        if let Some(place) = &layout.norm {
            let x = device.room(&mut tape.top.input, 0)?;
            self.norm(place, (x, count), &mut tape.top.outer, head_in)?;
        }
        let (first, second) = &layout.head;
        let product = device.room(&mut tape.product, self.bytes(count * d))?;
        self.product(first, head_in, count, product)?;
        let hidden = device.room(&mut tape.top.hidden, self.bytes(count * d))?;
        let of_hidden = device.room(&mut tape.back.masked, self.bytes(count * d))?;
        let slopes = device.room(&mut tape.slopes, 4 * count)?;
        let losses = device.room(&mut tape.losses, 4 * count)?;
        let bias = self.weights(first.bias.start);
        let (weight, shift) = (self.weights(second.weight.start), self.weights(second.bias.start));
        device.launch(
            "judge",
            Blocks::rows(count),
            args![
                product,
                bias,
                weight,
                shift,
                self.rows.right,
                weight_of_right,
                count,
                hidden,
                of_hidden,
                slopes,
                losses
            ],
        )
    }

    /// What goes into the head: the last layer's result, or its norm.
    pub(super) fn head_in(&self, top: &mut Saved) -> Result<At, GpuError> {
        let bytes = self.bytes(self.sizes.sequences * self.width());
        let of_norm = self.network.layout.norm.is_some();
        let buffer = if of_norm { &mut top.hidden_in } else { &mut top.input };
        self.network.device.room(buffer, bytes)
    }
}

/// Queries, keys and values in one.
pub(super) fn all_three(layer: &LayerPlace) -> LinearPlace {
    LinearPlace {
        weight: layer.query.weight.start..layer.key_value.weight.end,
        bias: layer.query.bias.start..layer.key_value.bias.end,
        into: layer.query.into,
        out: layer.query.out + layer.key_value.out,
    }
}
