//! config.json of an evaluator.

use std::path::Path;

use serde::{Deserialize, Serialize};
use stitch_core::gaps;
use stitch_nn::evaluator::EvaluatorConfig;
use stitch_nn::kernels::Activation;

use super::prior::Prior;
use crate::encoder::EncoderId;
use crate::models::NnError;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Always `evaluator`: tells its folder from that of another model.
    pub kind: Kind,
    /// The encoder whose features it was trained on.
    pub encoder: EncoderId,
    /// The domain it was trained for, such as `cooking`.
    pub domain: String,
    /// d: the dimension of a token.
    pub width: usize,
    pub layers: usize,
    /// Attention heads of a layer.
    pub heads: usize,
    /// The width of the feed-forward part.
    pub hidden: usize,
    pub dropout: f64,
    /// Whether a layer normalises before attention and feed-forward (pre-norm) instead of after.
    pub norm_first: bool,
    /// Of the feed-forward parts.
    pub activation: Activation,
    /// A longer procedure is scored in windows of this many steps.
    pub max_steps: usize,
    #[serde(default, skip_serializing_if = "is_default")]
    pub channels: Channels,
    #[serde(default, skip_serializing_if = "is_default")]
    pub prior: Prior,
    #[serde(default, skip_serializing_if = "is_default")]
    pub calibration: PlattScaling,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Evaluator,
}

/// Relations of a clip's source to that of the clip before it.
const RELATIONS: usize = 5;

/// Numbers that say how a clip goes on from what was before it.
pub const CONTINUITY: usize = 9;

/// Numbers that a step of a candidate answer is described by: whether it is a gap, the evidence that gaps are decided
/// by and what the gap model makes of it, the relation to the source before it, and continuity.
pub const ANSWER_INPUTS: usize = 1 + gaps::FEATURES + 1 + RELATIONS + CONTINUITY;

/// What a token is made of; in the paper, the two features and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Channels {
    pub features: bool,
    /// Of step and clip by F_M. The clip's own text stays out: a procedure mixed out of these very
    /// texts would be recognised by them.
    pub similarity: bool,
    /// By how many standard deviations the similarity is above the mean over the pool.
    pub standing: bool,
    /// The [`super::Relation`] of the clip's source to that of the clip before it.
    pub source: bool,
    /// What [`super::answer`] makes of a candidate answer, and nothing else.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub answer: bool,
}

impl Default for Channels {
    fn default() -> Self {
        Self { features: true, similarity: false, standing: false, source: false, answer: false }
    }
}

impl Channels {
    pub const WITHOUT_FEATURES: Self =
        Self { features: false, similarity: true, standing: true, source: true, answer: false };

    pub const ANSWER: Self =
        Self { features: false, similarity: false, standing: false, source: false, answer: true };

    /// How many inputs they add to the features.
    pub fn count(self) -> usize {
        let numbers = |wanted: bool, count: usize| if wanted { count } else { 0 };
        numbers(self.similarity, 1)
            + numbers(self.standing, 1)
            + numbers(self.source, RELATIONS)
            + numbers(self.answer, ANSWER_INPUTS)
    }
}

/// Platt scaling: probability = sigmoid(scale · logit + shift), fitted on held-out procedures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlattScaling {
    /// Above 0, so that it keeps the order.
    pub scale: f32,
    pub shift: f32,
}

impl Default for PlattScaling {
    fn default() -> Self {
        Self { scale: 1.0, shift: 0.0 }
    }
}

impl PlattScaling {
    pub fn log_odds(self, logit: f32) -> f32 {
        self.scale * logit + self.shift
    }

    pub fn probability(self, logit: f32) -> f32 {
        stitch_core::belief::probability(self.log_odds(logit))
    }
}

impl Config {
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
            calibration: PlattScaling::default(),
        }
    }

    /// A small network without the features themselves: trained on few videos, it generalises better.
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

    /// The network that decides answers: encoder and domain do not matter to it.
    pub fn answer() -> Self {
        let encoder = EncoderId { name: "any".into(), dim: 1, weights: String::new() };
        Self { channels: Channels::ANSWER, ..Self::small(encoder, "any") }
    }

    /// The number of inputs of a token.
    pub fn inputs(&self) -> usize {
        let features = if self.channels.features { 2 * self.encoder.dim } else { 0 };
        features + self.channels.count()
    }

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
            outputs: 1,
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

    /// An error that names the file, unless it is sound.
    pub(super) fn check(&self, path: &Path) -> Result<(), NnError> {
        if self.is_sound() {
            return Ok(());
        }
        let reason = "the sizes in it do not make an evaluator; train it again".into();
        Err(NnError::Config { path: path.to_owned(), reason })
    }
}
