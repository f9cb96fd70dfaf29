//! The way back on the GPU, as in the other back.rs: from the head's hidden sums to the gradient of every
//! weight.

use super::device::{Arg, At, Blocks, Buffer, GpuError, Matrix, Outcome};
use super::forward::{all_three, args};
use super::tape::{Back, Normed, Rows, Saved, Sizes, Tape};
use super::{CHUNKS, Pass};
use crate::evaluator::network::{dropped, norms};
use crate::evaluator::numbers::{LinearPlace, NormPlace};

impl Pass<'_> {
    /// The gradient of every weight, after the way forth on this tape.
    pub(super) fn back(&self, tape: &mut Tape) -> Result<(), GpuError> {
        let Tape { top, back, layers, .. } = tape;
        let hidden = self.room(&mut top.hidden, 0)?;
        let slopes = self.network.device.room(&mut tape.slopes, 0)?;
        self.judge_back(top, hidden, slopes, back)?;
        for (number, saved) in layers.iter_mut().enumerate().rev() {
            self.think_back(number, saved, back)?;
            self.attend_back(number, saved, back)?;
            self.ask_back(number, saved, back)?;
        }
        self.embed_back(tape)?;
        let (sums, gradient) = (&self.network.sums, self.network.gradient);
        let args = args![sums.parts, sums.slots, sums.places, gradient];
        self.network.device.launch("collect", Blocks::numbers(sums.slots), args)
    }

    /// Room for so many numbers.
    fn room(&self, buffer: &mut Buffer, count: usize) -> Result<At, GpuError> {
        self.network.device.room(buffer, self.bytes(count))
    }

    /// Leaves the gradient of the CLS tokens in x.
    fn judge_back(
        &self,
        top: &mut Saved,
        hidden: At,
        slopes: At,
        back: &mut Back,
    ) -> Result<(), GpuError> {
        let (layout, sums) = (&self.network.layout, &self.network.sums);
        let (count, d) = (self.sizes.sequences, self.width());
        let (first, second) = &layout.head;
        let slot = sums.slot_of[&second.weight.start];
        let args = args![hidden, slopes, count, sums.parts, sums.slots, slot];
        let blocks = Blocks::columns(d + 1, CHUNKS, 1);
        self.network.device.launch("judge_sums", blocks, args)?;
        let (head_in, of_hidden) = (self.head_in(top)?, self.room(&mut back.masked, 0)?);
        let x = self.room(&mut back.x, self.sizes.rows * d)?;
        self.linear_back(first, head_in, (of_hidden, count), Some((x, Outcome::Written)))?;
        match &layout.norm {
            Some(place) => self.norm_back(place, (x, count), &mut top.outer),
            None => Ok(()),
        }
    }

    /// From \[A, d\] of a layer's result to \[A, d\] of what the hidden part was added to.
    fn think_back(
        &self,
        number: usize,
        saved: &mut Saved,
        back: &mut Back,
    ) -> Result<(), GpuError> {
        let (device, config) = (&self.network.device, &self.network.config);
        let layer = &self.network.layout.layers[number];
        let (middle, outer) = norms(layer, config.norm_first);
        let (rows, _) = self.asking(number);
        let x = self.room(&mut back.x, 0)?;
        if !config.norm_first {
            self.norm_back(outer, (x, rows), &mut saved.outer)?;
        }
        let of_result = self.masked((x, rows), dropped(number, 2), &mut back.masked)?;
        let count = rows * config.hidden;
        let of_hidden = self.room(&mut back.of_hidden, count)?;
        let hidden = self.room(&mut saved.hidden, 0)?;
        let into = Some((of_hidden, Outcome::Written));
        self.linear_back(&layer.linear2, hidden, (of_result, rows), into)?;
        let before = self.before(saved, count)?;
        let (key, below, kept) = self.mask(dropped(number, 1));
        let args = args![of_hidden, hidden, before, count, key, below, kept];
        device.launch("activate_back", Blocks::numbers(count), args)?;
        let hidden_in = self.room(&mut saved.hidden_in, 0)?;
        if !config.norm_first {
            let into = Some((x, Outcome::Added));
            self.linear_back(&layer.linear1, hidden_in, (of_hidden, rows), into)?;
            return self.norm_back(middle, (x, rows), &mut saved.middle);
        }
        let other = self.room(&mut back.other, rows * config.width)?;
        let into = Some((other, Outcome::Written));
        self.linear_back(&layer.linear1, hidden_in, (of_hidden, rows), into)?;
        self.norm_back(middle, (other, rows), &mut saved.middle)?;
        self.add(x, other, rows)
    }

    /// From \[A, d\] to queries, keys and values; x stays, for it was added.
    fn attend_back(
        &self,
        number: usize,
        saved: &mut Saved,
        back: &mut Back,
    ) -> Result<(), GpuError> {
        let (config, d) = (&self.network.config, self.width());
        let layer = &self.network.layout.layers[number];
        let Sizes { rows, sequences, longest, .. } = self.sizes;
        let ((asking, _), last) = (self.asking(number), self.is_last(number));
        let x = self.room(&mut back.x, 0)?;
        let of_result = self.masked((x, asking), dropped(number, 0), &mut back.masked)?;
        let of_attended = self.room(&mut back.of_attended, asking * d)?;
        let attended = self.room(&mut saved.attended, 0)?;
        let into = Some((of_attended, Outcome::Written));
        self.linear_back(&layer.out, attended, (of_result, asking), into)?;
        let ((q, q_pitch), (kv, kv_pitch)) = self.asked(last, saved)?;
        let of_q = self.room(&mut back.of_queries, asking * q_pitch)?;
        let of_kv = match last {
            true => self.room(&mut back.of_keys_values, rows * kv_pitch)?,
            false => of_q.plus(self.bytes(d)),
        };
        let shares = self.network.device.room(&mut saved.shares, 0)?;
        let bias = self.weights(layer.query.bias.start);
        let floats = 4 * longest * (d / config.heads + 1) + 2 * longest * longest;
        self.network.device.launch(
            "attend_back",
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
                of_attended,
                of_q,
                of_kv
            ],
        )
    }

    /// From queries, keys and values to all rows \[R, d\] of the layer's input, into x.
    fn ask_back(&self, number: usize, saved: &mut Saved, back: &mut Back) -> Result<(), GpuError> {
        let (norm_first, rows) = (self.network.config.norm_first, self.sizes.rows);
        let layer = &self.network.layout.layers[number];
        let into = if norm_first { &mut saved.attention_in } else { &mut saved.input };
        let into = self.room(into, 0)?;
        let (x, of_queries) = (self.room(&mut back.x, 0)?, self.room(&mut back.of_queries, 0)?);
        if self.is_last(number) {
            self.ask_back_last(number, into, saved, back)?;
        } else if norm_first {
            let other = self.room(&mut back.other, rows * self.width())?;
            let result = Some((other, Outcome::Written));
            self.linear_back(&all_three(layer), into, (of_queries, rows), result)?;
            self.norm_back(&layer.norm1, (other, rows), &mut saved.outer)?;
            self.add(x, other, rows)?;
        } else {
            let result = Some((x, Outcome::Added));
            self.linear_back(&all_three(layer), into, (of_queries, rows), result)?;
        }
        Ok(())
    }

    /// The same in the last layer, where only the CLS tokens ask.
    fn ask_back_last(
        &self,
        number: usize,
        into: At,
        saved: &mut Saved,
        back: &mut Back,
    ) -> Result<(), GpuError> {
        let layer = &self.network.layout.layers[number];
        let Sizes { rows, sequences, .. } = self.sizes;
        let d = self.width();
        let x = self.room(&mut back.x, 0)?;
        let of_rows = self.room(&mut back.other, rows * d)?;
        let of_keys_values = self.room(&mut back.of_keys_values, 0)?;
        let result = Some((of_rows, Outcome::Written));
        self.linear_back(&layer.key_value, into, (of_keys_values, rows), result)?;
        let of_queries = self.room(&mut back.of_queries, 0)?;
        let asking = self.room(&mut saved.asking, 0)?;
        let of_asking = self.room(&mut back.masked, sequences * d)?;
        let result = Some((of_asking, Outcome::Written));
        self.linear_back(&layer.query, asking, (of_queries, sequences), result)?;
        self.scatter_add(of_asking, of_rows)?;
        if self.network.config.norm_first {
            self.norm_back(&layer.norm1, (of_rows, rows), &mut saved.outer)?;
        }
        self.scatter_add(x, of_rows)?;
        std::mem::swap(&mut back.x, &mut back.other);
        Ok(())
    }

    /// From all rows to the projection, the CLS token and the places.
    fn embed_back(&self, tape: &mut Tape) -> Result<(), GpuError> {
        let (device, layout, sums) =
            (&self.network.device, &self.network.layout, &self.network.sums);
        let Sizes { rows, sequences, steps, .. } = self.sizes;
        let Rows { starts, sequence_of, .. } = self.rows;
        let x = self.room(&mut tape.back.x, 0)?;
        let of_projected = self.room(&mut tape.projected, 0)?;
        let (key, below, kept) = self.mask(0);
        let args = args![x, starts, sequence_of, rows, key, below, kept, of_projected];
        device.launch("embed_back", Blocks::rows(rows), args)?;
        let slot = |start| sums.slot_of[&start];
        let (places, cls) = (slot(layout.position.start), slot(layout.cls.start));
        let args = args![x, starts, sequences, sums.parts, sums.slots, places, cls];
        let blocks = Blocks::columns(self.width(), 1 + self.network.config.max_steps, CHUNKS);
        device.launch("place_sums", blocks, args)?;
        let inputs = self.room(&mut tape.inputs, 0)?;
        self.linear_back(&layout.project, inputs, (of_projected, steps), None)
    }

    /// What was left out at this place left out again; where nothing was, x itself.
    fn masked(&self, (x, rows): (At, usize), place: u64, out: &mut Buffer) -> Result<At, GpuError> {
        let Some(_) = self.dropout.mask(place) else { return Ok(x) };
        let count = rows * self.width();
        let out = self.room(out, count)?;
        let (key, below, kept) = self.mask(place);
        let args = args![x, out, count, key, below, kept];
        self.network.device.launch("drop_out", Blocks::numbers(count), args)?;
        Ok(out)
    }

    /// x += other
    fn add(&self, x: At, other: At, rows: usize) -> Result<(), GpuError> {
        let count = rows * self.width();
        self.network.device.launch("add", Blocks::numbers(count), args![x, other, count])
    }

    /// Adds \[B, d\] to the CLS tokens' rows.
    fn scatter_add(&self, x: At, out: At) -> Result<(), GpuError> {
        let count = self.sizes.sequences;
        let args = args![x, self.rows.starts, count, out];
        self.network.device.launch("scatter_add", Blocks::numbers(count * self.width()), args)
    }

    /// The gradients of a linear layer's weight and bias, from that of its result; and that of its
    /// input where it is wanted.
    fn linear_back(
        &self,
        place: &LinearPlace,
        x: At,
        (of_result, rows): (At, usize),
        of_x: Option<(At, Outcome)>,
    ) -> Result<(), GpuError> {
        let (device, LinearPlace { into, out, .. }) = (&self.network.device, place);
        let result = Matrix::new(of_result, *out);
        let gradient = Matrix::new(self.network.gradient.plus(4 * place.weight.start), *into);
        let matrices = (result.turned(), Matrix::new(x, *into), gradient);
        device.multiply(matrices, (*out, *into, rows), Outcome::Gradient)?;
        self.column_sums((of_result, At::NONE), (rows, *out), (place.bias.start, 0))?;
        if let Some((of_x, outcome)) = of_x {
            let matrices = (result, self.factors(place), Matrix::new(of_x, *into));
            device.multiply(matrices, (rows, *into, *out), outcome)?;
        }
        Ok(())
    }

    /// The sums of columns, and of columns times another's, as the gradients of the tensors that begin
    /// there.
    fn column_sums(
        &self,
        (x, other): (At, At),
        (rows, width): (usize, usize),
        (start, start_of_other): (usize, usize),
    ) -> Result<(), GpuError> {
        let sums = &self.network.sums;
        let slot = sums.slot_of[&start];
        let slot_of_other = sums.slot_of.get(&start_of_other).copied().unwrap_or(0);
        let args = args![x, other, rows, width, sums.parts, sums.slots, slot, slot_of_other];
        self.network.device.launch("column_sums", Blocks::columns(width, CHUNKS, 1), args)
    }

    fn norm_back(
        &self,
        place: &NormPlace,
        (x, rows): (At, usize),
        normed: &mut Normed,
    ) -> Result<(), GpuError> {
        let (normed, scales) = self.normed(normed, rows)?;
        let starts = (place.bias.start, place.weight.start);
        self.column_sums((x, normed), (rows, self.width()), starts)?;
        let weight = self.weights(place.weight.start);
        let args = args![x, normed, scales, weight, rows];
        self.network.device.launch("norm_back", Blocks::rows(rows), args)
    }
}
