//! The transformer of CLIP's and Whisper's encoders: attention and a feed-forward block, each after a
//! layer norm. Sequences lie one after the other as rows, without padding.

use crate::error::Result;
use crate::kernels::{Activation, sigmoid};
use crate::layers::{Attention, LayerNorm, Linear, RelativeBias};
use crate::matrix::{Cores, in_shares};
use crate::weights::Scope;

/// The parts of an attention's stacked input.
pub(crate) const QKV: [&str; 3] = ["q_proj", "k_proj", "v_proj"];

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformerConfig {
    pub width: usize,
    pub hidden: usize,
    pub layers: usize,
    pub heads: usize,
    /// Keeps the norms' division finite.
    pub eps: f64,
    pub gelu: GeluKind,
}

/// The forms of the Gaussian error linear unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum GeluKind {
    /// x · sigmoid(1.702 x)
    #[serde(rename = "quick_gelu")]
    Quick,
    /// By the hyperbolic tangent.
    #[serde(rename = "gelu_pytorch_tanh", alias = "gelu_new")]
    Tanh,
    /// By the error function.
    #[serde(rename = "gelu")]
    Exact,
}

/// How a file names the tensors of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// `layers.0.self_attn.q_proj.weight`
    HuggingFace,
    /// `layers.0.self_attn_layer_norm.weight`
    Whisper,
}

impl TransformerConfig {
    pub fn is_valid(&self) -> bool {
        let some = self.width > 0 && self.hidden > 0 && self.layers > 0 && self.heads > 0;
        some && self.layers < 1000 && self.width.is_multiple_of(self.heads)
    }
}

pub struct Transformer {
    layers: Vec<Layer>,
    config: TransformerConfig,
    causal: Option<RelativeBias>,
}

struct Layer {
    attention_norm: LayerNorm,
    qkv: Linear, // [3·d, d]
    out: Linear, // [d, d]
    feed_forward: FeedForward,
}

/// x + narrow(gelu(wide(norm(x))))
pub struct FeedForward {
    norm: LayerNorm,
    wide: Linear,   // [hidden, d]
    narrow: Linear, // [d, hidden]
    gelu: GeluKind,
}

impl Transformer {
    pub fn load(scope: &Scope<'_>, naming: Naming, config: &TransformerConfig) -> Result<Self> {
        let layers = (0..config.layers).map(|i| Layer::load(&scope.at(i), naming, config));
        Ok(Self { layers: layers.collect::<Result<_, _>>()?, config: *config, causal: None })
    }

    /// Lets a token attend only to itself and those before it, in sequences up to `max_length`.
    pub fn causal(mut self, max_length: usize) -> Self {
        self.causal = Some(RelativeBias::causal(self.config.heads, max_length));
        self
    }

    /// \[N, d\] to the same, in place; `spans` are (first row, length) of the sequences.
    pub fn forward(&self, x: &mut [f32], spans: &[(usize, usize)]) {
        let attention = Attention { heads: self.config.heads, spans, bias: self.causal.as_ref() };
        for layer in &self.layers {
            let qkv = layer.qkv.forward(&layer.attention_norm.forward(x), None); // [N, 3·d]
            layer.out.add_to(x, &attention.forward(&qkv, self.config.width));
            layer.feed_forward.forward(x);
        }
    }
}

impl Layer {
    fn load(scope: &Scope<'_>, naming: Naming, config: &TransformerConfig) -> Result<Self> {
        let TransformerConfig { width: d, eps, .. } = *config;
        let (norm1, norm2, mlp) = match naming {
            Naming::HuggingFace => ("layer_norm1", "layer_norm2", ["mlp.fc1", "mlp.fc2"]),
            Naming::Whisper => ("self_attn_layer_norm", "final_layer_norm", ["fc1", "fc2"]),
        };
        Ok(Self {
            attention_norm: scope.layer_norm(norm1, d, eps)?,
            qkv: scope.at("self_attn").stacked(&QKV, d)?,
            out: scope.linear("self_attn.out_proj", d, d)?,
            feed_forward: FeedForward::load(scope, norm2, mlp, config)?,
        })
    }
}

impl FeedForward {
    /// The block whose norm and linear layers have these names.
    pub fn load(
        scope: &Scope<'_>,
        norm: &str,
        [wide, narrow]: [&str; 2],
        config: &TransformerConfig,
    ) -> Result<Self> {
        let TransformerConfig { width: d, hidden, eps, gelu, .. } = *config;
        let norm = scope.layer_norm(norm, d, eps)?;
        let (wide, narrow) = (scope.linear(wide, hidden, d)?, scope.linear(narrow, d, hidden)?);
        Ok(Self { norm, wide, narrow, gelu })
    }

    /// \[N, d\] to the same, in place.
    pub fn forward(&self, x: &mut [f32]) {
        const SQRT_8_OVER_PI: f32 = 1.595_769;
        let exact = (self.gelu == GeluKind::Exact).then_some(Activation::Gelu);
        let mut hidden = self.wide.forward(&self.norm.forward(x), exact); // [N, hidden]
        match self.gelu {
            GeluKind::Exact => {}
            GeluKind::Quick => self.apply(
                &mut hidden,
                #[inline(always)]
                |x| x * sigmoid(1.702 * x),
            ),
            // tanh(u) = 2 sigmoid(2u) - 1
            GeluKind::Tanh => self.apply(
                &mut hidden,
                #[inline(always)]
                |x| x * sigmoid(SQRT_8_OVER_PI * x * (1.0 + 0.044_715 * x * x)),
            ),
        }
        self.narrow.add_to(x, &hidden);
    }

    fn apply(&self, hidden: &mut [f32], gelu: impl Fn(f32) -> f32 + Sync) {
        in_shares!(hidden, Cores::All.row_share(hidden.len(), self.wide.outputs()), |_, part| part
            .iter_mut()
            .for_each(|x| *x = gelu(*x)));
    }
}
