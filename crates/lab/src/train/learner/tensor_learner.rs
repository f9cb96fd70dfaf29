//! The learner in plain tensor operations with automatic gradients, to check the one by hand against.

use std::borrow::Cow;

use candle_core::backprop::GradStore;
use candle_core::{Device, Tensor};
use stitch_engine::evaluator::{
    Batch, DeviceNetwork, Dropout, Evaluator, EvaluatorError, Labels, Place,
};

use super::{BETA1, BETA2, EPS, Learner, OptimiserState, StepOptions, adam};

pub struct TensorLearner {
    evaluator: Evaluator,
    network: DeviceNetwork,
    first: Vec<Tensor>,
    second: Vec<Tensor>,
    steps: u64,
}

impl TensorLearner {
    pub fn new(evaluator: Evaluator) -> Result<Self, EvaluatorError> {
        let network =
            DeviceNetwork::new(evaluator.network().config(), evaluator.numbers(), &Device::Cpu)?;
        let zeros = |place: &Place| {
            Tensor::zeros(place.shape.as_slice(), candle_core::DType::F32, &Device::Cpu)
        };
        let moment = || {
            evaluator.network().layout().places().iter().map(zeros).collect::<Result<Vec<_>, _>>()
        };
        let (first, second) = (moment()?, moment()?);
        Ok(Self { evaluator, network, first, second, steps: 0 })
    }

    fn adam(&mut self, gradients: &GradStore, options: StepOptions) -> candle_core::Result<()> {
        let (rate, correction) = adam(options.rate, self.steps);
        let clip_factor = self.clip_factor(gradients, options)?;
        let moments = self.first.iter_mut().zip(&mut self.second);
        for (variable, (first, second)) in self.network.variables().iter().zip(moments) {
            let Some(gradient) = gradients.get(variable) else { continue };
            let gradient = (gradient * clip_factor)?;
            *first = ((&*first * BETA1)? + (&gradient * (1.0 - BETA1))?)?;
            *second = ((&*second * BETA2)? + (gradient.sqr()? * (1.0 - BETA2))?)?;
            let step = (&*first / ((second.sqrt()? * correction)? + EPS)?)?;
            let kept = (variable.as_tensor() * (1.0 - options.rate * options.decay))?;
            variable.set(&(kept - (step * rate)?)?)?;
        }
        Ok(())
    }

    fn clip_factor(&self, gradients: &GradStore, options: StepOptions) -> candle_core::Result<f64> {
        let all = self.network.variables().iter().filter_map(|variable| gradients.get(variable));
        let squares = all.map(|gradient| gradient.sqr()?.sum_all()?.to_scalar::<f32>());
        let squares: Vec<f32> = squares.collect::<candle_core::Result<_>>()?;
        Ok(options.clip_factor(squares.into_iter().map(f64::from).sum()))
    }
}

/// Mean binary cross entropy of logits, in a form that does not overflow.
fn cross_entropy(logits: &Tensor, labels: &Labels) -> candle_core::Result<Tensor> {
    let row = |of: &dyn Fn(bool) -> f32| {
        let numbers = labels.right.iter().map(|right| of(*right));
        Tensor::from_iter(numbers, logits.device())
    };
    let right = row(&|right| f32::from(u8::from(right)))?;
    let weights = row(&|right| labels.weight(right))?;
    let softplus = (logits.abs()?.neg()?.exp()? + 1.0)?.log()?;
    let losses = ((logits.relu()? - (logits * right)?)? + softplus)?;
    (losses * weights)?.mean_all()
}

impl Learner for TensorLearner {
    fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        options: StepOptions,
        dropout: Dropout,
    ) -> Result<f32, EvaluatorError> {
        let loss = cross_entropy(&self.network.logits(batch, dropout)?, labels)?;
        let gradients = loss.backward()?;
        self.steps += 1;
        self.adam(&gradients, options)?;
        Ok(loss.to_scalar()?)
    }

    fn state(&self) -> Result<OptimiserState<'_>, EvaluatorError> {
        let flat = |tensors: &[Tensor]| {
            let one = |tensor: &Tensor| tensor.flatten_all()?.to_vec1::<f32>();
            let all = tensors.iter().map(one).collect::<Result<Vec<_>, _>>();
            all.map(|all| Cow::Owned(all.concat()))
        };
        Ok(OptimiserState {
            weights: self.network.numbers()?.into(),
            first: flat(&self.first)?,
            second: flat(&self.second)?,
            steps: self.steps,
        })
    }

    fn evaluator(&self) -> Result<Cow<'_, Evaluator>, EvaluatorError> {
        let mut evaluator = self.evaluator.clone();
        evaluator.numbers_mut().copy_from_slice(&self.network.numbers()?);
        Ok(Cow::Owned(evaluator))
    }
}
