//! A sentence's vector into the space of pictures: a linear layer and a hidden layer side by side.

use crate::error::Result;
use crate::kernels::Activation;
use crate::layers::Linear;
use crate::weights::Scope;

/// linear(x) + down(gelu(up(x)))
pub struct Projection {
    linear: Linear,
    up: Linear,
    down: Linear,
}

impl Projection {
    pub fn load(scope: &Scope<'_>, inputs: usize, outputs: usize) -> Result<Self> {
        let hidden = scope.rows("up.bias")?;
        Ok(Self {
            linear: scope.linear("linear", outputs, inputs)?,
            up: scope.linear("up", hidden, inputs)?,
            down: scope.unbiased("down.weight", outputs, hidden)?,
        })
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.linear.outputs()
    }

    /// \[rows, inputs\] to \[rows, outputs\]
    pub fn forward(&self, rows: &[f32]) -> Vec<f32> {
        let mut out = self.linear.forward(rows, None);
        self.down.add_to(&mut out, &self.up.forward(rows, Some(Activation::Gelu)));
        out
    }
}
