//! Measuring: how good the answers are, as tables with intervals.

pub mod metrics;
pub mod ranks;
#[cfg(test)]
pub(crate) mod fixture;
pub mod test_set;
pub mod plain;
pub mod annotations;
pub mod distractors;
pub mod baselines;
pub mod compare;
pub mod evaluators;
pub mod library_set;
pub mod mixing;
pub mod quick;
pub mod made_up;
pub mod experiments;
pub mod report;
pub mod run_all;
pub mod speech;
pub mod encoder;
pub mod logistic;
pub mod reliability;
pub mod natural;
