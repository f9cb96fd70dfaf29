//! Weighted sums of hand-made measures.
//!
//! The weights are fitted on the questions of the training part: they maximise the likelihood of the
//! truths under a softmax over their candidates. None is negative, since in every measure more is better.
//! The problem is convex.

use rayon::prelude::*;
use stitch_core::cover::Sequence;
use stitch_core::pool::Pool;
use stitch_engine::scorer::{Query, Scorer, ScorerError, Scores};

use super::Training;
use crate::suite::test_set::query;

/// Measures of a candidate; more is better in each.
pub trait Measures: Send + Sync {
    /// The method's name in reports.
    const NAME: &str;

    const COUNT: usize;

    /// All measures of each candidate.
    fn measure(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Vec<Vec<f32>>;
}

pub struct Weighted<M> {
    measures: M,
    weights: Vec<f32>,
}

// Chosen by hand.
const MAX_QUESTIONS: usize = 150;
const ITERATIONS: usize = 400;

/// L2 regularisation, so that weights stay finite with few questions.
const RIDGE: f64 = 1e-3;

impl<M: Measures> Weighted<M> {
    /// With fitted weights; equal ones where there are no questions.
    pub fn fit(measures: M, training: &Training<'_>) -> Result<Self, ScorerError> {
        let step = training.questions.len().div_ceil(MAX_QUESTIONS).max(1);
        let chosen: Vec<_> = training.questions.iter().step_by(step).collect();
        let measured: Result<Vec<Vec<Vec<f32>>>, ScorerError> = chosen
            .par_iter()
            .map(|(instance, question)| {
                let query = query(instance);
                query.check(training.pool, &question.candidates, query.clip.dim())?;
                Ok(measures.measure(&query, training.pool, &question.candidates))
            })
            .collect();
        let weights = fit(&measured?, M::COUNT);
        Ok(Self { measures, weights })
    }
}

impl<M: Measures> Scorer for Weighted<M> {
    fn name(&self) -> &str {
        M::NAME
    }

    fn score(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Scores {
        query.check(pool, candidates, query.clip.dim())?;
        let measured = self.measures.measure(query, pool, candidates);
        let one = |x: &Vec<f32>| x.iter().zip(&self.weights).map(|(x, weight)| x * weight).sum();
        Ok(measured.iter().map(one).collect())
    }
}

/// The weights for measures of candidates, by question; the first candidate is the truth.
fn fit(questions: &[Vec<Vec<f32>>], count: usize) -> Vec<f32> {
    let spread = spread(questions, count);
    if questions.is_empty() || spread.iter().all(|spread| *spread == 0.0) {
        return vec![1.0; count];
    }
    // In units of their spread, one learning rate suits all measures.
    let scaled = |x: &[f32]| -> Vec<f64> {
        let pairs = x.iter().zip(&spread);
        pairs.map(|(x, s)| if *s > 0.0 { f64::from(*x) / s } else { 0.0 }).collect()
    };
    let questions: Vec<Vec<Vec<f64>>> =
        questions.iter().map(|q| q.iter().map(|candidate| scaled(candidate)).collect()).collect();
    let mut weights = vec![1.0; count];
    let mut before = vec![0.0; count];
    for round in 0..ITERATIONS {
        let gradient = gradient(&questions, &weights);
        // Momentum: the measures are far from independent.
        let rate = 0.5 / (1.0 + round as f64 / 100.0);
        for at in 0..count {
            before[at] = 0.8 * before[at] + rate * gradient[at];
            weights[at] = (weights[at] + before[at]).max(0.0);
        }
    }
    let back = |(weight, spread): (&f64, &f64)| if *spread > 0.0 { weight / spread } else { 0.0 };
    weights.iter().zip(&spread).map(back).map(|weight| weight as f32).collect()
}

/// The gradient of the log-likelihood of the truths.
fn gradient(questions: &[Vec<Vec<f64>>], weights: &[f64]) -> Vec<f64> {
    let count = weights.len();
    let sums = questions.par_iter().map(|candidates| {
        let score = |x: &Vec<f64>| x.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>();
        let scores: Vec<f64> = candidates.iter().map(score).collect();
        let most = scores.iter().copied().fold(f64::MIN, f64::max);
        let shares: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let all: f64 = shares.iter().sum();
        let mut slope = candidates.first().cloned().unwrap_or_else(|| vec![0.0; count]);
        for (x, share) in candidates.iter().zip(&shares) {
            slope.iter_mut().zip(x).for_each(|(sum, x)| *sum -= x * share / all);
        }
        slope
    });
    let sum =
        sums.reduce(|| vec![0.0; count], |a, b| a.iter().zip(&b).map(|(a, b)| a + b).collect());
    let mean = sum.iter().map(|sum| sum / questions.len() as f64);
    mean.zip(weights).map(|(slope, weight)| slope - RIDGE * weight).collect()
}

/// The standard deviation of each measure within questions.
fn spread(questions: &[Vec<Vec<f32>>], count: usize) -> Vec<f64> {
    let mut squares = vec![0.0; count];
    let mut number = 0usize;
    for candidates in questions.iter().filter(|candidates| !candidates.is_empty()) {
        for at in 0..count {
            let values = || candidates.iter().map(|x| f64::from(x[at]));
            let mean = values().sum::<f64>() / candidates.len() as f64;
            squares[at] += values().map(|x| (x - mean).powi(2)).sum::<f64>();
        }
        number += candidates.len();
    }
    squares.iter().map(|square| (square / number.max(1) as f64).sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_telling_measure_gets_the_weight_and_a_misleading_one_none() {
        let question = |seed: usize| {
            let candidate = |at: usize| {
                let chance = ((seed * 31 + at * 17) % 11) as f32 / 11.0;
                let truth = f32::from(u8::from(at == 0));
                vec![chance + truth * 0.5, chance * 0.3, -truth + chance * 0.1]
            };
            (0..20).map(candidate).collect()
        };
        let questions: Vec<Vec<Vec<f32>>> = (0..30).map(question).collect();
        let weights = fit(&questions, 3);
        assert!(weights[0] > 0.0 && weights[2] == 0.0, "{weights:?}");
        assert_eq!(fit(&[], 3), [1.0; 3]);
        let constant = vec![vec![vec![1.0, 2.0]; 5]];
        assert_eq!(fit(&constant, 2), [1.0; 2]);
    }
}
