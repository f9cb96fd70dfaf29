//! The evaluator on held-out procedures, in two halves: validation, to choose the best epoch and calibrate,
//! and test, to report.

use serde::Serialize;
use stitch_core::cover::Sequence;
use stitch_engine::calibration::Calibration;
use stitch_engine::evaluator::{Evaluator, PlattScaling, SequenceStats};
use stitch_engine::progress::Progress;
use stitch_engine::scorer::{AverageSimilarity, Query, Scorer, ScorerError};

use super::platt;
use super::sampler::{NegativeRates, Sampler, Windows};
use crate::collection::{Collection, Instance};
use crate::dataset::Split;
use crate::suite::MeasureError;
use crate::suite::distractors::{Distractors, Question};
use crate::suite::ranks::{Rank, RankMetrics};
use crate::suite::reliability::{Reliability, calibration_error, reliability};
use crate::suite::test_set::query;

/// Times that each held-out procedure is sampled with its negatives for the calibration; chosen by hand.
const CALIBRATION_EPOCHS: usize = 4;

/// Questions on held-out procedures.
pub struct HeldOut<'a> {
    collection: &'a Collection,
    validation: Vec<Question>,
    test: Vec<Question>,
}

/// Ranks on the test half.
#[derive(Clone, Debug, Serialize)]
pub struct TestMetrics {
    pub procedures: usize,
    pub evaluator: RankMetrics,
    /// Among the same candidates.
    pub average_similarity: RankMetrics,
}

#[derive(Clone, Debug, Serialize)]
pub struct CalibrationReport {
    pub sequences: usize,
    /// Expected calibration error before the calibration
    pub error_before: f64,
    /// and after it.
    pub error: f64,
    pub reliability: Vec<Reliability>,
}

impl<'a> HeldOut<'a> {
    /// At most so many held-out procedures, evenly spaced, each with 499 distractors.
    pub fn new(
        collection: &'a Collection,
        encoder: &str,
        most: usize,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Self, MeasureError> {
        let chosen = chosen(collection, most);
        let calibration = Calibration::of(encoder);
        let distractors = Distractors::new(collection, calibration, seed);
        let (mut validation, mut test) = (Vec::new(), Vec::new());
        for (number, question) in distractors.questions(&chosen, progress)?.into_iter().enumerate()
        {
            if number % 2 == 0 { validation.push(question) } else { test.push(question) }
        }
        if test.is_empty() {
            test.clone_from(&validation);
        }
        Ok(Self { collection, validation, test })
    }

    pub fn validation_metrics(&self, scorer: &dyn Scorer) -> Result<RankMetrics, ScorerError> {
        self.metrics(&self.validation, scorer)
    }

    fn metrics(
        &self,
        questions: &[Question],
        scorer: &dyn Scorer,
    ) -> Result<RankMetrics, ScorerError> {
        let rank = |question: &Question| {
            let query = query(&self.collection.instances[question.instance]);
            let scores = scorer.score(&query, &self.collection.pool, &question.candidates)?;
            Ok(Rank::of_first(&scores))
        };
        let ranks: Result<Vec<Option<Rank>>, ScorerError> = questions.iter().map(rank).collect();
        Ok(RankMetrics::of(&ranks?.into_iter().flatten().collect::<Vec<_>>()))
    }

    pub fn test_metrics(&self, evaluator: &dyn Scorer) -> Result<TestMetrics, ScorerError> {
        Ok(TestMetrics {
            procedures: self.test.len(),
            evaluator: self.metrics(&self.test, evaluator)?,
            average_similarity: self.metrics(&self.test, &AverageSimilarity)?,
        })
    }

    /// The evaluator calibrated on the validation half, and its calibration on the test half.
    pub fn calibrated(
        &self,
        mut evaluator: Evaluator,
        negatives: &NegativeRates,
        seed: u64,
    ) -> Result<(Evaluator, CalibrationReport), ScorerError> {
        let logits = |questions| self.labelled_logits(questions, &evaluator, negatives, seed);
        let (validation, test) = (logits(&self.validation)?, logits(&self.test)?);
        let fitted = platt::fit(&validation);
        let bins = |calibration: PlattScaling| {
            let probability =
                |(logit, right): &(f32, bool)| (f64::from(calibration.probability(*logit)), *right);
            reliability(test.iter().map(probability))
        };
        let reliability = bins(fitted);
        let calibration = CalibrationReport {
            sequences: test.len(),
            error_before: calibration_error(&bins(PlattScaling::default())),
            error: calibration_error(&reliability),
            reliability,
        };
        evaluator.config.calibration = fitted;
        Ok((evaluator, calibration))
    }

    /// For every candidate of the validation half the network's logit and the inputs of the prior.
    pub fn prior_inputs(
        &self,
        network: &Evaluator,
    ) -> Result<Vec<Vec<(f32, SequenceStats)>>, ScorerError> {
        let pool = &self.collection.pool;
        let of = |question: &Question| {
            let query = query(&self.collection.instances[question.instance]);
            let logits = network.candidate_logits(&query, pool, &question.candidates)?;
            let both = |(candidate, logit): (_, Option<f32>)| {
                Some((logit?, SequenceStats::of(&query, pool, candidate)))
            };
            Ok(question.candidates.iter().zip(logits).filter_map(both).collect())
        };
        self.validation.iter().map(of).collect()
    }

    /// Logits of samples of the procedures of these questions, positives and negatives.
    fn labelled_logits(
        &self,
        questions: &[Question],
        evaluator: &Evaluator,
        negatives: &NegativeRates,
        seed: u64,
    ) -> Result<Vec<(f32, bool)>, ScorerError> {
        let config = &evaluator.config;
        let instances: Vec<&Instance> =
            questions.iter().map(|q| &self.collection.instances[q.instance]).collect();
        let split = Split::HeldOut;
        let windows = Windows::of(self.collection, &instances, split, config.max_steps, negatives);
        let sampler = Sampler::new(&windows, config.channels, *negatives, seed);
        let mut labelled = Vec::new();
        for sample in (0..CALIBRATION_EPOCHS).flat_map(|epoch| sampler.epoch(epoch)) {
            let steps = sampler.step_features(&sample);
            let query = Query { texts: &[], text: &steps, clip: &steps, search: None };
            let clips = sample.steps.iter().map(|(_, clip)| Some(*clip)).collect();
            let pool = &self.collection.pool;
            let logits = evaluator.candidate_logits(&query, pool, &[Sequence(clips)])?;
            let right = sample.negative.is_none();
            labelled.extend(logits.into_iter().flatten().map(|logit| (logit, right)));
        }
        Ok(labelled)
    }
}

/// At most so many held-out procedures: whole videos a third of them where there are so many, the
/// others mixed, each kind evenly spaced.
fn chosen(collection: &Collection, most: usize) -> Vec<usize> {
    let all = collection.instances.iter().enumerate();
    let all = all.filter(|(_, instance)| instance.split == Split::HeldOut);
    let (whole, mixed): (Vec<usize>, Vec<usize>) = all
        .map(|(number, _)| number)
        .partition(|at| collection.is_whole(&collection.instances[*at]));
    let third = if mixed.is_empty() { most } else { most / 3 };
    let mut chosen = spaced(&whole, third.max(most.saturating_sub(mixed.len())));
    chosen.extend(spaced(&mixed, most - chosen.len()));
    chosen.sort_unstable();
    chosen
}

fn spaced(all: &[usize], most: usize) -> Vec<usize> {
    let apart = all.len().div_ceil(most.max(1)).max(1);
    all.iter().copied().step_by(apart).take(most).collect()
}
