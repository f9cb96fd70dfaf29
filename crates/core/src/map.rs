//! M: for each step of the query the clips that may show it.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use crate::belief::{Belief, Evidence, Logit, log_probability};
use crate::clip::ClipId;
use crate::features::{Features, Rows, similarity};
use crate::pool::Pool;
use crate::shortlist::{Linear, StepOdds};
use crate::words::stems;

/// The query as M needs it; row i of both features belongs to text i.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'a> {
    pub texts: &'a [String],
    /// The texts by the sentence encoder.
    pub text: &'a Features,
    /// The texts by F_M's text tower.
    pub clip: &'a Features,
    /// The steps understood in their procedure, where they were.
    pub context: Option<Context<'a>>,
}

/// The steps understood in their procedure; row i belongs to step i.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// In the space of the sentence encoder.
    pub text: &'a Features,
    /// In the space of F_M's clips, where its text tower stands on the sentence encoder.
    pub clip: Option<&'a Features>,
}

/// A clip that may show a step, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    pub clip: ClipId,
    pub evidence: Evidence,
    /// The natural logarithm of the probability that the clip shows the step. The sum over a sequence is
    /// that of the probability that every clip is right.
    pub log_prob: f32,
}

/// M: for each step its matches, best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepMap {
    pub steps: Vec<Vec<Match>>,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MapError {
    /// An encoder saw other steps.
    #[error("{texts} steps have {rows} {which} features: encode all alike")]
    Steps { texts: usize, which: &'static str, rows: usize },
    /// The query and the pool come from different encoders.
    #[error(
        "the query's {which} features have {query} numbers and the library's {pool}: encode the \
         query with the library's encoder, or index the library again"
    )]
    Dimensions { which: &'static str, query: usize, pool: usize },
}

impl StepMap {
    /// The steps that nothing shows, counted from 0.
    pub fn gaps(&self) -> Vec<usize> {
        (0..self.steps.len()).filter(|step| self.steps[*step].is_empty()).collect()
    }

    /// The matches whose log-probability is at most `margin` below that of their step's best.
    pub fn within(&self, margin: f32) -> Self {
        let near = |matches: &Vec<Match>| {
            let least = matches.first().map_or(f32::INFINITY, |best| best.log_prob - margin);
            matches.iter().filter(|found| found.log_prob >= least).copied().collect()
        };
        Self { steps: self.steps.iter().map(near).collect() }
    }

    /// The different texts of each step's best matches, at most `most` of a step, with their steps.
    pub fn best_texts<'a>(&self, pool: &'a Pool, most: usize) -> Vec<(usize, &'a str)> {
        let mut texts = Vec::new();
        for (step, matches) in self.steps.iter().enumerate() {
            let first = texts.len();
            for found in matches.iter().filter(|found| found.evidence.text.is_some()) {
                let text = (step, pool.clip(found.clip).text.as_str());
                if texts.len() < first + most && !texts[first..].contains(&text) {
                    texts.push(text);
                }
            }
        }
        texts
    }

    /// Adds what the cross-encoder says of some texts, and sorts anew.
    pub fn add_cross(&mut self, said: &HashMap<(usize, &str), f32>, pool: &Pool, belief: &Belief) {
        for (step, matches) in self.steps.iter_mut().enumerate() {
            for found in matches.iter_mut().filter(|found| found.evidence.text.is_some()) {
                let text = pool.clip(found.clip).text.as_str();
                found.evidence.cross = said.get(&(step, text)).copied();
                let log_odds = belief.log_odds(&found.evidence);
                found.log_prob = log_odds.map_or(found.log_prob, log_probability);
            }
            matches.sort_unstable_by(Match::order);
            if matches.iter().any(|found| found.evidence.cross.is_some()) {
                compete(matches, belief.cross.behind);
            }
        }
    }
}

/// Lowers each clip of a step by how far it is behind the best, the first.
fn compete(matches: &mut [Match], behind: f32) {
    let best = matches.first().map_or(0.0, Match::log_odds);
    for found in matches {
        let own = found.log_odds();
        found.log_prob = log_probability(own + behind * (own - best));
    }
}

impl Match {
    pub fn probability(&self) -> f32 {
        self.log_prob.exp()
    }

    pub fn log_odds(&self) -> f32 {
        self.log_prob - (-self.log_prob.exp_m1()).max(f32::MIN_POSITIVE).ln()
    }

    /// Best first; among equals the clip that stands first in the pool.
    fn order(&self, other: &Self) -> Ordering {
        other.log_prob.total_cmp(&self.log_prob).then(self.clip.cmp(&other.clip))
    }
}

/// Words can raise a clip: so many times more matches than are kept are taken by meaning first.
const WIDER: usize = 4;

/// S: at most `top` clips of the pool for each step, best first, among those that it may be shown by.
pub fn map(
    steps: &Steps<'_>,
    pool: &Pool,
    allowed: impl Fn(usize, ClipId) -> bool + Sync,
    belief: &Belief,
    top: usize,
) -> Result<StepMap, MapError> {
    check(steps, pool)?;
    let count = steps.texts.len();
    let Some(first) = pool.shortlist() else {
        let clips = (0..pool.len() as u32).map(ClipId);
        let all = clips.flat_map(|clip| (0..count).map(move |step| (clip, step)));
        return Ok(among(
            all.filter(|(clip, step)| allowed(*step, *clip)),
            steps,
            pool,
            belief,
            top,
        ));
    };
    let odds: Vec<StepOdds> = (0..count).map(|step| step_odds(steps, step, belief)).collect();
    let pairs = first.shortlist(&odds, &allowed, top.saturating_mul(WIDER));
    Ok(among(pairs.into_iter(), steps, pool, belief, top))
}

/// The same among a few clips, given with their steps, sorted.
pub fn map_among(
    pairs: &[(ClipId, usize)],
    steps: &Steps<'_>,
    pool: &Pool,
    belief: &Belief,
    top: usize,
) -> Result<StepMap, MapError> {
    check(steps, pool)?;
    Ok(among(pairs.iter().copied(), steps, pool, belief, top))
}

fn among(
    pairs: impl Iterator<Item = (ClipId, usize)>,
    steps: &Steps<'_>,
    pool: &Pool,
    belief: &Belief,
    top: usize,
) -> StepMap {
    let mut found = by_meaning(pairs, steps, pool, belief, top.saturating_mul(WIDER));
    by_words(&mut found, steps.texts, pool, belief);
    found.iter_mut().for_each(|matches| matches.truncate(top));
    StepMap { steps: found }
}

/// The best clips by what text and clip say.
fn by_meaning(
    pairs: impl Iterator<Item = (ClipId, usize)>,
    steps: &Steps<'_>,
    pool: &Pool,
    belief: &Belief,
    most: usize,
) -> Vec<Vec<Match>> {
    let mut best = vec![Best::new(most); steps.texts.len()];
    let read = |clip: ClipId| {
        let text = there(pool.text_features().row(clip.row()));
        (clip, text, there(pool.clip_features().row(clip.row())))
    };
    // Clip after clip, so that the pool, far larger than the query, is read once.
    let mut last = None;
    for (clip, step) in pairs {
        let rows = last.take().filter(|(last, _, _)| *last == clip).unwrap_or_else(|| read(clip));
        let (_, text, picture) = last.insert(rows);
        let text_cosine = |of: &Features| Some(similarity(of.row(step), text.as_deref()?));
        let clip_cosine = |of: &Features| Some(similarity(of.row(step), picture.as_deref()?));
        let context = steps.context;
        let evidence = Evidence {
            text: text_cosine(steps.text),
            words: None,
            clip: clip_cosine(steps.clip),
            context: context.and_then(|context| text_cosine(context.text)),
            context_clip: context.and_then(|context| clip_cosine(context.clip?)),
            cross: None,
        };
        if let Some(log_odds) = belief.log_odds(&evidence) {
            best[step].offer(Match { clip, evidence, log_prob: log_probability(log_odds) });
        }
    }
    best.into_iter().map(Best::into_sorted).collect()
}

/// A row that says something.
fn there(row: Cow<'_, [f32]>) -> Option<Cow<'_, [f32]>> {
    row.iter().any(|x| *x != 0.0).then_some(row)
}

/// What [`by_meaning`] computes for a step, in each case of the belief.
fn step_odds(steps: &Steps<'_>, step: usize, belief: &Belief) -> StepOdds {
    let context = steps.context;
    // Where a step is not understood in its procedure, its own words stand in.
    let text = [steps.text, context.map_or(steps.text, |context| context.text)];
    let clip = [steps.clip, context.and_then(|context| context.clip).unwrap_or(steps.clip)];
    let linear = |logit: &Logit, has_text: bool, has_clip: bool| {
        let keep = |is_there: bool, weight: f32| if is_there { weight } else { 0.0 };
        let text_weights = [logit.text, logit.context].map(|weight| keep(has_text, weight));
        let clip_weights = [logit.clip, logit.context_clip].map(|weight| keep(has_clip, weight));
        let weights = text_weights.iter().chain(&clip_weights).map(|weight| weight.abs());
        let terms = (steps.text.dim() + steps.clip.dim() + 64) as f32;
        Linear {
            bias: logit.bias,
            text: weighted(text.map(|rows| rows.row(step)), text_weights),
            clip: weighted(clip.map(|rows| rows.row(step)), clip_weights),
            rounding: f32::EPSILON * terms * (logit.bias.abs() + weights.sum::<f32>()),
        }
    };
    StepOdds {
        both: linear(&belief.both, true, true),
        text: linear(&belief.text, true, false),
        clip: linear(&belief.clip, false, true),
    }
}

fn weighted([a, b]: [&[f32]; 2], [of_a, of_b]: [f32; 2]) -> Vec<f32> {
    a.iter().zip(b).map(|(x, y)| of_a * x + of_b * y).collect()
}

/// Adds what the shared words of step and clip say, and sorts anew.
fn by_words(found: &mut [Vec<Match>], texts: &[String], pool: &Pool, belief: &Belief) {
    let rarity = pool.rarity();
    for (matches, text) in found.iter_mut().zip(texts) {
        let step = stems(text);
        for found in matches.iter_mut().filter(|found| found.evidence.text.is_some()) {
            let clip = stems(&pool.clip(found.clip).text);
            found.evidence.words = Some(rarity.shared_stems(&step, &clip));
            let log_odds = belief.log_odds(&found.evidence);
            found.log_prob = log_odds.map_or(found.log_prob, log_probability);
        }
        matches.sort_unstable_by(Match::order);
    }
}

fn check(steps: &Steps<'_>, pool: &Pool) -> Result<(), MapError> {
    let texts = steps.texts.len();
    let same = |which, query: &Features, pool: &dyn Rows| {
        if query.len() != texts {
            return Err(MapError::Steps { texts, which, rows: query.len() });
        }
        match query.dim() == pool.dim() {
            true => Ok(()),
            false => Err(MapError::Dimensions { which, query: query.dim(), pool: pool.dim() }),
        }
    };
    same("sentence", steps.text, pool.text_features())?;
    same("clip", steps.clip, pool.clip_features())?;
    if let Some(Context { text, clip }) = steps.context {
        same("sentence", text, pool.text_features())?;
        clip.map_or(Ok(()), |clip| same("clip", clip, pool.clip_features()))?;
    }
    Ok(())
}

/// The best matches of one step so far, and at most as many that may yet prove worse.
#[derive(Clone)]
struct Best {
    most: usize,
    least: f32,
    matches: Vec<Match>,
}

impl Best {
    fn new(most: usize) -> Self {
        Self { most, least: f32::NEG_INFINITY, matches: Vec::new() }
    }

    fn offer(&mut self, offered: Match) {
        if offered.log_prob >= self.least && self.most > 0 {
            self.matches.push(offered);
            if self.matches.len() >= self.most.saturating_mul(2).max(64) {
                self.shrink();
            }
        }
    }

    /// Keeps the best; from now on a match must be at least as good as the worst of them.
    fn shrink(&mut self) {
        if self.matches.len() > self.most {
            let (_, worst, _) = self.matches.select_nth_unstable_by(self.most - 1, Match::order);
            self.least = self.least.max(worst.log_prob);
            self.matches.truncate(self.most);
        }
    }

    fn into_sorted(mut self) -> Vec<Match> {
        self.shrink();
        self.matches.sort_unstable_by(Match::order);
        self.matches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::Stacked;
    use crate::clip::{Clip, Span, VideoId};
    use proptest::prelude::*;

    const LOGIT: Logit =
        Logit { bias: -2.0, text: 3.0, words: 2.0, clip: 2.0, context: 1.5, context_clip: 0.5 };
    const BELIEF: Belief =
        Belief { both: LOGIT, text: LOGIT, clip: LOGIT, cross: Stacked::WITHOUT };

    fn pool(text: Features, clip: Features) -> Pool {
        let span = Span::new(0, 1000).unwrap();
        let a_clip = |i| Clip { video: VideoId(i), span, text: said(i as usize) };
        Pool::new((0..text.len() as u32).map(a_clip).collect(), text, clip).unwrap()
    }

    fn said(row: usize) -> String {
        ["Chop the onion", "Sand the stool", "Chop and sand", ""][row % 4].into()
    }

    fn texts(count: usize) -> Vec<String> {
        (0..count).map(|step| said(step + 1)).collect()
    }

    /// Few distinct directions, so that ties happen.
    fn features(rows: std::ops::Range<usize>) -> impl Strategy<Value = Features> {
        prop::collection::vec((-2i8..3).prop_map(f32::from), rows.start * 3..rows.end * 3).prop_map(
            |mut numbers| {
                numbers.truncate(numbers.len() / 3 * 3);
                Features::new(3, numbers).unwrap()
            },
        )
    }

    /// Every match, sorted, then cut.
    fn naive(steps: &Steps, pool: &Pool, top: usize, margin: f32) -> Vec<Vec<Match>> {
        let rarity = pool.rarity();
        let one = |step: usize| {
            let mut all: Vec<Match> = (0..pool.len())
                .filter(|row| row % 5 != 4)
                .filter_map(|row| {
                    let clip = pool.clip(ClipId(row as u32));
                    let text = there(pool.text_features().row(row));
                    let evidence = Evidence {
                        text: text.as_deref().map(|row| similarity(steps.text.row(step), row)),
                        words: text.as_deref().map(|_| {
                            rarity.shared_stems(&stems(&steps.texts[step]), &stems(&clip.text))
                        }),
                        clip: there(pool.clip_features().row(row))
                            .map(|row| similarity(steps.clip.row(step), &row)),
                        context: there(pool.text_features().row(row))
                            .map(|row| similarity(steps.context.unwrap().text.row(step), &row)),
                        context_clip: there(pool.clip_features().row(row))
                            .map(|row| similarity(steps.context.unwrap().text.row(step), &row)),
                        cross: None,
                    };
                    let log_prob = log_probability(BELIEF.log_odds(&evidence)?);
                    Some(Match { clip: ClipId(row as u32), evidence, log_prob })
                })
                .collect();
            all.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob).then_with(|| a.clip.cmp(&b.clip)));
            let best = all.first().map_or(f32::NEG_INFINITY, |best| best.log_prob);
            all.retain(|found| found.log_prob >= best - margin);
            all.truncate(top);
            all
        };
        (0..steps.texts.len()).map(one).collect()
    }

    proptest! {
        #[test]
        fn the_same_as_sorting_everything(
            steps in features(1..4), rows in features(100..300),
            top in 75usize..120, margin in 0.0f32..3.0
        ) {
            let mut turned = rows.as_slice().to_vec();
            turned.rotate_left(1);
            let pool = pool(rows.clone(), Features::new(3, turned).unwrap());
            let allowed = |_: usize, clip: ClipId| clip.row() % 5 != 4;
            let mut understood = steps.as_slice().to_vec();
            understood.rotate_left(3);
            let understood = Features::new(3, understood).unwrap();
            let context = Some(Context { text: &understood, clip: Some(&understood) });
            let texts = texts(steps.len());
            let steps = Steps { texts: &texts, text: &steps, clip: &steps, context };
            let found = map(&steps, &pool, allowed, &BELIEF, top).unwrap();
            prop_assert_eq!(found.within(margin).steps, naive(&steps, &pool, top, margin));
        }
    }

    #[test]
    fn what_is_said_of_a_text_counts_for_all_clips_that_say_it() {
        // The texts are those of `said`, the last without any.
        let rows = Features::new(1, vec![0.5, 0.6, 0.7, 0.8, 0.9]).unwrap();
        let steps = Features::new(1, vec![1.0, 1.0]).unwrap();
        let texts = texts(2);
        let steps = Steps { texts: &texts, text: &steps, clip: &steps, context: None };
        let pool = pool(rows.clone(), rows);
        let belief =
            Belief { cross: Stacked { cross: 1.0, odds: 0.0, ..Stacked::WITHOUT }, ..BELIEF };
        let mut map = map(&steps, &pool, |_, _| true, &belief, 9).unwrap();
        let asked = map.best_texts(&pool, 2);
        assert_eq!(asked.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [0, 0, 1, 1]);
        assert!(asked.iter().all(|(step, text)| {
            map.steps[*step][..3].iter().any(|found| pool.clip(found.clip).text == *text)
        }));
        let before = map.steps[0].clone();
        map.add_cross(&HashMap::from([((1, "Chop the onion"), 50.0)]), &pool, &belief);
        assert_eq!(map.steps[0], before, "nothing was said for this step");
        let best: Vec<u32> = map.steps[1][..2].iter().map(|found| found.clip.0).collect();
        assert_eq!(best, [0, 4]);
    }

    #[test]
    fn a_sure_clip_makes_the_others_of_its_step_less_likely() {
        let rows = Features::new(1, vec![0.5, 0.6]).unwrap();
        let steps = Features::new(1, vec![1.0]).unwrap();
        let texts = texts(1);
        let steps = Steps { texts: &texts, text: &steps, clip: &steps, context: None };
        let pool = pool(rows.clone(), rows);
        let log_odds = |first: f32, behind: f32| {
            let cross = Stacked { cross: 1.0, odds: 0.0, behind, ..Stacked::WITHOUT };
            let belief = Belief { cross, ..BELIEF };
            let mut map = map(&steps, &pool, |_, _| true, &belief, 9).unwrap();
            let said =
                HashMap::from([((0, "Chop the onion"), first), ((0, "Sand the stool"), 1.0)]);
            map.add_cross(&said, &pool, &belief);
            let of = |clip| map.steps[0].iter().find(|found| found.clip == ClipId(clip)).unwrap();
            [of(0).log_odds(), of(1).log_odds()]
        };
        let near = |a: [f32; 2], b: [f32; 2]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
        assert!(near(log_odds(5.0, 0.0), [5.0, 1.0]));
        assert!(near(log_odds(5.0, 0.5), [5.0, -1.0]));
        assert!(log_odds(2.0, 0.5)[1] > log_odds(5.0, 0.5)[1]);
    }

    #[test]
    fn what_no_sense_knows_is_never_a_match() {
        let rows = Features::new(2, vec![1.0, 0.0, 0.8, 0.6, 0.0, 0.0]).unwrap();
        let steps = Features::new(2, vec![1.0, 0.0]).unwrap();
        let texts = ["x".into()];
        let steps = Steps { texts: &texts, text: &steps, clip: &steps, context: None };
        let pool = pool(rows.clone(), rows);
        let found = map(&steps, &pool, |_, _| true, &BELIEF, 5).unwrap();
        let clips: Vec<ClipId> = found.steps[0].iter().map(|found| found.clip).collect();
        assert_eq!(clips, [ClipId(0), ClipId(1)]);
        assert_eq!(found.within(0.01).steps[0].len(), 1);
    }

    #[test]
    fn foreign_features_are_told() {
        let rows = Features::new(2, vec![1.0, 0.0]).unwrap();
        let pool = pool(rows.clone(), rows.clone());
        let wide = Features::new(3, vec![1.0; 3]).unwrap();
        let texts = texts(1);
        let asked = |text: &Features, clip: &Features| {
            let steps = Steps { texts: &texts, text, clip, context: None };
            map(&steps, &pool, |_, _| true, &BELIEF, 5)
        };
        let dimensions = MapError::Dimensions { which: "clip", query: 3, pool: 2 };
        assert_eq!(asked(&rows, &wide), Err(dimensions));
        let counts = MapError::Steps { texts: 1, which: "clip", rows: 0 };
        let none = Features::empty(2);
        assert_eq!(asked(&rows, &none), Err(counts));
    }
}
