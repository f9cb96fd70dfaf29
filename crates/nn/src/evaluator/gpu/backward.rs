//! The backward pass on the GPU: from the head's hidden sums to the gradient of every parameter. What makes it safe is
//! said in forward.rs.

use super::activations::{BatchIndex, BatchShape, GpuActivations};
use super::device::{Address, Arg, GemmOutput, GpuBuffer, GpuMatrix, LaunchGrid};
use super::forward::args;
use super::{CHUNKS, Pass};
use crate::error::Result;
use crate::evaluator::activations::{Gradients, LayerActivations, NormCache};
use crate::evaluator::dropout::{EMBEDDING_SITE, LayerSite};
use crate::evaluator::parameters::{LinearRange, NormRange};

impl Pass<'_> {
    /// The gradient of every parameter, after the forward pass.
    pub(super) fn backward(&self, saved: &mut GpuActivations) -> Result<()> {
        self.head_backward(saved)?;
        let GpuActivations { gradients: buffers, layers, .. } = saved;
        for (number, layer) in layers.iter().enumerate().rev() {
            self.feed_forward_backward(number, layer, buffers)?;
            self.attention_backward(number, layer, buffers)?;
            self.qkv_backward(number, layer, buffers)?;
        }
        self.embed_backward(saved)?;
        let (sums, gradient) = (&self.network.sums, self.network.gradient.address);
        let args = args![sums.parts.address, sums.slots, sums.parameters.address, gradient];
        unsafe { self.launch("reduce_sums", LaunchGrid::elements(sums.slots), args) }
    }

    /// Leaves the gradient of the CLS tokens in x.
    fn head_backward(&self, saved: &mut GpuActivations) -> Result<()> {
        let (layout, sums) = (&self.network.layout, &self.network.sums);
        let (count, d) = (self.shape.sequences, self.width());
        let (first, second) = &layout.head;
        let (hidden, d_logits) = (saved.top.hidden.address, saved.d_logits.address);
        let slot = sums.slot_of[&second.weight.start];
        let args = args![hidden, d_logits, count, sums.parts.address, sums.slots, slot];
        unsafe { self.launch("head_sums", LaunchGrid::columns(d + 1, CHUNKS, 1), args) }?;
        let d_hidden = saved.gradients.masked.address;
        let x = self.reserve(&mut saved.gradients.x, self.shape.rows * d)?;
        let (head_in, target) = (self.head_in(&saved.top), Some((x, GemmOutput::Write)));
        unsafe { self.linear_backward(first, head_in, (d_hidden, count), target) }?;
        match &layout.norm {
            Some(range) => unsafe { self.norm_backward(range, (x, count), &saved.top.outer_norm) },
            None => Ok(()),
        }
    }

    /// From \[A, d\] of a layer's result to \[A, d\] of what the feed-forward block was added to.
    fn feed_forward_backward(
        &self,
        number: usize,
        saved: &LayerActivations<GpuBuffer>,
        buffers: &mut Gradients<GpuBuffer>,
    ) -> Result<()> {
        let (layer, config) = (self.layer(number), &self.network.config);
        let (middle, outer) = layer.norms(config.norm_first);
        let ((rows, _), x) = (self.query_rows(number), buffers.x.address);
        if !config.norm_first {
            unsafe { self.norm_backward(outer, (x, rows), &saved.outer_norm) }?;
        }
        let site = LayerSite::FeedForward.of(number);
        let d_result = unsafe { self.masked((x, rows), site, &mut buffers.masked) }?;
        let (hidden, count) = (saved.hidden.address, rows * config.hidden);
        let d_hidden = self.reserve(&mut buffers.d_hidden, count)?;
        let target = Some((d_hidden, GemmOutput::Write));
        unsafe { self.linear_backward(&layer.linear2, hidden, (d_result, rows), target) }?;
        let mask = self.dropout.mask(LayerSite::Hidden.of(number));
        let args = args![d_hidden, hidden, saved.pre.address, count, mask];
        unsafe { self.launch("activate_backward", LaunchGrid::elements(count), args) }?;
        let hidden_in = saved.hidden_in.address;
        if !config.norm_first {
            let target = Some((x, GemmOutput::Add));
            unsafe { self.linear_backward(&layer.linear1, hidden_in, (d_hidden, rows), target) }?;
            return unsafe { self.norm_backward(middle, (x, rows), &saved.middle_norm) };
        }
        let d_rows = self.reserve(&mut buffers.d_rows, rows * config.width)?;
        let target = Some((d_rows, GemmOutput::Write));
        unsafe { self.linear_backward(&layer.linear1, hidden_in, (d_hidden, rows), target) }?;
        unsafe { self.norm_backward(middle, (d_rows, rows), &saved.middle_norm) }?;
        unsafe { self.add(x, d_rows, rows) }
    }

    /// From \[A, d\] to queries, keys and values; x stays, for it was added.
    fn attention_backward(
        &self,
        number: usize,
        saved: &LayerActivations<GpuBuffer>,
        buffers: &mut Gradients<GpuBuffer>,
    ) -> Result<()> {
        let (layer, heads, d) = (self.layer(number), self.network.config.heads, self.width());
        let BatchShape { rows, sequences, max_length, .. } = self.shape;
        let ((queries, _), last) = (self.query_rows(number), self.is_last(number));
        let (x, site) = ((buffers.x.address, queries), LayerSite::Attention.of(number));
        let d_result = unsafe { self.masked(x, site, &mut buffers.masked) }?;
        let d_out = self.reserve(&mut buffers.d_attended, queries * d)?;
        let target = Some((d_out, GemmOutput::Write));
        unsafe {
            self.linear_backward(&layer.out, saved.attended.address, (d_result, queries), target)
        }?;
        let ((q, q_pitch), (kv, kv_pitch)) = self.qkv_addresses(last, saved);
        let d_q = self.reserve(&mut buffers.d_queries, queries * q_pitch)?;
        let d_kv = match last {
            true => self.reserve(&mut buffers.d_keys_values, rows * kv_pitch)?,
            false => d_q.offset(self.bytes(d)),
        };
        let (probs, bias) = (saved.probs.address, self.weights(layer.query.bias.start));
        let (starts, cls_only) = (self.index.starts, u32::from(last));
        let floats = 4 * max_length * (d / heads + 1) + 2 * max_length * max_length;
        let grid = LaunchGrid::with_shared_memory((sequences, heads), floats);
        let args = args![
            q, q_pitch, kv, kv_pitch, bias, starts, cls_only, max_length, probs, d_out, d_q, d_kv
        ];
        unsafe { self.launch("attention_backward", grid, args) }
    }

    /// From queries, keys and values to all rows \[R, d\] of the layer's input, into x.
    fn qkv_backward(
        &self,
        number: usize,
        saved: &LayerActivations<GpuBuffer>,
        buffers: &mut Gradients<GpuBuffer>,
    ) -> Result<()> {
        let (layer, norm_first) = (self.layer(number), self.network.config.norm_first);
        let input = if norm_first { &saved.attention_in } else { &saved.input }.address;
        if self.is_last(number) {
            return unsafe { self.cls_qkv_backward(number, input, saved, buffers) };
        }
        let (x, rows) = (buffers.x.address, self.shape.rows);
        let d_qkv = (buffers.d_queries.address, rows);
        if !norm_first {
            let target = Some((x, GemmOutput::Add));
            return unsafe { self.linear_backward(&layer.in_proj(), input, d_qkv, target) };
        }
        let d_rows = self.reserve(&mut buffers.d_rows, rows * self.width())?;
        let target = Some((d_rows, GemmOutput::Write));
        unsafe { self.linear_backward(&layer.in_proj(), input, d_qkv, target) }?;
        unsafe { self.norm_backward(&layer.norm1, (d_rows, rows), &saved.outer_norm) }?;
        unsafe { self.add(x, d_rows, rows) }
    }

    /// The same in the last layer, where only the CLS tokens have a query.
    unsafe fn cls_qkv_backward(
        &self,
        number: usize,
        input: Address,
        saved: &LayerActivations<GpuBuffer>,
        buffers: &mut Gradients<GpuBuffer>,
    ) -> Result<()> {
        let (layer, d) = (self.layer(number), self.width());
        let BatchShape { rows, sequences, .. } = self.shape;
        let d_rows = self.reserve(&mut buffers.d_rows, rows * d)?;
        let d_keys_values = (buffers.d_keys_values.address, rows);
        let target = Some((d_rows, GemmOutput::Write));
        unsafe { self.linear_backward(&layer.key_value, input, d_keys_values, target) }?;
        let d_queries = (buffers.d_queries.address, sequences);
        let d_cls = self.reserve(&mut buffers.masked, sequences * d)?;
        let target = Some((d_cls, GemmOutput::Write));
        unsafe { self.linear_backward(&layer.query, saved.cls_in.address, d_queries, target) }?;
        unsafe { self.scatter_add(d_cls, d_rows) }?;
        if self.network.config.norm_first {
            unsafe { self.norm_backward(&layer.norm1, (d_rows, rows), &saved.outer_norm) }?;
        }
        unsafe { self.scatter_add(buffers.x.address, d_rows) }?;
        std::mem::swap(&mut buffers.x, &mut buffers.d_rows);
        Ok(())
    }

    /// From all rows to the projection, the CLS token and the positions.
    fn embed_backward(&self, saved: &GpuActivations) -> Result<()> {
        let (layout, sums) = (&self.network.layout, &self.network.sums);
        let BatchShape { rows, sequences, steps, .. } = self.shape;
        let BatchIndex { starts, sequence_of, .. } = self.index;
        let (x, d_projected) = (saved.gradients.x.address, saved.projected.address);
        let mask = self.dropout.mask(EMBEDDING_SITE);
        let args = args![x, starts, sequence_of, rows, mask, d_projected];
        unsafe { self.launch("embed_backward", LaunchGrid::rows(rows), args) }?;
        let slot = |start| sums.slot_of[&start];
        let (positions, cls) = (slot(layout.position.start), slot(layout.cls.start));
        let parts = sums.parts.address;
        let args = args![x, starts, sequences, parts, sums.slots, positions, cls];
        let grid = LaunchGrid::columns(self.width(), 1 + self.network.config.max_steps, CHUNKS);
        unsafe { self.launch("position_sums", grid, args) }?;
        unsafe {
            self.linear_backward(&layout.project, saved.inputs.address, (d_projected, steps), None)
        }
    }

    /// x under the mask of a site; where nothing is dropped, x itself.
    unsafe fn masked(
        &self,
        (x, rows): (Address, usize),
        site: u64,
        out: &mut GpuBuffer,
    ) -> Result<Address> {
        let Some(mask) = self.dropout.mask(site) else { return Ok(x) };
        let count = rows * self.width();
        let out = self.reserve(out, count)?;
        let args = args![x, out, count, Some(mask)];
        unsafe { self.launch("dropout", LaunchGrid::elements(count), args) }?;
        Ok(out)
    }

    /// x += other
    unsafe fn add(&self, x: Address, other: Address, rows: usize) -> Result<()> {
        let count = rows * self.width();
        unsafe { self.launch("add", LaunchGrid::elements(count), args![x, other, count]) }
    }

    /// Adds \[B, d\] to the CLS tokens' rows.
    unsafe fn scatter_add(&self, x: Address, out: Address) -> Result<()> {
        let count = self.shape.sequences;
        let args = args![x, self.index.starts, count, out];
        unsafe { self.launch("scatter_add", LaunchGrid::elements(count * self.width()), args) }
    }

    /// The gradients of a linear layer's weight and bias, from that of its result; and that of its
    /// input where there is a target.
    unsafe fn linear_backward(
        &self,
        range: &LinearRange,
        x: Address,
        (d_result, rows): (Address, usize),
        target: Option<(Address, GemmOutput)>,
    ) -> Result<()> {
        let (device, &LinearRange { inputs, outputs, .. }) = (&self.network.device, range);
        let result = GpuMatrix::new(d_result, outputs);
        let d_weight = self.network.gradient.address.offset(4 * range.weight.start);
        let matrices =
            (result.transposed(), GpuMatrix::new(x, inputs), GpuMatrix::new(d_weight, inputs));
        unsafe { device.multiply(matrices, (outputs, inputs, rows), GemmOutput::WriteF32) }?;
        unsafe {
            self.column_sums((d_result, Address::NULL), (rows, outputs), (range.bias.start, 0))
        }?;
        if let Some((d_x, output)) = target {
            let matrices = (result, self.factors(range), GpuMatrix::new(d_x, inputs));
            unsafe { device.multiply(matrices, (rows, inputs, outputs), output) }?;
        }
        Ok(())
    }

    /// The sums of columns, and of columns times another's, as the gradients of the tensors that begin
    /// there.
    unsafe fn column_sums(
        &self,
        (x, other): (Address, Address),
        (rows, width): (usize, usize),
        (start, start_of_other): (usize, usize),
    ) -> Result<()> {
        let sums = &self.network.sums;
        let slot = sums.slot_of[&start];
        let slot_of_other = sums.slot_of.get(&start_of_other).copied().unwrap_or(0);
        let parts = sums.parts.address;
        let args = args![x, other, rows, width, parts, sums.slots, slot, slot_of_other];
        unsafe { self.launch("column_sums", LaunchGrid::columns(width, CHUNKS, 1), args) }
    }

    unsafe fn norm_backward(
        &self,
        range: &NormRange,
        (x, rows): (Address, usize),
        cache: &NormCache<GpuBuffer>,
    ) -> Result<()> {
        let (normalized, rstd) = (cache.rows.address, cache.rstd.address);
        let starts = (range.bias.start, range.weight.start);
        unsafe { self.column_sums((x, normalized), (rows, self.width()), starts) }?;
        let weight = self.weights(range.weight.start);
        let args = args![x, normalized, rstd, weight, rows];
        unsafe { self.launch("layer_norm_backward", LaunchGrid::rows(rows), args) }
    }
}
