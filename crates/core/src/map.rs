//! M: for each step of the query the clips that may show it.

use crate::clip::ClipId;
use crate::features::{Features, similarity};
use crate::pool::Pool;
use std::cmp::Ordering;

/// What counts as a match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapOptions {
    /// S: the most matches of a step.
    pub top: usize,
    /// The least fused similarity of a match.
    pub threshold: f32,
    /// The share of the texts' similarity in the fused one, 0 to 1; the rest is text to clip.
    pub text_weight: f32,
}

/// A clip that may show a step, and how similar the two are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match {
    /// The clip.
    pub clip: ClipId,
    /// Similarity of the step's text with the clip's own.
    pub text: f32,
    /// Similarity of the step's text with the clip's picture.
    pub clip_similarity: f32,
    /// Both, weighed.
    pub similarity: f32,
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
    #[error("{text} steps have a sentence feature and {clip} a multimodal one: encode both alike")]
    Steps {
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
    /// The weight is no share.
    #[error("the text weight is {0}, it must lie between 0 and 1")]
    Weight(f32),
    /// The threshold is NaN.
    #[error("the similarity threshold is not a number")]
    Threshold,
}

impl StepMap {
    /// The steps that nothing shows, counted from 0.
    pub fn gaps(&self) -> Vec<usize> {
        (0..self.steps.len()).filter(|step| self.steps[*step].is_empty()).collect()
    }
}

impl Match {
    /// Best first; among equals the clip that stands first in the pool.
    fn order(&self, other: &Self) -> Ordering {
        other.similarity.total_cmp(&self.similarity).then(self.clip.cmp(&other.clip))
    }
}

/// The best allowed clips of the pool for each step.
///
/// `step_text` are the steps by the sentence encoder, `step_clip` by F_M's text tower.
pub fn map(
    step_text: &Features,
    step_clip: &Features,
    pool: &Pool,
    allowed: impl Fn(ClipId) -> bool,
    options: &MapOptions,
) -> Result<StepMap, MapError> {
    check(step_text, step_clip, pool, options)?;
    let mut best = vec![Best::new(options); step_text.len()];
    // Clip after clip, so that the pool, far larger than the query, is read once.
    for row in 0..pool.len() {
        let clip = ClipId(row as u32);
        if !allowed(clip) {
            continue;
        }
        let (clip_text, picture) = (pool.text_features().row(row), pool.clip_features().row(row));
        for (step, best) in best.iter_mut().enumerate() {
            let text = similarity(step_text.row(step), clip_text);
            let clip_similarity = similarity(step_clip.row(step), picture);
            let fused = fuse(text, clip_similarity, options.text_weight);
            best.offer(Match { clip, text, clip_similarity, similarity: fused });
        }
    }
    Ok(StepMap { steps: best.into_iter().map(Best::into_sorted).collect() })
}

/// One similarity from two.
fn fuse(text: f32, clip: f32, text_weight: f32) -> f32 {
    text_weight * text + (1.0 - text_weight) * clip
}

fn check(
    step_text: &Features,
    step_clip: &Features,
    pool: &Pool,
    options: &MapOptions,
) -> Result<(), MapError> {
    if step_text.len() != step_clip.len() {
        return Err(MapError::Steps { text: step_text.len(), clip: step_clip.len() });
    }
    let same = |which, query: &Features, pool: &Features| match query.dim() == pool.dim() {
        true => Ok(()),
        false => Err(MapError::Dimensions { which, query: query.dim(), pool: pool.dim() }),
    };
    same("sentence", step_text, pool.text_features())?;
    same("clip", step_clip, pool.clip_features())?;
    if !(0.0..=1.0).contains(&options.text_weight) {
        return Err(MapError::Weight(options.text_weight));
    }
    if options.threshold.is_nan() {
        return Err(MapError::Threshold);
    }
    Ok(())
}

/// The best matches of one step so far, and at most as many that may yet prove worse.
#[derive(Clone)]
struct Best {
    top: usize,
    threshold: f32,
    matches: Vec<Match>,
}

impl Best {
    fn new(options: &MapOptions) -> Self {
        Self { top: options.top, threshold: options.threshold, matches: Vec::new() }
    }

    fn offer(&mut self, offered: Match) {
        if offered.similarity >= self.threshold && self.top > 0 {
            self.matches.push(offered);
            if self.matches.len() >= self.top.saturating_mul(2).max(64) {
                self.shrink();
            }
        }
    }

    /// Keeps the best; from now on a match must be at least as good as the worst of them.
    fn shrink(&mut self) {
        if self.matches.len() > self.top {
            let (_, worst, _) = self.matches.select_nth_unstable_by(self.top - 1, Match::order);
            self.threshold = self.threshold.max(worst.similarity);
            self.matches.truncate(self.top);
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
    use crate::clip::{Clip, Span, VideoId};
    use proptest::prelude::*;

    fn pool(text: Features, clip: Features) -> Pool {
        let span = Span::new(0, 1000).unwrap();
        let a_clip = |i| Clip { video: VideoId(i), span, text: String::new() };
        Pool::new((0..text.len() as u32).map(a_clip).collect(), text, clip).unwrap()
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
    fn naive(steps: &Features, pool: &Pool, options: &MapOptions) -> Vec<Vec<Match>> {
        let all = |step: &[f32]| {
            let mut all: Vec<Match> = (0..pool.len())
                .filter(|row| row % 5 != 4)
                .map(|row| {
                    let text = similarity(step, pool.text_features().row(row));
                    let clip = similarity(step, pool.clip_features().row(row));
                    let similarity = fuse(text, clip, options.text_weight);
                    Match { clip: ClipId(row as u32), text, clip_similarity: clip, similarity }
                })
                .filter(|found| found.similarity >= options.threshold)
                .collect();
            all.sort_by(|a, b| {
                b.similarity.total_cmp(&a.similarity).then_with(|| a.clip.cmp(&b.clip))
            });
            all.truncate(options.top);
            all
        };
        steps.rows().map(all).collect()
    }

    proptest! {
        #[test]
        fn the_same_as_sorting_everything(
            steps in features(1..4), rows in features(100..300),
            top in 0usize..80, threshold in -1.0f32..1.0, text_weight in 0.0f32..=1.0
        ) {
            let mut turned = rows.as_slice().to_vec();
            turned.rotate_left(1);
            let pool = pool(rows.clone(), Features::new(3, turned).unwrap());
            let options = MapOptions { top, threshold, text_weight };
            let allowed = |clip: ClipId| clip.row() % 5 != 4;
            let found = map(&steps, &steps, &pool, allowed, &options).unwrap();
            prop_assert_eq!(found.steps, naive(&steps, &pool, &options));
        }
    }

    #[test]
    fn a_step_below_the_threshold_is_a_gap() {
        let rows = Features::new(2, vec![1.0, 0.0, 0.8, 0.6]).unwrap();
        let steps = Features::new(2, vec![1.0, 0.0, 0.0, -1.0]).unwrap();
        let options = MapOptions { top: 5, threshold: 0.5, text_weight: 0.5 };
        let found = map(&steps, &steps, &pool(rows.clone(), rows), |_| true, &options).unwrap();
        assert_eq!(found.gaps(), [1]);
        let clips: Vec<ClipId> = found.steps[0].iter().map(|found| found.clip).collect();
        assert_eq!(clips, [ClipId(0), ClipId(1)]);
    }

    #[test]
    fn foreign_features_are_told() {
        let rows = Features::new(2, vec![1.0, 0.0]).unwrap();
        let pool = pool(rows.clone(), rows.clone());
        let wide = Features::new(3, vec![1.0; 3]).unwrap();
        let options = MapOptions { top: 5, threshold: 0.0, text_weight: 0.5 };
        let dimensions = MapError::Dimensions { which: "clip", query: 3, pool: 2 };
        assert_eq!(map(&rows, &wide, &pool, |_| true, &options), Err(dimensions));
        let none = Features::empty(2);
        let counts = MapError::Steps { text: 1, clip: 0 };
        assert_eq!(map(&rows, &none, &pool, |_| true, &options), Err(counts));
        let heavy = MapOptions { text_weight: 1.5, ..options };
        assert_eq!(map(&rows, &rows, &pool, |_| true, &heavy), Err(MapError::Weight(1.5)));
        let nan = MapOptions { threshold: f32::NAN, ..options };
        assert_eq!(map(&rows, &rows, &pool, |_| true, &nan), Err(MapError::Threshold));
    }
}
