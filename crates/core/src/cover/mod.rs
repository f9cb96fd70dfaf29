//! V'_R: candidate sequences from few sources that together show every step.
//!
//! [`greedy`] is the paper's adaptive search-space reduction: set covers, each from other sources.
//! [`k_best`] is exact: the most likely sequences, less a cost for every change of source
//! and for every step back in time within a source.

mod sequence;
mod graph;
mod suffix;
mod k_best;
mod sources;
mod greedy;

pub use greedy::greedy;
pub use k_best::{KBestOptions, k_best};
pub use sequence::{Sequence, interrupted, reversed, source_changes, steps_back};
