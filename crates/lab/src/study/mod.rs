//! What a preference study says: who is preferred how often, and how far raters agree.

pub mod agreement;
pub mod report;

pub use report::{Judgement, Preference, Report};
