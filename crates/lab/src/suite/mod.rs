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
pub mod toy;
pub mod made_up;
pub mod experiments;
pub mod report;
pub mod section;
pub mod speech;
pub mod speech_index;
pub mod encoder;
pub mod reliability;
pub mod natural;

use stitch_core::map::MapError;
use stitch_engine::files::FileError;
use stitch_engine::progress::Stopped;
use stitch_engine::scorer::ScorerError;

/// Why methods could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    #[error("the set has no procedure to measure; videos with two steps or more make one")]
    NoProcedures,
    #[error("{name}: {source}")]
    Method { name: String, source: ScorerError },
    #[error("a baseline's network failed: {0}")]
    Network(#[from] candle_core::Error),
    /// Steps and clips do not belong together.
    #[error(transparent)]
    Map(#[from] MapError),
    #[error(transparent)]
    Scorer(#[from] ScorerError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}
