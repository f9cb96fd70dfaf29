//! M: for each step of the query the clips that may show it.

use crate::belief::{Belief, Evidence, log_probability};
use crate::clip::ClipId;
use crate::features::{Features, similarity};
use crate::pool::Pool;
use crate::words::{Rarity, stems};
use std::cmp::Ordering;

/// What counts as a match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapOptions {
    /// S: the most matches of a step.
    pub top: usize,
    /// How likely the best clip must show its step; below that the step is a gap.
    pub threshold: Thresholds,
    /// How much less than the best clip another may be worth and still be a match: one that costs
    /// more than leaving for the best and coming back is never chosen.
    pub margin: f32,
}

/// Probabilities below which a step is a gap, 0 to 1, by the senses that spoke for its best clip: a
/// sense that tells steps apart less well is less sure of right clips too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Text and clip.
    pub both: f32,
    /// Text alone.
    pub text: f32,
    /// The clip alone.
    pub clip: f32,
}

impl Thresholds {
    /// One threshold whichever senses spoke.
    pub const fn always(threshold: f32) -> Self {
        Self { both: threshold, text: threshold, clip: threshold }
    }

    fn of(&self, evidence: &Evidence) -> f32 {
        match (evidence.text, evidence.clip) {
            (Some(_), Some(_)) => self.both,
            (Some(_), None) => self.text,
            _ => self.clip,
        }
    }
}

/// The query as M needs it; row i of both features belongs to text i.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'a> {
    /// The steps' texts.
    pub texts: &'a [String],
    /// The texts by the sentence encoder.
    pub text: &'a Features,
    /// The texts by F_M's text tower.
    pub clip: &'a Features,
}

/// A clip that may show a step, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// The clip.
    pub clip: ClipId,
    /// What the senses say.
    pub evidence: Evidence,
    /// The natural logarithm of the probability that the clip shows the step: what a sequence adds
    /// up, so that its sum is the logarithm of the probability that every clip is right.
    pub worth: f32,
}

/// M: for each step its matches, best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepMap {
    /// One list of matches for each step.
    pub steps: Vec<Vec<Match>>,
}

/// Why no map can be made.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum MapError {
    /// The two encoders saw different steps.
    #[error(
        "{texts} steps have {text} sentence features and {clip} multimodal ones: encode all alike"
    )]
    Steps {
        /// How many steps there are.
        texts: usize,
        /// How many steps the sentence encoder gave.
        text: usize,
        /// How many steps F_M gave.
        clip: usize,
    },
    /// The query and the pool come from different encoders.
    #[error(
        "the query's {which} features have {query} numbers and the library's {pool}: encode the \
         query with the library's encoder, or index the library again"
    )]
    Dimensions {
        /// Sentence or clip features.
        which: &'static str,
        /// The length of a query feature.
        query: usize,
        /// The length of a pool feature.
        pool: usize,
    },
    /// The threshold is no probability, or the margin no distance.
    #[error("thresholds ({threshold:?}) must be from 0 to 1, the margin ({margin}) at least 0")]
    Limits {
        /// The thresholds.
        threshold: Thresholds,
        /// The margin.
        margin: f32,
    },
}

impl StepMap {
    /// The steps that nothing shows, counted from 0.
    pub fn gaps(&self) -> Vec<usize> {
        (0..self.steps.len()).filter(|step| self.steps[*step].is_empty()).collect()
    }
}

impl Match {
    /// The probability that the clip shows the step.
    pub fn probability(&self) -> f32 {
        self.worth.exp()
    }

    /// Best first; among equals the clip that stands first in the pool.
    fn order(&self, other: &Self) -> Ordering {
        other.worth.total_cmp(&self.worth).then(self.clip.cmp(&other.clip))
    }
}

/// Words can raise a clip: so many times more matches than are kept are taken by meaning first.
const WIDER: usize = 4;

/// The best allowed clips of the pool for each step.
pub fn map(
    steps: &Steps<'_>,
    pool: &Pool,
    allowed: impl Fn(ClipId) -> bool,
    belief: &Belief,
    options: &MapOptions,
) -> Result<StepMap, MapError> {
    map_where(steps, pool, |_, clip| allowed(clip), belief, options)
}

/// The same where each step, by number, has clips of its own that it may be shown by.
pub fn map_where(
    steps: &Steps<'_>,
    pool: &Pool,
    allowed: impl Fn(usize, ClipId) -> bool,
    belief: &Belief,
    options: &MapOptions,
) -> Result<StepMap, MapError> {
    check(steps, pool, options)?;
    let mut found = by_meaning(steps, pool, allowed, belief, options.top.saturating_mul(WIDER));
    by_words(&mut found, steps.texts, pool, belief);
    found.iter_mut().for_each(|matches| keep_what_shows(matches, options));
    Ok(StepMap { steps: found })
}

/// The best clips by what text and clip say.
fn by_meaning(
    steps: &Steps<'_>,
    pool: &Pool,
    allowed: impl Fn(usize, ClipId) -> bool,
    belief: &Belief,
    most: usize,
) -> Vec<Vec<Match>> {
    let mut best = vec![Best::new(most); steps.texts.len()];
    // Clip after clip, so that the pool, far larger than the query, is read once.
    for row in 0..pool.len() {
        let clip = ClipId(row as u32);
        let mut wanted = (0..steps.texts.len()).filter(|step| allowed(*step, clip)).peekable();
        if wanted.peek().is_none() {
            continue;
        }
        let text = there(pool.text_features().row(row));
        let picture = there(pool.clip_features().row(row));
        for step in wanted {
            let text = text.map(|row| similarity(steps.text.row(step), row));
            let picture = picture.map(|row| similarity(steps.clip.row(step), row));
            let evidence = Evidence { text, words: None, clip: picture };
            if let Some(log_odds) = belief.log_odds(&evidence) {
                best[step].offer(Match { clip, evidence, worth: log_probability(log_odds) });
            }
        }
    }
    best.into_iter().map(Best::into_sorted).collect()
}

/// A row that says something.
fn there(row: &[f32]) -> Option<&[f32]> {
    row.iter().any(|x| *x != 0.0).then_some(row)
}

/// Adds what the shared words of step and clip say, and sorts anew.
fn by_words(found: &mut [Vec<Match>], texts: &[String], pool: &Pool, belief: &Belief) {
    let rarity = Rarity::of(pool);
    for (matches, text) in found.iter_mut().zip(texts) {
        let step = stems(text);
        for found in matches.iter_mut().filter(|found| found.evidence.text.is_some()) {
            let clip = stems(&pool.clip(found.clip).text);
            found.evidence.words = Some(rarity.shared_stems(&step, &clip));
            let log_odds = belief.log_odds(&found.evidence);
            found.worth = log_odds.map_or(found.worth, log_probability);
        }
        matches.sort_unstable_by(Match::order);
    }
}

/// Nothing if the best is too unlikely; else those that may pay.
fn keep_what_shows(matches: &mut Vec<Match>, options: &MapOptions) {
    let shows = |best: &&Match| best.probability() >= options.threshold.of(&best.evidence);
    let best = matches.first().filter(shows);
    let least = best.map_or(f32::INFINITY, |best| best.worth - options.margin);
    matches.retain(|found| found.worth >= least);
    matches.truncate(options.top);
}

fn check(steps: &Steps<'_>, pool: &Pool, options: &MapOptions) -> Result<(), MapError> {
    let (texts, text, clip) = (steps.texts.len(), steps.text.len(), steps.clip.len());
    if text != texts || clip != texts {
        return Err(MapError::Steps { texts, text, clip });
    }
    let same = |which, query: &Features, pool: &Features| match query.dim() == pool.dim() {
        true => Ok(()),
        false => Err(MapError::Dimensions { which, query: query.dim(), pool: pool.dim() }),
    };
    same("sentence", steps.text, pool.text_features())?;
    same("clip", steps.clip, pool.clip_features())?;
    let MapOptions { threshold, margin, .. } = *options;
    let Thresholds { both, text, clip } = threshold;
    let probable = [both, text, clip].iter().all(|each| (0.0..=1.0).contains(each));
    if !probable || !(0.0..=f32::INFINITY).contains(&margin) {
        return Err(MapError::Limits { threshold, margin });
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
        if offered.worth >= self.least && self.most > 0 {
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
            self.least = self.least.max(worst.worth);
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
    use crate::belief::Logit;
    use crate::clip::{Clip, Span, VideoId};
    use proptest::prelude::*;

    const BELIEF: Belief = Belief::always(Logit { bias: -2.0, text: 3.0, words: 2.0, clip: 2.0 });

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
    fn naive(steps: &Steps, pool: &Pool, options: &MapOptions) -> Vec<Vec<Match>> {
        let rarity = Rarity::of(pool);
        let one = |step: usize| {
            let mut all: Vec<Match> = (0..pool.len())
                .filter(|row| row % 5 != 4)
                .filter_map(|row| {
                    let clip = pool.clip(ClipId(row as u32));
                    let text = there(pool.text_features().row(row));
                    let evidence = Evidence {
                        text: text.map(|row| similarity(steps.text.row(step), row)),
                        words: text.map(|_| rarity.shared(&steps.texts[step], &clip.text)),
                        clip: there(pool.clip_features().row(row))
                            .map(|row| similarity(steps.clip.row(step), row)),
                    };
                    let worth = log_probability(BELIEF.log_odds(&evidence)?);
                    Some(Match { clip: ClipId(row as u32), evidence, worth })
                })
                .collect();
            all.sort_by(|a, b| b.worth.total_cmp(&a.worth).then_with(|| a.clip.cmp(&b.clip)));
            let best = all.first().map_or(f32::NEG_INFINITY, |best| best.worth);
            let shown = best.exp() >= options.threshold.both; // all alike here
            all.retain(|found| shown && found.worth >= best - options.margin);
            all.truncate(options.top);
            all
        };
        (0..steps.texts.len()).map(one).collect()
    }

    proptest! {
        #[test]
        fn the_same_as_sorting_everything(
            steps in features(1..4), rows in features(100..300),
            top in 75usize..120, threshold in 0.0f32..1.0, margin in 0.0f32..3.0
        ) {
            let mut turned = rows.as_slice().to_vec();
            turned.rotate_left(1);
            let pool = pool(rows.clone(), Features::new(3, turned).unwrap());
            let threshold = Thresholds::always(threshold);
            let options = MapOptions { top, threshold, margin };
            let allowed = |clip: ClipId| clip.row() % 5 != 4;
            let steps = Steps { texts: &texts(steps.len()), text: &steps, clip: &steps };
            let found = map(&steps, &pool, allowed, &BELIEF, &options).unwrap();
            prop_assert_eq!(found.steps, naive(&steps, &pool, &options));
        }
    }

    #[test]
    fn what_no_sense_knows_is_never_a_match_and_an_unlikely_step_is_a_gap() {
        let rows = Features::new(2, vec![1.0, 0.0, 0.8, 0.6, 0.0, 0.0]).unwrap();
        let steps = Features::new(2, vec![1.0, 0.0, 0.0, -1.0]).unwrap();
        let steps = Steps { texts: &["x".into(), "y".into()], text: &steps, clip: &steps };
        let options = MapOptions { top: 5, threshold: Thresholds::always(0.5), margin: 9.0 };
        let pool = pool(rows.clone(), rows);
        let found = map(&steps, &pool, |_| true, &BELIEF, &options).unwrap();
        assert_eq!(found.gaps(), [1]);
        let clips: Vec<ClipId> = found.steps[0].iter().map(|found| found.clip).collect();
        assert_eq!(clips, [ClipId(0), ClipId(1)]);
        let near = MapOptions { margin: 0.01, ..options };
        let found = map(&steps, &pool, |_| true, &BELIEF, &near).unwrap();
        assert_eq!(found.steps[0].len(), 1);
    }

    #[test]
    fn foreign_features_are_told() {
        let rows = Features::new(2, vec![1.0, 0.0]).unwrap();
        let pool = pool(rows.clone(), rows.clone());
        let wide = Features::new(3, vec![1.0; 3]).unwrap();
        let options = MapOptions { top: 5, threshold: Thresholds::always(0.0), margin: 1.0 };
        let texts = texts(1);
        let steps = Steps { texts: &texts, text: &rows, clip: &wide };
        let dimensions = MapError::Dimensions { which: "clip", query: 3, pool: 2 };
        assert_eq!(map(&steps, &pool, |_| true, &BELIEF, &options), Err(dimensions));
        let none = Features::empty(2);
        let counts = MapError::Steps { texts: 1, text: 1, clip: 0 };
        let steps = Steps { texts: &texts, text: &rows, clip: &none };
        assert_eq!(map(&steps, &pool, |_| true, &BELIEF, &options), Err(counts));
        let steps = Steps { texts: &texts, text: &rows, clip: &rows };
        for (threshold, margin) in [(f32::NAN, 1.0), (1.5, 1.0), (0.5, -1.0), (0.5, f32::NAN)] {
            let threshold = Thresholds { text: threshold, ..options.threshold };
            let wrong = MapOptions { threshold, margin, ..options };
            let found = map(&steps, &pool, |_| true, &BELIEF, &wrong);
            assert!(matches!(found, Err(MapError::Limits { .. })), "{threshold:?} {margin}");
        }
    }
}
