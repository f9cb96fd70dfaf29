//! The network's inputs for a step and its clip, the same in training and scoring.

use std::borrow::Cow;

use rayon::prelude::*;
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::features::{Features, Rows, similarity};
use stitch_core::pool::Pool;
use stitch_nn::evaluator::Batch;

use super::config::Channels;

/// Clips that the mean and deviation of a step's similarities are computed over.
const MAX_POOL_SAMPLE: usize = 4096;

/// The entries of unit vectors are so small that a network fed with them learns slowly.
const FEATURE_SCALE: f32 = 10.0;

/// Subtracted from cosines, which are then scaled, so that inputs are of the order of 1.
const COSINE_MEAN: f32 = 0.35;
const COSINE_SCALE: f32 = 8.0;

/// The same for z-scores.
const Z_SCORE_SCALE: f32 = 0.5;

/// The relation of a clip's source to that of the clip before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Relation {
    /// There is none before it.
    First,
    /// The same video, later in it.
    Later,
    /// The same video, not later.
    Back,
    /// Another video, which has not been used yet.
    New,
    /// Another video, which has.
    Again,
}

pub fn relations(clips: &[ClipId], pool: &Pool) -> Vec<Relation> {
    let source = |at: usize| pool.clip(clips[at]).video;
    let start = |at: usize| pool.clip(clips[at]).span.start();
    let used = |video: VideoId, until: usize| (0..until).any(|at| source(at) == video);
    let relation = |at: usize| match at {
        0 => Relation::First,
        _ if source(at) == source(at - 1) && start(at) > start(at - 1) => Relation::Later,
        _ if source(at) == source(at - 1) => Relation::Back,
        _ if used(source(at), at) => Relation::Again,
        _ => Relation::New,
    };
    (0..clips.len()).map(relation).collect()
}

/// The steps of a procedure among the clips of a pool.
pub struct Inputs<'a> {
    channels: Channels,
    steps: &'a Features,
    pool: &'a Pool,
    standings: Vec<Standing>,
}

/// Mean and standard deviation of a step's similarities to the clips of a pool.
#[derive(Clone, Copy)]
struct Standing {
    mean: f32,
    deviation: f32,
}

impl<'a> Inputs<'a> {
    /// Steps by F_M's text side, and the pool their clips are in.
    pub fn new(channels: Channels, steps: &'a Features, pool: &'a Pool) -> Self {
        let standings = match channels.standing {
            true => {
                let sample = Standing::sample(pool.clip_features());
                let standing = |step| Standing::of(steps.row(step), &sample);
                (0..steps.len()).into_par_iter().map(standing).collect()
            }
            false => Vec::new(),
        };
        Self { channels, steps, pool, standings }
    }

    /// Appends the inputs of one step with its clip.
    pub(super) fn push(&self, step: usize, clip: ClipId, relation: Relation, out: &mut Vec<f32>) {
        let (text, seen) = (self.steps.row(step), &*self.pool.clip_features().row(clip.row()));
        if self.channels.features {
            out.extend(text.iter().chain(seen).map(|number| number * FEATURE_SCALE));
        }
        if self.channels.similarity || self.channels.standing {
            let cosine = similarity(text, seen);
            if self.channels.similarity {
                out.push((cosine - COSINE_MEAN) * COSINE_SCALE);
            }
            if let Some(standing) = self.standings.get(step) {
                out.push((cosine - standing.mean) / standing.deviation * Z_SCORE_SCALE);
            }
        }
        if self.channels.source {
            out.extend(Relation::ALL.map(|each| f32::from(u8::from(each == relation))));
        }
    }

    /// Appends a sequence, given as (step, clip), to a batch.
    pub fn add(&self, sequence: &[(usize, ClipId)], batch: &mut Batch) {
        let clips: Vec<ClipId> = sequence.iter().map(|(_, clip)| *clip).collect();
        let relations = relations(&clips, self.pool);
        for ((step, clip), relation) in sequence.iter().zip(relations) {
            self.push(*step, *clip, relation, &mut batch.inputs);
        }
        batch.lengths.push(sequence.len());
    }
}

impl Relation {
    /// In the order of the one-hot inputs.
    pub(super) const ALL: [Self; 5] =
        [Self::First, Self::Later, Self::Back, Self::New, Self::Again];
}

impl Standing {
    /// Clips evenly spaced in the pool; zero rows do not count.
    fn sample(clips: &dyn Rows) -> Vec<Cow<'_, [f32]>> {
        let apart = clips.len().div_ceil(MAX_POOL_SAMPLE).max(1);
        let rows = (0..clips.len()).step_by(apart).map(|row| clips.row(row));
        rows.filter(|row| row.iter().any(|x| *x != 0.0)).collect()
    }

    fn of(step: &[f32], sample: &[Cow<'_, [f32]>]) -> Self {
        let cosines: Vec<f64> = sample.iter().map(|row| f64::from(similarity(step, row))).collect();
        let count = cosines.len().max(1) as f64;
        let mean = cosines.iter().sum::<f64>() / count;
        let variance = cosines.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
        Self { mean: mean as f32, deviation: (variance.sqrt() as f32).max(1e-3) }
    }
}

#[cfg(test)]
mod tests {
    use stitch_core::clip::{Clip, Span};

    use super::*;

    /// Clips of two videos, each a second after the other; the features turn with their number.
    fn pool() -> Pool {
        let clip = |row: u32| Clip {
            video: VideoId(row / 3),
            span: Span::new(u64::from(row % 3) * 1000, u64::from(row % 3) * 1000 + 900).unwrap(),
            text: String::new(),
        };
        let mut rows = Features::empty(2);
        (0..6).for_each(|row| rows.push(&[(row as f32).cos(), (row as f32).sin()]));
        Pool::new((0..6).map(clip).collect(), rows.clone(), rows).unwrap()
    }

    #[test]
    fn every_relation_has_its_case() {
        let clips = [0, 1, 4, 2, 0, 5, 5].map(ClipId);
        use Relation::{Again, Back, First, Later, New};
        assert_eq!(relations(&clips, &pool()), [First, Later, New, Again, Back, Again, Back]);
    }

    #[test]
    fn a_row_is_as_long_as_the_config_says_and_says_what_it_should() {
        let pool = pool();
        let steps = Features::new(2, vec![1.0, 0.0, 0.0, 1.0]).unwrap();
        for bits in 0..16 {
            let on = |bit: u32| bits & (1 << bit) != 0;
            let channels = Channels {
                similarity: on(0),
                standing: on(1),
                source: on(2),
                features: on(3),
                answer: false,
            };
            let mut batch = Batch::default();
            let inputs = Inputs::new(channels, &steps, &pool);
            inputs.add(&[(0, ClipId(0)), (1, ClipId(1))], &mut batch);
            let expected = channels.count() + if on(3) { 4 } else { 0 };
            assert_eq!(batch.inputs.len(), 2 * expected);
            assert_eq!(batch.lengths, [2]);
        }
        let all = Channels { features: true, ..Channels::WITHOUT_FEATURES };
        let mut batch = Batch::default();
        Inputs::new(all, &steps, &pool).add(&[(0, ClipId(0))], &mut batch);
        assert_eq!(batch.inputs[..4], [10.0, 0.0, 10.0, 0.0]);
        assert!((batch.inputs[4] - 0.65 * 8.0).abs() < 1e-5);
        assert!(batch.inputs[5] > 0.5, "the most similar of all stands high");
        assert_eq!(batch.inputs[6..], [1.0, 0.0, 0.0, 0.0, 0.0]);
    }
}
