//! How good a candidate sequence is: the interface of F_R and of everything it is compared with,
//! and average similarity.

use stitch_core::clip::ClipId;
use stitch_core::cover::Sequence;
use stitch_core::features::{Features, similarity};
use stitch_core::gaps::GapModel;
use stitch_core::map::StepMap;
use stitch_core::pool::Pool;

use crate::encoder::EncoderId;
use crate::models::Store;
use crate::moments::Moments;

/// The procedure to score candidates of; row i of both features belongs to step i.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    pub texts: &'a [String],
    pub text: &'a Features,
    /// By F_M's text tower, in the space of the clips.
    pub clip: &'a Features,
    /// What the search knows, where there was one.
    pub search: Option<Search<'a>>,
}

/// M and the pictures of its clips.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// M as candidates are made of it.
    pub used: &'a StepMap,
    /// The same with unlikely matches.
    pub all: &'a StepMap,
    pub moments: &'a Moments,
    /// How gaps are decided without F_R.
    pub gap_model: GapModel,
}

/// Why candidates have no score.
#[derive(Debug, thiserror::Error)]
pub enum ScorerError {
    #[error("a candidate has {found} steps, the procedure {expected}")]
    Steps { expected: usize, found: usize },
    #[error("a candidate shows clip {clip}, the library has {clips}; index it again")]
    Clip { clip: usize, clips: usize },
    #[error(
        "the steps have features of {query} numbers, the clips of {pool}, and the scorer takes \
        {scorer}; index the library with the encoder that the scorer was made for"
    )]
    Dim { query: usize, pool: usize, scorer: usize },
    #[error(
        "there is no {scorer} for the encoder `{encoder}`; leave out `--scorer {scorer}`, or make \
        one with `stitch train`"
    )]
    NoModel { scorer: &'static str, encoder: String },
    #[error(transparent)]
    Load(Box<dyn std::error::Error + Send + Sync>),
    #[error("the candidates could not be scored: {0}")]
    Failed(#[from] Box<dyn std::error::Error + Send + Sync>),
}

/// One score per candidate.
pub type Scores = Result<Vec<f32>, ScorerError>;

/// F_R, or anything in its place.
pub trait Scorer: Send + Sync {
    fn name(&self) -> &str;

    /// Higher is better. Scores of different queries need not compare.
    fn score(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Scores;

    /// Whether it compares answers with different gaps, and nothing is added to its scores.
    fn decides(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy)]
pub struct ScorerModels<'a> {
    pub store: &'a Store,
    pub encoder: &'a EncoderId,
}

pub type LoadScorer = fn(&ScorerModels) -> Result<Option<Box<dyn Scorer>>, ScorerError>;

#[derive(Clone, Copy, Debug)]
pub struct ScorerEntry {
    /// What [`Scorer::name`] says.
    pub name: &'static str,
    /// None where there is no model for the encoder.
    pub load: LoadScorer,
}

impl Query<'_> {
    /// M's log probability that the clip shows the step where M has the pair, else the cosine.
    fn similarity(&self, step: usize, clip: ClipId, pool: &Pool) -> f32 {
        let found = self
            .search
            .and_then(|search| search.used.steps.get(step)?.iter().find(|m| m.clip == clip));
        let by_encoder = || similarity(self.clip.row(step), &pool.clip_features().row(clip.row()));
        found.map_or_else(by_encoder, |found| found.log_prob)
    }

    /// An error unless query, pool and candidates belong together and have features of `dim` numbers.
    pub fn check(
        &self,
        pool: &Pool,
        candidates: &[Sequence],
        dim: usize,
    ) -> Result<(), ScorerError> {
        let (query, clips) = (self.clip.dim(), pool.clip_features().dim());
        if query != dim || clips != dim {
            return Err(ScorerError::Dim { query, pool: clips, scorer: dim });
        }
        let expected = self.clip.len();
        for Sequence(clips) in candidates {
            if clips.len() != expected {
                return Err(ScorerError::Steps { expected, found: clips.len() });
            }
            if let Some(clip) = clips.iter().flatten().find(|clip| clip.row() >= pool.len()) {
                return Err(ScorerError::Clip { clip: clip.row(), clips: pool.len() });
            }
        }
        Ok(())
    }
}

/// The mean similarity of steps and clips: M's log probability where it was made, else
/// cos(F_M(r_i), F_M(v_i)). A gap counts as 0; as all candidates of one query have the same
/// gaps, their order is that of the mean over the shown steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct AverageSimilarity;

impl AverageSimilarity {
    pub const ENTRY: ScorerEntry =
        ScorerEntry { name: "similarity", load: |_| Ok(Some(Box::new(Self))) };
}

impl Scorer for AverageSimilarity {
    fn name(&self) -> &str {
        Self::ENTRY.name
    }

    fn score(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Scores {
        query.check(pool, candidates, query.clip.dim())?;
        let one = |Sequence(clips): &Sequence| {
            let shown = clips.iter().zip(0..).filter_map(|(clip, step)| Some((step, (*clip)?)));
            let sum: f32 = shown.map(|(step, clip)| query.similarity(step, clip, pool)).sum();
            sum / clips.len().max(1) as f32
        };
        Ok(candidates.iter().map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use stitch_core::clip::{Clip, Span, VideoId};

    use super::*;

    fn features(rows: &[[f32; 2]]) -> Features {
        Features::new(2, rows.concat()).unwrap()
    }

    fn pool() -> Pool {
        let span = Span::new(0, 1).unwrap();
        let clip = Clip { video: VideoId(0), span, text: String::new() };
        let rows = features(&[[1.0, 0.0], [0.0, 1.0]]);
        Pool::new(vec![clip; 2], rows.clone(), rows).unwrap()
    }

    fn sequence(rows: &[i64]) -> Sequence {
        Sequence(rows.iter().map(|row| u32::try_from(*row).ok().map(ClipId)).collect())
    }

    #[test]
    fn the_mean_over_steps_with_gaps_at_nothing() {
        let steps = features(&[[1.0, 0.0], [0.6, 0.8]]);
        let texts = ["a".to_owned(), "b".to_owned()];
        let query = Query { texts: &texts, text: &steps, clip: &steps, search: None };
        let candidates = [[0, 1], [0, 0], [1, 0], [0, -1], [-1, -1]].map(|rows| sequence(&rows));
        let scores = AverageSimilarity.score(&query, &pool(), &candidates).unwrap();
        assert_eq!(scores, [0.9, 0.8, 0.3, 0.5, 0.0]);
    }

    #[test]
    fn what_does_not_belong_together_is_told() {
        let steps = features(&[[1.0, 0.0]]);
        let query = Query { texts: &[], text: &steps, clip: &steps, search: None };
        let score = |rows: &[i64]| AverageSimilarity.score(&query, &pool(), &[sequence(rows)]);
        assert!(matches!(score(&[0, 1]), Err(ScorerError::Steps { expected: 1, found: 2 })));
        assert!(matches!(score(&[2]), Err(ScorerError::Clip { clip: 2, clips: 2 })));
        let wide = Features::new(3, vec![1.0; 3]).unwrap();
        let query = Query { clip: &wide, ..query };
        let error = AverageSimilarity.score(&query, &pool(), &[]).unwrap_err();
        assert!(matches!(error, ScorerError::Dim { query: 3, pool: 2, scorer: 3 }));
    }
}
