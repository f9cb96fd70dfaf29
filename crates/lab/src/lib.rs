//! Training and measurement: the made-up library, data sets, baselines, metrics.

pub mod world;
pub mod dataset;
pub mod collection;
pub mod negatives;
pub mod suite;
pub mod train;
pub mod ablations;
