//! Fits the decision about gaps to labelled procedures of a library: a logistic model and a threshold, both
//! checked on procedures that they were not fitted to.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use stitch_core::belief::probability;
use stitch_core::gaps::{FEATURES, GapModel};
use stitch_engine::calibration::{Calibration, GapWeights};
use stitch_engine::demonstrate::GapEvidence;

use super::MeasureError;
use super::labels::NaturalProcedure;
use super::natural::{JudgedStep, Verdict};
use super::reliability::{calibration_error, reliability};
use crate::logistic;

/// Folds of procedures where the labels have no domains.
const FOLDS: usize = 5;

/// L2 penalty of the bias and of the weights; the bias has only so much that there is always a best fit.
const BIAS_RIDGE: f64 = 1e-6;
const RIDGE: f64 = 1.0;

const MIN_SHOWN: usize = 20;
const MIN_UNSHOWN: usize = 5;

/// A calibration and what it changes. All figures are of the best clip of each step before gaps are decided.
#[derive(Clone, Debug, Serialize)]
pub struct GapFit {
    pub procedures: usize,
    pub folds: usize,
    /// By the weights in use.
    pub before: Decisions,
    /// By weights that were fitted without the step's fold.
    pub after: Decisions,
    pub threshold: f32,
    /// Expected calibration error of the probabilities of clips by themselves, which are not fitted;
    pub belief_error: f64,
    /// their mean,
    pub belief_mean: f64,
    /// and the share of these clips that is right.
    pub right: f64,
    pub calibration: Calibration,
}

/// How steps are decided.
#[derive(Clone, Debug, Serialize)]
pub struct Decisions {
    pub shown: VerdictShares,
    pub unshown: VerdictShares,
    /// Expected calibration error of the probabilities of clips in their solution.
    pub calibration_error: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VerdictShares {
    pub steps: usize,
    pub right: f64,
    pub wrong: f64,
    pub gap: f64,
}

/// An error if there are too few labels to fit to.
pub fn check_labels(procedures: &[NaturalProcedure]) -> Result<(), MeasureError> {
    let steps = || procedures.iter().flat_map(|procedure| &procedure.steps);
    let shown = steps().filter(|step| !step.shown_by.is_empty()).count();
    check_counts(shown, steps().count() - shown, procedures.len())
}

fn check_counts(shown: usize, unshown: usize, procedures: usize) -> Result<(), MeasureError> {
    match shown >= MIN_SHOWN && unshown >= MIN_UNSHOWN && procedures > 1 {
        true => Ok(()),
        false => Err(MeasureError::FewLabels { shown, unshown, procedures }),
    }
}

/// Fits the gap model to judged steps. `set` names the labels in the calibration.
pub fn fit(steps: &[JudgedStep], in_use: &Calibration, set: &str) -> Result<GapFit, MeasureError> {
    let procedures: BTreeSet<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    let read = |shown: bool| steps.iter().filter(|s| s.shown == shown && s.gap.is_some()).count();
    check_counts(read(true), read(false), procedures.len())?;
    let folds = folds(steps);
    let held_out = held_out_probabilities(steps, &folds);
    let threshold = best_threshold(steps, &held_out);
    let in_use_probabilities: Vec<_> = evidence(steps, |gap| gap.probability);
    let in_use_threshold = |step: &JudgedStep| step.gap.map_or(0.0, |gap| gap.threshold);
    let beliefs = evidence(steps, |gap| probability(gap.features[0]));
    let bins = reliability(samples(steps, &beliefs));
    let clips = beliefs.iter().flatten().count() as f64;
    let from = format!(
        "gaps and thresholds: {} steps of {} procedures in {set} (`stitch calibrate`); the rest as \
         built in",
        steps.len(),
        procedures.len()
    );
    Ok(GapFit {
        procedures: procedures.len(),
        folds: folds.iter().max().map_or(0, |last| last + 1),
        before: decisions(steps, &in_use_probabilities, in_use_threshold),
        after: decisions(steps, &held_out, |_| threshold),
        threshold,
        belief_error: calibration_error(&bins),
        belief_mean: bins.iter().map(|bin| bin.predicted * bin.count as f64).sum::<f64>() / clips,
        right: bins.iter().map(|bin| bin.right * bin.count as f64).sum::<f64>() / clips,
        calibration: in_use.with_gaps(from, fit_gaps(steps.iter()), threshold),
    })
}

/// The fold of each step: its domain where all have one, else one of five by procedure.
fn folds<'a>(steps: &'a [JudgedStep]) -> Vec<usize> {
    let domains: BTreeSet<Option<&str>> = steps.iter().map(|s| s.domain.as_deref()).collect();
    let by_domain = domains.len() > 1 && !domains.contains(&None);
    let group = |step: &'a JudgedStep| match &step.domain {
        Some(domain) if by_domain => domain.as_str(),
        _ => step.id.as_str(),
    };
    let mut groups: Vec<&str> = Vec::new();
    for step in steps {
        if !groups.contains(&group(step)) {
            groups.push(group(step));
        }
    }
    let count = if by_domain { groups.len() } else { FOLDS };
    let number: BTreeMap<&str, usize> = groups.into_iter().zip((0..count).cycle()).collect();
    steps.iter().map(|step| number[group(step)]).collect()
}

/// By step, the probability by a model that was fitted to the other folds; none without a clip.
fn held_out_probabilities(steps: &[JudgedStep], folds: &[usize]) -> Vec<Option<f32>> {
    let model = |fold: usize| {
        let others = steps.iter().zip(folds).filter(|(_, of)| **of != fold);
        GapModel::from(fit_gaps(others.map(|(step, _)| step)))
    };
    let last = folds.iter().max().copied().unwrap_or(0);
    let models: Vec<GapModel> = (0..=last).map(model).collect();
    let of = |(step, fold): (&JudgedStep, &usize)| {
        step.gap.map(|gap| models[*fold].probability(&gap.features))
    };
    steps.iter().zip(folds).map(of).collect()
}

fn fit_gaps<'a>(steps: impl Iterator<Item = &'a JudgedStep>) -> GapWeights {
    let sample = |step: &JudgedStep| {
        let mut features = [1.0; 1 + FEATURES];
        let found = step.gap?.features;
        features.iter_mut().skip(1).zip(found).for_each(|(to, x)| *to = f64::from(x));
        Some((features, step.best_right?))
    };
    let samples: Vec<_> = steps.filter_map(sample).collect();
    let mut ridge = [RIDGE; 1 + FEATURES];
    ridge[0] = BIAS_RIDGE;
    let [bias, weights @ ..] = logistic::fit(&samples, ridge).map(|weight| weight as f32);
    GapWeights { bias, weights }
}

/// In hundredths, the threshold with the most shown steps answered rightly and unshown steps left as gaps;
/// of equals the one nearest to 0.5.
fn best_threshold(steps: &[JudgedStep], probabilities: &[Option<f32>]) -> f32 {
    let threshold = |hundredths: usize| hundredths as f32 / 100.0;
    let correct = |hundredths: usize| {
        let is_correct = |(step, probability): (&JudgedStep, &Option<f32>)| {
            let verdict = verdict(step, *probability, threshold(hundredths));
            verdict == if step.shown { Verdict::Right } else { Verdict::Gap }
        };
        steps.iter().zip(probabilities).filter(|pair| is_correct(*pair)).count()
    };
    let best = (1..=95).max_by_key(|at| (correct(*at), Reverse(at.abs_diff(50))));
    best.map_or(0.5, threshold)
}

/// Of the best clip of a step, shown if it is as likely as the threshold.
fn verdict(step: &JudgedStep, probability: Option<f32>, threshold: f32) -> Verdict {
    match (probability, step.best_right) {
        (Some(p), Some(true)) if p >= threshold => Verdict::Right,
        (Some(p), Some(false)) if p >= threshold => Verdict::Wrong,
        _ => Verdict::Gap,
    }
}

fn decisions(
    steps: &[JudgedStep],
    probabilities: &[Option<f32>],
    threshold: impl Fn(&JudgedStep) -> f32,
) -> Decisions {
    let shares = |shown: bool| {
        let own = steps.iter().zip(probabilities).filter(|(step, _)| step.shown == shown);
        let verdicts: Vec<Verdict> = own.map(|(s, p)| verdict(s, *p, threshold(s))).collect();
        let share = |of: Verdict| {
            let count = verdicts.iter().filter(|verdict| **verdict == of).count();
            count as f64 / verdicts.len().max(1) as f64
        };
        let [right, wrong, gap] = [Verdict::Right, Verdict::Wrong, Verdict::Gap].map(share);
        VerdictShares { steps: verdicts.len(), right, wrong, gap }
    };
    Decisions {
        shown: shares(true),
        unshown: shares(false),
        calibration_error: calibration_error(&reliability(samples(steps, probabilities))),
    }
}

fn evidence(steps: &[JudgedStep], of: impl Fn(&GapEvidence) -> f32) -> Vec<Option<f32>> {
    steps.iter().map(|step| step.gap.as_ref().map(&of)).collect()
}

/// Probabilities with whether the clip is right.
fn samples(
    steps: &[JudgedStep],
    probabilities: &[Option<f32>],
) -> impl Iterator<Item = (f64, bool)> {
    let pairs = steps.iter().zip(probabilities);
    pairs.filter_map(|(step, probability)| Some((f64::from((*probability)?), step.best_right?)))
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn step(id: usize, domain: Option<&str>, shown: bool) -> JudgedStep {
        JudgedStep {
            id: format!("p{id}"),
            domain: domain.map(str::to_owned),
            line: String::new(),
            shown,
            context: false,
            verdict: Verdict::Gap,
            reason: None,
            clip: None,
            probability: None,
            gap: Some(GapEvidence { features: [0.0; FEATURES], probability: 0.5, threshold: 0.4 }),
            best_right: Some(shown),
        }
    }

    /// Ten steps of each procedure; clips are right as this model says, and half of the others are of
    /// steps that nothing shows.
    fn drawn(model: &GapModel, procedures: usize) -> Vec<JudgedStep> {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut one = |number: usize| {
            let mut features = [0.0; FEATURES];
            features.fill_with(|| random.random_range(-2.0..2.0));
            let right = random.random_range(0.0..1.0) < model.probability(&features);
            let mut step = step(number / 10, None, right || number.is_multiple_of(2));
            step.gap = Some(GapEvidence { features, probability: 0.5, threshold: 0.4 });
            step.best_right = Some(right);
            step
        };
        (0..10 * procedures).map(&mut one).collect()
    }

    const TRUTH: GapModel = GapModel { bias: -0.5, weights: [2.0, 1.0, 0.0, 0.5, -1.0, 1.5, 0.0] };

    #[test]
    fn the_model_that_made_the_steps_is_found_and_better_than_none() {
        let steps = drawn(&TRUTH, 1000);
        let found = fit(&steps, Calibration::of("mini"), "labels.jsonl").unwrap();
        let gaps = found.calibration.gaps;
        assert!((gaps.bias - TRUTH.bias).abs() < 0.2, "{gaps:?}");
        let near = |(a, b): (&f32, &f32)| (a - b).abs() < 0.2;
        assert!(gaps.weights.iter().zip(&TRUTH.weights).all(near), "{gaps:?}");
        assert!(found.after.calibration_error < 0.05, "{found:?}");
        // Half of the shown steps and none of the others would be a guess.
        assert!(found.after.shown.right > 0.5 && found.after.unshown.gap > 0.5, "{found:?}");
        assert_eq!(found.before.unshown.gap, 0.0, "0.5 is above the threshold in use");
        let Calibration { both, text, clip, agreeing, from, .. } = &found.calibration;
        let all = [both, text, clip, agreeing.as_ref().unwrap()].map(|w| w.threshold);
        assert_eq!(all, [found.threshold; 4]);
        assert_eq!(both.bias, Calibration::of("mini").both.bias, "beliefs stay");
        assert!(from.contains("10000 steps of 1000 procedures in labels.jsonl"), "{from}");
    }

    #[test]
    fn folds_never_share_a_procedure() {
        let steps = drawn(&TRUTH, 12);
        let folds_of = |steps: &[JudgedStep]| {
            let pairs = steps.iter().zip(folds(steps)).map(|(step, fold)| (step.id.clone(), fold));
            pairs.collect::<BTreeSet<(String, usize)>>()
        };
        let found = folds_of(&steps);
        assert_eq!(found.len(), 12, "each procedure is in one fold: {found:?}");
        assert_eq!(found.iter().map(|(_, fold)| fold).collect::<BTreeSet<_>>().len(), FOLDS);
        let domains = [(0, "a"), (1, "b"), (0, "a"), (2, "a"), (3, "c")];
        let steps = domains.map(|(id, domain)| step(id, Some(domain), true));
        assert_eq!(folds(&steps), [0, 1, 0, 0, 2]);
        let mixed = [step(0, Some("a"), true), step(1, None, true), step(2, Some("a"), true)];
        assert_eq!(folds(&mixed), [0, 1, 2], "by procedure where a domain is missing");
        let one = [step(0, Some("a"), true), step(1, Some("a"), true)];
        assert_eq!(folds(&one), [0, 1], "or where all are of one");
    }

    #[test]
    fn a_step_is_judged_by_a_model_that_has_not_seen_its_fold() {
        // In the first fold what the feature says is the other way round.
        let mut steps: Vec<JudgedStep> =
            (0..40).map(|i: usize| step(i / 20, None, i.is_multiple_of(2))).collect();
        for (i, step) in steps.iter_mut().enumerate() {
            let says = if step.shown == (i < 20) { -2.0 } else { 2.0 };
            step.gap.as_mut().unwrap().features[0] = says;
        }
        let held_out = held_out_probabilities(&steps, &folds(&steps));
        for (step, probability) in steps.iter().zip(held_out) {
            assert_eq!(probability.unwrap() > 0.5, !step.shown);
        }
    }

    #[test]
    fn the_threshold_counts_right_clips_and_gaps_found() {
        let steps = [step(0, None, true), step(0, None, true), step(1, None, false)];
        let of = |p: [f32; 3]| best_threshold(&steps, &p.map(Some));
        assert_eq!(of([0.9, 0.8, 0.1]), 0.5, "nearest to 0.5 of those that divide them");
        assert_eq!(of([0.9, 0.305, 0.205]), 0.3);
        assert_eq!(of([0.9, 0.8, 0.705]), 0.71);
        let mut wrong = steps;
        wrong[1].best_right = Some(false);
        let shares = decisions(&wrong, &[Some(0.9), Some(0.8), None], |_| 0.5);
        assert_eq!(shares.shown, VerdictShares { steps: 2, right: 0.5, wrong: 0.5, gap: 0.0 });
        assert_eq!(shares.unshown, VerdictShares { steps: 1, right: 0.0, wrong: 0.0, gap: 1.0 });
    }

    #[test]
    fn too_few_labels_are_refused_with_what_is_needed() {
        let steps = |shown: usize, unshown: usize| -> Vec<JudgedStep> {
            let all = (0..shown + unshown).map(|i| step(i % 2, None, i < shown));
            all.collect()
        };
        let of = |steps: &[JudgedStep]| fit(steps, Calibration::of("mini"), "labels");
        assert!(of(&steps(20, 5)).is_ok());
        for few in [steps(19, 5), steps(20, 4)] {
            let said = of(&few).unwrap_err().to_string();
            assert!(said.contains("at least 20, 5 and 2"), "{said}");
        }
        let mut unread = steps(20, 5);
        unread[0].gap = None;
        assert!(of(&unread).is_err(), "a step that was not read does not count");
    }
}
