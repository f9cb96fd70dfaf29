//! Which steps of a solution nothing shows: decided last, from the solution as a whole.
//!
//! A clip that fits its step poorly by itself may still be right where its neighbours come from the
//! same video in the same order; one that fits another step better is rarely right. A small logistic
//! model weighs that.

use crate::belief::probability;
use crate::clip::ClipId;
use crate::cover::Sequence;
use crate::map::{Match, StepMap};
use crate::pool::Pool;

/// How many numbers describe a chosen clip.
pub const FEATURES: usize = 7;

/// Log-odds for another step below this count as this: the clip is no rival there. Chosen by
/// hand: -4 gave a better cross-validated fit on the development half than -8.
const NO_RIVAL_LOG_ODDS: f32 = -4.0;

/// A clip stands out if it is likelier than the library's match of this rank (from 0) for the step. Chosen
/// by cross-validation over domains on the development half, among 4, 9 and 19.
const ORDINARY_RANK: usize = 9;

/// The weights of the logistic model, in the order of [`features`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GapModel {
    /// The log-odds that the clip is right when every feature is 0.
    pub bias: f32,
    /// One weight per feature.
    pub weights: [f32; FEATURES],
}

impl GapModel {
    /// The probability that the chosen clip shows its step.
    pub fn probability(&self, features: &[f32; FEATURES]) -> f32 {
        probability(self.log_odds(features))
    }

    pub fn log_odds(&self, features: &[f32; FEATURES]) -> f32 {
        let sum: f32 = self.weights.iter().zip(features).map(|(weight, x)| weight * x).sum();
        self.bias + sum
    }
}

/// The match of each chosen clip; none where a step has no clip.
pub fn chosen<'a>(sequence: &Sequence, map: &'a StepMap) -> Vec<Option<&'a Match>> {
    let steps = sequence.0.iter().zip(&map.steps);
    steps.map(|(clip, matches)| clip.and_then(|clip| find(matches, clip))).collect()
}

/// What describes the chosen clip of a step; none where it has no clip. `map` is M as the search had it,
/// `all` the same with unlikely matches.
///
/// In the order of the weights: the clip's log-odds; how many of its neighbours (0 to 2) come from its
/// video in order; the mean log-odds of the other steps' clips; what was given up against the step's best
/// clip; its highest log-odds for another step; the share of the other steps that its video shows; how far
/// it stands out from the library's ordinary clips.
pub fn features(
    step: usize,
    chosen: &[Option<&Match>],
    map: &StepMap,
    all: &StepMap,
    pool: &Pool,
) -> Option<[f32; FEATURES]> {
    let found = chosen[step]?;
    let odds = found.log_odds();
    let video = |clip: ClipId| pool.clip(clip).video;
    let others = || chosen.iter().enumerate().filter(|(other, _)| *other != step);
    let other_odds: Vec<f32> = others().filter_map(|(_, m)| m.map(Match::log_odds)).collect();
    let before = chosen[..step].iter().rev().flatten().next();
    let after = chosen[step + 1..].iter().flatten().next();
    let neighbours = [
        before.is_some_and(|before| follows(before.clip, found.clip, pool)),
        after.is_some_and(|after| follows(found.clip, after.clip, pool)),
    ];
    let same_video =
        others().filter(|(_, m)| m.is_some_and(|m| video(m.clip) == video(found.clip))).count();
    let best = map.steps[step].first().map_or(odds, Match::log_odds);
    let rival = others()
        .filter_map(|(other, _)| find(&all.steps[other], found.clip))
        .map(Match::log_odds)
        .fold(NO_RIVAL_LOG_ODDS, f32::max);
    let matches = &all.steps[step];
    let ordinary = matches.get(ORDINARY_RANK).or(matches.last()).map_or(odds, Match::log_odds);
    Some([
        odds,
        neighbours.iter().filter(|near| **near).count() as f32,
        other_odds.iter().sum::<f32>() / other_odds.len().max(1) as f32,
        odds - best,
        rival,
        same_video as f32 / (chosen.len() - 1).max(1) as f32,
        odds - ordinary,
    ])
}

/// Candidates with their scores, best first; never empty.
pub type Ranked = Vec<(Sequence, f32)>;

/// What is thought of a sequence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// How likely each clip shows its step.
    pub shown: Vec<Option<f32>>,
    /// The steps whose clip does not, each with another clip that does, where there is one.
    pub refused: Vec<(usize, Option<ClipId>)>,
}

/// Solves, judges, and solves again with what was refused replaced or left out: a wrong clip may have pulled
/// its neighbours to its source, and the step's own best clip may have lost to theirs. Clips that do not
/// change keep their probability; the others are judged again.
pub fn settle<E>(
    map: &mut StepMap,
    solve: impl Fn(&StepMap) -> Result<Ranked, E>,
    judge: impl Fn(&Sequence, &StepMap) -> Judgement,
) -> Result<(Ranked, Vec<Option<f32>>), E> {
    let ranked = solve(map)?;
    let first = &ranked[0].0;
    let Judgement { shown, refused } = judge(first, map);
    if refused.is_empty() {
        return Ok((ranked, shown));
    }
    for (step, instead) in refused {
        map.steps[step].retain(|found| Some(found.clip) == instead);
    }
    let mut again = solve(map)?;
    let best = &mut again[0].0;
    let Judgement { shown: mut judged, refused } = judge(best, map);
    for step in 0..judged.len() {
        if best.0[step] == first.0[step] {
            judged[step] = shown[step];
        } else if refused.iter().any(|(refused, _)| *refused == step) {
            best.0[step] = None;
        }
    }
    Ok((again, judged))
}

fn find(matches: &[Match], clip: ClipId) -> Option<&Match> {
    matches.iter().find(|found| found.clip == clip)
}

/// Whether the second clip stands after the first one in the same video.
fn follows(first: ClipId, second: ClipId, pool: &Pool) -> bool {
    let (first, second) = (pool.clip(first), pool.clip(second));
    first.video == second.video && first.span.start() < second.span.start()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::{Evidence, log_probability};
    use crate::clip::{Clip, Span, VideoId};
    use crate::features::Features;

    fn pool() -> Pool {
        let clip = |video, start| Clip {
            video: VideoId(video),
            span: Span::new(start, start + 1000).unwrap(),
            text: String::new(),
        };
        let rows = Features::new(1, vec![1.0; 4]).unwrap();
        let clips = vec![clip(1, 0), clip(1, 5000), clip(1, 9000), clip(2, 0)];
        Pool::new(clips, rows.clone(), rows).unwrap()
    }

    fn map(steps: &[&[(u32, f32)]]) -> StepMap {
        let found = |(clip, log_odds): &(u32, f32)| Match {
            clip: ClipId(*clip),
            evidence: Evidence::default(),
            log_prob: log_probability(*log_odds),
        };
        StepMap { steps: steps.iter().map(|step| step.iter().map(found).collect()).collect() }
    }

    #[test]
    fn neighbours_rivals_and_what_was_given_up_are_counted() {
        let map = map(&[&[(0, 2.0)], &[(3, 1.0), (1, -1.0)], &[], &[(2, 3.0), (1, 0.5)]]);
        let sequence = Sequence(vec![Some(ClipId(0)), Some(ClipId(1)), None, Some(ClipId(2))]);
        let features = |sequence: &Sequence, step: usize| {
            super::features(step, &chosen(sequence, &map), &map, &map, &pool())
        };
        let found: Vec<_> = (0..4).map(|step| features(&sequence, step)).collect();
        let near = |a: &[f32; FEATURES], b: [f32; FEATURES]| {
            a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3)
        };
        assert!(near(&found[0].unwrap(), [2.0, 1.0, 1.0, 0.0, -4.0, 2.0 / 3.0, 0.0]), "{found:?}");
        assert!(near(&found[1].unwrap(), [-1.0, 2.0, 2.5, -2.0, 0.5, 2.0 / 3.0, 0.0]), "{found:?}");
        assert_eq!(found[2], None);
        let twice = Sequence(vec![Some(ClipId(0)), Some(ClipId(3)), None, Some(ClipId(2))]);
        let found = features(&twice, 1).unwrap();
        assert!(near(&found, [1.0, 0.0, 2.5, 0.0, -4.0, 0.0, 2.0]), "{found:?}");
    }

    /// Clips 0 and 4 are refused at first; 5 takes the place of 4, and nothing that of 0. Then the
    /// solution changes: 7 is refused, 8 is not, and 1 would be judged lower.
    #[test]
    fn what_is_refused_is_replaced_or_left_out_and_its_neighbours_solved_again() {
        let found: [&[(u32, f32)]; 5] =
            [&[(0, 0.0)], &[(1, 0.0)], &[(2, 0.0)], &[(3, 0.0)], &[(4, 0.0), (5, -1.0)]];
        let mut map = map(&found);
        let is_first = |map: &StepMap| map.gaps().is_empty();
        let solve = |map: &StepMap| {
            let others = if is_first(map) { [1, 2, 3] } else { [1, 8, 7] }.map(ClipId).map(Some);
            let best = |step: usize| map.steps[step].first().map(|found| found.clip);
            let clips = [&[best(0)], &others[..], &[best(4)]].concat();
            Ok::<_, ()>(vec![(Sequence(clips), 1.0)])
        };
        let judge = |best: &Sequence, map: &StepMap| {
            let of = |clip: Option<ClipId>| match (clip?.0, is_first(map)) {
                (0 | 4 | 7, _) | (1, false) => Some(0.1),
                _ => Some(0.9),
            };
            let shown: Vec<Option<f32>> = best.0.iter().map(|clip| of(*clip)).collect();
            let refused = (0..shown.len()).filter(|step| shown[*step] == Some(0.1));
            let instead = |step| (step, (step == 4).then_some(ClipId(5)));
            Judgement { refused: refused.map(instead).collect(), shown }
        };
        let (ranked, shown) = settle(&mut map, solve, judge).unwrap();
        let clips = [None, Some(1), Some(8), None, Some(5)].map(|clip| clip.map(ClipId));
        assert_eq!(ranked[0].0.0, clips);
        assert_eq!((shown[1], shown[2], shown[4]), (Some(0.9), Some(0.9), Some(0.9)));
    }

    #[test]
    fn the_model_is_logistic() {
        let model = GapModel { bias: -1.0, weights: [1.0, 0.5, 0.0, -2.0, 0.0, 0.0, 0.0] };
        assert_eq!(model.probability(&[1.0, 0.0, 9.0, 0.0, 9.0, 9.0, 9.0]), 0.5);
        assert!(model.probability(&[1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]) > 0.7);
        assert!(model.probability(&[1.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0]) < 0.3);
    }
}
