//! All weights of an evaluator as one row of numbers, so that they are updated, saved and compared in
//! one go; and where in it each tensor lies.
//!
//! The tensors have the names of this PyTorch module, and load in it (recipes/golden/evaluator.py):
//! `project = Linear(inputs, d)`, `cls = Parameter(d)`, `position = Embedding(1 + max_steps, d)`,
//! `encoder = TransformerEncoder(TransformerEncoderLayer(d, heads, hidden, norm_first), layers)`
//! (with a last `norm` if norm_first), `head = Sequential(Linear(d, d), activation, Linear(d, 1))`.

use std::ops::Range;

use super::config::EvaluatorConfig;
use super::dropout::mixed;
use crate::weights::{Weights, WeightsError};

/// One tensor: its name, its shape, where its numbers lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its name in the file.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its numbers in the row of all.
    pub range: Range<usize>,
}

/// A linear layer: weight \[out, in\], bias \[out\].
#[derive(Clone, Debug)]
pub(super) struct LinearPlace {
    pub weight: Range<usize>,
    pub bias: Range<usize>,
    pub into: usize,
    pub out: usize,
}

/// A layer norm: weight \[d\], bias \[d\].
#[derive(Clone, Debug)]
pub(super) struct NormPlace {
    pub weight: Range<usize>,
    pub bias: Range<usize>,
}

/// A layer of the transformer.
#[derive(Clone, Debug)]
pub(super) struct LayerPlace {
    pub query: LinearPlace,     // [d, d], the first third of in_proj
    pub key_value: LinearPlace, // [2·d, d], the rest of it
    pub out: LinearPlace,       // [d, d]
    pub norm1: NormPlace,
    pub linear1: LinearPlace, // [hidden, d]
    pub linear2: LinearPlace, // [d, hidden]
    pub norm2: NormPlace,
}

/// Where everything lies.
#[derive(Clone, Debug)]
pub struct Layout {
    places: Vec<Place>,
    pub(super) project: LinearPlace,   // [d, inputs]
    pub(super) cls: Range<usize>,      // [d]
    pub(super) position: Range<usize>, // [1 + max_steps, d]; row 0 is the CLS token's
    pub(super) layers: Vec<LayerPlace>,
    pub(super) norm: Option<NormPlace>,
    pub(super) head: (LinearPlace, LinearPlace), // [d, d], [1, d]
}

impl Layout {
    /// The layout of an evaluator of this config.
    pub fn of(config: &EvaluatorConfig) -> Self {
        let mut places = Places::default();
        let d = config.width;
        let project = places.linear("project", d, config.inputs);
        let cls = places.take("cls", &[d]);
        let position = places.take("position.weight", &[1 + config.max_steps, d]);
        let layers = (0..config.layers).map(|number| places.layer(config, number)).collect();
        let norm = config.norm_first.then(|| places.norm("encoder.norm", d));
        let head = (places.linear("head.0", d, d), places.linear("head.2", 1, d));
        Self { places: places.0, project, cls, position, layers, norm, head }
    }

    /// All tensors, in the order of their numbers.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.places.last().map_or(0, |place| place.range.end)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of a file that has all tensors.
    pub fn read(&self, weights: &Weights) -> Result<Vec<f32>, WeightsError> {
        self.read_as(weights, "")
    }

    /// The same for tensors whose names begin so.
    pub fn read_as(&self, weights: &Weights, prefix: &str) -> Result<Vec<f32>, WeightsError> {
        let mut numbers = Vec::with_capacity(self.len());
        for place in &self.places {
            let name = format!("{prefix}{}", place.name);
            numbers.extend(weights.numbers(&name, &place.shape)?);
        }
        Ok(numbers)
    }

    /// Untrained numbers, drawn from a seed as PyTorch draws them.
    pub fn fresh(&self, seed: u64) -> Vec<f32> {
        let mut state = seed;
        let mut numbers = Vec::with_capacity(self.len());
        for place in &self.places {
            let bound = bound(&place.name, &place.shape);
            let one = match place.name.contains("norm") && place.name.ends_with("weight") {
                true => 1.0,
                false => 0.0,
            };
            let draw = |_| one + bound * (2.0 * uniform(&mut state) - 1.0);
            numbers.extend((0..place.range.len()).map(draw));
        }
        numbers
    }
}

/// Tensors put one after the other.
#[derive(Default)]
struct Places(Vec<Place>);

impl Places {
    fn take(&mut self, name: &str, shape: &[usize]) -> Range<usize> {
        let start = self.0.last().map_or(0, |place| place.range.end);
        let range = start..start + shape.iter().product::<usize>();
        self.0.push(Place { name: name.into(), shape: shape.into(), range: range.clone() });
        range
    }

    fn linear(&mut self, name: &str, out: usize, into: usize) -> LinearPlace {
        let weight = self.take(&format!("{name}.weight"), &[out, into]);
        LinearPlace { weight, bias: self.take(&format!("{name}.bias"), &[out]), into, out }
    }

    fn norm(&mut self, name: &str, d: usize) -> NormPlace {
        let weight = self.take(&format!("{name}.weight"), &[d]);
        NormPlace { weight, bias: self.take(&format!("{name}.bias"), &[d]) }
    }

    /// Queries apart from keys and values: in the last layer only the CLS token asks.
    fn attention(&mut self, name: &str, d: usize) -> (LinearPlace, LinearPlace) {
        let weight = self.take(&format!("{name}_weight"), &[3 * d, d]);
        let bias = self.take(&format!("{name}_bias"), &[3 * d]);
        let (weight_split, bias_split) = (weight.start + d * d, bias.start + d);
        let query = LinearPlace {
            weight: weight.start..weight_split,
            bias: bias.start..bias_split,
            into: d,
            out: d,
        };
        let key_value = LinearPlace {
            weight: weight_split..weight.end,
            bias: bias_split..bias.end,
            into: d,
            out: 2 * d,
        };
        (query, key_value)
    }

    fn layer(&mut self, config: &EvaluatorConfig, number: usize) -> LayerPlace {
        let (d, hidden) = (config.width, config.hidden);
        let name = |part: &str| format!("encoder.layers.{number}.{part}");
        let (query, key_value) = self.attention(&name("self_attn.in_proj"), d);
        LayerPlace {
            query,
            key_value,
            out: self.linear(&name("self_attn.out_proj"), d, d),
            norm1: self.norm(&name("norm1"), d),
            linear1: self.linear(&name("linear1"), hidden, d),
            linear2: self.linear(&name("linear2"), d, hidden),
            norm2: self.norm(&name("norm2"), d),
        }
    }
}

/// How far from its centre a fresh number may lie: as PyTorch for linear layers and attention,
/// small for the CLS token and places, not at all for norms.
fn bound(name: &str, shape: &[usize]) -> f32 {
    match shape {
        _ if name.contains("norm") => 0.0,
        _ if name == "cls" || name.starts_with("position") => 0.035,
        [_] if name.contains("self_attn") => 0.0,
        [out, into] if name.ends_with("in_proj_weight") => (6.0 / (out + into) as f32).sqrt(),
        [_, into] => 1.0 / (*into as f32).sqrt(),
        _ => 0.02,
    }
}

/// A number from 0 to 1 (splitmix64).
fn uniform(state: &mut u64) -> f32 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    (mixed(*state) >> 40) as f32 / (1u64 << 24) as f32
}
