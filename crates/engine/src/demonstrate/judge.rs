//! Which clips of a solution show their steps.

use stitch_core::clip::ClipId;
use stitch_core::cover::Sequence;
use stitch_core::gaps::{self, Judgement};
use stitch_core::map::{Match, StepMap};
use stitch_core::pool::Pool;

use super::Options;
use crate::calibration::Calibration;

/// Decides which clips of a solution show their steps.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    /// M as the search had it.
    pub used: &'a StepMap,
    /// The same with unlikely matches.
    pub all: &'a StepMap,
    pub pool: &'a Pool,
    pub calibration: &'a Calibration,
    pub options: &'a Options,
}

impl<'a> Judge<'a> {
    /// What a person fixed is never refused.
    pub fn judge(&self, best: &Sequence) -> Judgement {
        let chosen = gaps::chosen(best, self.used);
        let shown = self.probabilities(&chosen);
        let is_refused = |step: &usize| {
            let judged = shown[*step].zip(chosen[*step]);
            let refused = judged.is_some_and(|(shown, found)| shown < self.threshold(found));
            !self.is_fixed(*step) && refused
        };
        let refused =
            (0..chosen.len()).filter(is_refused).map(|step| (step, self.instead(step, &chosen)));
        Judgement { refused: refused.collect(), shown }
    }

    /// Whether a person has decided the step.
    pub fn is_fixed(&self, step: usize) -> bool {
        self.options.wishes.get(&step).is_some_and(|wish| wish.fixed.is_some())
    }

    pub fn probabilities(&self, chosen: &[Option<&Match>]) -> Vec<Option<f32>> {
        (0..chosen.len()).map(|step| self.probability(step, chosen)).collect()
    }

    /// How likely the clip of a step shows it, given the whole solution; none where it has no clip.
    pub fn probability(&self, step: usize, chosen: &[Option<&Match>]) -> Option<f32> {
        self.probability_by(self.calibration, step, chosen)
    }

    /// The same by another calibration.
    pub fn probability_by(
        &self,
        calibration: &Calibration,
        step: usize,
        chosen: &[Option<&Match>],
    ) -> Option<f32> {
        let features = gaps::features(step, chosen, self.used, self.all, self.pool)?;
        let was_read = self.all.steps[step].iter().any(|found| found.evidence.cross.is_some());
        let model = calibration.gap_model(&chosen[step]?.evidence, was_read);
        Some(model.probability(&features))
    }

    /// The least probability of a clip that is shown.
    pub fn threshold(&self, found: &Match) -> f32 {
        self.options.threshold_of(self.calibration, &found.evidence)
    }

    /// The clip that most likely shows the step, the rest of the solution as it is; none where none does.
    fn instead(&self, step: usize, chosen: &[Option<&'a Match>]) -> Option<ClipId> {
        let mut chosen = chosen.to_vec();
        let with = |found: &'a Match| {
            chosen[step] = Some(found);
            let probability = self.probability(step, &chosen)?;
            (probability >= self.threshold(found)).then_some((found.clip, probability))
        };
        let shown = self.used.steps[step].iter().filter_map(with);
        shown.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(clip, _)| clip)
    }
}

#[cfg(test)]
mod tests {
    use stitch_core::belief::{Evidence, log_probability};
    use stitch_core::clip::{Clip, Span, VideoId};
    use stitch_core::features::Features;

    use super::*;

    /// Describing the whole solution again for each of their alternatives takes minutes.
    #[test]
    fn hundreds_of_refused_steps_are_judged_at_once() {
        const STEPS: usize = 300;
        const CLIPS: u32 = 50;
        let clip = |start: u32| Clip {
            video: VideoId(1),
            span: Span::new(start.into(), u64::from(start) + 1).unwrap(),
            text: String::new(),
        };
        let rows = Features::new(1, vec![1.0; CLIPS as usize]).unwrap();
        let pool = Pool::new((0..CLIPS).map(clip).collect(), rows.clone(), rows).unwrap();
        let found = |clip| Match {
            clip: ClipId(clip),
            evidence: Evidence::default(),
            log_prob: log_probability(-(clip as f32)),
        };
        let map = &StepMap { steps: vec![(0..CLIPS).map(found).collect(); STEPS] };
        let options = &Options { threshold: Some(1.0), ..Options::default() };
        let calibration = Calibration::of("narration");
        let judge = Judge { used: map, all: map, pool: &pool, calibration, options };
        let judgement = judge.judge(&Sequence(vec![Some(ClipId(0)); STEPS]));
        assert_eq!(judgement.refused, (0..STEPS).map(|step| (step, None)).collect::<Vec<_>>());
    }
}
