//! The folding of what convolutions were trained with (batch norms, side branches) into one kernel
//! each.

use crate::error::NnError;
use crate::layers::Linear;
use crate::weights::Scope;

/// Keeps the division of a batch norm finite, in every published network.
const EPS: f64 = 1e-5;

/// (outputs, inputs of each output, pixels along a side) of a kernel.
pub type KernelShape = (usize, usize, usize);

/// A kernel with everything folded in, and its bias.
#[derive(Clone, Debug, PartialEq)]
pub struct FusedKernel {
    shape: KernelShape,
    kernel: Vec<f64>, // [outputs, inputs, side, side]
    bias: Vec<f64>,   // [outputs]
}

impl FusedKernel {
    /// A convolution as it stands in the file.
    pub fn plain(scope: &Scope<'_>, shape: KernelShape, biased: bool) -> Result<Self, NnError> {
        let (outputs, inputs, side) = shape;
        let kernel = scope.tensor("weight", &[outputs, inputs, side, side])?;
        let bias = match biased {
            true => scope.tensor("bias", &[outputs])?,
            false => vec![0.0; outputs],
        };
        Ok(Self::new(shape, &kernel, &bias))
    }

    pub fn new(shape: KernelShape, kernel: &[f32], bias: &[f32]) -> Self {
        let wide = |values: &[f32]| values.iter().copied().map(f64::from).collect();
        Self { shape, kernel: wide(kernel), bias: wide(bias) }
    }

    /// A convolution and the batch norm after it.
    pub fn normed(scope: &Scope<'_>, shape: KernelShape) -> Result<Self, NnError> {
        Self::plain(&scope.at("conv"), shape, false)?.batch_norm(&scope.at("bn"))
    }

    /// A batch norm alone, as a kernel of this shape.
    pub fn identity_normed(scope: &Scope<'_>, shape: KernelShape) -> Result<Self, NnError> {
        Self::identity(shape).batch_norm(scope)
    }

    /// What leaves everything as it is, where outputs and inputs are as many.
    pub fn identity(shape: KernelShape) -> Self {
        let (outputs, inputs, side) = shape;
        let mut kernel = vec![0.0; outputs * inputs * side * side];
        let middle = side / 2 * side + side / 2;
        (0..outputs).for_each(|o| kernel[(o * inputs + o % inputs) * side * side + middle] = 1.0);
        Self { shape, kernel, bias: vec![0.0; outputs] }
    }

    /// Followed by a batch norm with fixed statistics.
    fn batch_norm(self, scope: &Scope<'_>) -> Result<Self, NnError> {
        let part = |part: &str| scope.tensor(part, &[self.shape.0]);
        let (weight, bias) = (part("weight")?, part("bias")?);
        let (mean, variance) = (part("running_mean")?, part("running_var")?);
        let scale =
            |o: usize| f64::from(weight[o]) / (f64::from(variance[o].max(0.0)) + EPS).sqrt();
        let mut normed = self.scale_by(scale);
        for (o, x) in normed.bias.iter_mut().enumerate() {
            *x += f64::from(bias[o]) - f64::from(mean[o]) * scale(o);
        }
        Ok(normed)
    }

    /// Every output times a factor of its own.
    pub fn scaled(self, factors: &[f32]) -> Self {
        self.scale_by(|o| f64::from(factors[o]))
    }

    fn scale_by(mut self, factor: impl Fn(usize) -> f64) -> Self {
        let (_, inputs, side) = self.shape;
        for (o, kernel) in self.kernel.chunks_exact_mut(inputs * side * side).enumerate() {
            kernel.iter_mut().for_each(|x| *x *= factor(o));
            self.bias[o] *= factor(o);
        }
        self
    }

    /// The sum of both, a smaller kernel in the middle; `sign` -1 subtracts it.
    pub fn plus(mut self, other: &Self, sign: f64) -> Self {
        let ((outputs, inputs, side), inner) = (self.shape, other.shape.2);
        let edge = (side - inner) / 2;
        for pair in 0..outputs * inputs {
            for (y, x) in (0..inner * inner).map(|i| (i / inner, i % inner)) {
                let at = pair * side * side + (y + edge) * side + x + edge;
                self.kernel[at] += sign * other.kernel[(pair * inner + y) * inner + x];
            }
        }
        self.bias.iter_mut().zip(&other.bias).for_each(|(a, b)| *a += sign * b);
        self
    }

    pub fn side(&self) -> usize {
        self.shape.2
    }

    /// As a linear layer over \[pixel of the window\]\[channel\].
    pub fn linear(&self) -> Linear {
        let (outputs, inputs, side) = self.shape;
        let taps = side * side;
        let order = (0..outputs).flat_map(|o| (0..taps).map(move |tap| (o, tap)));
        let weight = order.flat_map(|(o, tap)| {
            (0..inputs).map(move |i| self.kernel[(o * inputs + i) * taps + tap] as f32)
        });
        Linear::new(weight.collect(), Some(self.bias()), taps * inputs)
    }

    /// Of a kernel with one input for each output: \[pixel of the window\]\[output\].
    pub fn taps(&self) -> Vec<f32> {
        let ((outputs, _, side), taps) = (self.shape, self.shape.2 * self.shape.2);
        let tap = |tap: usize| (0..outputs).map(move |o| o * taps + tap);
        (0..side * side).flat_map(tap).map(|at| self.kernel[at] as f32).collect()
    }

    pub fn bias(&self) -> Vec<f32> {
        self.bias.iter().map(|x| *x as f32).collect()
    }
}
