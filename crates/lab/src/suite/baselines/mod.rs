//! What the evaluator is compared with: each one file, each a [`Scorer`] over the same features and
//! candidates. Each file says what is faithful to its paper and what is adapted to this task.

mod measures;
mod mix;
mod fusion;
pub mod text_only;
pub mod recipe2video;
pub mod covr;
pub mod viddetours;
pub mod hirest;
pub mod k_best;

use stitch_core::pool::Pool;
use stitch_engine::scorer::{AverageSimilarity, Scorer, ScorerError};

use super::distractors::Question;
use crate::collection::Instance;
pub use fusion::FusionError;
pub use mix::{Measures, Mixed};

/// What a baseline is trained on: never what it is measured on.
#[derive(Clone)]
pub struct Training<'a> {
    /// The clips, as scorers see them.
    pub pool: &'a Pool,
    /// All procedures of the set.
    pub all: &'a [Instance],
    /// Procedures whose clips are shown in training, by number.
    pub instances: Vec<usize>,
    /// Some of them with their candidates, for weights.
    pub questions: Vec<&'a Question>,
    /// Of everything random.
    pub seed: u64,
}

impl<'a> Training<'a> {
    /// The procedures to learn from.
    pub fn instances(&self) -> impl Iterator<Item = &'a Instance> {
        let all = self.all;
        self.instances.iter().filter_map(move |at| all.get(*at))
    }
}

/// Why a baseline could not be trained.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// Its measures could not be taken.
    #[error(transparent)]
    Scorer(#[from] ScorerError),
    /// Its network failed.
    #[error(transparent)]
    Fusion(#[from] FusionError),
}

/// The names of all baselines, in the order of tables.
pub const NAMES: [&str; 7] =
    ["average-similarity", "text-only", "recipe2video", "covr", "viddetours", "hirest", "k-best"];

/// The baselines that learn nothing.
pub fn untrained(pool: &Pool) -> Vec<Box<dyn Scorer>> {
    vec![Box::new(AverageSimilarity), Box::new(text_only::TextOnly::new(pool))]
}

/// The baselines that learn, trained.
pub fn trained(training: &Training<'_>) -> Result<Vec<Box<dyn Scorer>>, BaselineError> {
    Ok(vec![
        Box::new(recipe2video::train(training)?),
        Box::new(covr::train(training)?),
        Box::new(viddetours::train(training)?),
        Box::new(hirest::train(training)?),
        Box::new(k_best::train(training)?),
    ])
}
