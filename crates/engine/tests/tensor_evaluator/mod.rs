//! The evaluator in plain tensor operations, with gradients by the tensor library: what the network by
//! hand is checked against. B = sequences, T = tokens of the longest one.

use std::collections::HashMap;

use candle_core::{D, Device, Result, Tensor, Var};
use safetensors::SafeTensors;
use stitch_engine::evaluator::{Batch, EvaluatorNetwork, Precision};
use stitch_nn::evaluator::EvaluatorConfig;
use stitch_nn::kernels::Activation;

/// The tensors (name, shape, values) of a flat buffer that is laid out as a network's parameters.
pub fn named(network: &EvaluatorNetwork, values: &[f32]) -> Vec<(String, Vec<usize>, Vec<f32>)> {
    let mut network = network.clone();
    network.parameters.copy_from_slice(values);
    let bytes = network.to_bytes(Precision::F32).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let values =
        |bytes: &[u8]| bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    let tensor = |name: String| {
        let tensor = tensors.tensor(&name).unwrap();
        (name, tensor.shape().to_vec(), values(tensor.data()))
    };
    let mut names: Vec<String> = tensors.names().into_iter().map(|name| name.to_owned()).collect();
    names.sort();
    names.into_iter().map(tensor).collect()
}

pub struct TensorEvaluator {
    config: EvaluatorConfig,
    pub variables: HashMap<String, Var>,
}

impl TensorEvaluator {
    pub fn new(network: &EvaluatorNetwork) -> Self {
        let variable = |(name, shape, values): (String, Vec<usize>, Vec<f32>)| {
            let tensor = Tensor::from_vec(values, shape, &Device::Cpu).unwrap();
            (name, Var::from_tensor(&tensor).unwrap())
        };
        let variables = named(network, &network.parameters).into_iter().map(variable).collect();
        Self { config: network.config.clone(), variables }
    }

    fn get(&self, name: &str) -> &Tensor {
        self.variables[name].as_tensor()
    }

    fn linear(&self, name: &str, x: &Tensor) -> Result<Tensor> {
        let weight = self.get(&format!("{name}.weight"));
        x.matmul(&weight.t()?)?.broadcast_add(self.get(&format!("{name}.bias")))
    }

    fn norm(&self, name: &str, x: &Tensor) -> Result<Tensor> {
        let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
        let variance = centred.sqr()?.mean_keepdim(D::Minus1)?;
        let normalised = centred.broadcast_div(&(variance + 1e-5)?.sqrt()?)?;
        let scaled = normalised.broadcast_mul(self.get(&format!("{name}.weight")))?;
        scaled.broadcast_add(self.get(&format!("{name}.bias")))
    }

    fn activate(&self, x: Tensor) -> Result<Tensor> {
        match self.config.activation {
            Activation::Relu => x.relu(),
            Activation::Gelu => x.gelu_erf(),
        }
    }

    /// The logit of each sequence \[B\].
    pub fn logits(&self, batch: &Batch) -> Result<Tensor> {
        let (b, d) = (batch.lengths.len(), self.config.width);
        let n = batch.lengths.iter().copied().max().unwrap_or(0);
        let position = self.get("position.weight");
        let places = Tensor::arange(1u32, 1 + n as u32, &Device::Cpu)?.repeat(b)?; // [B·N]
        let steps = self.linear("project", &self.padded(batch, n)?)?;
        let steps = (steps + position.embedding(&places)?)?.reshape((b, n, d))?;
        let cls = (self.get("cls").unsqueeze(0)? + position.narrow(0, 0, 1)?)?.expand((b, 1, d))?;
        let mut x = Tensor::cat(&[&cls, &steps], 1)?; // [B, T, d]
        let mask = self.mask(batch, 1 + n)?;
        for number in 0..self.config.layers {
            x = self.layer(&format!("encoder.layers.{number}"), &x, &mask)?;
        }
        let mut x = x.narrow(1, 0, 1)?.squeeze(1)?.contiguous()?; // [B, d]
        if self.config.norm_first {
            x = self.norm("encoder.norm", &x)?;
        }
        let hidden = self.activate(self.linear("head.0", &x)?)?;
        self.linear("head.2", &hidden)?.squeeze(1)
    }

    /// The batch with zeros behind the shorter sequences. \[B·N, inputs\]
    fn padded(&self, batch: &Batch, n: usize) -> Result<Tensor> {
        let inputs = self.config.inputs;
        let (mut rows, mut start) = (Vec::new(), 0);
        for length in &batch.lengths {
            let end = start + length * inputs;
            rows.extend_from_slice(&batch.inputs[start..end]);
            rows.resize(rows.len() + (n - length) * inputs, 0.0);
            start = end;
        }
        Tensor::from_vec(rows, (batch.lengths.len() * n, inputs), &Device::Cpu)
    }

    /// What is added to the scores so that padding has no probability. \[B, 1, 1, T\]
    fn mask(&self, batch: &Batch, tokens: usize) -> Result<Tensor> {
        let row = |length: &usize| {
            let length = 1 + *length;
            (0..tokens).map(move |token| if token < length { 0.0f32 } else { f32::MIN / 2.0 })
        };
        let padding = Tensor::from_iter(batch.lengths.iter().flat_map(row), &Device::Cpu)?;
        padding.reshape((batch.lengths.len(), 1, 1, tokens))
    }

    fn layer(&self, name: &str, x: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let (b, t, d) = x.dims3()?;
        let x = x.reshape((b * t, d))?;
        let part = |part: &str| format!("{name}.{part}");
        let first = self.config.norm_first;
        let input = if first { self.norm(&part("norm1"), &x)? } else { x.clone() };
        let attended = self.attention(&part("self_attn"), &input, mask, (b, t))?;
        let x = (x + self.linear(&part("self_attn.out_proj"), &attended)?)?;
        let x = if first { x } else { self.norm(&part("norm1"), &x)? };
        let input = if first { self.norm(&part("norm2"), &x)? } else { x.clone() };
        let hidden = self.activate(self.linear(&part("linear1"), &input)?)?;
        let x = (x + self.linear(&part("linear2"), &hidden)?)?;
        let x = if first { x } else { self.norm(&part("norm2"), &x)? };
        x.reshape((b, t, d))
    }

    /// \[B·T, d\] -> \[B·T, d\]
    fn attention(
        &self,
        name: &str,
        x: &Tensor,
        mask: &Tensor,
        (b, t): (usize, usize),
    ) -> Result<Tensor> {
        let (heads, size) = (self.config.heads, self.config.width / self.config.heads);
        let weight = self.get(&format!("{name}.in_proj_weight"));
        let bias = self.get(&format!("{name}.in_proj_bias"));
        let qkv = x.matmul(&weight.t()?)?.broadcast_add(bias)?; // [B·T, 3·d]
        let parts = qkv.reshape((b, t, 3, heads, size))?.permute((2, 0, 3, 1, 4))?;
        let part = |number: usize| parts.get(number)?.contiguous(); // [B, H, T, s]
        let (q, k, v) = (part(0)?, part(1)?, part(2)?);
        let scores = (q.matmul(&k.t()?)? / (size as f64).sqrt())?.broadcast_add(mask)?;
        let probs = candle_nn::ops::softmax(&scores, D::Minus1)?; // [B, H, T, T]
        probs.matmul(&v)?.transpose(1, 2)?.reshape((b * t, heads * size))
    }
}
