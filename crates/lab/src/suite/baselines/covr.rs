//! CoVR (Ventura et al., AAAI 2024): composed retrieval, from a clip and a text to the clip that comes.
//!
//! Faithful: one fused embedding of the previous clip and the text, by cross-attention of the text on
//! the clip; a contrastive loss over the batch in which hard negatives weigh more (their HN-NCE). A
//! sequence scores the mean cosine of predictions and clips. Adapted: their fusion is BLIP's, trained
//! on millions of triplets; ours is a small one over the frozen features that every method here gets,
//! which starts from the step's own text. Before the first clip stands a learnt start. The pairs are
//! the consecutive clips of the training procedures.

use stitch_core::cover::Sequence;
use stitch_core::pool::Pool;
use stitch_engine::scorer::{Query, Scorer, ScorerError};

use super::fusion::{Form, Fusion, Predictor};
use super::{BaselineError, Training};

/// g(v_{i-1}, r_i) against v_i.
pub struct Covr(Predictor);

impl Scorer for Covr {
    fn name(&self) -> &str {
        "covr"
    }

    fn score(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<f32>, ScorerError> {
        let predicted = self.0.predict(query, pool, candidates)?;
        Ok(predicted.into_iter().map(|(cosine, _)| cosine).collect())
    }
}

/// Trained on consecutive clips.
pub fn train(training: &Training<'_>) -> Result<Covr, BaselineError> {
    let form = Form { past: 1, hard_negatives: Some(0.5), window: false };
    Ok(Covr(Predictor::new(Fusion::train(training, form)?, training.pool)?))
}
