//! F_R, the procedure evaluator: how likely a sequence of clips is a correct, coherent
//! demonstration of a procedure.

mod prior;
pub mod config;
mod input;
mod scoring;
mod shipped;
mod choice;
pub mod answer;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[cfg(feature = "cuda")]
pub use stitch_nn::evaluator::gpu;
pub use stitch_nn::evaluator::{
    Activations, AdamW, AdamWState, Batch, Dropout, EvaluatorNetwork, Labels, Precision,
    cross_entropy,
};

use crate::encoder::EncoderId;
use crate::files::{self, FileError};
use crate::models::weights;
use crate::models::{self, Card, NnError, Weights};
use crate::sentence::SentenceError;
pub use choice::Evaluators;
pub use config::{Channels, Config, Kind, PlattScaling};
pub use input::{Inputs, Relation, relations};
pub use prior::{Prior, SequenceStats};

/// Why there is no evaluator.
#[derive(Debug, thiserror::Error)]
pub enum EvaluatorError {
    #[error(transparent)]
    Weights(#[from] NnError),
    #[error(
        "the evaluator was trained on features of {expected}, these are of {found}; index the \
        library with the former, or train an evaluator with `stitch train`"
    )]
    Encoder { expected: EncoderId, found: EncoderId },
    #[error(
        "there is no evaluator of the domain `{domain}` for this encoder ({known}); leave out `--domain`, or train one with `stitch train --domain {domain}`"
    )]
    NoDomain { domain: String, known: String },
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: {reason}", path.display())]
    NotSaved { path: PathBuf, reason: String },
}

impl EvaluatorError {
    fn no_domain(domain: &str, known: BTreeSet<String>) -> Self {
        let known = match known.is_empty() {
            true => "there is none at all".into(),
            false => format!("there is {}", known.into_iter().collect::<Vec<_>>().join(", ")),
        };
        Self::NoDomain { domain: domain.into(), known }
    }
}

#[derive(Clone)]
pub struct Evaluator {
    pub config: Config,
    pub network: EvaluatorNetwork,
}

impl Evaluator {
    pub fn load(folder: &Path) -> Result<Self, EvaluatorError> {
        let config: Config = weights::read_json(folder, Config::FILE)?;
        config.check(&folder.join(Config::FILE))?;
        let network = EvaluatorNetwork::read(config.network(), &Weights::open(folder)?)?;
        Ok(Self { config, network })
    }

    /// Untrained, initialised from a seed as PyTorch does.
    pub fn fresh(config: Config, seed: u64) -> Result<Self, EvaluatorError> {
        config.check(Path::new(Config::FILE))?;
        let network = EvaluatorNetwork::init(config.network(), seed);
        Ok(Self { config, network })
    }

    /// An error if the features are of another encoder than it was trained on.
    pub fn check_encoder(&self, found: &EncoderId) -> Result<(), EvaluatorError> {
        if *found == self.config.encoder {
            return Ok(());
        }
        let (expected, found) = (self.config.encoder.clone(), found.clone());
        Err(EvaluatorError::Encoder { expected, found })
    }

    /// Writes weights, config and card into a folder.
    pub fn save(
        &self,
        folder: &Path,
        mut card: Card,
        precision: Precision,
    ) -> Result<(), EvaluatorError> {
        files::create_folder(folder)?;
        let path = folder.join(Weights::FILE);
        let not_saved = |reason: String| EvaluatorError::NotSaved { path: path.clone(), reason };
        let weights =
            self.network.to_bytes(precision).map_err(|error| not_saved(error.to_string()))?;
        let config = serde_json::to_vec_pretty(&self.config)
            .map_err(|error| not_saved(error.to_string()))?;
        for (name, bytes) in [(Weights::FILE, &weights), (Config::FILE, &config)] {
            card.sha256.insert(name.into(), models::sha256(bytes));
            files::write_whole(&folder.join(name), bytes)?;
        }
        Ok(card.write(folder)?)
    }
}
