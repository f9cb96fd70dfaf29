//! What a forward pass saves for the backward pass, on CPU (B = Vec<f32>) and on the GPU; kept between
//! passes so that its memory is.

use super::attention::Sequences;
use super::config::EvaluatorConfig;

/// The saved activations of a pass on CPU.
#[derive(Default)]
pub struct Activations {
    pub(super) sequences: Sequences,
    pub(super) x: Vec<f32>,         // [R, d], then [B, d]
    pub(super) projected: Vec<f32>, // [steps, d]
    pub(super) layers: Vec<LayerActivations>,
    pub(super) top: LayerActivations,
    pub(super) gradients: Gradients,
}

/// The saved activations of one layer; of the head its input, the norm before it, and its hidden layer.
#[derive(Default)]
pub(super) struct LayerActivations<B = Vec<f32>> {
    pub input: B,                  // [R, d]
    pub outer_norm: NormCache<B>,  // [R, d] before all with norm_first, else [A, d] after all
    pub attention_in: B,           // [R, d], only with norm_first
    pub cls_in: B,                 // [B, d], only in the last layer
    pub queries: B, // [A, d]; on the GPU [R, 3·d] with keys and values but in the last
    pub keys_values: B, // [R, 2·d]; on the GPU only in the last layer
    pub probs: B,   // [sequences: heads, queries, length]; on the GPU [A, heads, max_length]
    pub attended: B, // [A, d]
    pub sum: B,     // [A, d]: what the feed-forward block is added to
    pub middle_norm: NormCache<B>, // [A, d]
    pub hidden_in: B, // [A, d]
    pub pre: B,     // [A, hidden], only with GELU
    pub hidden: B,  // [A, hidden]
}

/// What a layer norm keeps for its backward pass.
#[derive(Default)]
pub(super) struct NormCache<B = Vec<f32>> {
    /// The input before the norm, afterwards the rows at mean 0 and variance 1.
    pub rows: B, // [.., d]
    /// 1 / standard deviation of each row.
    pub rstd: B, // [..], 32 bits
}

/// Buffers of the backward pass.
#[derive(Default)]
pub(super) struct Gradients<B = Vec<f32>> {
    pub x: B,             // [R, d] or [A, d]
    pub d_rows: B,        // [R, d]
    pub masked: B,        // [A, d]
    pub d_hidden: B,      // [A, hidden]
    pub d_attended: B,    // [A, d]
    pub d_queries: B,     // as queries
    pub d_keys_values: B, // as keys_values
}

impl Activations {
    /// Saves every layer, for the backward pass.
    pub fn new(config: &EvaluatorConfig) -> Self {
        let layers = (0..config.layers).map(|_| LayerActivations::default()).collect();
        Self { layers, ..Self::default() }
    }

    /// For inference: every layer overwrites the last.
    pub(super) fn unsaved() -> Self {
        Self { layers: vec![LayerActivations::default()], ..Self::default() }
    }
}
