//! Which evaluator is measured: the one in a named folder, or those of the store.

use std::path::Path;

use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{Evaluator, EvaluatorError, Evaluators};
use stitch_engine::models::Store;
use stitch_engine::scorer::Scorer;
use stitch_engine::sentence::SentenceEncoder;

/// Where the evaluator to measure is looked for.
#[derive(Clone, Copy)]
pub struct EvaluatorSource<'a> {
    /// The models on this machine.
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
        let found = match self.folder {
            Some(folder) => named(folder, encoder).map(Some),
            None => self.stored(domain, encoder),
        };
        found.map_err(|error| error.to_string())?.ok_or_else(|| {
            format!(
                "there is none for {encoder}; train one with `stitch train`, or name its folder with \
                 --evaluator"
            )
        })
    }

    fn stored(
        &self,
        domain: Option<&str>,
        encoder: &EncoderId,
    ) -> Result<Option<Box<dyn Scorer>>, EvaluatorError> {
        let find = |domain| Evaluators::find(self.store, encoder, domain, self.sentence);
        let found = match find(domain) {
            Err(EvaluatorError::NoDomain { .. }) => find(None),
            found => found,
        };
        Ok(found?.map(|found| Box::new(found) as Box<dyn Scorer>))
    }

    /// What tells one choice of evaluators from another: the sizes and times of the models' files.
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

/// The evaluator in a folder. Who names one may know that features of another name are the same, so
/// only their length is checked.
fn named(folder: &Path, encoder: &EncoderId) -> Result<Box<dyn Scorer>, EvaluatorError> {
    let found = Evaluator::load(folder)?;
    if found.config().encoder.dim != encoder.dim {
        found.check_encoder(encoder)?;
    }
    Ok(Box::new(found))
}
