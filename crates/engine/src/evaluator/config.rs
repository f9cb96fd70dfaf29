//! What an evaluator is made of: config.json.

use std::path::Path;

use serde::{Deserialize, Serialize};
use stitch_nn::evaluator::EvaluatorConfig;
use stitch_nn::kernels::Activation;

use super::prior::Prior;
use crate::encoder::EncoderId;
use crate::models::NnError;

/// config.json of an evaluator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Always `evaluator`: tells its folder from that of another model.
    pub kind: Kind,
    /// The encoder whose features it was trained on.
    pub encoder: EncoderId,
    /// The domain it was trained for, such as `cooking`.
    pub domain: String,
    /// d: the length of a token.
    pub width: usize,
    /// How many layers the transformer has.
    pub layers: usize,
    /// How many heads share the attention of a layer.
    pub heads: usize,
    /// The width of a layer's hidden part.
    pub hidden: usize,
    /// The share of numbers left out in training.
    pub dropout: f64,
    /// Whether a layer normalises before its parts instead of after them.
    pub norm_first: bool,
    /// What the hidden parts do with their sums.
    pub activation: Activation,
    /// The most steps one pass can take; a longer procedure is scored in windows.
    pub max_steps: usize,
    /// What a token is told beside the two features.
    #[serde(default, skip_serializing_if = "Channels::is_none")]
    pub channels: Channels,
    /// What is added to the network's logit for what can be told without it.
    #[serde(default, skip_serializing_if = "Prior::is_none")]
    pub prior: Prior,
    /// From its logit to a probability that means something.
    #[serde(default, skip_serializing_if = "Calibration::is_none")]
    pub calibration: Calibration,
}

/// The kind of a model, in its config.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// F_R.
    Evaluator,
}

/// What a token is told; the paper tells it the two features and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Channels {
    /// The features of its step and of its clip.
    pub features: bool,
    /// How similar step and clip are by F_M. What the clip's own video says of it stays out: a
    /// procedure mixed out of these very words would be known by them.
    pub similarity: bool,
    /// The same against the pool: by how many standard deviations it is above the mean.
    pub standing: bool,
    /// How the clip's source stands to that of the clip before it.
    pub source: bool,
}

impl Channels {
    /// Everything but the features.
    pub const WITHOUT_FEATURES: Self =
        Self { features: false, similarity: true, standing: true, source: true };
}

impl Default for Channels {
    fn default() -> Self {
        Self { features: true, similarity: false, standing: false, source: false }
    }
}

impl Channels {
    /// How many numbers they are, beside the features.
    pub fn count(self) -> usize {
        let numbers = |wanted: bool, count: usize| if wanted { count } else { 0 };
        numbers(self.similarity, 1) + numbers(self.standing, 1) + numbers(self.source, 5)
    }

    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// probability = 1 / (1 + e^-(scale·logit + shift)), fitted on procedures that were not learnt from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Above 0, so that the order stays.
    pub scale: f32,
    /// Added to it.
    pub shift: f32,
}

/// From the logarithm of odds to a probability.
pub(super) fn sigmoid(log_odds: f32) -> f32 {
    1.0 / (1.0 + (-log_odds).exp())
}

impl Default for Calibration {
    fn default() -> Self {
        Self { scale: 1.0, shift: 0.0 }
    }
}

impl Calibration {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// The logarithm of the odds that a logit stands for.
    pub fn log_odds(self, logit: f32) -> f32 {
        self.scale * logit + self.shift
    }

    /// The probability that a logit stands for.
    pub fn probability(self, logit: f32) -> f32 {
        sigmoid(self.log_odds(logit))
    }
}

impl Config {
    /// The file's name in a model's folder.
    pub const FILE: &str = "config.json";

    /// The paper's network for features of this encoder.
    pub fn paper(encoder: EncoderId, domain: &str) -> Self {
        Self {
            kind: Kind::Evaluator,
            width: encoder.dim,
            encoder,
            domain: domain.into(),
            layers: 4,
            heads: 8,
            hidden: 2048,
            dropout: 0.1,
            norm_first: false,
            activation: Activation::Relu,
            max_steps: 32,
            channels: Channels::default(),
            prior: Prior::default(),
            calibration: Calibration::default(),
        }
    }

    /// A small network that is told how step and clip agree and how sources follow one another, and not
    /// the features themselves: with few videos to learn from it judges those it has not seen better.
    pub fn small(encoder: EncoderId, domain: &str) -> Self {
        Self {
            width: 64,
            layers: 2,
            heads: 4,
            hidden: 128,
            norm_first: true,
            activation: Activation::Gelu,
            channels: Channels::WITHOUT_FEATURES,
            ..Self::paper(encoder, domain)
        }
    }

    /// How many numbers a token is made from.
    pub fn inputs(&self) -> usize {
        let features = if self.channels.features { 2 * self.encoder.dim } else { 0 };
        features + self.channels.count()
    }

    /// The sizes of its network.
    pub fn network(&self) -> EvaluatorConfig {
        EvaluatorConfig {
            inputs: self.inputs(),
            width: self.width,
            layers: self.layers,
            heads: self.heads,
            hidden: self.hidden,
            norm_first: self.norm_first,
            activation: self.activation,
            max_steps: self.max_steps,
        }
    }

    /// Whether the sizes make an evaluator.
    pub fn is_sound(&self) -> bool {
        let sizes = [self.width, self.layers, self.heads, self.hidden, self.max_steps];
        let small = |size: &usize| (1..=1 << 16).contains(size);
        small(&self.encoder.dim)
            && self.inputs() > 0
            && sizes.iter().all(small)
            && self.width.is_multiple_of(self.heads)
            && (0.0..1.0).contains(&self.dropout)
            && self.calibration.scale > 0.0
            && self.calibration.scale.is_finite()
            && self.calibration.shift.is_finite()
    }

    /// An error for the file it is from, unless it is.
    pub(super) fn check(&self, path: &Path) -> Result<(), NnError> {
        if self.is_sound() {
            return Ok(());
        }
        let reason = "the sizes in it do not make an evaluator; train it again".into();
        Err(NnError::Config { path: path.to_owned(), reason })
    }
}
