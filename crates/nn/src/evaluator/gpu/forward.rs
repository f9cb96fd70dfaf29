//! The forward pass on the GPU, from steps to the loss of each sequence; the shapes are those of the
//! CPU's forward.rs.
//!
//! SAFETY of everything here: kernels and products get the arguments that kernels.cu names, in its order. Each address is
//! of a buffer of this pass or of the network that was reserved for the rows of the batch's shape, and no buffer is
//! reserved anew between taking its address and using it. An `unsafe fn` takes addresses of which its caller knows this.

use super::activations::{BatchIndex, BatchShape, GpuActivations};
use super::device::{Address, Arg, GemmOutput, GpuBuffer, GpuMatrix, LaunchGrid};
use super::{GpuNetwork, Pass};
use crate::error::Result;
use crate::evaluator::Labels;
use crate::evaluator::activations::{LayerActivations, NormCache};
use crate::evaluator::dropout::{EMBEDDING_SITE, LayerSite};
use crate::evaluator::forward::Batch;
use crate::evaluator::parameters::{LayerRange, LinearRange, NormRange};
use crate::kernels::Activation;

/// Arguments of a kernel.
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
        shape: BatchShape,
        saved: &mut GpuActivations,
    ) -> Result<BatchIndex> {
        let (device, count) = (&mut self.device, batch.inputs.len());
        let f32s = device.reserve(&mut saved.inputs_f32, 4 * count)?;
        device.write_many(&saved.inputs_f32, &batch.inputs)?;
        let inputs = device.reserve(&mut saved.inputs, device.arithmetic.bytes() * count)?;
        unsafe {
            device.launch("convert", LaunchGrid::elements(count), args![f32s, inputs, count])
        }?;
        let index = BatchShape::index(batch, &labels.right);
        let starts = device.reserve(&mut saved.index, 4 * index.len())?;
        device.write(&saved.index, &index)?;
        let sequence_of = starts.offset(4 * (shape.sequences + 1));
        Ok(BatchIndex { starts, sequence_of, right: sequence_of.offset(4 * shape.rows) })
    }
}

impl Pass<'_> {
    /// The parameters from this index on, in 32 bits.
    pub(super) fn weights(&self, start: usize) -> Address {
        self.network.weights.address.offset(4 * start)
    }

    fn norm_parameters(&self, range: &NormRange) -> (Address, Address) {
        (self.weights(range.weight.start), self.weights(range.bias.start))
    }

    /// A layer's weight for matrix products.
    pub(super) fn factors(&self, range: &LinearRange) -> GpuMatrix {
        let weights = self.network.half_weights.as_ref().unwrap_or(&self.network.weights);
        GpuMatrix::new(weights.address.offset(self.bytes(range.weight.start)), range.inputs)
    }

    /// The bytes of so many values.
    pub(super) fn bytes(&self, count: usize) -> usize {
        self.network.device.arithmetic.bytes() * count
    }

    /// Room for so many values.
    pub(super) fn reserve(&self, buffer: &mut GpuBuffer, count: usize) -> Result<Address> {
        self.network.device.reserve(buffer, self.bytes(count))
    }

    /// Room for so many values in 32 bits.
    fn reserve_f32(&self, buffer: &mut GpuBuffer, count: usize) -> Result<Address> {
        self.network.device.reserve(buffer, 4 * count)
    }

    pub(super) unsafe fn launch(
        &self,
        name: &'static str,
        grid: LaunchGrid,
        args: &[Arg],
    ) -> Result<()> {
        unsafe { self.network.device.launch(name, grid, args) }
    }

    pub(super) fn width(&self) -> usize {
        self.network.config.width
    }

    pub(super) fn layer(&self, number: usize) -> &LayerRange {
        &self.network.layout.layers[number]
    }

    /// How many rows of a layer have a query, and their row numbers in the input where these differ.
    pub(super) fn query_rows(&self, number: usize) -> (usize, Address) {
        match self.is_last(number) {
            true => (self.shape.sequences, self.index.starts),
            false => (self.shape.rows, Address::NULL),
        }
    }

    pub(super) fn is_last(&self, number: usize) -> bool {
        number + 1 == self.network.config.layers
    }

    /// x Wᵀ, without the bias. \[rows, in\] -> \[rows, out\]
    unsafe fn product(
        &self,
        range: &LinearRange,
        x: Address,
        rows: usize,
        out: Address,
    ) -> Result<()> {
        let (x, out) = (GpuMatrix::new(x, range.inputs), GpuMatrix::new(out, range.outputs));
        let matrices = (x, self.factors(range).transposed(), out);
        let sizes = (rows, range.outputs, range.inputs);
        unsafe { self.network.device.multiply(matrices, sizes, GemmOutput::Write) }
    }

    /// From the batch to the loss of each sequence.
    pub(super) fn forward(&self, weight_of_right: f32, saved: &mut GpuActivations) -> Result<()> {
        self.embed(saved)?;
        let product = self.reserve(&mut saved.product, self.shape.rows * self.width())?;
        for number in 0..self.network.config.layers {
            let (before, after) = saved.layers.split_at_mut(number + 1);
            let (Some(layer), next) = (before.last_mut(), after.first_mut()) else { continue };
            let out = &mut next.unwrap_or(&mut saved.top).input;
            let out = self.reserve(out, self.query_rows(number).0 * self.width())?;
            self.qkv(number, layer)?;
            self.attention(number, layer)?;
            unsafe { self.attention_output(number, layer, product) }?;
            unsafe { self.feed_forward(number, layer, product, out) }?;
        }
        self.head(weight_of_right, saved)
    }

    fn embed(&self, saved: &mut GpuActivations) -> Result<()> {
        let (layout, d) = (&self.network.layout, self.width());
        let BatchShape { rows, steps, .. } = self.shape;
        let projected = self.reserve(&mut saved.projected, steps * d)?;
        unsafe { self.product(&layout.project, saved.inputs.address, steps, projected) }?;
        let Some(first) = saved.layers.first_mut() else { return Ok(()) };
        let x = self.reserve(&mut first.input, rows * d)?;
        let bias = self.weights(layout.project.bias.start);
        let (cls, position) = (self.weights(layout.cls.start), self.weights(layout.position.start));
        let BatchIndex { starts, sequence_of, .. } = self.index;
        let mask = self.dropout.mask(EMBEDDING_SITE);
        let args = args![projected, bias, cls, position, starts, sequence_of, rows, mask, x];
        unsafe { self.launch("embed", LaunchGrid::rows(rows), args) }
    }

    unsafe fn norm(
        &self,
        range: &NormRange,
        (x, rows): (Address, usize),
        cache: &mut NormCache<GpuBuffer>,
        out: Address,
    ) -> Result<()> {
        let (normalized, rstd) = self.norm_cache(cache, rows)?;
        let (weight, bias) = self.norm_parameters(range);
        let args = args![x, rows, normalized, rstd, out, weight, bias];
        unsafe { self.launch("layer_norm", LaunchGrid::rows(rows), args) }
    }

    /// Normalised rows and 1 / standard deviations.
    fn norm_cache(
        &self,
        cache: &mut NormCache<GpuBuffer>,
        rows: usize,
    ) -> Result<(Address, Address)> {
        let rstd = self.reserve_f32(&mut cache.rstd, rows)?;
        Ok((self.reserve(&mut cache.rows, rows * self.width())?, rstd))
    }

    /// Queries, keys and values without their biases.
    fn qkv(&self, number: usize, saved: &mut LayerActivations<GpuBuffer>) -> Result<()> {
        let (layer, d) = (self.layer(number), self.width());
        let BatchShape { rows, sequences, .. } = self.shape;
        let mut input = saved.input.address;
        if self.network.config.norm_first {
            let x = input;
            input = self.reserve(&mut saved.attention_in, rows * d)?;
            unsafe { self.norm(&layer.norm1, (x, rows), &mut saved.outer_norm, input) }?;
        }
        if !self.is_last(number) {
            let qkv = self.reserve(&mut saved.queries, rows * 3 * d)?;
            return unsafe { self.product(&layer.in_proj(), input, rows, qkv) };
        }
        let cls = self.reserve(&mut saved.cls_in, sequences * d)?;
        let args = args![input, self.index.starts, sequences, cls];
        unsafe { self.launch("gather", LaunchGrid::elements(sequences * d), args) }?;
        let queries = self.reserve(&mut saved.queries, sequences * d)?;
        unsafe { self.product(&layer.query, cls, sequences, queries) }?;
        let keys_values = self.reserve(&mut saved.keys_values, rows * 2 * d)?;
        unsafe { self.product(&layer.key_value, input, rows, keys_values) }
    }

    fn attention(&self, number: usize, saved: &mut LayerActivations<GpuBuffer>) -> Result<()> {
        let (heads, d, last) = (self.network.config.heads, self.width(), self.is_last(number));
        let BatchShape { sequences, max_length, .. } = self.shape;
        let (queries, _) = self.query_rows(number);
        let probs = self.reserve_f32(&mut saved.probs, queries * heads * max_length)?;
        let out = self.reserve(&mut saved.attended, queries * d)?;
        let ((q, q_pitch), (kv, kv_pitch)) = self.qkv_addresses(last, saved);
        let bias = self.weights(self.layer(number).query.bias.start);
        let (starts, cls_only) = (self.index.starts, u32::from(last));
        let floats = 3 * max_length * (d / heads + 1) + 4 * max_length;
        let grid = LaunchGrid::with_shared_memory((sequences, heads), floats);
        let args = args![q, q_pitch, kv, kv_pitch, bias, starts, cls_only, max_length, probs, out];
        unsafe { self.launch("attention", grid, args) }
    }

    /// Where queries, and keys and values, are, and how long a row of them is.
    pub(super) fn qkv_addresses(
        &self,
        last: bool,
        saved: &LayerActivations<GpuBuffer>,
    ) -> ((Address, usize), (Address, usize)) {
        let (queries, d) = (saved.queries.address, self.width());
        match last {
            true => ((queries, d), (saved.keys_values.address, 2 * d)),
            false => ((queries, 3 * d), (queries.offset(self.bytes(d)), 3 * d)),
        }
    }

    /// The attended values projected and added to the rows with a query; and the norm behind that.
    unsafe fn attention_output(
        &self,
        number: usize,
        saved: &mut LayerActivations<GpuBuffer>,
        product: Address,
    ) -> Result<()> {
        let (layer, norm_first) = (self.layer(number), self.network.config.norm_first);
        let (rows, x_rows) = self.query_rows(number);
        let count = rows * self.width();
        unsafe { self.product(&layer.out, saved.attended.address, rows, product) }?;
        let x = saved.input.address;
        let sum = if norm_first { self.reserve(&mut saved.sum, count)? } else { Address::NULL };
        let (normalized, rstd) = self.norm_cache(&mut saved.middle_norm, rows)?;
        let y = self.reserve(&mut saved.hidden_in, count)?;
        let (weight, shift) = self.norm_parameters(layer.norms(norm_first).0);
        let bias = self.weights(layer.out.bias.start);
        let mask = self.dropout.mask(LayerSite::Attention.of(number));
        let args =
            args![product, bias, x, x_rows, rows, mask, sum, normalized, rstd, y, weight, shift];
        unsafe { self.launch("add_residual", LaunchGrid::rows(rows), args) }
    }

    /// The feed-forward block of a layer. \[A, d\] -> \[A, d\]
    unsafe fn feed_forward(
        &self,
        number: usize,
        saved: &mut LayerActivations<GpuBuffer>,
        product: Address,
        out: Address,
    ) -> Result<()> {
        let (layer, config) = (self.layer(number), &self.network.config);
        let (rows, _) = self.query_rows(number);
        let count = rows * config.hidden;
        let hidden = self.reserve(&mut saved.hidden, count)?;
        unsafe { self.product(&layer.linear1, saved.hidden_in.address, rows, hidden) }?;
        if config.activation == Activation::Gelu {
            self.reserve(&mut saved.pre, count)?;
        }
        let bias = self.weights(layer.linear1.bias.start);
        let mask = self.dropout.mask(LayerSite::Hidden.of(number));
        let args = args![hidden, bias, saved.pre.address, count, mask];
        unsafe { self.launch("activate", LaunchGrid::elements(count), args) }?;
        unsafe { self.product(&layer.linear2, hidden, rows, product) }?;
        let residual = if config.norm_first { &saved.sum } else { &saved.hidden_in }.address;
        let null = Address::NULL;
        let (sum, normalized, rstd, y) = match config.norm_first {
            true => (out, null, null, null),
            false => {
                let (normalized, rstd) = self.norm_cache(&mut saved.outer_norm, rows)?;
                (null, normalized, rstd, out)
            }
        };
        let bias = self.weights(layer.linear2.bias.start);
        let (weight, shift) = self.norm_parameters(layer.norms(config.norm_first).1);
        let mask = self.dropout.mask(LayerSite::FeedForward.of(number));
        let args = args![
            product, bias, residual, null, rows, mask, sum, normalized, rstd, y, weight, shift
        ];
        unsafe { self.launch("add_residual", LaunchGrid::rows(rows), args) }
    }

    /// From the CLS tokens to the losses and the gradient of the head's hidden sums.
    fn head(&self, weight_of_right: f32, saved: &mut GpuActivations) -> Result<()> {
        let (layout, top) = (&self.network.layout, &mut saved.top);
        let (count, d) = (self.shape.sequences, self.width());
        if let Some(range) = &layout.norm {
            let head_in = self.reserve(&mut top.hidden_in, count * d)?;
            unsafe { self.norm(range, (top.input.address, count), &mut top.outer_norm, head_in) }?;
        }
        let (first, second) = &layout.head;
        let product = saved.product.address;
        unsafe { self.product(first, self.head_in(top), count, product) }?;
        let hidden = self.reserve(&mut top.hidden, count * d)?;
        let d_hidden = self.reserve(&mut saved.gradients.masked, count * d)?;
        let d_logits = self.reserve_f32(&mut saved.d_logits, count)?;
        let losses = self.reserve_f32(&mut saved.losses, count)?;
        let (bias, right) = (self.weights(first.bias.start), self.index.right);
        let (w, b) = (self.weights(second.weight.start), self.weights(second.bias.start));
        let weight = weight_of_right;
        let args =
            args![product, bias, w, b, right, weight, count, hidden, d_hidden, d_logits, losses];
        unsafe { self.launch("head_loss", LaunchGrid::rows(count), args) }
    }

    /// The head's input: the last layer's result, or its norm.
    pub(super) fn head_in(&self, top: &LayerActivations<GpuBuffer>) -> Address {
        match self.network.layout.norm.is_some() {
            true => top.hidden_in.address,
            false => top.input.address,
        }
    }
}
