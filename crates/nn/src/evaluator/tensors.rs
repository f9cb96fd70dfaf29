//! The network in plain tensor operations, with gradients by the tensor library: what the networks by
//! hand are checked against. B = sequences, T = tokens of the longest one.

use candle_core::{D, DType, Device, Tensor, Var};

use super::config::EvaluatorConfig;
use super::dropout::Dropout;
use super::network::Batch;
use super::numbers::Layout;
use crate::kernels::{Linear, Norm};

/// The network on a device, its weights as variables.
pub struct DeviceNetwork {
    config: EvaluatorConfig,
    device: Device,
    variables: Vec<Var>,
    project: Linear,  // [d, inputs]
    cls: Tensor,      // [d]
    position: Tensor, // [1 + max_steps, d]; row 0 is the CLS token's
    layers: Vec<Layer>,
    norm: Option<Norm>,
    head: (Linear, Linear), // [d, d], [1, d]
}

struct Layer {
    qkv: Linear, // [3·d, d]
    out: Linear, // [d, d]
    norm1: Norm,
    linear1: Linear, // [hidden, d]
    linear2: Linear, // [d, hidden]
    norm2: Norm,
}

/// Which rows belong together: B sequences of T tokens each, of which the first `lengths[b]` count.
struct Shape {
    tokens: usize,
    lengths: Vec<usize>,
}

/// Variables in the order of their numbers.
struct Variables<'a>(std::slice::Iter<'a, Var>);

impl Variables<'_> {
    fn next(&mut self) -> candle_core::Result<Tensor> {
        let missing = || candle_core::Error::Msg("the layout has too few tensors".into());
        Ok(self.0.next().ok_or_else(missing)?.as_tensor().clone())
    }

    fn linear(&mut self) -> candle_core::Result<Linear> {
        Ok(Linear { weight: self.next()?, bias: self.next()? })
    }

    fn norm(&mut self) -> candle_core::Result<Norm> {
        Ok(Norm { weight: self.next()?, bias: self.next()?, eps: 1e-5 })
    }

    fn layer(&mut self) -> candle_core::Result<Layer> {
        Ok(Layer {
            qkv: self.linear()?,
            out: self.linear()?,
            norm1: self.norm()?,
            linear1: self.linear()?,
            linear2: self.linear()?,
            norm2: self.norm()?,
        })
    }
}

impl DeviceNetwork {
    /// The network with these weights, on this device.
    pub fn new(
        config: &EvaluatorConfig,
        numbers: &[f32],
        device: &Device,
    ) -> candle_core::Result<Self> {
        let layout = Layout::of(config);
        let variable = |place: &super::Place| {
            let numbers = &numbers[place.range.clone()];
            Var::from_tensor(&Tensor::from_slice(numbers, place.shape.as_slice(), device)?)
        };
        let variables = layout.places().iter().map(variable).collect::<Result<Vec<_>, _>>()?;
        let mut next = Variables(variables.iter());
        let (project, cls, position) = (next.linear()?, next.next()?, next.next()?);
        let layers = (0..config.layers).map(|_| next.layer()).collect::<Result<Vec<_>, _>>()?;
        let norm = config.norm_first.then(|| next.norm()).transpose()?;
        let head = (next.linear()?, next.linear()?);
        let (config, device) = (config.clone(), device.clone());
        Ok(Self { config, device, variables, project, cls, position, layers, norm, head })
    }

    /// The weights as variables, in the order of their numbers.
    pub fn variables(&self) -> &[Var] {
        &self.variables
    }

    /// Where it runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// All weights as one row.
    pub fn numbers(&self) -> candle_core::Result<Vec<f32>> {
        let flat = |variable: &Var| variable.flatten_all()?.to_vec1::<f32>();
        let all = self.variables.iter().map(flat).collect::<Result<Vec<_>, _>>()?;
        Ok(all.concat())
    }

    /// The logit of each sequence \[B\], with its way back.
    pub fn logits(&self, batch: &Batch, dropout: Dropout) -> candle_core::Result<Tensor> {
        let (b, d) = (batch.lengths.len(), self.config.width);
        let n = batch.lengths.iter().copied().max().unwrap_or(0);
        let steps = self.padded(batch, n)?; // [B·N, inputs]
        let places = Tensor::arange(1u32, 1 + n as u32, &self.device)?.repeat(b)?; // [B·N]
        let tokens = self.project.forward_added(&steps, &self.position.embedding(&places)?)?;
        let cls = (self.cls.unsqueeze(0)? + self.position.narrow(0, 0, 1)?)?; // [1, d]
        let cls = cls.expand((b, 1, d))?;
        let x = Tensor::cat(&[&cls, &tokens.reshape((b, n, d))?], 1)?; // [B, T, d]
        let x = drop_out(x.flatten(0, 1)?, dropout)?; // [B·T, d]
        let lengths = batch.lengths.iter().map(|length| 1 + length).collect();
        self.classify(x, &Shape { tokens: 1 + n, lengths }, dropout)
    }

    /// The batch with sequences of one length, zeros behind the shorter ones. \[B·N, inputs\]
    fn padded(&self, batch: &Batch, n: usize) -> candle_core::Result<Tensor> {
        let inputs = self.config.inputs;
        let mut rows = Vec::with_capacity(batch.lengths.len() * n * inputs);
        let mut start = 0;
        for length in &batch.lengths {
            let end = start + length * inputs;
            rows.extend_from_slice(&batch.inputs[start..end]);
            rows.resize(rows.len() + (n - length) * inputs, 0.0);
            start = end;
        }
        Tensor::from_vec(rows, (batch.lengths.len() * n, inputs), &self.device)
    }

    /// From tokens \[B·T, d\] to one logit per sequence \[B\]. In the last layer only the CLS token
    /// asks: nobody reads the rest.
    fn classify(
        &self,
        mut x: Tensor,
        shape: &Shape,
        dropout: Dropout,
    ) -> candle_core::Result<Tensor> {
        for (number, layer) in self.layers.iter().enumerate() {
            let last = number + 1 == self.layers.len();
            let into = if self.config.norm_first { layer.norm1.forward(&x)? } else { x.clone() };
            let qkv = layer.qkv.forward(&into)?; // [B·T, 3·d]
            let attended = self.attend(&qkv, shape, last)?; // [B·T, d] or [B, d]
            if last {
                x = first_tokens(&x, shape)?; // [B, d]
            }
            x = self.think(layer, &x, &attended, dropout)?;
        }
        let x = match &self.norm {
            Some(norm) => norm.forward(&x)?,
            None => x,
        };
        let hidden = self.head.0.forward_activated(&x, self.config.activation)?; // [B, d]
        self.head.1.forward(&hidden)?.squeeze(1) // [B]
    }

    /// \[B·T, 3·d\] -> \[B·T, d\], or \[B, d\] where only the first token asks
    fn attend(&self, qkv: &Tensor, shape: &Shape, first_asks: bool) -> candle_core::Result<Tensor> {
        let (b, t, heads) = (shape.lengths.len(), shape.tokens, self.config.heads);
        let size = self.config.width / heads;
        let parts = qkv.reshape((b, t, 3, heads, size))?.permute((2, 0, 3, 1, 4))?;
        let asking = if first_asks { 1 } else { t };
        let q = parts.get(0)?.narrow(2, 0, asking)?.contiguous()?; // [B, H, A, s]
        let k = parts.get(1)?.contiguous()?; // [B, H, T, s]
        let v = parts.get(2)?.contiguous()?; // [B, H, T, s]
        let scores = (q.matmul(&k.t()?)? / (size as f64).sqrt())?; // [B, H, A, T]
        let shares = candle_nn::ops::softmax(&scores.broadcast_add(&shape.mask(qkv)?)?, D::Minus1)?;
        shares.matmul(&v)?.transpose(1, 2)?.reshape((b * asking, heads * size)) // [B·A, d]
    }

    /// What follows the attention: \[R, d\] and \[R, d\] -> \[R, d\]
    fn think(
        &self,
        layer: &Layer,
        x: &Tensor,
        attended: &Tensor,
        dropout: Dropout,
    ) -> candle_core::Result<Tensor> {
        let norm_first = self.config.norm_first;
        let x = (x + drop_out(layer.out.forward(attended)?, dropout)?)?;
        let x = if norm_first { x } else { layer.norm1.forward(&x)? };
        let into = if norm_first { layer.norm2.forward(&x)? } else { x.clone() };
        let hidden = layer.linear1.forward_activated(&into, self.config.activation)?;
        let hidden = drop_out(hidden, dropout)?; // [R, hidden]
        let x = (x + drop_out(layer.linear2.forward(&hidden)?, dropout)?)?;
        if norm_first { Ok(x) } else { layer.norm2.forward(&x) }
    }
}

impl Shape {
    /// What is added to the scores so that padding gets no share. \[B, 1, 1, T\]
    fn mask(&self, like: &Tensor) -> candle_core::Result<Tensor> {
        let row = |length: &usize| {
            let length = *length;
            (0..self.tokens).map(move |token| if token < length { 0.0f32 } else { f32::MIN / 2.0 })
        };
        let padding = Tensor::from_iter(self.lengths.iter().flat_map(row), like.device())?;
        padding.reshape((self.lengths.len(), 1, 1, self.tokens))?.to_dtype(like.dtype())
    }
}

/// The first token of each sequence: \[B·T, d\] -> \[B, d\]
fn first_tokens(x: &Tensor, shape: &Shape) -> candle_core::Result<Tensor> {
    let b = shape.lengths.len();
    x.reshape((b, shape.tokens, ()))?.narrow(1, 0, 1)?.squeeze(1)?.contiguous()
}

/// Leaves out numbers, chosen on the device; [`Device::set_seed`] before each step fixes them.
fn drop_out(x: Tensor, dropout: Dropout) -> candle_core::Result<Tensor> {
    if dropout.rate() == 0.0 {
        return Ok(x);
    }
    let kept = Tensor::rand(0f32, 1f32, x.shape(), x.device())?.ge(dropout.rate())?;
    let mask = (kept.to_dtype(DType::F32)? / (1.0 - dropout.rate()))?;
    &x * mask.to_dtype(x.dtype())?
}
