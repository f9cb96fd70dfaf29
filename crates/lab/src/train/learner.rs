//! An evaluator with its optimiser, AdamW, on CPU or on a GPU.

#[cfg(feature = "cuda")]
use stitch_engine::evaluator::gpu::{Arithmetic, GpuNetwork};
use stitch_engine::evaluator::{
    Activations, AdamW, AdamWState, Batch, Dropout, Evaluator, EvaluatorError, Labels,
};
#[cfg(feature = "cuda")]
use stitch_engine::models::NnError;

/// Everything that a step changes.
pub struct OptimiserState {
    pub weights: Vec<f32>,
    pub moments: AdamWState,
}

pub trait Learner {
    /// Trains on one batch; returns its mean loss before the update.
    fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        adamw: AdamW,
        dropout: Dropout,
    ) -> Result<f32, EvaluatorError>;

    fn state(&self) -> Result<OptimiserState, EvaluatorError>;
}

/// On CPU: parameters, gradient and moments are one flat buffer each.
pub struct CpuLearner {
    evaluator: Evaluator,
    optimiser: AdamWState,
    gradient: Vec<f32>,
    activations: Activations,
}

impl CpuLearner {
    /// From the beginning, or from a state of this evaluator.
    pub fn new(mut evaluator: Evaluator, state: Option<OptimiserState>) -> Self {
        let count = evaluator.network.parameters.len();
        let optimiser = match state {
            None => AdamWState::new(count),
            Some(state) => {
                evaluator.network.parameters.copy_from_slice(&state.weights);
                state.moments
            }
        };
        let activations = Activations::new(&evaluator.network.config);
        Self { evaluator, optimiser, gradient: vec![0.0; count], activations }
    }
}

impl Learner for CpuLearner {
    fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        adamw: AdamW,
        dropout: Dropout,
    ) -> Result<f32, EvaluatorError> {
        let Self { evaluator, optimiser, activations, gradient } = self;
        let loss = evaluator.network.loss(batch, labels, dropout, activations, gradient);
        adamw.step(&mut evaluator.network.parameters, optimiser, gradient);
        Ok(loss)
    }

    fn state(&self) -> Result<OptimiserState, EvaluatorError> {
        let weights = self.evaluator.network.parameters.clone();
        Ok(OptimiserState { weights, moments: self.optimiser.clone() })
    }
}

/// On the first GPU: the same sums and the same dropout as on CPU.
#[cfg(feature = "cuda")]
pub struct GpuLearner {
    network: GpuNetwork,
}

#[cfg(feature = "cuda")]
impl GpuLearner {
    /// From the beginning, or from a state of this evaluator.
    pub fn new(
        evaluator: &Evaluator,
        state: Option<OptimiserState>,
        arithmetic: Arithmetic,
    ) -> Result<Self, NnError> {
        let Evaluator { network, .. } = evaluator;
        let moments = state.as_ref().map(|state| &state.moments);
        let weights = state.as_ref().map_or(&network.parameters[..], |state| &state.weights[..]);
        Ok(Self { network: GpuNetwork::new(&network.config, weights, moments, arithmetic)? })
    }
}

#[cfg(feature = "cuda")]
impl Learner for GpuLearner {
    fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        adamw: AdamW,
        dropout: Dropout,
    ) -> Result<f32, EvaluatorError> {
        Ok(self.network.step(batch, labels, dropout, adamw)?)
    }

    fn state(&self) -> Result<OptimiserState, EvaluatorError> {
        Ok(OptimiserState { weights: self.network.parameters()?, moments: self.network.state()? })
    }
}

#[cfg(test)]
mod tests {
    use stitch_engine::encoder::EncoderId;
    use stitch_engine::evaluator::Config;

    use super::*;

    fn evaluator() -> Evaluator {
        let encoder = EncoderId { name: "test".into(), dim: 6, weights: "00".into() };
        let config =
            Config { width: 16, hidden: 24, heads: 4, layers: 2, ..Config::paper(encoder, "x") };
        Evaluator::fresh(config, 1).unwrap()
    }

    fn adamw(learning_rate: f64) -> AdamW {
        AdamW { learning_rate, weight_decay: 0.01, max_gradient_norm: 0.5 }
    }

    fn batch(number: usize) -> (Batch, Labels) {
        let inputs = (0..6 * 12).map(|i| ((i + 7 * number) as f32 * 12.9898).sin()).collect();
        let right = vec![true, false, number % 2 == 1];
        (Batch { inputs, lengths: vec![1, 3, 2] }, Labels { right, weight_of_right: 2.0 })
    }

    #[test]
    fn what_is_learnt_again_and_again_is_known() {
        let mut learner = CpuLearner::new(evaluator(), None);
        let (batch, labels) = batch(0);
        let mut step =
            |seed| learner.step(&batch, &labels, adamw(3e-3), Dropout::new(0.1, seed)).unwrap();
        let first = step(0);
        let last = (1..150).map(&mut step).last().unwrap();
        assert!(last < 0.1 && last < first / 4.0, "{first} {last}");
    }

    #[test]
    fn going_on_from_a_state_is_going_on() {
        let learn = |learner: &mut CpuLearner, steps: std::ops::Range<usize>| {
            for number in steps {
                let (batch, labels) = batch(number);
                learner
                    .step(&batch, &labels, adamw(1e-3), Dropout::new(0.2, number as u64))
                    .unwrap();
            }
        };
        let mut whole = CpuLearner::new(evaluator(), None);
        learn(&mut whole, 0..6);
        let mut begun = CpuLearner::new(evaluator(), None);
        learn(&mut begun, 0..3);
        let mut resumed = CpuLearner::new(evaluator(), Some(begun.state().unwrap()));
        learn(&mut resumed, 3..6);
        assert!(whole.evaluator.network.parameters == resumed.evaluator.network.parameters);
        assert!(whole.optimiser == resumed.optimiser);
    }
}
