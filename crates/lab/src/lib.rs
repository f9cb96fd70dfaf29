//! Training and measurement: the made-up library, data sets, learning, baselines, metrics, studies.

pub mod world;
pub mod dataset;
pub mod collection;
pub mod negatives;
pub mod suite;
pub mod train;
pub mod ablations;
pub mod study;
