//! The backward pass on CPU: from the gradient of each logit to that of every parameter.

use super::activations::{Activations, Gradients, LayerActivations, NormCache};
use super::attention::{PackedAttention, Sequences};
use super::dropout::{EMBEDDING_SITE, LayerSite};
use super::forward::{Batch, Network, resize, scatter_add};
use super::layers::{activate_backward, apply_dropout, column_sums};
use super::parameters::{LinearRange, NormRange};
use crate::kernels::add;
use crate::matrix::{Matrix, multiply};

/// Where the gradient of a layer's input goes.
enum Target<'a> {
    None,
    Write(&'a mut [f32]),
    Add(&'a mut [f32]),
}

impl Network<'_> {
    /// The gradient of every parameter, from that of each logit, after [`Network::forward`].
    pub fn backward(
        &self,
        d_logits: &[f32],
        batch: &Batch,
        saved: &mut Activations,
        gradient: &mut [f32],
    ) {
        self.head_backward(d_logits, saved, gradient);
        let all = std::mem::take(&mut saved.sequences);
        let cls = all.with_cls_queries();
        let last = self.layout.layers.len() - 1;
        for number in (0..=last).rev() {
            let sequences = if number == last { &cls } else { &all };
            let (saved, buffers) = (&saved.layers[number], &mut saved.gradients);
            self.feed_forward_backward(number, saved, buffers, gradient);
            self.attention_backward(number, sequences, saved, buffers, gradient);
            self.qkv_backward(number, sequences, saved, buffers, gradient);
        }
        saved.sequences = all;
        self.embed_backward(batch, saved, gradient);
    }

    /// Leaves the gradient of the CLS tokens in x.
    fn head_backward(&self, d_logits: &[f32], saved: &mut Activations, gradient: &mut [f32]) {
        let d = self.config.width;
        let (first, second) = &self.layout.head;
        let (top, Gradients { x, masked: d_hidden, .. }) = (&saved.top, &mut saved.gradients);
        resize(d_hidden, top.hidden.len());
        self.linear_backward(second, &top.hidden, d_logits, Target::Write(d_hidden), gradient);
        let activation = self.config.activation;
        activate_backward(d_hidden, &top.hidden, &top.pre, activation, None, d, self.cores);
        resize(x, top.hidden_in.len());
        self.linear_backward(first, &top.hidden_in, d_hidden, Target::Write(x), gradient);
        if let Some(range) = &self.layout.norm {
            self.norm_backward(range, x, &top.outer_norm, gradient);
        }
    }

    /// From \[A, d\] of a layer's result to \[A, d\] of what the feed-forward block was added to.
    fn feed_forward_backward(
        &self,
        number: usize,
        saved: &LayerActivations,
        Gradients { x, masked, d_hidden, d_rows, .. }: &mut Gradients,
        gradient: &mut [f32],
    ) {
        let (layer, config) = (&self.layout.layers[number], self.config);
        let (middle, outer) = layer.norms(config.norm_first);
        if !config.norm_first {
            self.norm_backward(outer, x, &saved.outer_norm, gradient);
        }
        self.masked(x, LayerSite::FeedForward.of(number), masked);
        resize(d_hidden, saved.hidden.len());
        let target = Target::Write(d_hidden);
        self.linear_backward(&layer.linear2, &saved.hidden, masked, target, gradient);
        let mask = self.dropout.mask(LayerSite::Hidden.of(number));
        let (result, pre, width) = (&saved.hidden, &saved.pre, config.hidden);
        activate_backward(d_hidden, result, pre, config.activation, mask, width, self.cores);
        if config.norm_first {
            resize(d_rows, x.len());
            let target = Target::Write(d_rows);
            self.linear_backward(&layer.linear1, &saved.hidden_in, d_hidden, target, gradient);
            self.norm_backward(middle, d_rows, &saved.middle_norm, gradient);
            add(x, d_rows);
        } else {
            let target = Target::Add(x);
            self.linear_backward(&layer.linear1, &saved.hidden_in, d_hidden, target, gradient);
            self.norm_backward(middle, x, &saved.middle_norm, gradient);
        }
    }

    /// From \[A, d\] to queries, keys and values; x stays, for it was added.
    fn attention_backward(
        &self,
        number: usize,
        sequences: &Sequences,
        saved: &LayerActivations,
        buffers: &mut Gradients,
        gradient: &mut [f32],
    ) {
        let layer = &self.layout.layers[number];
        self.masked(&buffers.x, LayerSite::Attention.of(number), &mut buffers.masked);
        resize(&mut buffers.d_attended, buffers.x.len());
        let target = Target::Write(&mut buffers.d_attended);
        self.linear_backward(&layer.out, &saved.attended, &buffers.masked, target, gradient);
        resize(&mut buffers.d_queries, saved.queries.len());
        resize(&mut buffers.d_keys_values, saved.keys_values.len());
        let attention = PackedAttention {
            sequences,
            heads: self.config.heads,
            width: self.config.width,
            queries: &saved.queries,
            keys_values: &saved.keys_values,
        };
        let (d_queries, d_keys_values) = (&mut buffers.d_queries, &mut buffers.d_keys_values);
        attention.backward(&buffers.d_attended, &saved.probs, d_queries, d_keys_values);
    }

    /// From queries, keys and values to all rows \[R, d\] of the layer's input, into x.
    fn qkv_backward(
        &self,
        number: usize,
        sequences: &Sequences,
        saved: &LayerActivations,
        Gradients { x, d_rows, masked, d_queries, d_keys_values, .. }: &mut Gradients,
        gradient: &mut [f32],
    ) {
        let (layer, d) = (&self.layout.layers[number], self.config.width);
        let input = if self.config.norm_first { &saved.attention_in } else { &saved.input };
        resize(d_rows, saved.input.len());
        let target = Target::Write(d_rows);
        self.linear_backward(&layer.key_value, input, d_keys_values, target, gradient);
        if sequences.cls_only {
            resize(masked, saved.cls_in.len());
            let target = Target::Write(masked);
            self.linear_backward(&layer.query, &saved.cls_in, d_queries, target, gradient);
            scatter_add(masked, d, sequences.cls_rows(), d_rows);
        } else {
            self.linear_backward(&layer.query, input, d_queries, Target::Add(d_rows), gradient);
        }
        if self.config.norm_first {
            self.norm_backward(&layer.norm1, d_rows, &saved.outer_norm, gradient);
        }
        match sequences.cls_only {
            true => scatter_add(x, d, sequences.cls_rows(), d_rows),
            false => add(d_rows, x),
        }
        std::mem::swap(x, d_rows);
    }

    /// From all rows to the projection, the CLS token and the positions.
    fn embed_backward(&self, batch: &Batch, saved: &mut Activations, gradient: &mut [f32]) {
        let (d, layout, x) = (self.config.width, self.layout, &mut saved.gradients.x);
        apply_dropout(x, d, self.dropout.mask(EMBEDDING_SITE), self.cores);
        gradient[layout.cls.clone()].fill(0.0);
        gradient[layout.position.clone()].fill(0.0);
        saved.projected.clear();
        for span in &saved.sequences.spans {
            let rows = &x[span.start * d..span.end * d];
            for (place, row) in rows.chunks_exact(d).enumerate() {
                let at = layout.position.start + place.min(self.config.max_steps) * d;
                add(&mut gradient[at..at + d], row);
            }
            let (cls, steps) = rows.split_at(d);
            add(&mut gradient[layout.cls.clone()], cls);
            saved.projected.extend_from_slice(steps);
        }
        let (inputs, d_projected) = (&batch.inputs, &saved.projected);
        self.linear_backward(&layout.project, inputs, d_projected, Target::None, gradient);
    }

    /// A copy under the mask of a site.
    fn masked(&self, x: &[f32], site: u64, out: &mut Vec<f32>) {
        out.clear();
        out.extend_from_slice(x);
        apply_dropout(out, self.config.width, self.dropout.mask(site), self.cores);
    }

    /// The gradients of a linear layer's weight and bias, from that of its result, and of its input.
    fn linear_backward(
        &self,
        range: &LinearRange,
        x: &[f32],
        d_result: &[f32],
        target: Target<'_>,
        gradient: &mut [f32],
    ) {
        let result = Matrix::new(d_result, range.outputs);
        let d_weight = &mut gradient[range.weight.clone()];
        multiply(result.transposed(), Matrix::new(x, range.inputs), d_weight, false, self.cores);
        column_sums(d_result, &mut gradient[range.bias.clone()], self.cores);
        let weight = Matrix::new(self.at(&range.weight), range.inputs);
        match target {
            Target::None => {}
            Target::Write(d_x) => multiply(result, weight, d_x, false, self.cores),
            Target::Add(d_x) => multiply(result, weight, d_x, true, self.cores),
        }
    }

    fn norm_backward(
        &self,
        range: &NormRange,
        x: &mut [f32],
        cache: &NormCache,
        gradient: &mut [f32],
    ) {
        let (d_weight, rest) = gradient[range.weight.start..].split_at_mut(range.weight.len());
        let d_bias = &mut rest[..range.bias.len()];
        cache.backward(x, self.at(&range.weight), (d_weight, d_bias), self.cores);
    }
}
