//! All parameters of an evaluator as one flat buffer, so that they are updated, saved and compared in
//! one go; and where in it each tensor lies.
//!
//! The tensors have the names of this PyTorch module, and load in it (recipes/golden/evaluator.py):
//! `project = Linear(inputs, d)`, `cls = Parameter(d)`, `position = Embedding(1 + max_steps, d)`,
//! `encoder = TransformerEncoder(TransformerEncoderLayer(d, heads, hidden, norm_first), layers)`
//! (with a last `norm` if norm_first), `head = Sequential(Linear(d, d), activation, Linear(d, 1))`.

use std::ops::Range;

use stitch_core::random::SplitMix64;

use super::config::EvaluatorConfig;
use crate::error::Result;
use crate::weights::Weights;

/// One tensor of the buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub name: String,
    pub shape: Vec<usize>,
    pub range: Range<usize>,
}

/// A linear layer: weight \[outputs, inputs\], bias \[outputs\].
#[derive(Clone, Debug)]
pub(super) struct LinearRange {
    pub weight: Range<usize>,
    pub bias: Range<usize>,
    pub inputs: usize,
    pub outputs: usize,
}

/// A layer norm: weight \[d\], and right behind it the bias \[d\].
#[derive(Clone, Debug)]
pub(super) struct NormRange {
    pub weight: Range<usize>,
    pub bias: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct LayerRange {
    pub query: LinearRange,     // [d, d], the first third of in_proj
    pub key_value: LinearRange, // [2·d, d], the rest of it
    pub out: LinearRange,       // [d, d]
    pub norm1: NormRange,
    pub linear1: LinearRange, // [hidden, d]
    pub linear2: LinearRange, // [d, hidden]
    pub norm2: NormRange,
}

impl LayerRange {
    /// Queries, keys and values as one layer.
    #[cfg(feature = "cuda")]
    pub fn in_proj(&self) -> LinearRange {
        LinearRange {
            weight: self.query.weight.start..self.key_value.weight.end,
            bias: self.query.bias.start..self.key_value.bias.end,
            inputs: self.query.inputs,
            outputs: self.query.outputs + self.key_value.outputs,
        }
    }

    /// The norm before the feed-forward block, and the one at the layer's edge.
    pub fn norms(&self, norm_first: bool) -> (&NormRange, &NormRange) {
        match norm_first {
            true => (&self.norm2, &self.norm1),
            false => (&self.norm1, &self.norm2),
        }
    }
}

/// Where each tensor lies in the buffer.
#[derive(Clone, Debug)]
pub(super) struct ParameterLayout {
    pub all: Vec<Parameter>,
    pub project: LinearRange,   // [d, inputs]
    pub cls: Range<usize>,      // [d]
    pub position: Range<usize>, // [1 + max_steps, d]; row 0 is the CLS token's
    pub layers: Vec<LayerRange>,
    pub norm: Option<NormRange>,
    pub head: (LinearRange, LinearRange), // [d, d], [outputs, d]
}

impl ParameterLayout {
    pub fn new(config: &EvaluatorConfig) -> Self {
        let mut builder = Builder::default();
        let d = config.width;
        let project = builder.linear("project", d, config.inputs);
        let cls = builder.tensor("cls", &[d]);
        let position = builder.tensor("position.weight", &[1 + config.max_steps, d]);
        let layers = (0..config.layers).map(|number| builder.layer(config, number)).collect();
        let norm = config.norm_first.then(|| builder.norm("encoder.norm", d));
        let head = (builder.linear("head.0", d, d), builder.linear("head.2", config.outputs, d));
        Self { all: builder.0, project, cls, position, layers, norm, head }
    }

    /// The length of the buffer.
    pub fn len(&self) -> usize {
        self.all.last().map_or(0, |parameter| parameter.range.end)
    }

    /// The buffer of a file that has all tensors.
    pub fn read(&self, weights: &Weights) -> Result<Vec<f32>> {
        let mut values = Vec::with_capacity(self.len());
        for parameter in &self.all {
            values.extend(weights.tensor(&parameter.name, &parameter.shape)?);
        }
        Ok(values)
    }

    /// Untrained parameters, initialised as PyTorch does.
    pub fn init(&self, seed: u64) -> Vec<f32> {
        let mut random = SplitMix64::new(seed);
        let mut values = Vec::with_capacity(self.len());
        for Parameter { name, shape, range } in &self.all {
            let bound = init_bound(name, shape);
            let is_scale = name.contains("norm") && name.ends_with("weight");
            let centre = if is_scale { 1.0 } else { 0.0 };
            let draw = |_| centre + bound * (2.0 * random.unit() - 1.0);
            values.extend((0..range.len()).map(draw));
        }
        values
    }
}

/// Puts tensors one after the other.
#[derive(Default)]
struct Builder(Vec<Parameter>);

impl Builder {
    fn tensor(&mut self, name: &str, shape: &[usize]) -> Range<usize> {
        let start = self.0.last().map_or(0, |parameter| parameter.range.end);
        let range = start..start + shape.iter().product::<usize>();
        self.0.push(Parameter { name: name.into(), shape: shape.into(), range: range.clone() });
        range
    }

    fn linear(&mut self, name: &str, outputs: usize, inputs: usize) -> LinearRange {
        let weight = self.tensor(&format!("{name}.weight"), &[outputs, inputs]);
        let bias = self.tensor(&format!("{name}.bias"), &[outputs]);
        LinearRange { weight, bias, inputs, outputs }
    }

    fn norm(&mut self, name: &str, d: usize) -> NormRange {
        let weight = self.tensor(&format!("{name}.weight"), &[d]);
        NormRange { weight, bias: self.tensor(&format!("{name}.bias"), &[d]) }
    }

    /// Queries apart from keys and values: in the last layer only the CLS token has a query.
    fn in_proj(&mut self, name: &str, d: usize) -> (LinearRange, LinearRange) {
        let weight = self.tensor(&format!("{name}_weight"), &[3 * d, d]);
        let bias = self.tensor(&format!("{name}_bias"), &[3 * d]);
        let part = |from: usize, to: usize| LinearRange {
            weight: weight.start + from * d..weight.start + to * d,
            bias: bias.start + from..bias.start + to,
            inputs: d,
            outputs: to - from,
        };
        (part(0, d), part(d, 3 * d))
    }

    fn layer(&mut self, config: &EvaluatorConfig, number: usize) -> LayerRange {
        let (d, hidden) = (config.width, config.hidden);
        let name = |part: &str| format!("encoder.layers.{number}.{part}");
        let (query, key_value) = self.in_proj(&name("self_attn.in_proj"), d);
        LayerRange {
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

/// How far from its centre an untrained value may lie: as PyTorch for linear layers and attention,
/// small for the CLS token and positions, not at all for norms.
fn init_bound(name: &str, shape: &[usize]) -> f32 {
    match shape {
        _ if name.contains("norm") => 0.0,
        _ if name == "cls" || name.starts_with("position") => 0.035,
        [_] if name.contains("self_attn") => 0.0,
        [out, into] if name.ends_with("in_proj_weight") => (6.0 / (out + into) as f32).sqrt(),
        [_, into] => 1.0 / (*into as f32).sqrt(),
        _ => 0.02,
    }
}
