//! The sizes of an evaluator's network.

use crate::kernels::Activation;

/// What the network is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatorConfig {
    /// How many numbers a token is made from.
    pub inputs: usize,
    /// d: the length of a token.
    pub width: usize,
    /// How many layers the transformer has.
    pub layers: usize,
    /// How many heads share the attention of a layer.
    pub heads: usize,
    /// The width of a layer's hidden part.
    pub hidden: usize,
    /// Whether a layer normalises before its parts instead of after them.
    pub norm_first: bool,
    /// What the hidden parts do with their sums.
    pub activation: Activation,
    /// The most steps one pass can take.
    pub max_steps: usize,
}
