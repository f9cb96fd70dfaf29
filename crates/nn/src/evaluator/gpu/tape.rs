//! What a pass on the GPU leaves in its memory for the way back, and the sizes of the pass.

use super::device::{At, Buffer};
use crate::evaluator::config::EvaluatorConfig;
use crate::evaluator::network::Batch;

/// The sizes of a pass. R = all rows, B = sequences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub rows: usize,
    pub sequences: usize,
    /// Tokens of the longest sequence.
    pub longest: usize,
    /// Steps of all sequences.
    pub steps: usize,
}

impl Sizes {
    pub fn of(batch: &Batch) -> Self {
        let steps: usize = batch.lengths.iter().sum();
        let sequences = batch.lengths.len();
        let longest = 1 + batch.lengths.iter().copied().max().unwrap_or(0);
        Self { rows: steps + sequences, sequences, longest, steps }
    }

    /// Whether the GPU's 32 bits count every number of a matrix.
    pub fn fit(&self, config: &EvaluatorConfig) -> bool {
        let widest = config.hidden.max(3 * config.width).max(config.inputs);
        let shares = self.longest * config.heads;
        self.rows.saturating_mul(widest.max(shares)) < u32::MAX as usize
    }

    /// The first row of each sequence and the end, the sequence of each row, which sequences are right.
    pub fn numbers(&self, batch: &Batch, right: &[bool]) -> Vec<u32> {
        let mut numbers = vec![0];
        let mut end = 0;
        for length in &batch.lengths {
            end += 1 + *length as u32;
            numbers.push(end);
        }
        let sequence = |(number, length): (usize, &usize)| vec![number as u32; 1 + length];
        numbers.extend(batch.lengths.iter().enumerate().flat_map(sequence));
        numbers.extend(right.iter().map(|right| u32::from(*right)));
        numbers
    }
}

/// Where these numbers lie.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    pub starts: At,
    pub sequence_of: At,
    pub right: At,
}

/// Everything that a pass keeps.
#[derive(Default)]
pub(super) struct Tape {
    pub numbers: Buffer,
    pub given: Buffer,     // [steps, inputs], 32 bits
    pub inputs: Buffer,    // [steps, inputs]
    pub projected: Buffer, // [steps, d]
    pub product: Buffer,   // [R, d]: a product on its way
    pub layers: Vec<Saved>,
    pub top: Saved,
    pub slopes: Buffer, // [B]
    pub losses: Buffer, // [B]
    pub back: Back,
}

/// What one layer keeps; of the head its input, the norm before it, and its hidden part.
#[derive(Default)]
pub(super) struct Saved {
    pub input: Buffer,        // [R, d]
    pub outer: Normed,        // [R, d] with norm_first, else [A, d]
    pub attention_in: Buffer, // [R, d], only with norm_first
    pub asking: Buffer,       // [B, d], only in the last layer
    pub queries: Buffer,      // [B, d] in the last layer, else [R, 3·d] with keys and values
    pub keys_values: Buffer,  // [R, 2·d], only in the last layer
    pub shares: Buffer,       // [A, heads, longest], 32 bits
    pub attended: Buffer,     // [A, d]
    pub sum: Buffer,          // [A, d], only with norm_first
    pub middle: Normed,       // [A, d]
    pub hidden_in: Buffer,    // [A, d]
    pub before: Buffer,       // [A, hidden], only with GELU
    pub hidden: Buffer,       // [A, hidden]
}

/// What a norm keeps.
#[derive(Default)]
pub(super) struct Normed {
    pub rows: Buffer,   // [.., d]
    pub scales: Buffer, // [..], 32 bits
}

/// Room for the way back.
#[derive(Default)]
pub(super) struct Back {
    pub x: Buffer,              // [R, d]
    pub other: Buffer,          // [R, d]
    pub masked: Buffer,         // [A, d]
    pub of_hidden: Buffer,      // [A, hidden]
    pub of_attended: Buffer,    // [A, d]
    pub of_queries: Buffer,     // as queries
    pub of_keys_values: Buffer, // as keys_values
}
