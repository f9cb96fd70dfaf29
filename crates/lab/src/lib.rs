//! Training and measurement: data sets, training, baselines, metrics, studies.

pub mod rows;
mod logistic;
mod svg;
pub mod dataset;
pub mod collection;
pub mod negatives;
pub mod suite;
pub mod train;
pub mod ablations;
pub mod evaluation;
pub mod study;
