//! The sizes of an evaluator.

use crate::kernels::Activation;

#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatorConfig {
    /// Values that a token is made from.
    pub inputs: usize,
    /// d: the length of a token.
    pub width: usize,
    pub layers: usize,
    pub heads: usize,
    /// The width of a feed-forward block.
    pub hidden: usize,
    /// Whether a layer normalises before its parts instead of after them.
    pub norm_first: bool,
    pub activation: Activation,
    /// The most steps of one pass.
    pub max_steps: usize,
    /// Values that come out for a sequence: 1, its logit, for an evaluator.
    pub outputs: usize,
}
