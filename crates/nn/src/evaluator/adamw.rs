//! AdamW with gradient clipping.

use rayon::prelude::*;

use crate::kernels::simd;

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPS: f64 = 1e-8;

/// Elements that one core takes at a time; chosen by hand.
const CHUNK: usize = 1 << 16;

/// The settings of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamW {
    pub learning_rate: f64,
    pub weight_decay: f64,
    /// A longer gradient is scaled to this length; 0 for never.
    pub max_gradient_norm: f64,
}

/// The two moments of every parameter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdamWState {
    pub first: Vec<f32>,
    pub second: Vec<f32>,
    pub steps: u64,
}

/// The factors of one step, bias corrections included, as the CPU and the GPU use them.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepFactors {
    /// The learning rate divided by the first moment's correction.
    pub rate: f32,
    /// What the root of the second moment is multiplied by.
    pub correction: f32,
    /// What parameters are multiplied by first (weight decay).
    pub decay: f32,
    pub beta1: f32,
    pub beta2: f32,
    pub eps: f32,
}

impl AdamW {
    /// Of the step with this number, counted from 1.
    pub(super) fn factors(&self, steps: u64) -> StepFactors {
        let steps = i32::try_from(steps).unwrap_or(i32::MAX);
        StepFactors {
            rate: (self.learning_rate / (1.0 - BETA1.powi(steps))) as f32,
            correction: (1.0 / (1.0 - BETA2.powi(steps)).sqrt()) as f32,
            decay: (1.0 - self.learning_rate * self.weight_decay) as f32,
            beta1: BETA1 as f32,
            beta2: BETA2 as f32,
            eps: EPS as f32,
        }
    }

    pub fn step(&self, parameters: &mut [f32], state: &mut AdamWState, gradient: &[f32]) {
        state.steps += 1;
        let (step, clip) = (self.factors(state.steps), self.clip_factor(gradient));
        let moments = state.first.par_chunks_mut(CHUNK).zip(state.second.par_chunks_mut(CHUNK));
        let all = parameters.par_chunks_mut(CHUNK).zip(moments).zip(gradient.par_chunks(CHUNK));
        all.for_each(|((parameters, (first, second)), gradient)| {
            simd!(step.update(parameters, first, second, gradient, clip));
        });
    }

    /// What the gradient is multiplied by.
    fn clip_factor(&self, gradient: &[f32]) -> f32 {
        if self.max_gradient_norm <= 0.0 {
            return 1.0;
        }
        let norm = squared_norm(gradient).sqrt();
        (self.max_gradient_norm / norm).min(1.0) as f32
    }
}

impl AdamWState {
    pub fn new(parameters: usize) -> Self {
        Self { first: vec![0.0; parameters], second: vec![0.0; parameters], steps: 0 }
    }
}

/// The sum of squares: of each chunk alone, then of these in order, the same on any number of cores.
fn squared_norm(values: &[f32]) -> f64 {
    let one = |chunk: &[f32]| {
        let sums = chunk.chunks(256).map(|part| part.iter().map(|x| x * x).sum::<f32>());
        sums.map(f64::from).sum::<f64>()
    };
    values.par_chunks(CHUNK).map(one).collect::<Vec<_>>().iter().sum()
}

impl StepFactors {
    #[inline(always)]
    fn update(
        self,
        parameters: &mut [f32],
        first: &mut [f32],
        second: &mut [f32],
        gradient: &[f32],
        clip: f32,
    ) {
        let moments = first.iter_mut().zip(second);
        for ((w, (m, v)), g) in parameters.iter_mut().zip(moments).zip(gradient) {
            let g = g * clip;
            *m += (1.0 - self.beta1) * (g - *m);
            *v += (1.0 - self.beta2) * (g * g - *v);
            *w = *w * self.decay - self.rate * *m / (v.sqrt() * self.correction + self.eps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::random;

    /// The published algorithm (Loshchilov and Hutter), in f64.
    #[test]
    fn steps_are_those_of_the_published_algorithm() {
        let adamw = AdamW { learning_rate: 1e-2, weight_decay: 0.1, max_gradient_norm: 0.5 };
        let mut parameters = random(300, 1);
        let mut state = AdamWState::new(300);
        let mut plain: Vec<(f64, f64, f64)> =
            parameters.iter().map(|w| (f64::from(*w), 0.0, 0.0)).collect();
        for t in 1..=5 {
            let gradient = random(300, 1 + t as u32);
            adamw.step(&mut parameters, &mut state, &gradient);
            let norm = gradient.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            for ((w, m, v), g) in plain.iter_mut().zip(&gradient) {
                let g = f64::from(*g) * 0.5 / norm;
                *m = 0.9 * *m + 0.1 * g;
                *v = 0.999 * *v + 0.001 * g * g;
                let (m, v) = (*m / (1.0 - 0.9f64.powi(t)), *v / (1.0 - 0.999f64.powi(t)));
                *w -= 1e-2 * (m / (v.sqrt() + 1e-8) + 0.1 * *w);
            }
        }
        let far = parameters.iter().zip(&plain).map(|(a, b)| (f64::from(*a) - b.0).abs());
        assert!(far.fold(0.0, f64::max) < 1e-6);
        assert_eq!(state.steps, 5);
    }

    #[test]
    fn a_gradient_of_zeros_moves_nothing_but_the_decay() {
        let adamw = AdamW { learning_rate: 0.1, weight_decay: 0.5, max_gradient_norm: 1.0 };
        let mut parameters = random(9, 1);
        let decayed: Vec<f32> = parameters.iter().map(|x| x * (1.0 - 0.1 * 0.5)).collect();
        adamw.step(&mut parameters, &mut AdamWState::new(9), &[0.0; 9]);
        let far = parameters.iter().zip(&decayed).map(|(a, b)| (a - b).abs());
        assert!(far.fold(0.0, f32::max) < 1e-6);
    }
}
