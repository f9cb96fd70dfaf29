//! What the forward pass on the GPU saves for the backward pass, and the shape of a batch.

use super::device::{Address, GpuBuffer};
use crate::evaluator::config::EvaluatorConfig;
use crate::evaluator::forward::Batch;

/// R = all rows, B = sequences.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchShape {
    pub rows: usize,
    pub sequences: usize,
    /// Tokens of the longest sequence.
    pub max_length: usize,
    /// Steps of all sequences.
    pub steps: usize,
}

impl BatchShape {
    pub fn of(batch: &Batch) -> Self {
        let steps: usize = batch.lengths.iter().sum();
        let sequences = batch.lengths.len();
        let max_length = 1 + batch.lengths.iter().copied().max().unwrap_or(0);
        Self { rows: steps + sequences, sequences, max_length, steps }
    }

    /// Whether 32 bits count every element of a matrix.
    pub fn fits(&self, config: &EvaluatorConfig) -> bool {
        let widest = config.hidden.max(3 * config.width).max(config.inputs);
        let probs = self.max_length * config.heads;
        self.rows.saturating_mul(widest.max(probs)) < u32::MAX as usize
    }

    /// The first row of each sequence and the end, the sequence of each row, which sequences are right.
    pub fn index(batch: &Batch, right: &[bool]) -> Vec<u32> {
        let mut index = vec![0];
        let mut end = 0;
        for length in &batch.lengths {
            end += 1 + *length as u32;
            index.push(end);
        }
        let sequence = |(number, length): (usize, &usize)| vec![number as u32; 1 + length];
        index.extend(batch.lengths.iter().enumerate().flat_map(sequence));
        index.extend(right.iter().map(|right| u32::from(*right)));
        index
    }
}

/// Where the parts of [`BatchShape::index`] lie.
#[derive(Clone, Copy)]
pub(super) struct BatchIndex {
    pub starts: Address,
    pub sequence_of: Address,
    pub right: Address,
}

#[derive(Default)]
pub(super) struct GpuActivations {
    pub index: GpuBuffer,
    pub inputs_f32: GpuBuffer, // [steps, inputs], 32 bits
    pub inputs: GpuBuffer,     // [steps, inputs]
    pub projected: GpuBuffer,  // [steps, d]
    pub product: GpuBuffer,    // [R, d]: a product on its way
    pub layers: Vec<GpuLayerActivations>,
    pub top: GpuLayerActivations,
    pub d_logits: GpuBuffer, // [B]
    pub losses: GpuBuffer,   // [B]
    pub gradients: GpuGradients,
}

/// What one layer saves; of the head its input, the norm before it, and its hidden layer.
#[derive(Default)]
pub(super) struct GpuLayerActivations {
    pub input: GpuBuffer,          // [R, d]
    pub outer_norm: GpuNormCache,  // [R, d] with norm_first, else [A, d]
    pub attention_in: GpuBuffer,   // [R, d], only with norm_first
    pub cls_in: GpuBuffer,         // [B, d], only in the last layer
    pub queries: GpuBuffer,        // [B, d] in the last layer, else [R, 3·d] with keys and values
    pub keys_values: GpuBuffer,    // [R, 2·d], only in the last layer
    pub probs: GpuBuffer,          // [A, heads, max_length], 32 bits
    pub attended: GpuBuffer,       // [A, d]
    pub sum: GpuBuffer,            // [A, d], only with norm_first
    pub middle_norm: GpuNormCache, // [A, d]
    pub hidden_in: GpuBuffer,      // [A, d]
    pub pre: GpuBuffer,            // [A, hidden], only with GELU
    pub hidden: GpuBuffer,         // [A, hidden]
}

/// What a layer norm saves: its normalised rows and 1 / their standard deviations.
#[derive(Default)]
pub(super) struct GpuNormCache {
    pub rows: GpuBuffer, // [.., d]
    pub rstd: GpuBuffer, // [..], 32 bits
}

/// Buffers of the backward pass.
#[derive(Default)]
pub(super) struct GpuGradients {
    pub x: GpuBuffer,             // [R, d]
    pub d_rows: GpuBuffer,        // [R, d]
    pub masked: GpuBuffer,        // [A, d]
    pub d_hidden: GpuBuffer,      // [A, hidden]
    pub d_attended: GpuBuffer,    // [A, d]
    pub d_queries: GpuBuffer,     // as queries
    pub d_keys_values: GpuBuffer, // as keys_values
}
