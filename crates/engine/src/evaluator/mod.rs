//! F_R, the procedure evaluator: how likely a sequence of clips is a correct, coherent
//! demonstration of a procedure.

mod prior;
pub mod config;
mod input;
mod scoring;
mod shipped;
mod choice;

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
pub use config::{Calibration, Channels, Config, Kind};
pub use input::{Inputs, Relation, relations};
pub use prior::{Prior, Told};
pub use shipped::{SHIPPED, Shipped};

/// Why there is no evaluator.
#[derive(Debug, thiserror::Error)]
pub enum EvaluatorError {
    /// The network cannot be loaded or run.
    #[error(transparent)]
    Weights(#[from] NnError),
    /// The evaluator was trained on another encoder's features.
    #[error(
        "the evaluator was trained on features of {expected}, these are of {found}; index the \
        library with the former, or train an evaluator with `stitch train`"
    )]
    Encoder {
        /// The encoder of its training.
        expected: EncoderId,
        /// The encoder of the features at hand.
        found: EncoderId,
    },
    /// There is none of the domain asked for.
    #[error(
        "there is no evaluator of the domain `{domain}` for this encoder ({known}); leave out `--domain`, or train one with `stitch train --domain {domain}`"
    )]
    NoDomain {
        /// What was asked for.
        domain: String,
        /// What there is.
        known: String,
    },
    /// The procedure could not be compared with the domains.
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    /// A file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The weights could not be put into a file.
    #[error("{}: {reason}", path.display())]
    NotSaved {
        /// Which file.
        path: PathBuf,
        /// What the writer said.
        reason: String,
    },
}

impl EvaluatorError {
    fn no_domain(domain: &str, known: Vec<String>) -> Self {
        let known = match known.is_empty() {
            true => "there is none at all".into(),
            false => format!("there is {}", known.join(", ")),
        };
        Self::NoDomain { domain: domain.into(), known }
    }
}

/// The procedure evaluator.
#[derive(Clone)]
pub struct Evaluator {
    config: Config,
    network: EvaluatorNetwork,
}

impl Evaluator {
    /// Loads an evaluator from its folder.
    pub fn load(folder: &Path) -> Result<Self, EvaluatorError> {
        let config: Config = weights::read_json(folder, Config::FILE)?;
        config.check(&folder.join(Config::FILE))?;
        let network = EvaluatorNetwork::read(config.network(), &Weights::open(folder)?)?;
        Ok(Self { config, network })
    }

    /// An untrained evaluator, drawn from a seed as PyTorch draws it.
    pub fn fresh(config: Config, seed: u64) -> Result<Self, EvaluatorError> {
        config.check(Path::new(Config::FILE))?;
        let network = EvaluatorNetwork::init(config.network(), seed);
        Ok(Self { config, network })
    }

    /// What it is made of.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The same weights, with logits read as this calibration says.
    pub fn calibrated(mut self, calibration: Calibration) -> Self {
        self.config.calibration = calibration;
        self
    }

    /// The same with this beside the network.
    pub fn with_prior(mut self, prior: Prior) -> Self {
        self.config.prior = prior;
        self
    }

    /// Its network.
    pub fn network(&self) -> &EvaluatorNetwork {
        &self.network
    }

    /// All its weights.
    pub fn numbers(&self) -> &[f32] {
        self.network.parameters()
    }

    /// All its weights, to be changed.
    pub fn numbers_mut(&mut self) -> &mut [f32] {
        self.network.parameters_mut()
    }

    /// That the features at hand are of the encoder it was trained on.
    pub fn check_encoder(&self, found: &EncoderId) -> Result<(), EvaluatorError> {
        if *found == self.config.encoder {
            return Ok(());
        }
        let (expected, found) = (self.config.encoder.clone(), found.clone());
        Err(EvaluatorError::Encoder { expected, found })
    }

    /// The logit of each sequence.
    pub fn logits(&self, batch: &Batch) -> Vec<f32> {
        self.network.logits(batch)
    }

    /// The mean loss of a batch (binary cross entropy), with the gradient of every weight written to
    /// `gradient`. The activations only keep memory from call to call.
    pub fn loss(
        &self,
        batch: &Batch,
        labels: &Labels,
        dropout: Dropout,
        activations: &mut Activations,
        gradient: &mut [f32],
    ) -> f32 {
        self.network.loss(batch, labels, dropout, activations, gradient)
    }

    /// Writes weights, config and card into a folder, which is made if need be.
    pub fn save(
        &self,
        folder: &Path,
        mut card: Card,
        precision: Precision,
    ) -> Result<(), EvaluatorError> {
        std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
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
