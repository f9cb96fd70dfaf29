//! F_R, the procedure evaluator: how likely a sequence of clips is a correct, coherent
//! demonstration of a procedure.

mod prior;
pub mod config;
mod dropout;
mod numbers;
mod matrix;
mod layers;
mod attention;
mod network;
mod back;
mod input;
mod tensors;
#[cfg(feature = "cuda")]
pub mod gpu;
mod scoring;
mod shipped;
mod choice;

use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, TensorView};

use crate::encoder::EncoderId;
use crate::files::{self, FileError};
use crate::models::weights;
use crate::models::{self, Card, Weights, WeightsError};
use crate::sentence::SentenceError;
pub use choice::Evaluators;
pub use config::{Calibration, Channels, Config, Kind};
pub use dropout::Dropout;
pub use input::{Inputs, Relation, relations};
use matrix::Cores;
use network::Network;
pub use network::{Batch, Tape};
pub use numbers::{Layout, Place};
pub use prior::{Prior, Told};
pub use shipped::{SHIPPED, Shipped};
pub use tensors::DeviceNetwork;

/// Why there is no evaluator.
#[derive(Debug, thiserror::Error)]
pub enum EvaluatorError {
    /// The model's folder is not what it should be.
    #[error(transparent)]
    Weights(#[from] WeightsError),
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
    /// The tensor library failed.
    #[error("the evaluator failed: {0}")]
    Tensor(#[from] candle_core::Error),
    /// The GPU failed.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Gpu(#[from] gpu::GpuError),
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

/// In how many bits weights are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32: as they were trained.
    F32,
    /// 16: half the size; logits change in the third digit.
    F16,
}

/// The procedure evaluator.
#[derive(Clone)]
pub struct Evaluator {
    config: Config,
    layout: Layout,
    numbers: Vec<f32>,
}

impl Evaluator {
    /// Loads an evaluator from its folder.
    pub fn load(folder: &Path) -> Result<Self, EvaluatorError> {
        let config: Config = weights::read_json(folder, Config::FILE)?;
        config.check(&folder.join(Config::FILE))?;
        let layout = Layout::of(&config);
        let numbers = layout.read(&Weights::open(folder)?)?;
        Ok(Self { config, layout, numbers })
    }

    /// An untrained evaluator, drawn from a seed as PyTorch draws it.
    pub fn fresh(config: Config, seed: u64) -> Result<Self, EvaluatorError> {
        config.check(Path::new(Config::FILE))?;
        let layout = Layout::of(&config);
        let numbers = layout.fresh(seed);
        Ok(Self { config, layout, numbers })
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

    /// Where its tensors lie among its numbers.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// All its weights.
    pub fn numbers(&self) -> &[f32] {
        &self.numbers
    }

    /// All its weights, to be changed.
    pub fn numbers_mut(&mut self) -> &mut [f32] {
        &mut self.numbers
    }

    /// That the features at hand are of the encoder it was trained on.
    pub fn check_encoder(&self, found: &EncoderId) -> Result<(), EvaluatorError> {
        if *found == self.config.encoder {
            return Ok(());
        }
        let (expected, found) = (self.config.encoder.clone(), found.clone());
        Err(EvaluatorError::Encoder { expected, found })
    }

    fn network(&self, cores: Cores) -> Network<'_> {
        let (config, layout, weights) = (&self.config, &self.layout, self.numbers.as_slice());
        Network { config, layout, weights, dropout: Dropout::none(), cores }
    }

    /// The logit of each sequence.
    pub fn logits(&self, batch: &Batch) -> Vec<f32> {
        self.network(Cores::All).forward(batch, &mut Tape::short())
    }

    /// The mean loss of a batch (binary cross entropy), with the gradient of every weight written to
    /// `gradient`. The tape only keeps memory from call to call.
    pub fn loss(
        &self,
        batch: &Batch,
        labels: &Labels,
        dropout: Dropout,
        tape: &mut Tape,
        gradient: &mut [f32],
    ) -> f32 {
        let network = Network { dropout, ..self.network(Cores::All) };
        let logits = network.forward(batch, tape);
        let count = labels.right.len().max(1) as f32;
        let slope = |(logit, right): (&f32, &bool)| {
            let probability = 1.0 / (1.0 + (-logit).exp());
            (probability - f32::from(u8::from(*right))) * labels.weight(*right) / count
        };
        let slopes: Vec<f32> = logits.iter().zip(&labels.right).map(slope).collect();
        network.back(&slopes, batch, tape, gradient);
        cross_entropy(&logits, labels)
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
        let weights = self.bytes(precision).map_err(|error| not_saved(error.to_string()))?;
        let config = serde_json::to_vec_pretty(&self.config)
            .map_err(|error| not_saved(error.to_string()))?;
        for (name, bytes) in [(Weights::FILE, &weights), (Config::FILE, &config)] {
            card.sha256.insert(name.into(), models::sha256(bytes));
            files::write_whole(&folder.join(name), bytes)?;
        }
        Ok(card.write(folder)?)
    }

    fn bytes(&self, precision: Precision) -> Result<Vec<u8>, safetensors::SafeTensorError> {
        let (dtype, bytes): (Dtype, Vec<u8>) = match precision {
            Precision::F32 => {
                (Dtype::F32, self.numbers.iter().flat_map(|x| x.to_le_bytes()).collect())
            }
            Precision::F16 => {
                let half = |x: &f32| half::f16::from_f32(*x).to_le_bytes();
                (Dtype::F16, self.numbers.iter().flat_map(half).collect())
            }
        };
        let size = bytes.len() / self.numbers.len().max(1);
        let view = |place: &Place| {
            let bytes = &bytes[place.range.start * size..place.range.end * size];
            Ok((place.name.clone(), TensorView::new(dtype, place.shape.clone(), bytes)?))
        };
        let views: Result<Vec<_>, safetensors::SafeTensorError> =
            self.layout.places().iter().map(view).collect();
        safetensors::serialize(views?, None)
    }
}

/// What the sequences of a batch are.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// Whether each is a good demonstration.
    pub right: Vec<bool>,
    /// How much more one that is counts than one that is not.
    pub weight_of_right: f32,
}

impl Labels {
    /// How much a sequence counts.
    pub fn weight(&self, right: bool) -> f32 {
        if right { self.weight_of_right } else { 1.0 }
    }
}

/// The mean binary cross entropy of logits.
pub fn cross_entropy(logits: &[f32], labels: &Labels) -> f32 {
    let one = |(logit, right): (&f32, &bool)| {
        let towards = if *right { *logit } else { 0.0 };
        let loss = logit.max(0.0) - towards + (-logit.abs()).exp().ln_1p();
        f64::from(loss * labels.weight(*right))
    };
    let sum: f64 = logits.iter().zip(&labels.right).map(one).sum();
    (sum / labels.right.len().max(1) as f64) as f32
}
