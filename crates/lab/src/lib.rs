//! Training and measurement: data sets, learning, baselines, metrics, studies.

pub mod dataset;
pub mod collection;
pub mod negatives;
pub mod suite;
pub mod train;
pub mod ablations;
pub mod evaluation;
pub mod study;
