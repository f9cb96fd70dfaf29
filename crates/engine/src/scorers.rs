//! Every scorer that a query can be ranked by.

use crate::evaluator::Evaluators;
use crate::scorer::{AverageSimilarity, Scorer, ScorerError, ScorerModels};

/// In order of preference; the last always loads.
pub const SCORERS: [&str; 2] = [Evaluators::NAME, AverageSimilarity::NAME];

/// The scorer of this name, or the first that has a model for the encoder.
pub fn load(name: Option<&str>, with: &ScorerModels) -> Result<Box<dyn Scorer>, ScorerError> {
    if name == Some(AverageSimilarity::NAME) {
        return Ok(Box::new(AverageSimilarity));
    }
    let found = Evaluators::find(with.store, with.encoder, with.domain, with.sentence);
    match found.map_err(|error| ScorerError::Load(error.into()))? {
        Some(evaluators) => Ok(Box::new(evaluators)),
        None if name.is_none() => Ok(Box::new(AverageSimilarity)),
        None => {
            let (scorer, encoder) = (Evaluators::NAME, with.encoder.name.clone());
            Err(ScorerError::NoModel { scorer, encoder })
        }
    }
}
