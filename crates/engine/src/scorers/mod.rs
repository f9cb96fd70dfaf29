//! Every scorer that a query can be ranked by; a new one is a file in this folder and a line in [`SCORERS`].

use crate::evaluator::answer::{AnswerEvaluator, Blend};
use crate::scorer::{AverageSimilarity, Scorer, ScorerEntry, ScorerError, ScorerModels};

/// Without `--scorer` the first is used.
pub const SCORERS: &[ScorerEntry] =
    &[AverageSimilarity::ENTRY, AnswerEvaluator::ENTRY, Blend::ENTRY];

pub fn names() -> Vec<&'static str> {
    SCORERS.iter().map(|scorer| scorer.name).collect()
}

/// The scorer of this name, or the first that has a model for the encoder.
pub fn load(name: Option<&str>, with: &ScorerModels) -> Result<Box<dyn Scorer>, ScorerError> {
    let mut missing = "scorer";
    for entry in SCORERS.iter().filter(|entry| name.is_none_or(|name| name == entry.name)) {
        match (entry.load)(with)? {
            Some(scorer) => return Ok(scorer),
            None => missing = entry.name,
        }
    }
    Err(ScorerError::NoModel { scorer: missing, encoder: with.encoder.name.clone() })
}
