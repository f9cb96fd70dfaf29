//! Which evaluator is measured: the one that was named, or those in the store for these features.

use std::path::Path;

use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{Evaluator, EvaluatorError, Evaluators};
use stitch_engine::models::Store;
use stitch_engine::scorer::Scorer;
use stitch_engine::sentence::SentenceEncoder;

/// The evaluator in this folder; its features must have the length of these.
pub fn named(folder: &Path, encoder: &EncoderId) -> Result<Box<dyn Scorer>, String> {
    let found = Evaluator::load(folder).map_err(|error| error.to_string())?;
    // Who names an evaluator may know that features of another name are the same ones.
    if found.config().encoder.dim != encoder.dim {
        found.check_encoder(encoder).map_err(|error| error.to_string())?;
    }
    Ok(Box::new(found))
}

/// The evaluators, in the store or part of the program, that were trained on features of this encoder, of the domain where one
/// is asked for and there is such a one; else each procedure is judged by that of its domain.
pub fn stored(
    store: &Store,
    encoder: &EncoderId,
    domain: Option<&str>,
    sentence: &SentenceEncoder,
) -> Result<Box<dyn Scorer>, String> {
    let found = match Evaluators::find(store, encoder, domain, sentence) {
        Err(EvaluatorError::NoDomain { .. }) => Evaluators::find(store, encoder, None, sentence),
        found => found,
    };
    match found.map_err(|error| error.to_string())? {
        Some(found) => Ok(Box::new(found)),
        None => Err(format!(
            "there is none for {encoder}; train one with `stitch train`, or name its folder with \
             --evaluator"
        )),
    }
}
