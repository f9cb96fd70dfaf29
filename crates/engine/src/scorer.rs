//! How good a candidate sequence is: the interface of F_R and of everything it is compared with,
//! and average similarity.

use stitch_core::clip::ClipId;
use stitch_core::cover::Sequence;
use stitch_core::features::{Features, similarity};
use stitch_core::map::StepMap;
use stitch_core::pool::Pool;

use crate::encoder::EncoderId;
use crate::models::Store;
use crate::sentence::SentenceEncoder;

/// The procedure as a scorer sees it; row i of both features belongs to step i.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The step texts.
    pub texts: &'a [String],
    /// Their sentence features.
    pub text: &'a Features,
    /// Their features by F_M's text side, in the space of the clips.
    pub clip: &'a Features,
    /// M, where it was made; what it says of a step and a clip is more than F_M alone.
    pub map: Option<&'a StepMap>,
}

/// Why candidates have no score.
#[derive(Debug, thiserror::Error)]
pub enum ScorerError {
    /// A candidate is for another procedure.
    #[error("a candidate has {found} steps, the procedure {expected}")]
    Steps {
        /// The procedure's steps.
        expected: usize,
        /// The candidate's.
        found: usize,
    },
    /// A candidate shows a clip that the library does not have.
    #[error("a candidate shows clip {clip}, the library has {clips}; index it again")]
    Clip {
        /// The clip's row.
        clip: usize,
        /// How many rows there are.
        clips: usize,
    },
    /// The features come from different encoders.
    #[error(
        "the steps have features of {query} numbers, the clips of {pool}, and the scorer takes \
        {scorer}; index the library with the encoder that the scorer was made for"
    )]
    Dim {
        /// Of the query's steps.
        query: usize,
        /// Of the pool's clips.
        pool: usize,
        /// What the scorer takes.
        scorer: usize,
    },
    /// The scorer asked for has no model for this encoder.
    #[error(
        "there is no {scorer} for the encoder `{encoder}`; leave out `--scorer {scorer}`, or make \
        one with `stitch train`"
    )]
    NoModel {
        /// The scorer's name.
        scorer: &'static str,
        /// The encoder's name.
        encoder: String,
    },
    /// The scorer's model cannot be loaded.
    #[error(transparent)]
    Load(Box<dyn std::error::Error + Send + Sync>),
    /// The scorer failed by itself.
    #[error("the candidates could not be scored: {0}")]
    Failed(#[from] Box<dyn std::error::Error + Send + Sync>),
}

/// F_R, or anything that can stand in its place.
pub trait Scorer: Send + Sync {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// One score per candidate; higher is better. Scores of different queries need not compare.
    fn score(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<f32>, ScorerError>;
}

/// What scorers are loaded from.
#[derive(Clone, Copy)]
pub struct ScorerModels<'a> {
    /// The models on this machine.
    pub store: &'a Store,
    /// The encoder whose features are scored.
    pub encoder: &'a EncoderId,
    /// The domain to load models of; all of them where none is named.
    pub domain: Option<&'a str>,
    /// Encodes descriptions of domains.
    pub sentence: &'a SentenceEncoder,
}

/// Makes a scorer, if the models for it are there.
pub type LoadScorer = fn(&ScorerModels) -> Result<Option<Box<dyn Scorer>>, ScorerError>;

/// A scorer that can be chosen by name.
#[derive(Clone, Copy, Debug)]
pub struct ScorerEntry {
    /// What [`Scorer::name`] says.
    pub name: &'static str,
    /// Loads it; none where there is no model for the encoder.
    pub load: LoadScorer,
}

impl Query<'_> {
    /// How well a clip fits a step: the logarithm of the probability that it shows it where M says
    /// so, else the cosine.
    fn similarity(&self, step: usize, clip: ClipId, pool: &Pool) -> f32 {
        let found = self.map.and_then(|map| map.steps.get(step)?.iter().find(|m| m.clip == clip));
        let by_encoder = || similarity(self.clip.row(step), pool.clip_features().row(clip.row()));
        found.map_or_else(by_encoder, |found| found.worth)
    }

    /// That query, pool and candidates belong together and have features of `dim` numbers.
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

/// The mean similarity of steps and clips: M's, as logarithms of probability, where it was made,
/// else cos(F_M(r_i), F_M(v_i)). A gap counts as 0; as all candidates of one query have the same
/// gaps, their order is that of the mean over the shown steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct AverageSimilarity;

impl AverageSimilarity {
    /// Needs no model.
    pub const ENTRY: ScorerEntry =
        ScorerEntry { name: "average-similarity", load: |_| Ok(Some(Box::new(Self))) };
}

impl Scorer for AverageSimilarity {
    fn name(&self) -> &str {
        Self::ENTRY.name
    }

    fn score(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<f32>, ScorerError> {
        query.check(pool, candidates, query.clip.dim())?;
        let one = |Sequence(clips): &Sequence| {
            let shown = clips
                .iter()
                .enumerate()
                .filter_map(|(step, clip)| clip.map(|clip| query.similarity(step, clip, pool)));
            shown.sum::<f32>() / clips.len().max(1) as f32
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
        let query = Query { texts: &texts, text: &steps, clip: &steps, map: None };
        let candidates = [[0, 1], [0, 0], [1, 0], [0, -1], [-1, -1]].map(|rows| sequence(&rows));
        let scores = AverageSimilarity.score(&query, &pool(), &candidates).unwrap();
        assert_eq!(scores, [0.9, 0.8, 0.3, 0.5, 0.0]);
    }

    #[test]
    fn what_does_not_belong_together_is_told() {
        let steps = features(&[[1.0, 0.0]]);
        let query = Query { texts: &[], text: &steps, clip: &steps, map: None };
        let score = |rows: &[i64]| AverageSimilarity.score(&query, &pool(), &[sequence(rows)]);
        assert!(matches!(score(&[0, 1]), Err(ScorerError::Steps { expected: 1, found: 2 })));
        assert!(matches!(score(&[2]), Err(ScorerError::Clip { clip: 2, clips: 2 })));
        let wide = Features::new(3, vec![1.0; 3]).unwrap();
        let query = Query { clip: &wide, ..query };
        let error = AverageSimilarity.score(&query, &pool(), &[]).unwrap_err();
        assert!(matches!(error, ScorerError::Dim { query: 3, pool: 2, scorer: 3 }));
    }
}
