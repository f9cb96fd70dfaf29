//! The layers that every tower of the family shares: attention and a wide hidden layer, each after
//! a norm. Sequences lie one after the other as rows, without padding.

use candle_core::{Device, Tensor};

use crate::kernels::{Activation, Attention, Linear, Norm, Queries, Relative};
use crate::weights::{Weights, WeightsError};

/// The sizes of a tower.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// The length of a token's row.
    pub width: usize,
    /// The length of a row inside the hidden layer.
    pub hidden: usize,
    /// How many layers.
    pub layers: usize,
    /// How many heads share a row.
    pub heads: usize,
    /// Keeps the norms' division finite.
    pub eps: f64,
    /// What the hidden layer does with its sums.
    pub curve: Curve,
}

/// The kinds of Gaussian error linear unit that the family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
pub enum Curve {
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
    /// `resblocks.0.attn.in_proj_weight`
    OpenClip,
    /// `blocks.0.attn.qkv.weight`
    Timm,
}

impl Sizes {
    /// Whether the numbers make a transformer at all.
    pub fn are_sound(&self) -> bool {
        let some = self.width > 0 && self.hidden > 0 && self.layers > 0 && self.heads > 0;
        some && self.layers < 1000 && self.width.is_multiple_of(self.heads)
    }
}

/// A stack of layers.
pub struct Transformer {
    layers: Vec<Layer>,
    heads: usize,
    curve: Curve,
    /// What forbids a token to look at later ones.
    causal: Option<Relative>,
}

struct Layer {
    first_norm: Norm,
    qkv: Linear, // [3·d, d]
    out: Linear, // [d, d]
    second_norm: Norm,
    wide: Linear,   // [hidden, d]
    narrow: Linear, // [d, hidden]
}

impl Transformer {
    /// Loads the layers whose names begin with `prefix`.
    pub fn load(
        weights: &Weights,
        prefix: &str,
        naming: Naming,
        sizes: &Sizes,
    ) -> Result<Self, WeightsError> {
        let layer = |number: usize| match naming {
            Naming::HuggingFace => Layer::hugging_face(weights, prefix, number, sizes),
            Naming::OpenClip => Layer::open_clip(weights, prefix, number, sizes),
            Naming::Timm => Layer::timm(weights, prefix, number, sizes),
        };
        let layers = (0..sizes.layers).map(layer).collect::<Result<_, _>>()?;
        Ok(Self { layers, heads: sizes.heads, curve: sizes.curve, causal: None })
    }

    /// Lets a token look only at itself and those before it, in sequences up to `longest`.
    pub fn causal(mut self, longest: usize) -> Self {
        let head = (0..2 * longest - 1).map(|i| if i >= longest { -1e9 } else { 0.0 });
        let table = std::iter::repeat_n(head.collect::<Vec<f32>>(), self.heads).flatten().collect();
        self.causal = Some(Relative { longest, table });
        self
    }

    /// \[N, d\] to \[N, d\]; `spans` are (first row, length) of the sequences.
    pub fn forward(&self, x: Tensor, spans: &[(usize, usize)]) -> candle_core::Result<Tensor> {
        let relative = self.causal.as_ref();
        let attention = Attention { heads: self.heads, spans, relative, queries: Queries::All };
        self.layers.iter().try_fold(x, |x, layer| layer.forward(&x, &attention, self.curve))
    }
}

impl Layer {
    fn hugging_face(
        weights: &Weights,
        prefix: &str,
        number: usize,
        sizes: &Sizes,
    ) -> Result<Self, WeightsError> {
        let Sizes { width: d, hidden, eps, .. } = *sizes;
        let name = |part: &str| format!("{prefix}.{number}.{part}");
        let part = |part: &str| linear(weights, &name(&format!("self_attn.{part}_proj")), d, d);
        let (q, k, v) = (part("q")?, part("k")?, part("v")?);
        let qkv = Linear {
            weight: Tensor::cat(&[q.weight, k.weight, v.weight], 0)?,
            bias: Tensor::cat(&[q.bias, k.bias, v.bias], 0)?,
        };
        Ok(Self {
            first_norm: norm(weights, &name("layer_norm1"), d, eps)?,
            qkv,
            out: part("out")?,
            second_norm: norm(weights, &name("layer_norm2"), d, eps)?,
            wide: linear(weights, &name("mlp.fc1"), hidden, d)?,
            narrow: linear(weights, &name("mlp.fc2"), d, hidden)?,
        })
    }

    fn open_clip(
        weights: &Weights,
        prefix: &str,
        number: usize,
        sizes: &Sizes,
    ) -> Result<Self, WeightsError> {
        let Sizes { width: d, hidden, eps, .. } = *sizes;
        let name = |part: &str| format!("{prefix}.{number}.{part}");
        Ok(Self {
            first_norm: norm(weights, &name("ln_1"), d, eps)?,
            qkv: joined(weights, &name("attn"), d)?,
            out: linear(weights, &name("attn.out_proj"), d, d)?,
            second_norm: norm(weights, &name("ln_2"), d, eps)?,
            wide: linear(weights, &name("mlp.c_fc"), hidden, d)?,
            narrow: linear(weights, &name("mlp.c_proj"), d, hidden)?,
        })
    }

    fn timm(
        weights: &Weights,
        prefix: &str,
        number: usize,
        sizes: &Sizes,
    ) -> Result<Self, WeightsError> {
        let Sizes { width: d, hidden, eps, .. } = *sizes;
        let name = |part: &str| format!("{prefix}.{number}.{part}");
        Ok(Self {
            first_norm: norm(weights, &name("norm1"), d, eps)?,
            qkv: linear(weights, &name("attn.qkv"), 3 * d, d)?,
            out: linear(weights, &name("attn.proj"), d, d)?,
            second_norm: norm(weights, &name("norm2"), d, eps)?,
            wide: linear(weights, &name("mlp.fc1"), hidden, d)?,
            narrow: linear(weights, &name("mlp.fc2"), d, hidden)?,
        })
    }

    fn forward(
        &self,
        x: &Tensor,
        attention: &Attention<'_>,
        curve: Curve,
    ) -> candle_core::Result<Tensor> {
        let qkv = self.qkv.forward(&self.first_norm.forward(x)?)?; // [N, 3·d]
        let x = self.out.forward_added(&attention.forward(&qkv)?, x)?; // [N, d]
        let normed = self.second_norm.forward(&x)?;
        let wide = bent(&self.wide, &normed, curve)?; // [N, hidden]
        self.narrow.forward_added(&wide, &x) // [N, d]
    }
}

/// The hidden layer's sums, bent.
pub fn bent(linear: &Linear, x: &Tensor, curve: Curve) -> candle_core::Result<Tensor> {
    match curve {
        Curve::Exact => linear.forward_activated(x, Activation::Gelu),
        Curve::Tanh => linear.forward(x)?.gelu(),
        Curve::Quick => {
            let y = linear.forward(x)?;
            let gate = candle_nn::ops::sigmoid(&(&y * 1.702)?)?;
            y * gate
        }
    }
}

/// A linear layer with its bias.
pub fn linear(
    weights: &Weights,
    name: &str,
    out: usize,
    into: usize,
) -> Result<Linear, WeightsError> {
    Ok(Linear {
        weight: weights.tensor(&format!("{name}.weight"), &[out, into], &Device::Cpu)?,
        bias: weights.tensor(&format!("{name}.bias"), &[out], &Device::Cpu)?,
    })
}

/// A linear layer that has no bias.
pub fn unbiased(weight: Tensor) -> candle_core::Result<Linear> {
    let bias = Tensor::zeros(weight.dim(0)?, weight.dtype(), weight.device())?;
    Ok(Linear { weight, bias })
}

/// Queries, keys and values as PyTorch's multi-head attention keeps them.
pub fn joined(weights: &Weights, name: &str, d: usize) -> Result<Linear, WeightsError> {
    Ok(Linear {
        weight: weights.tensor(&format!("{name}.in_proj_weight"), &[3 * d, d], &Device::Cpu)?,
        bias: weights.tensor(&format!("{name}.in_proj_bias"), &[3 * d], &Device::Cpu)?,
    })
}

/// A layer norm.
pub fn norm(weights: &Weights, name: &str, d: usize, eps: f64) -> Result<Norm, WeightsError> {
    let part = |part: &str| weights.tensor(&format!("{name}.{part}"), &[d], &Device::Cpu);
    Ok(Norm { weight: part("weight")?, bias: part("bias")?, eps })
}
