//! Fits the decision about gaps to labelled procedures of a library: a logistic model and a threshold.
//!
//! Reported is how steps are decided by a model that was fitted to the other folds, with a threshold that was
//! chosen on the probabilities of the other folds; what is written is fitted and chosen on all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use stitch_core::belief::probability;
use stitch_core::gaps::{FEATURES, GapModel};
use stitch_engine::calibration::{Calibration, GapWeights};
use stitch_engine::demonstrate::GapEvidence;

use super::MeasureError;
use super::labels::NaturalProcedure;
use super::natural::{JudgedStep, NaturalReport, Verdict};
use super::reliability::{calibration_error, reliability};
use crate::logistic;
use crate::rows::first_of_each;

/// Folds of procedures where the labels have no domains.
const FOLDS: usize = 5;

/// L2 penalty of the bias and of the weights; the bias has only so much that there is always a best fit.
const BIAS_RIDGE: f64 = 1e-6;
const RIDGE: f64 = 1.0;

const MIN_SHOWN: usize = 20;
const MIN_UNSHOWN: usize = 5;

/// A calibration and what it changes. All figures but `answers` are of the best clip of each step, before a
/// refused clip is replaced.
#[derive(Clone, Debug, Serialize)]
pub struct GapFit {
    /// With a step that was fitted to.
    pub procedures: usize,
    pub folds: usize,
    /// By the built-in weights.
    pub before: Decisions,
    /// By weights that were fitted, and a threshold that was chosen, without the step's fold.
    pub after: Decisions,
    /// Of whole answers by the calibration to the procedures that it was fitted to, where the library uses it.
    pub answers: Option<Decisions>,
    /// The one that is written: chosen on all folds.
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

impl Decisions {
    /// Of whole answers: a refused clip is replaced where the model accepts another.
    pub fn of_answers(report: &NaturalReport) -> Self {
        let verdicts: Vec<Verdict> = report.steps.iter().map(|step| step.verdict).collect();
        let probabilities = |step: &JudgedStep| {
            Some((f64::from(step.probability?), step.verdict == Verdict::Right))
        };
        Self::new(&report.steps, &verdicts, report.steps.iter().filter_map(probabilities))
    }

    fn new(
        steps: &[JudgedStep],
        verdicts: &[Verdict],
        probabilities: impl Iterator<Item = (f64, bool)>,
    ) -> Self {
        let shares = |shown: bool| {
            let own = steps.iter().zip(verdicts).filter(|(step, _)| step.shown == shown);
            VerdictShares::of(&own.map(|(_, verdict)| *verdict).collect::<Vec<_>>())
        };
        Self {
            shown: shares(true),
            unshown: shares(false),
            calibration_error: calibration_error(&reliability(probabilities)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct VerdictShares {
    pub steps: usize,
    pub right: f64,
    pub wrong: f64,
    pub gap: f64,
}

impl VerdictShares {
    fn of(verdicts: &[Verdict]) -> Self {
        let share = |of: Verdict| {
            let count = verdicts.iter().filter(|verdict| **verdict == of).count();
            count as f64 / verdicts.len().max(1) as f64
        };
        let [right, wrong, gap] = [Verdict::Right, Verdict::Wrong, Verdict::Gap].map(share);
        Self { steps: verdicts.len(), right, wrong, gap }
    }
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

/// Fits the gap model to judged steps. `fitted` is the calibration that the library has already, whose evidence
/// weights are kept; `set` names the labels in the new one.
pub fn fit(
    steps: &[JudgedStep],
    built_in: &Calibration,
    fitted: Option<&Calibration>,
    set: &str,
) -> Result<GapFit, MeasureError> {
    let is_sample = |step: &&JudgedStep| step.gap.is_some() && step.best_right.is_some();
    let samples: Vec<&JudgedStep> = steps.iter().filter(is_sample).collect();
    let procedures = first_of_each(samples.iter().map(|step| step.id.as_str())).len();
    let shown = samples.iter().filter(|step| step.shown).count();
    check_counts(shown, samples.len() - shown, procedures)?;
    let folds = folds(steps);
    let held_out = held_out_probabilities(steps, &folds);
    let rows: Vec<_> = steps.iter().zip(held_out.iter().copied()).collect();
    let threshold = best_threshold(&rows);
    let beliefs = evidence(steps, |gap| probability(gap.features[0]));
    let bins = reliability(judged(steps, &beliefs));
    let clips = beliefs.iter().flatten().count() as f64;
    let from = format!(
        "gaps and thresholds: {} steps of {procedures} procedures in {set} (`stitch calibrate`); the rest as \
         built in",
        samples.len()
    );
    Ok(GapFit {
        procedures,
        folds: folds.iter().max().map_or(0, |last| last + 1),
        before: decisions_before(steps, built_in, fitted.is_some()),
        after: decisions(steps, &held_out, &held_out_thresholds(steps, &held_out, &folds)),
        answers: None,
        threshold,
        belief_error: calibration_error(&bins),
        belief_mean: bins.iter().map(|bin| bin.predicted * bin.count as f64).sum::<f64>() / clips,
        right: bins.iter().map(|bin| bin.right * bin.count as f64).sum::<f64>() / clips,
        calibration: fitted.unwrap_or(built_in).with_gaps(from, fit_gaps(steps.iter()), threshold),
    })
}

/// By the built-in weights. The evidence of a library that is calibrated has the threshold of its own weights;
/// the built-in one is then that of clips with text and frames.
fn decisions_before(steps: &[JudgedStep], built_in: &Calibration, calibrated: bool) -> Decisions {
    let probabilities = evidence(steps, |gap| gap.built_in);
    let threshold = |step: &JudgedStep| match step.gap {
        Some(gap) if !calibrated => gap.threshold,
        _ => built_in.both.threshold,
    };
    decisions(steps, &probabilities, &steps.iter().map(threshold).collect::<Vec<_>>())
}

/// The fold of each step: its domain where all have one, else one of five by procedure.
fn folds<'a>(steps: &'a [JudgedStep]) -> Vec<usize> {
    let domains: BTreeSet<Option<&str>> = steps.iter().map(|s| s.domain.as_deref()).collect();
    let by_domain = domains.len() > 1 && !domains.contains(&None);
    let group = |step: &'a JudgedStep| match &step.domain {
        Some(domain) if by_domain => domain.as_str(),
        _ => step.id.as_str(),
    };
    let groups = first_of_each(steps.iter().map(group));
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

/// By step, the threshold that is best for the other folds.
fn held_out_thresholds(
    steps: &[JudgedStep],
    probabilities: &[Option<f32>],
    folds: &[usize],
) -> Vec<f32> {
    let threshold = |fold: usize| {
        let rows = steps.iter().zip(probabilities.iter().copied()).zip(folds);
        let others = rows.filter(|(_, of)| **of != fold).map(|(row, _)| row);
        best_threshold(&others.collect::<Vec<_>>())
    };
    let last = folds.iter().max().copied().unwrap_or(0);
    let thresholds: Vec<f32> = (0..=last).map(threshold).collect();
    folds.iter().map(|fold| thresholds[*fold]).collect()
}

/// In hundredths, the threshold with the highest mean of the share of shown steps that are answered rightly and
/// the share of unshown steps that are left as gaps; of equals the one nearest to 0.5.
fn best_threshold(rows: &[(&JudgedStep, Option<f32>)]) -> f32 {
    let threshold = |hundredths: usize| hundredths as f32 / 100.0;
    let shown = rows.iter().filter(|(step, _)| step.shown).count();
    let unshown = rows.len() - shown;
    // The mean times both counts, exact.
    let balanced = |hundredths: usize| -> usize {
        let weight = |(step, probability): &(&JudgedStep, Option<f32>)| match (
            step.shown,
            verdict(step, *probability, threshold(hundredths)),
        ) {
            (true, Verdict::Right) => unshown.max(1),
            (false, Verdict::Gap) => shown.max(1),
            _ => 0,
        };
        rows.iter().map(weight).sum()
    };
    let best = (1..=95).max_by_key(|at| (balanced(*at), Reverse(at.abs_diff(50))));
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

fn decisions(steps: &[JudgedStep], probabilities: &[Option<f32>], thresholds: &[f32]) -> Decisions {
    let rows = steps.iter().zip(probabilities).zip(thresholds);
    let verdicts: Vec<Verdict> =
        rows.map(|((step, probability), least)| verdict(step, *probability, *least)).collect();
    Decisions::new(steps, &verdicts, judged(steps, probabilities))
}

fn evidence(steps: &[JudgedStep], of: impl Fn(&GapEvidence) -> f32) -> Vec<Option<f32>> {
    steps.iter().map(|step| step.gap.as_ref().map(&of)).collect()
}

/// Probabilities with whether the clip is right.
fn judged(
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
            gap: Some(GapEvidence {
                features: [0.0; FEATURES],
                probability: 0.5,
                built_in: 0.5,
                threshold: 0.4,
            }),
            read: Vec::new(),
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
            step.gap =
                Some(GapEvidence { features, probability: 0.5, built_in: 0.5, threshold: 0.4 });
            step.best_right = Some(right);
            step
        };
        (0..10 * procedures).map(&mut one).collect()
    }

    const TRUTH: GapModel = GapModel { bias: -0.5, weights: [2.0, 1.0, 0.0, 0.5, -1.0, 1.5, 0.0] };

    #[test]
    fn the_model_that_made_the_steps_is_found_and_better_than_none() {
        let steps = drawn(&TRUTH, 1000);
        let found = fit(&steps, Calibration::of("mini"), None, "labels.jsonl").unwrap();
        let gaps = found.calibration.gaps;
        assert!((gaps.bias - TRUTH.bias).abs() < 0.2, "{gaps:?}");
        let near = |(a, b): (&f32, &f32)| (a - b).abs() < 0.2;
        assert!(gaps.weights.iter().zip(&TRUTH.weights).all(near), "{gaps:?}");
        assert!(found.after.calibration_error < 0.05, "{found:?}");
        // To answer nothing has a mean of 0.5, to answer all less.
        assert!(found.after.shown.right + found.after.unshown.gap > 1.2, "{found:?}");
        let Calibration { both, text, clip, agreeing, from, .. } = &found.calibration;
        let all = [both, text, clip, agreeing.as_ref().unwrap()].map(|w| w.threshold);
        assert_eq!(all, [found.threshold; 4]);
        assert_eq!(both.bias, Calibration::of("mini").both.bias, "beliefs stay");
        assert!(from.contains("10000 steps of 1000 procedures in labels.jsonl"), "{from}");
    }

    #[test]
    fn a_library_that_is_calibrated_is_compared_with_the_built_in_weights() {
        let mut steps = drawn(&TRUTH, 20);
        steps[7].best_right = None;
        let built_in = Calibration::of("mini");
        let of = |steps: &[JudgedStep], fitted: Option<&Calibration>| {
            fit(steps, built_in, fitted, "labels").unwrap()
        };
        for step in &mut steps {
            let gap = step.gap.as_mut().unwrap();
            gap.threshold = built_in.both.threshold;
            gap.built_in = GapModel::from(built_in.gaps).probability(&gap.features);
        }
        let before = of(&steps, None).before;
        assert!(before.shown.gap > 0.0 && before.shown.gap < 1.0, "{before:?}");
        let mut in_use = built_in.with_gaps(String::new(), built_in.gaps, 0.95);
        in_use.both.bias = -3.0;
        for step in &mut steps {
            let gap = step.gap.as_mut().unwrap();
            (gap.probability, gap.threshold) = (0.9, 0.95);
        }
        let found = of(&steps, Some(&in_use));
        assert_eq!((found.before.shown, found.before.unshown), (before.shown, before.unshown));
        assert_eq!(found.calibration.both.bias, -3.0, "the evidence was weighed by it");
        let from = &found.calibration.from;
        assert!(from.contains("199 steps of 20 procedures"), "without what was not fitted: {from}");
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
    fn the_threshold_weighs_right_clips_and_gaps_found_alike() {
        let best = |shown: &[f32], unshown: &[f32]| {
            let (shown_step, unshown_step) = (step(0, None, true), step(1, None, false));
            let rows = shown.iter().map(|p| (&shown_step, Some(*p)));
            let rows = rows.chain(unshown.iter().map(|p| (&unshown_step, Some(*p))));
            best_threshold(&rows.collect::<Vec<_>>())
        };
        assert_eq!(best(&[0.9, 0.8], &[0.1]), 0.5, "nearest to 0.5 of those that divide them");
        assert_eq!(best(&[0.9, 0.305], &[0.205]), 0.3);
        assert_eq!(best(&[0.9, 0.8], &[0.705]), 0.71);
        let few_gaps = best(&[0.9, 0.8, 0.305, 0.305], &[0.405]);
        assert_eq!(few_gaps, 0.5, "half of the shown steps weigh less than all gaps");
        assert_eq!(best(&[0.305], &[]), 0.3, "without unshown steps by the others alone");
    }

    #[test]
    fn shares_are_those_of_the_verdicts() {
        let mut steps = [step(0, None, true), step(0, None, true), step(1, None, false)];
        steps[1].best_right = Some(false);
        let found = decisions(&steps, &[Some(0.9), Some(0.8), None], &[0.5; 3]);
        assert_eq!(found.shown, VerdictShares { steps: 2, right: 0.5, wrong: 0.5, gap: 0.0 });
        assert_eq!(found.unshown, VerdictShares { steps: 1, right: 0.0, wrong: 0.0, gap: 1.0 });
        // Another clip took the place of a refused one.
        (steps[0].verdict, steps[0].probability) = (Verdict::Right, Some(0.75));
        let report = NaturalReport { steps: steps.into(), ..NaturalReport::default() };
        let answers = Decisions::of_answers(&report);
        assert_eq!(answers.shown, VerdictShares { steps: 2, right: 0.5, wrong: 0.0, gap: 0.5 });
        assert_eq!(answers.calibration_error, 0.25);
    }

    #[test]
    fn the_threshold_of_a_fold_is_chosen_on_the_others() {
        let steps =
            [(0, true), (0, false), (1, true), (1, false)].map(|(id, shown)| step(id, None, shown));
        let probabilities = [0.9, 0.605, 0.405, 0.1].map(Some);
        let found = held_out_thresholds(&steps, &probabilities, &folds(&steps));
        assert_eq!(found, [0.4, 0.4, 0.61, 0.61]);
    }

    #[test]
    fn too_few_labels_are_refused_with_what_is_needed() {
        let steps = |shown: usize, unshown: usize| -> Vec<JudgedStep> {
            let all = (0..shown + unshown).map(|i| step(i % 2, None, i < shown));
            all.collect()
        };
        let of = |steps: &[JudgedStep]| fit(steps, Calibration::of("mini"), None, "labels");
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
