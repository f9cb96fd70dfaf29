//! The evaluator to measure: the one in a named folder, or those of the store.

use std::path::Path;

use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{Evaluator, EvaluatorError, Evaluators};
use stitch_engine::models::Store;
use stitch_engine::scorer::Scorer;
use stitch_engine::sentence::SentenceEncoder;

#[derive(Clone, Copy)]
pub struct EvaluatorSource<'a> {
    pub store: &'a Store,
    /// The folder of one evaluator, instead of the store.
    pub folder: Option<&'a Path>,
    /// Encodes descriptions of domains.
    pub sentence: &'a SentenceEncoder,
}

impl EvaluatorSource<'_> {
    /// The evaluator of the domain for features of this encoder, or why there is none. Where the store
    /// has none of the domain, each procedure is scored by the evaluator of its own domain.
    pub fn find(
        &self,
        domain: Option<&str>,
        encoder: &EncoderId,
    ) -> Result<Box<dyn Scorer>, String> {
        let stored = |domain| {
            let found = Evaluators::find(self.store, encoder, domain, self.sentence)?;
            Ok(found.map(|found| Box::new(found) as Box<dyn Scorer>))
        };
        let found = match self.folder {
            Some(folder) => named(folder, encoder).map(Some),
            None => match stored(domain) {
                Err(EvaluatorError::NoDomain { .. }) => stored(None),
                found => found,
            },
        };
        found.map_err(|error| error.to_string())?.ok_or_else(|| {
            format!(
                "there is none for {encoder}; train one with `stitch train`, or name its folder with \
                 --evaluator"
            )
        })
    }

    /// Identifies a choice of evaluators: the sizes and times of the models' files.
    pub fn files(&self) -> String {
        let mut folders = self.store.folders();
        folders.extend(self.folder.map(Path::to_owned));
        let file = |folder: std::path::PathBuf| {
            let path = folder.join("model.safetensors");
            let about = path.metadata().ok()?;
            Some((path.display().to_string(), about.len(), about.modified().ok()))
        };
        format!("{:?}", folders.into_iter().filter_map(file).collect::<Vec<_>>())
    }
}

/// The evaluator in a folder. Only the length of features is checked, since encoders of another name may give
/// the same features.
fn named(folder: &Path, encoder: &EncoderId) -> Result<Box<dyn Scorer>, EvaluatorError> {
    let found = Evaluator::load(folder)?;
    if found.config.encoder.dim != encoder.dim {
        found.check_encoder(encoder)?;
    }
    Ok(Box::new(found))
}
