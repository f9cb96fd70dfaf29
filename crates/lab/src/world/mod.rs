//! The made-up library: instructional videos drawn from a seed, with exact truth.

pub mod vocabulary;
pub mod stage;
