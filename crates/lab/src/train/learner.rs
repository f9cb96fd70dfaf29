//! An evaluator with its optimiser, AdamW, on CPU or on a GPU.

use std::borrow::Cow;

use rayon::prelude::*;
#[cfg(feature = "cuda")]
use stitch_engine::evaluator::gpu::{Adam, Arithmetic, GpuError, GpuNetwork};
use stitch_engine::evaluator::{Batch, Dropout, Evaluator, EvaluatorError, Labels, Tape};

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPS: f64 = 1e-8;

/// Parameters that one core updates at a time; chosen by hand.
const CHUNK: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepOptions {
    pub rate: f64,
    /// Weight decay: the share of each weight that a step of rate 1 would take away.
    pub decay: f64,
    /// Gradients are clipped to this norm; 0 for never.
    pub clip: f64,
}

/// Everything that a step changes.
pub struct OptimiserState<'a> {
    pub weights: Cow<'a, [f32]>,
    /// Adam's first moment, the running mean of gradients.
    pub first: Cow<'a, [f32]>,
    /// Adam's second moment, the running mean of their squares.
    pub second: Cow<'a, [f32]>,
    pub steps: u64,
}

pub trait Learner {
    /// Trains on one batch; returns its mean loss before the update.
    fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        options: StepOptions,
        dropout: Dropout,
    ) -> Result<f32, EvaluatorError>;

    fn state(&self) -> Result<OptimiserState<'_>, EvaluatorError>;
}

/// On CPU: weights, gradient and moments are one flat buffer each, updated in one pass.
pub struct CpuLearner {
    evaluator: Evaluator,
    first: Vec<f32>,
    second: Vec<f32>,
    gradient: Vec<f32>,
    tape: Tape,
    steps: u64,
}

impl CpuLearner {
    /// From the beginning, or from a state of this evaluator.
    pub fn new(mut evaluator: Evaluator, state: Option<OptimiserState<'_>>) -> Self {
        let zeros = vec![0.0; evaluator.numbers().len()];
        let (tape, gradient) = (Tape::new(evaluator.network().config()), zeros.clone());
        let (first, second, steps) = match state {
            None => (zeros.clone(), zeros, 0),
            Some(state) => {
                evaluator.numbers_mut().copy_from_slice(&state.weights);
                (state.first.into_owned(), state.second.into_owned(), state.steps)
            }
        };
        Self { evaluator, first, second, gradient, tape, steps }
    }

    fn update(&mut self, options: StepOptions) {
        let clip_factor = match options.clip {
            clip if clip > 0.0 => (clip / squares(&self.gradient).sqrt()).min(1.0) as f32,
            _ => 1.0,
        };
        let step = AdamStep { clip_factor, ..AdamStep::new(options, self.steps) };
        let weights = self.evaluator.numbers_mut().par_chunks_mut(CHUNK);
        let moments = self.first.par_chunks_mut(CHUNK).zip(self.second.par_chunks_mut(CHUNK));
        let all = weights.zip(moments).zip(self.gradient.par_chunks(CHUNK));
        all.for_each(|((weights, (first, second)), gradient)| {
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || step.update(weights, first, second, gradient),
            );
        });
    }
}

/// The sum of squares: of each chunk alone, then of these in order, the same on any number of cores.
fn squares(numbers: &[f32]) -> f64 {
    let one = |chunk: &[f32]| {
        let sums = chunk.chunks(256).map(|part| part.iter().map(|x| x * x).sum::<f32>());
        sums.map(f64::from).sum::<f64>()
    };
    numbers.par_chunks(CHUNK).map(one).collect::<Vec<_>>().iter().sum()
}

/// One update of the weights by AdamW.
#[derive(Clone, Copy)]
struct AdamStep {
    /// The bias-corrected learning rate.
    rate: f32,
    /// The bias correction of the square root of the second moment.
    correction: f32,
    /// What weight decay leaves of a weight.
    kept: f32,
    /// What gradients are multiplied by, so that their norm is at most `StepOptions::clip`.
    clip_factor: f32,
}

impl AdamStep {
    /// The step of this number, from 1; gradients are not clipped.
    fn new(options: StepOptions, steps: u64) -> Self {
        let steps = i32::try_from(steps).unwrap_or(i32::MAX);
        Self {
            rate: (options.rate / (1.0 - BETA1.powi(steps))) as f32,
            correction: (1.0 / (1.0 - BETA2.powi(steps)).sqrt()) as f32,
            kept: (1.0 - options.rate * options.decay) as f32,
            clip_factor: 1.0,
        }
    }

    #[inline(always)]
    fn update(self, weights: &mut [f32], first: &mut [f32], second: &mut [f32], gradient: &[f32]) {
        let (beta1, beta2, eps) = (BETA1 as f32, BETA2 as f32, EPS as f32);
        let moments = first.iter_mut().zip(second);
        for ((w, (m, v)), g) in weights.iter_mut().zip(moments).zip(gradient) {
            let g = g * self.clip_factor;
            *m += (1.0 - beta1) * (g - *m);
            *v += (1.0 - beta2) * (g * g - *v);
            *w = *w * self.kept - self.rate * *m / (v.sqrt() * self.correction + eps);
        }
    }
}

impl Learner for CpuLearner {
    fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        options: StepOptions,
        dropout: Dropout,
    ) -> Result<f32, EvaluatorError> {
        let Self { evaluator, tape, gradient, .. } = self;
        let loss = evaluator.loss(batch, labels, dropout, tape, gradient);
        self.steps += 1;
        self.update(options);
        Ok(loss)
    }

    fn state(&self) -> Result<OptimiserState<'_>, EvaluatorError> {
        Ok(OptimiserState {
            weights: self.evaluator.numbers().into(),
            first: self.first.as_slice().into(),
            second: self.second.as_slice().into(),
            steps: self.steps,
        })
    }
}

/// On the first GPU: the same sums and the same dropout as on CPU.
#[cfg(feature = "cuda")]
pub struct GpuLearner {
    network: GpuNetwork,
    steps: u64,
}

#[cfg(feature = "cuda")]
impl GpuLearner {
    /// From the beginning, or from a state of this evaluator.
    pub fn new(
        evaluator: &Evaluator,
        state: Option<OptimiserState<'_>>,
        arithmetic: Arithmetic,
    ) -> Result<Self, GpuError> {
        let weights = state.as_ref().map_or(evaluator.numbers(), |state| &state.weights);
        let moments = state.as_ref().map(|state| (&*state.first, &*state.second));
        let network = GpuNetwork::new(evaluator.network().config(), weights, moments, arithmetic)?;
        let steps = state.map_or(0, |state| state.steps);
        Ok(Self { network, steps })
    }
}

#[cfg(feature = "cuda")]
impl Learner for GpuLearner {
    fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        options: StepOptions,
        dropout: Dropout,
    ) -> Result<f32, EvaluatorError> {
        self.steps += 1;
        let AdamStep { rate, correction, kept, .. } = AdamStep::new(options, self.steps);
        let adam = Adam {
            rate,
            correction,
            kept,
            clip: options.clip as f32,
            beta1: BETA1 as f32,
            beta2: BETA2 as f32,
            eps: EPS as f32,
        };
        Ok(self.network.step(batch, labels, dropout, adam)?)
    }

    fn state(&self) -> Result<OptimiserState<'_>, EvaluatorError> {
        let (first, second) = self.network.moments()?;
        Ok(OptimiserState {
            weights: self.network.numbers()?.into(),
            first: first.into(),
            second: second.into(),
            steps: self.steps,
        })
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Tensor, Var};
    use candle_nn::{AdamW, Optimizer, ParamsAdamW};
    use stitch_engine::encoder::EncoderId;
    use stitch_engine::evaluator::Config;

    use super::*;

    fn evaluator() -> Evaluator {
        let encoder = EncoderId { name: "test".into(), dim: 6, weights: "00".into() };
        let config =
            Config { width: 16, hidden: 24, heads: 4, layers: 2, ..Config::paper(encoder, "x") };
        Evaluator::fresh(config, 1).unwrap()
    }

    fn options(rate: f64) -> StepOptions {
        StepOptions { rate, decay: 0.01, clip: 0.5 }
    }

    fn batch(number: usize) -> (Batch, Labels) {
        let inputs = (0..6 * 12).map(|i| ((i + 7 * number) as f32 * 12.9898).sin()).collect();
        let right = vec![true, false, number % 2 == 1];
        (Batch { inputs, lengths: vec![1, 3, 2] }, Labels { right, weight_of_right: 2.0 })
    }

    #[test]
    fn an_update_is_that_of_candles_adam_w() {
        let mut learner = CpuLearner::new(evaluator(), None);
        let theirs = Tensor::new(learner.evaluator.numbers(), &Device::Cpu).unwrap();
        let theirs = Var::from_tensor(&theirs).unwrap();
        let StepOptions { rate: lr, decay: weight_decay, clip } = options(1e-3);
        let (beta1, beta2, eps) = (BETA1, BETA2, EPS);
        let params = ParamsAdamW { lr, beta1, beta2, eps, weight_decay };
        let mut adam = AdamW::new(vec![theirs.clone()], params).unwrap();
        for number in 0..5 {
            let of =
                |i: usize| 0.1 * ((i + 7 * number) as f32 * 12.9898).sin() / (number + 1) as f32;
            learner.gradient.iter_mut().enumerate().for_each(|(i, g)| *g = of(i));
            learner.steps += 1;
            learner.update(options(1e-3));
            let gradient = Tensor::new(learner.gradient.as_slice(), &Device::Cpu).unwrap();
            let norm =
                gradient.sqr().unwrap().sum_all().unwrap().to_scalar::<f32>().unwrap().sqrt();
            let clipped = (gradient * (clip / f64::from(norm)).min(1.0)).unwrap();
            let loss = (theirs.as_tensor() * clipped).unwrap().sum_all().unwrap();
            adam.backward_step(&loss).unwrap();
            let theirs = theirs.to_vec1::<f32>().unwrap();
            for (ours, theirs) in learner.evaluator.numbers().iter().zip(theirs) {
                assert!((ours - theirs).abs() < 1e-5, "{ours} {theirs}");
            }
        }
    }

    #[test]
    fn what_is_learnt_again_and_again_is_known() {
        let mut learner = CpuLearner::new(evaluator(), None);
        let (batch, labels) = batch(0);
        let mut step =
            |seed| learner.step(&batch, &labels, options(3e-3), Dropout::new(0.1, seed)).unwrap();
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
                    .step(&batch, &labels, options(1e-3), Dropout::new(0.2, number as u64))
                    .unwrap();
            }
        };
        let mut whole = CpuLearner::new(evaluator(), None);
        learn(&mut whole, 0..6);
        let mut begun = CpuLearner::new(evaluator(), None);
        learn(&mut begun, 0..3);
        let mut resumed = CpuLearner::new(evaluator(), Some(begun.state().unwrap()));
        learn(&mut resumed, 3..6);
        assert!(whole.evaluator.numbers() == resumed.evaluator.numbers());
        assert!(whole.second == resumed.second && whole.steps == resumed.steps);
    }
}
