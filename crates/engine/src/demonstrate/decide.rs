//! Answers that F_R compares: candidates of the search with gaps where they may be, and what is near them.

use std::collections::HashSet;

use stitch_core::belief::log_odds;
use stitch_core::cover::Sequence;
use stitch_core::gaps::{self, Ranked};

use super::judge::Judge;

/// The search's best candidates that are compared with gaps.
const BASES: usize = 60;

/// How many steps of a candidate are tried both ways, a gap and a clip, one at a time.
const DOUBTFUL_STEPS: usize = 4;

/// A clip that the gap model is surer of than this is not doubtful. Chosen among 1, 2 and no limit on the development half
/// of the natural procedures (docs/src/results.md).
const MOST_DOUBTFUL_LOG_ODDS: f32 = 2.0;

/// The likeliest clips of a step that are tried in place of its own.
const NEIGHBOURS: usize = 12;

/// Each candidate with gaps where clips are refused, and the same with one decision reversed. `settled` is the
/// answer without F_R.
pub(super) fn answers(ranked: &Ranked, settled: &Sequence, judge: &Judge<'_>) -> Vec<Sequence> {
    let mut known = HashSet::new();
    let bases = ranked.iter().take(BASES).flat_map(|(sequence, _)| with_gaps(sequence, judge));
    let all = std::iter::once(settled.clone()).chain(bases);
    all.filter(|answer| known.insert(answer.clone())).collect()
}

fn with_gaps(sequence: &Sequence, judge: &Judge<'_>) -> Vec<Sequence> {
    let chosen = gaps::chosen(sequence, judge.used);
    let above = |step: usize| {
        let [shown, threshold] =
            [judge.probability(step, &chosen)?, judge.threshold(chosen[step]?)].map(log_odds);
        (!judge.is_fixed(step)).then_some((step, shown - threshold))
    };
    let mut margins: Vec<(usize, f32)> = (0..chosen.len()).filter_map(above).collect();
    let mut decided = sequence.clone();
    for (step, _) in margins.iter().filter(|(_, margin)| *margin < 0.0) {
        decided.0[*step] = None;
    }
    margins.sort_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    let doubtful = if judge.options.may_doubt() { DOUBTFUL_STEPS } else { 0 };
    let mut all = vec![decided.clone()];
    let in_doubt = |(_, margin): &(usize, f32)| margin.abs() <= MOST_DOUBTFUL_LOG_ODDS;
    for (step, margin) in margins.into_iter().filter(in_doubt).take(doubtful) {
        let mut other = decided.clone();
        other.0[step] = if margin < 0.0 { sequence.0[step] } else { None };
        all.push(other);
    }
    all
}

/// Answers that differ from this one in one step that nobody has decided: by another clip, or by a gap where gaps are
/// weighed against clips. F_R learns from them and does not choose among them: it would find its own errors
/// (docs/src/results.md).
pub(super) fn neighbours(answer: &Sequence, judge: &Judge<'_>) -> Vec<Sequence> {
    let mut all = Vec::new();
    for step in (0..answer.0.len()).filter(|step| !judge.is_fixed(*step)) {
        let is_gap = answer.0[step].is_none();
        if is_gap && !judge.options.may_doubt() {
            continue;
        }
        let clips = judge.used.steps[step].iter().take(NEIGHBOURS).map(|found| Some(found.clip));
        let gap = judge.options.may_doubt().then_some(None);
        for other in clips.chain(gap).filter(|other| *other != answer.0[step]) {
            let mut changed = answer.clone();
            changed.0[step] = other;
            all.push(changed);
        }
    }
    all
}
