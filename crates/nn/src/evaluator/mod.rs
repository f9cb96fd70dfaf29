//! The network of the procedure evaluator: sequences of tokens to one logit each, and the gradient of
//! every weight.

mod config;
mod dropout;
mod numbers;
mod matrix;
mod layers;
mod attention;
mod network;
mod back;
mod tensors;
#[cfg(feature = "cuda")]
pub mod gpu;

use safetensors::tensor::{Dtype, TensorView};

use crate::weights::{Weights, WeightsError};
pub use config::EvaluatorConfig;
pub use dropout::Dropout;
use matrix::Cores;
use network::Network;
pub use network::{Batch, Tape, Tokens};
pub use numbers::{Layout, Place};
pub use tensors::DeviceNetwork;

/// In how many bits weights are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 32: as they were trained.
    F32,
    /// 16: half the size; logits change in the third digit.
    F16,
}

/// The network with its weights.
#[derive(Clone)]
pub struct EvaluatorNetwork {
    config: EvaluatorConfig,
    layout: Layout,
    numbers: Vec<f32>,
}

impl EvaluatorNetwork {
    /// The network in a file that has all tensors.
    pub fn read(config: EvaluatorConfig, weights: &Weights) -> Result<Self, WeightsError> {
        let layout = Layout::of(&config);
        let numbers = layout.read(weights)?;
        Ok(Self { config, layout, numbers })
    }

    /// An untrained network, drawn from a seed as PyTorch draws it.
    pub fn fresh(config: EvaluatorConfig, seed: u64) -> Self {
        let layout = Layout::of(&config);
        let numbers = layout.fresh(seed);
        Self { config, layout, numbers }
    }

    /// What it is made of.
    pub fn config(&self) -> &EvaluatorConfig {
        &self.config
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

    fn network(&self, cores: Cores) -> Network<'_> {
        let (config, layout, weights) = (&self.config, &self.layout, self.numbers.as_slice());
        Network { config, layout, weights, dropout: Dropout::none(), cores }
    }

    /// The logit of each sequence.
    pub fn logits(&self, batch: &Batch) -> Vec<f32> {
        self.network(Cores::All).forward(batch, &mut Tape::short())
    }

    /// Tokens at these places (from 1), and what the first layer makes of them; the CLS token comes
    /// first. \[P, inputs\] -> \[1 + P, ..\]
    pub fn tokens(&self, inputs: &[f32], places: impl Iterator<Item = usize>) -> Tokens {
        self.network(Cores::All).tokens(inputs, places)
    }

    /// The logits of sequences of known tokens, given by number without the CLS token, on one core.
    pub fn logits_of_tokens(&self, sequences: &[Vec<usize>], tokens: &Tokens) -> Vec<f32> {
        let mut tape = Tape::short();
        let lengths = sequences.iter().map(|sequence| 1 + sequence.len());
        let rows = sequences.iter().flat_map(|s| std::iter::once(0).chain(s.iter().copied()));
        tape.begin_with_tokens(lengths, rows, tokens, self.config.layers);
        self.network(Cores::One).finish(&mut tape, true)
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

    /// All tensors as the bytes of a safetensors file.
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>, safetensors::SafeTensorError> {
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
