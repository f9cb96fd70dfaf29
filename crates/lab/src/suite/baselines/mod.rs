//! The baselines, one file each: a [`Scorer`] over the same features and candidates as the evaluator. Each
//! file says what is faithful to its paper and what is adapted to this task.

mod weighted;
mod fusion;
mod text_only;
mod recipe2video;
mod covr;
mod viddetours;
mod hirest;
mod k_best;

use stitch_core::clip::ClipId;
use stitch_core::cover::Sequence;
use stitch_core::features::similarity;
use stitch_core::pool::Pool;
use stitch_engine::scorer::{AverageSimilarity, Query, Scorer};

use self::fusion::Predictor;
use self::hirest::Hirest;
use self::k_best::KBest;
use self::recipe2video::Recipe2Video;
use self::text_only::TextOnly;
use self::weighted::Weighted;
use super::MeasureError;
use super::distractors::Question;
use crate::collection::Instance;
pub use crate::rows::mean;

/// What a baseline is trained on: never what it is measured on.
pub struct Training<'a> {
    /// The clips, as scorers see them.
    pub pool: &'a Pool,
    pub instances: Vec<&'a Instance>,
    /// Some of them with their candidates, for weights.
    pub questions: Vec<(&'a Instance, &'a Question)>,
    pub seed: u64,
}

/// The names of the baselines that are trained.
pub const TRAINED: [&str; 5] = ["recipe2video", "covr", "viddetours", "hirest", "k-best"];

/// In the order of tables, as are the trained ones.
pub fn untrained() -> [Box<dyn Scorer>; 2] {
    [Box::new(AverageSimilarity), Box::new(TextOnly)]
}

/// The baselines of [`TRAINED`], trained.
pub fn trained(training: &Training<'_>) -> Result<Vec<Box<dyn Scorer>>, MeasureError> {
    Ok(vec![
        Box::new(Weighted::fit(Recipe2Video::new(training), training)?),
        Box::new(Predictor::train(training, covr::FORM)),
        Box::new(Predictor::train(training, viddetours::FORM)),
        Box::new(Weighted::fit(Hirest::new(training.pool), training)?),
        Box::new(Weighted::fit(KBest, training)?),
    ])
}

/// The shown steps of a sequence with their clips.
pub fn shown(sequence: &Sequence) -> impl Iterator<Item = (usize, ClipId)> + Clone {
    sequence.0.iter().enumerate().filter_map(|(step, clip)| clip.map(|clip| (step, clip)))
}

/// The mean of cos(F_M(r_i), F_M(v_i)).
pub fn step_similarity(query: &Query, pool: &Pool, sequence: &Sequence) -> f32 {
    let rows = pool.clip_features();
    let cosine =
        |(step, clip): (usize, ClipId)| similarity(query.clip.row(step), &rows.row(clip.row()));
    mean(shown(sequence).map(cosine))
}
