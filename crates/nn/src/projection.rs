//! A sentence's vector into the space of pictures: one linear layer and one hidden layer beside it.

use candle_core::{Device, Tensor};

use crate::weights::{Weights, WeightsError};

/// linear(x) + down(gelu(up(x)))
pub struct Projection {
    linear: (Tensor, Tensor),
    up: (Tensor, Tensor),
    down: Tensor,
}

impl Projection {
    /// The projection of this name, from vectors of `from` numbers to vectors of `to`.
    pub fn load(
        weights: &Weights,
        name: &str,
        from: usize,
        to: usize,
    ) -> Result<Self, WeightsError> {
        let hidden = weights.shape(&format!("{name}.up.bias"))?.first().copied().unwrap_or(0);
        let tensor = |part: &str, shape: &[usize]| {
            weights.tensor(&format!("{name}.{part}"), shape, &Device::Cpu)
        };
        let matrix = |part: &str, from, to| {
            Ok::<_, WeightsError>(tensor(part, &[to, from])?.t()?.contiguous()?)
        };
        Ok(Self {
            linear: (matrix("linear.weight", from, to)?, tensor("linear.bias", &[to])?),
            up: (matrix("up.weight", from, hidden)?, tensor("up.bias", &[hidden])?),
            down: matrix("down.weight", hidden, to)?,
        })
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.linear.1.elem_count()
    }

    /// \[rows, from\] -> \[rows, to\]
    pub fn forward(&self, rows: &[f32], from: usize) -> candle_core::Result<Vec<f32>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let x = Tensor::from_slice(rows, (rows.len() / from, from), &Device::Cpu)?;
        let affine = |(weight, bias): &(Tensor, Tensor)| x.matmul(weight)?.broadcast_add(bias);
        let deep = affine(&self.up)?.gelu_erf()?.matmul(&self.down)?;
        (affine(&self.linear)? + deep)?.flatten_all()?.to_vec1()
    }
}
