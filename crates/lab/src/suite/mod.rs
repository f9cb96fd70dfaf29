//! Measuring: how good the answers are, as tables with intervals.

pub mod metrics;
pub mod made_up;
pub mod speech;
pub mod encoder;
pub mod logistic;
pub mod calibrate;
