//! The baselines, one file each: a [`Scorer`] over the same features and candidates as the evaluator. Each
//! file says what is faithful to its paper and what is adapted to this task.

mod measures;
mod weighted;
mod fusion;
mod text_only;
mod recipe2video;
mod covr;
mod viddetours;
mod hirest;
mod k_best;

use stitch_core::pool::Pool;
use stitch_engine::scorer::{AverageSimilarity, Scorer};

use super::MeasureError;
use super::distractors::Question;
use crate::collection::Instance;

/// What a baseline is trained on: never what it is measured on.
pub struct Training<'a> {
    /// The clips, as scorers see them.
    pub pool: &'a Pool,
    pub all: &'a [Instance],
    /// Procedures to train on, by number.
    pub instances: Vec<usize>,
    /// Some of them with their candidates, for weights.
    pub questions: Vec<&'a Question>,
    pub seed: u64,
}

impl<'a> Training<'a> {
    pub fn instances(&self) -> impl Iterator<Item = &'a Instance> {
        let all = self.all;
        self.instances.iter().filter_map(move |at| all.get(*at))
    }
}

const UNTRAINED: [&str; 2] = ["average-similarity", "text-only"];

/// The names of the baselines that are trained, in the order of tables.
pub const TRAINED: [&str; 5] = ["recipe2video", "covr", "viddetours", "hirest", "k-best"];

/// The place of a baseline in tables; none for other scorers, which come first.
pub fn order(name: &str) -> Option<usize> {
    UNTRAINED.iter().chain(&TRAINED).position(|known| *known == name)
}

pub fn untrained(pool: &Pool) -> Vec<Box<dyn Scorer>> {
    vec![Box::new(AverageSimilarity), Box::new(text_only::TextOnly::new(pool))]
}

/// The baselines of [`TRAINED`], trained.
pub fn trained(training: &Training<'_>) -> Result<Vec<Box<dyn Scorer>>, MeasureError> {
    Ok(vec![
        Box::new(recipe2video::train(training)?),
        Box::new(covr::train(training)?),
        Box::new(viddetours::train(training)?),
        Box::new(hirest::train(training)?),
        Box::new(k_best::train(training)?),
    ])
}
