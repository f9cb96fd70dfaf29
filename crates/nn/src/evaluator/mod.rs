//! The network of the procedure evaluator: sequences of tokens to one logit each, the gradient of every
//! parameter, and the optimiser.

mod config;
mod adamw;
mod dropout;
mod parameters;
mod attention;
mod activations;
mod layers;
mod forward;
mod backward;
#[cfg(feature = "cuda")]
pub mod gpu;

use safetensors::tensor::{Dtype, TensorView};

use crate::error::Result;
use crate::matrix::Cores;
use crate::weights::Weights;
pub use activations::Activations;
pub use adamw::{AdamW, AdamWState};
pub use config::EvaluatorConfig;
pub use dropout::Dropout;
use forward::Network;
pub use forward::{Batch, EmbeddedTokens};
use parameters::{Parameter, ParameterLayout};

/// In how many bits parameters are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// As they were trained.
    F32,
    /// Half the size; logits change in the third digit.
    F16,
}

#[derive(Clone)]
pub struct EvaluatorNetwork {
    pub config: EvaluatorConfig,
    layout: ParameterLayout,
    /// One flat buffer.
    pub parameters: Vec<f32>,
}

impl EvaluatorNetwork {
    /// The network in a file that has all tensors.
    pub fn read(config: EvaluatorConfig, weights: &Weights) -> Result<Self> {
        let layout = ParameterLayout::new(&config);
        let parameters = layout.read(weights)?;
        Ok(Self { config, layout, parameters })
    }

    /// An untrained network, initialised from a seed as PyTorch does.
    pub fn init(config: EvaluatorConfig, seed: u64) -> Self {
        let layout = ParameterLayout::new(&config);
        let parameters = layout.init(seed);
        Self { config, layout, parameters }
    }

    fn network(&self, cores: Cores) -> Network<'_> {
        let Self { config, layout, parameters } = self;
        Network { config, layout, parameters, dropout: Dropout::none(), cores }
    }

    /// The logit of each sequence.
    pub fn logits(&self, batch: &Batch) -> Vec<f32> {
        self.network(Cores::All).forward(batch, &mut Activations::unsaved())
    }

    /// Tokens at these positions (from 1), with the CLS token first. \[T, inputs\] -> \[1 + T, ..\]
    pub fn tokens(&self, inputs: &[f32], positions: impl Iterator<Item = usize>) -> EmbeddedTokens {
        self.network(Cores::All).tokens(inputs, positions)
    }

    /// The logits of sequences of embedded tokens, given by number without the CLS token, on one core.
    pub fn logits_of_tokens(&self, sequences: &[Vec<usize>], tokens: &EmbeddedTokens) -> Vec<f32> {
        let mut activations = Activations::unsaved();
        let lengths = sequences.iter().map(|sequence| 1 + sequence.len());
        let rows = sequences.iter().flat_map(|s| std::iter::once(0).chain(s.iter().copied()));
        activations.begin_with_tokens(lengths, rows, tokens, self.config.layers);
        self.network(Cores::One).layers_and_head(&mut activations, true)
    }

    /// The mean loss of a batch (binary cross entropy), with the gradient of every parameter written
    /// to `gradient`. The activations only keep memory from call to call.
    pub fn loss(
        &self,
        batch: &Batch,
        labels: &Labels,
        dropout: Dropout,
        activations: &mut Activations,
        gradient: &mut [f32],
    ) -> f32 {
        let count = labels.right.len().max(1) as f32;
        let slope = |(logit, right): (&f32, &bool)| {
            let probability = 1.0 / (1.0 + (-logit).exp());
            (probability - f32::from(u8::from(*right))) * labels.weight(*right) / count
        };
        let slopes = |logits: &[f32]| logits.iter().zip(&labels.right).map(slope).collect();
        let logits = self.gradient(batch, dropout, slopes, activations, gradient);
        cross_entropy(&logits, labels)
    }

    /// The outputs of a batch. `slopes` makes of them the gradient of a loss, from which that of every
    /// parameter is written to `gradient`.
    pub fn gradient(
        &self,
        batch: &Batch,
        dropout: Dropout,
        slopes: impl FnOnce(&[f32]) -> Vec<f32>,
        activations: &mut Activations,
        gradient: &mut [f32],
    ) -> Vec<f32> {
        let network = Network { dropout, ..self.network(Cores::All) };
        let outputs = network.forward(batch, activations);
        network.backward(&slopes(&outputs), batch, activations, gradient);
        outputs
    }

    /// All tensors as the bytes of a safetensors file.
    pub fn to_bytes(&self, precision: Precision) -> Result<Vec<u8>, safetensors::SafeTensorError> {
        let (dtype, bytes): (Dtype, Vec<u8>) = match precision {
            Precision::F32 => {
                (Dtype::F32, self.parameters.iter().flat_map(|x| x.to_le_bytes()).collect())
            }
            Precision::F16 => {
                let half = |x: &f32| half::f16::from_f32(*x).to_le_bytes();
                (Dtype::F16, self.parameters.iter().flat_map(half).collect())
            }
        };
        let size = bytes.len() / self.parameters.len().max(1);
        let view = |Parameter { name, shape, range }: &Parameter| {
            let bytes = &bytes[range.start * size..range.end * size];
            let view = TensorView::new(dtype, shape.clone(), bytes)?;
            Ok::<_, safetensors::SafeTensorError>((name.clone(), view))
        };
        let views = self.layout.all.iter().map(view);
        safetensors::serialize(views.collect::<Result<Vec<_>, _>>()?, None)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// Whether each sequence is a correct demonstration.
    pub right: Vec<bool>,
    /// The weight of a correct one in the loss; others have 1.
    pub weight_of_right: f32,
}

impl Labels {
    /// The weight of a sequence in the loss.
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
