//! VidDetours (Ashutosh et al., CVPR 2024): from what was watched so far and a question, the video and
//! the window to go on with.
//!
//! Faithful: the sequence of past clips and the text predict the next clip's embedding, with a
//! contrastive loss; a head on the same representation says where in its video the window is. Adapted:
//! their question is a viewer's and their window has two ends; here the question is the next step, and
//! the window is the place of a given clip, in tenths of its video. A sequence scores the mean
//! log-likelihood that the network gives its clips: cosine over temperature, plus the place's. It is
//! trained on the procedures of the training part; where detour annotations are read, their procedures
//! are among them.

use stitch_core::cover::Sequence;
use stitch_core::pool::Pool;
use stitch_engine::scorer::{Query, Scorer, ScorerError};

use super::fusion::{Form, Fusion, Predictor, TEMPERATURE};
use super::{BaselineError, Training};

/// How many past clips are looked at.
const PAST: usize = 6;

/// h(v_1..v_{i-1}, r_i) against v_i, and the place of v_i.
pub struct VidDetours(Predictor);

impl Scorer for VidDetours {
    fn name(&self) -> &str {
        "viddetours"
    }

    fn score(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<f32>, ScorerError> {
        let predicted = self.0.predict(query, pool, candidates)?;
        let likely = |(cosine, place): (f32, f32)| cosine / TEMPERATURE as f32 + place;
        Ok(predicted.into_iter().map(likely).collect())
    }
}

/// Trained on whole procedures.
pub fn train(training: &Training<'_>) -> Result<VidDetours, BaselineError> {
    let form = Form { past: PAST, hard_negatives: None, window: true };
    Ok(VidDetours(Predictor::new(Fusion::train(training, form)?, training.pool)?))
}
