//! Statistics of a preference study: win rates and agreement of raters.

pub mod agreement;
pub mod report;

pub use report::{Judgement, Preference, StudyReport};
