//! What the forward pass on the GPU saves for the backward pass, and the shape of a batch.

use super::device::{Address, GpuBuffer};
use crate::evaluator::activations::{Gradients, LayerActivations};
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
    pub layers: Vec<LayerActivations<GpuBuffer>>,
    pub top: LayerActivations<GpuBuffer>,
    pub d_logits: GpuBuffer, // [B]
    pub losses: GpuBuffer,   // [B]
    pub gradients: Gradients<GpuBuffer>,
}
