//! Every scorer that a query can be ranked by.

use crate::evaluator::Evaluators;
use crate::scorer::{AverageSimilarity, Scorer, ScorerEntry, ScorerError, ScorerModels};

/// In order of preference; the last always loads.
pub const SCORERS: [ScorerEntry; 2] = [Evaluators::ENTRY, AverageSimilarity::ENTRY];

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
