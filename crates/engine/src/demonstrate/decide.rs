//! The answer by F_R: the candidates of the search, with gaps where they may be, and the best of them.

use std::collections::HashSet;

use stitch_core::cover::Sequence;
use stitch_core::gaps::Ranked;

use super::Judge;

/// The search's best candidates that are compared with gaps.
const BASES: usize = 60;

/// How many steps of a candidate are tried both ways, a gap and a clip, one at a time.
const DOUBTFUL_STEPS: usize = 4;

/// Each candidate with gaps where clips are refused, and the same with one decision reversed. `settled` is the
/// answer without F_R.
pub(super) fn answers(ranked: &Ranked, settled: &Sequence, judge: &Judge<'_>) -> Vec<Sequence> {
    let mut known = HashSet::new();
    let bases = ranked.iter().take(BASES).flat_map(|(sequence, _)| with_gaps(sequence, judge));
    let all = std::iter::once(settled.clone()).chain(bases);
    all.filter(|answer| known.insert(answer.clone())).collect()
}

fn with_gaps(sequence: &Sequence, judge: &Judge<'_>) -> Vec<Sequence> {
    let shown = judge.probabilities(sequence);
    let above = |step: &usize| {
        let margin = shown[*step]? - judge.threshold(sequence, *step)?;
        (!judge.is_fixed(*step)).then_some((*step, margin))
    };
    let mut margins: Vec<(usize, f32)> = (0..shown.len()).filter_map(|s| above(&s)).collect();
    let mut decided = sequence.clone();
    for (step, _) in margins.iter().filter(|(_, margin)| *margin < 0.0) {
        decided.0[*step] = None;
    }
    margins.sort_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    let doubtful = if judge.options.may_doubt() { DOUBTFUL_STEPS } else { 0 };
    let mut all = vec![decided.clone()];
    for (step, margin) in margins.into_iter().take(doubtful) {
        let mut other = decided.clone();
        other.0[step] = if margin < 0.0 { sequence.0[step] } else { None };
        all.push(other);
    }
    all
}
