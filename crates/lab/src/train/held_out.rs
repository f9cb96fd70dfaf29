//! How an evaluator does on procedures whose videos it has not seen: in two halves, one to choose and
//! calibrate by, one to report.

use serde::Serialize;
use stitch_core::cover::Sequence;
use stitch_engine::calibration::Calibration;
use stitch_engine::evaluator::{Evaluator, PlattScaling, SequenceStats};
use stitch_engine::progress::Progress;
use stitch_engine::scorer::{Query, Scorer, ScorerError};

use super::sampler::{Drawing, Pieces, Sampler};
use crate::collection::{Collection, Instance};
use crate::dataset::Split;
use crate::suite::distractors::{Distractors, DistractorsError, Question};
use crate::suite::logistic::{self, NUMBERS, Sample};
use crate::suite::ranks::{Figures, Rank};
use crate::suite::reliability::{Reliability, calibration_error, reliability};

/// How often each held-out procedure is drawn with its negatives for the calibration.
const DRAWS: usize = 4;

/// Questions on procedures held out.
pub struct HeldOut<'a> {
    collection: &'a Collection,
    choosing: Vec<Question>,
    reporting: Vec<Question>,
}

/// What the reporting half says of an evaluator.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How many procedures.
    pub procedures: usize,
    /// The evaluator's ranks.
    pub evaluator: Figures,
    /// Those of average similarity among the same candidates.
    pub average_similarity: Figures,
    /// How far its probabilities are off.
    pub calibration: CalibrationReport,
}

/// How the reporting half of a further collection is ranked.
#[derive(Clone, Debug, Serialize)]
pub struct Ranks {
    /// How many procedures.
    pub procedures: usize,
    /// The evaluator's ranks.
    pub evaluator: Figures,
    /// Those of average similarity among the same candidates.
    pub average_similarity: Figures,
}

/// Said and true.
#[derive(Clone, Debug, Serialize)]
pub struct CalibrationReport {
    /// How many sequences were judged.
    pub sequences: usize,
    /// Expected calibration error before the calibration
    pub error_before: f64,
    /// and after it.
    pub error: f64,
    /// Ten bins.
    pub reliability: Vec<Reliability>,
}

impl<'a> HeldOut<'a> {
    /// At most so many procedures, evenly spaced over the held-out part, each with 499 distractors.
    pub fn new(
        collection: &'a Collection,
        encoder: &str,
        most: usize,
        seed: u64,
        progress: &dyn Progress,
    ) -> Result<Self, DistractorsError> {
        let chosen = chosen(collection, most);
        let belief = Calibration::of(encoder);
        let questions = Distractors::new(collection, belief, seed).questions(&chosen, progress)?;
        let (mut choosing, mut reporting) = (Vec::new(), Vec::new());
        for (number, question) in questions.into_iter().enumerate() {
            if number % 2 == 0 { choosing.push(question) } else { reporting.push(question) }
        }
        if reporting.is_empty() {
            reporting.clone_from(&choosing);
        }
        Ok(Self { collection, choosing, reporting })
    }

    /// The ranks by which the best epoch is chosen.
    pub fn choose(&self, scorer: &dyn Scorer) -> Result<Figures, ScorerError> {
        self.figures(&self.choosing, scorer)
    }

    fn figures(&self, questions: &[Question], scorer: &dyn Scorer) -> Result<Figures, ScorerError> {
        let rank = |question: &Question| {
            let instance = &self.collection.instances[question.instance];
            let scores =
                scorer.score(&query(instance), &self.collection.pool, &question.candidates)?;
            Ok(Rank::of_first(&scores))
        };
        let ranks: Result<Vec<Option<Rank>>, ScorerError> = questions.iter().map(rank).collect();
        Ok(Figures::of(&ranks?.into_iter().flatten().collect::<Vec<_>>()))
    }

    /// What the reporting half says of two scorers.
    pub fn ranks(
        &self,
        evaluator: &dyn Scorer,
        average: &dyn Scorer,
    ) -> Result<Ranks, ScorerError> {
        Ok(Ranks {
            procedures: self.reporting.len(),
            evaluator: self.figures(&self.reporting, evaluator)?,
            average_similarity: self.figures(&self.reporting, average)?,
        })
    }

    /// The calibration, fitted on one half, and what the other half says of it and of the ranks.
    pub fn report(
        &self,
        evaluator: Evaluator,
        average: &dyn Scorer,
        drawing: &Drawing,
        seed: u64,
    ) -> Result<(Evaluator, Report), ScorerError> {
        let judged = |questions| self.judged(questions, &evaluator, drawing, seed);
        let (fitting, testing) = (judged(&self.choosing)?, judged(&self.reporting)?);
        let calibration = fit(&fitting);
        let said = |calibration: PlattScaling| {
            let said = move |(logit, right): &(f32, bool)| {
                (f64::from(calibration.probability(*logit)), *right)
            };
            reliability(testing.iter().map(said))
        };
        let table = said(calibration);
        let report = CalibrationReport {
            sequences: testing.len(),
            error_before: calibration_error(&said(PlattScaling::default())),
            error: calibration_error(&table),
            reliability: table,
        };
        let evaluator = evaluator.calibrated(calibration);
        let report = Report {
            procedures: self.reporting.len(),
            evaluator: self.figures(&self.reporting, &evaluator)?,
            average_similarity: self.figures(&self.reporting, average)?,
            calibration: report,
        };
        Ok((evaluator, report))
    }

    /// For every candidate of the choosing half the network's logit and what is told without it.
    pub fn told(&self, network: &Evaluator) -> Result<Vec<Vec<(f32, SequenceStats)>>, ScorerError> {
        let pool = &self.collection.pool;
        let of = |question: &Question| {
            let query = query(&self.collection.instances[question.instance]);
            let logits = network.candidate_logits(&query, pool, &question.candidates)?;
            let both = |(candidate, logit): (_, Option<f32>)| {
                Some((logit?, SequenceStats::of(&query, pool, candidate)))
            };
            Ok(question.candidates.iter().zip(logits).filter_map(both).collect())
        };
        self.choosing.iter().map(of).collect()
    }

    /// Logits of the procedures of these questions as they are and with a constraint broken.
    fn judged(
        &self,
        questions: &[Question],
        evaluator: &Evaluator,
        drawing: &Drawing,
        seed: u64,
    ) -> Result<Vec<(f32, bool)>, ScorerError> {
        let config = evaluator.config();
        let instances: Vec<&Instance> =
            questions.iter().map(|q| &self.collection.instances[q.instance]).collect();
        let pieces =
            Pieces::of(self.collection, &instances, Split::HeldOut, config.max_steps, drawing);
        let sampler = Sampler::new(&pieces, config.channels, *drawing, seed);
        let mut judged = Vec::new();
        for draw in 0..DRAWS {
            for drawn in sampler.epoch(draw) {
                let said = sampler.said(&drawn);
                let query = Query { texts: &[], text: &said, clip: &said, map: None };
                let clips = drawn.steps.iter().map(|(_, clip)| Some(*clip)).collect();
                let pool = &self.collection.pool;
                let logits = evaluator.candidate_logits(&query, pool, &[Sequence(clips)])?;
                judged.extend(logits.into_iter().flatten().map(|l| (l, drawn.fault.is_none())));
            }
        }
        Ok(judged)
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

/// An instance as a scorer sees it.
pub fn query(instance: &Instance) -> Query<'_> {
    Query { texts: &instance.texts, text: &instance.text, clip: &instance.clip, map: None }
}

/// Platt's: the logistic regression of what was on the logit.
fn fit(judged: &[(f32, bool)]) -> PlattScaling {
    let sample = |(logit, right): &(f32, bool)| {
        let mut numbers = [0.0; NUMBERS];
        numbers[0] = f64::from(*logit);
        Sample { numbers, right: *right, weight: 1.0 }
    };
    let both = judged.iter().any(|(_, right)| *right) && judged.iter().any(|(_, right)| !right);
    if !both {
        return PlattScaling::default();
    }
    let weights = logistic::fit(&judged.iter().map(sample).collect::<Vec<_>>());
    PlattScaling { scale: weights[1].max(1e-3) as f32, shift: weights[0] as f32 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calibration_mends_what_is_too_sure_of_itself() {
        // Of sequences said to be at logit 4, three in four are right; at -4 one in four.
        let judged: Vec<(f32, bool)> = (0..400)
            .map(|i| if i % 2 == 0 { (4.0, i % 8 != 0) } else { (-4.0, i % 8 == 1) })
            .collect();
        let calibration = fit(&judged);
        assert!((calibration.probability(4.0) - 0.75).abs() < 0.02, "{calibration:?}");
        assert!((calibration.probability(-4.0) - 0.25).abs() < 0.02, "{calibration:?}");
        assert_eq!(fit(&[(1.0, true)]), PlattScaling::default());
    }

    #[test]
    fn the_order_stays_even_where_the_evaluator_is_wrong() {
        let judged: Vec<(f32, bool)> = (0..100).map(|i| (i as f32 - 50.0, i < 50)).collect();
        assert!(fit(&judged).scale > 0.0);
    }
}
