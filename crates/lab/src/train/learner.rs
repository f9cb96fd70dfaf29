//! What learns: an evaluator with Adam's two moments, on CPU or on a GPU.

use std::borrow::Cow;

use rayon::prelude::*;
#[cfg(feature = "cuda")]
use stitch_engine::evaluator::gpu::{Adam, Arithmetic, GpuError, GpuNetwork};
use stitch_engine::evaluator::{Batch, Dropout, Evaluator, EvaluatorError, Labels, Tape};

/// Adam's constants, as everybody has them.
const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPS: f64 = 1e-8;

/// Numbers that one core takes at a time: enough to be worth it, few enough to share evenly.
const CHUNK: usize = 1 << 16;

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Adam's rate.
    pub rate: f64,
    /// The share of each weight that a step of rate 1 would take away (as in AdamW).
    pub decay: f64,
    /// A longer gradient is shortened to this length; 0 for never.
    pub clip: f64,
}

impl Pace {
    /// What a gradient of this squared length is multiplied by.
    fn shortened(&self, squares: f64) -> f64 {
        let length = squares.sqrt();
        if self.clip > 0.0 && length > self.clip { self.clip / length } else { 1.0 }
    }
}

/// Everything that learning changes.
pub struct State<'a> {
    /// The weights.
    pub weights: Cow<'a, [f32]>,
    /// Adam's running mean of gradients.
    pub first: Cow<'a, [f32]>,
    /// Adam's running mean of their squares.
    pub second: Cow<'a, [f32]>,
    /// Steps taken.
    pub steps: u64,
}

/// An evaluator that learns.
pub trait Learner {
    /// Learns from one batch; its mean loss before that.
    fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        pace: Pace,
        dropout: Dropout,
    ) -> Result<f32, EvaluatorError>;

    /// Where it stands.
    fn state(&self) -> Result<State<'_>, EvaluatorError>;

    /// The evaluator as it is now.
    fn evaluator(&self) -> Result<Cow<'_, Evaluator>, EvaluatorError>;
}

/// How far one step of Adam goes: the rate and the correction of the second moment.
fn adam(rate: f64, steps: u64) -> (f64, f64) {
    let steps = i32::try_from(steps).unwrap_or(i32::MAX);
    (rate / (1.0 - BETA1.powi(steps)), 1.0 / (1.0 - BETA2.powi(steps)).sqrt())
}

/// On CPU: weights, gradient and moments are one row of numbers each, gone over once a step.
pub struct OnCpu {
    evaluator: Evaluator,
    first: Vec<f32>,
    second: Vec<f32>,
    gradient: Vec<f32>,
    tape: Tape,
    steps: u64,
}

impl OnCpu {
    /// Begins with this evaluator, or goes on from a state of it.
    pub fn new(mut evaluator: Evaluator, state: Option<State<'_>>) -> Self {
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

    fn adam(&mut self, pace: Pace) {
        let (rate, correction) = adam(pace.rate, self.steps);
        let squares = if pace.clip > 0.0 { squares(&self.gradient) } else { 0.0 };
        let step = Step {
            rate: rate as f32,
            correction: correction as f32,
            kept: (1.0 - pace.rate * pace.decay) as f32,
            shortened: pace.shortened(squares) as f32,
        };
        let weights = self.evaluator.numbers_mut().par_chunks_mut(CHUNK);
        let moments = self.first.par_chunks_mut(CHUNK).zip(self.second.par_chunks_mut(CHUNK));
        let all = weights.zip(moments).zip(self.gradient.par_chunks(CHUNK));
        all.for_each(|((weights, (first, second)), gradient)| {
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || step.take(weights, first, second, gradient),
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

/// One step of Adam.
#[derive(Clone, Copy)]
struct Step {
    rate: f32,
    correction: f32,
    kept: f32,
    shortened: f32,
}

impl Step {
    #[inline(always)]
    fn take(self, weights: &mut [f32], first: &mut [f32], second: &mut [f32], gradient: &[f32]) {
        let (beta1, beta2, eps) = (BETA1 as f32, BETA2 as f32, EPS as f32);
        let moments = first.iter_mut().zip(second);
        for ((w, (m, v)), g) in weights.iter_mut().zip(moments).zip(gradient) {
            let g = g * self.shortened;
            *m += (1.0 - beta1) * (g - *m);
            *v += (1.0 - beta2) * (g * g - *v);
            *w = *w * self.kept - self.rate * *m / (v.sqrt() * self.correction + eps);
        }
    }
}

impl Learner for OnCpu {
    fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        pace: Pace,
        dropout: Dropout,
    ) -> Result<f32, EvaluatorError> {
        let Self { evaluator, tape, gradient, .. } = self;
        let loss = evaluator.loss(batch, labels, dropout, tape, gradient);
        self.steps += 1;
        self.adam(pace);
        Ok(loss)
    }

    fn state(&self) -> Result<State<'_>, EvaluatorError> {
        Ok(State {
            weights: self.evaluator.numbers().into(),
            first: self.first.as_slice().into(),
            second: self.second.as_slice().into(),
            steps: self.steps,
        })
    }

    fn evaluator(&self) -> Result<Cow<'_, Evaluator>, EvaluatorError> {
        Ok(Cow::Borrowed(&self.evaluator))
    }
}

/// On the first GPU: the same sums, and the same numbers left out, as on CPU.
#[cfg(feature = "cuda")]
pub struct OnGpu {
    evaluator: Evaluator,
    network: GpuNetwork,
    steps: u64,
}

#[cfg(feature = "cuda")]
impl OnGpu {
    /// Begins with this evaluator, or goes on from a state of it.
    pub fn new(
        evaluator: Evaluator,
        state: Option<State<'_>>,
        arithmetic: Arithmetic,
    ) -> Result<Self, GpuError> {
        let weights = state.as_ref().map_or(evaluator.numbers(), |state| &state.weights);
        let moments = state.as_ref().map(|state| (&*state.first, &*state.second));
        let network = GpuNetwork::new(evaluator.network().config(), weights, moments, arithmetic)?;
        let steps = state.map_or(0, |state| state.steps);
        Ok(Self { evaluator, network, steps })
    }
}

#[cfg(feature = "cuda")]
impl Learner for OnGpu {
    fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        pace: Pace,
        dropout: Dropout,
    ) -> Result<f32, EvaluatorError> {
        self.steps += 1;
        let (rate, correction) = adam(pace.rate, self.steps);
        let adam = Adam {
            rate: rate as f32,
            correction: correction as f32,
            kept: (1.0 - pace.rate * pace.decay) as f32,
            clip: pace.clip as f32,
            beta1: BETA1 as f32,
            beta2: BETA2 as f32,
            eps: EPS as f32,
        };
        Ok(self.network.step(batch, labels, dropout, adam)?)
    }

    fn state(&self) -> Result<State<'_>, EvaluatorError> {
        let (first, second) = self.network.moments()?;
        let weights = self.network.numbers()?.into();
        Ok(State { weights, first: first.into(), second: second.into(), steps: self.steps })
    }

    fn evaluator(&self) -> Result<Cow<'_, Evaluator>, EvaluatorError> {
        let mut evaluator = self.evaluator.clone();
        evaluator.numbers_mut().copy_from_slice(&self.network.numbers()?);
        Ok(Cow::Owned(evaluator))
    }
}

#[cfg(test)]
mod by_tensors;

#[cfg(test)]
mod tests {
    use stitch_engine::encoder::EncoderId;
    use stitch_engine::evaluator::Config;

    use super::by_tensors::OnDevice;
    use super::*;

    fn evaluator() -> Evaluator {
        let encoder = EncoderId { name: "test".into(), dim: 6, weights: "00".into() };
        let config =
            Config { width: 16, hidden: 24, heads: 4, layers: 2, ..Config::paper(encoder, "x") };
        Evaluator::fresh(config, 1).unwrap()
    }

    fn pace(rate: f64) -> Pace {
        Pace { rate, decay: 0.01, clip: 0.5 }
    }

    fn batch(number: usize) -> (Batch, Labels) {
        let inputs = (0..6 * 12).map(|i| ((i + 7 * number) as f32 * 12.9898).sin()).collect();
        let right = vec![true, false, number % 2 == 1];
        (Batch { inputs, lengths: vec![1, 3, 2] }, Labels { right, weight_of_right: 2.0 })
    }

    #[test]
    fn by_hand_and_by_tensors_learn_the_same() {
        let mut learners: [Box<dyn Learner>; 2] = [
            Box::new(OnCpu::new(evaluator(), None)),
            Box::new(OnDevice::new(evaluator()).unwrap()),
        ];
        for number in 0..5 {
            let (batch, labels) = batch(number);
            let mut step =
                |i: usize| learners[i].step(&batch, &labels, pace(1e-3), Dropout::none()).unwrap();
            let (ours, theirs) = (step(0), step(1));
            assert!((ours - theirs).abs() < 1e-4, "{ours} {theirs}");
        }
        let [ours, theirs] = &learners;
        let (ours, theirs) = (ours.state().unwrap(), theirs.state().unwrap());
        assert_eq!(ours.steps, theirs.steps);
        // Where a gradient is next to nothing, its sign, and so Adam's step, is chance.
        let far = |a: &[f32], b: &[f32], most: f32| {
            a.iter().zip(b).filter(|(a, b)| (**a - **b).abs() > most).count()
        };
        let count = ours.weights.len();
        assert!(far(&ours.weights, &theirs.weights, 1e-3) < count / 100);
        assert_eq!(far(&ours.first, &theirs.first, 1e-4), 0);
    }

    #[test]
    fn what_is_learnt_again_and_again_is_known() {
        let mut learner = OnCpu::new(evaluator(), None);
        let (batch, labels) = batch(0);
        let mut step =
            |seed| learner.step(&batch, &labels, pace(3e-3), Dropout::new(0.1, seed)).unwrap();
        let first = step(0);
        let last = (1..150).map(&mut step).last().unwrap();
        assert!(last < 0.1 && last < first / 4.0, "{first} {last}");
    }

    #[test]
    fn going_on_from_a_state_is_going_on() {
        let learn = |learner: &mut OnCpu, steps: std::ops::Range<usize>| {
            for number in steps {
                let (batch, labels) = batch(number);
                learner
                    .step(&batch, &labels, pace(1e-3), Dropout::new(0.2, number as u64))
                    .unwrap();
            }
        };
        let mut whole = OnCpu::new(evaluator(), None);
        learn(&mut whole, 0..6);
        let mut begun = OnCpu::new(evaluator(), None);
        learn(&mut begun, 0..3);
        let mut resumed = OnCpu::new(evaluator(), Some(begun.state().unwrap()));
        learn(&mut resumed, 3..6);
        assert!(whole.evaluator.numbers() == resumed.evaluator.numbers());
        assert!(whole.second == resumed.second && whole.steps == resumed.steps);
    }
}
