//! The matches of all shown steps as the layers of a graph; a path through it is a sequence.

use super::sequence::Sequence;
use crate::clip::{ClipId, VideoId};
use crate::map::StepMap;
use crate::pool::Pool;
use std::ops::Range;

/// Scores are counted in whole parts of this size, so that sums do not depend on their order and
/// equal scores are equal.
const PARTS: f64 = (1u64 << 30) as f64;

/// A score in parts; no single one is beyond a million.
pub(super) fn parts(score: f64) -> i64 {
    (score.clamp(-1e6, 1e6) * PARTS).round() as i64
}

/// A score from its parts.
pub(super) fn score(parts: i64) -> f64 {
    parts as f64 / PARTS
}

/// A match of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub clip: ClipId,
    pub source: VideoId,
    pub start: u64,
    /// Its similarity, in parts.
    pub gain: i64,
}

/// The matches of one shown step, by source, then in the source's own order.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub step: usize,
    pub states: Vec<State>,
    /// The states of each source, by source.
    pub groups: Vec<(VideoId, Range<usize>)>,
}

impl Layer {
    fn new(step: usize, mut states: Vec<State>) -> Self {
        states.sort_unstable_by_key(|state| (state.source, state.start, state.clip, -state.gain));
        states.dedup_by_key(|state| state.clip);
        let mut groups = Vec::new();
        let mut start = 0;
        for group in states.chunk_by(|a, b| a.source == b.source) {
            groups.push((group[0].source, start..start + group.len()));
            start += group.len();
        }
        Self { step, states, groups }
    }

    /// The states of one source.
    pub fn group(&self, source: VideoId) -> Range<usize> {
        let found = self.groups.binary_search_by_key(&source, |group| group.0);
        found.map_or(0..0, |at| self.groups[at].1.clone())
    }

    /// Only these sources, which are sorted.
    fn restrict(&self, sources: &[VideoId]) -> Self {
        let mut layer = Self { step: self.step, states: Vec::new(), groups: Vec::new() };
        for source in sources {
            let group = self.group(*source);
            if !group.is_empty() {
                let start = layer.states.len();
                layer.states.extend_from_slice(&self.states[group]);
                layer.groups.push((*source, start..layer.states.len()));
            }
        }
        layer
    }
}

/// What a step from one clip to the next costs, in parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub switch: i64,
    pub order: i64,
}

impl Weights {
    /// The cost of going from one state to the next.
    pub fn between(&self, from: &State, to: &State) -> i64 {
        if from.source != to.source {
            self.switch
        } else if to.start < from.start {
            self.order
        } else {
            0
        }
    }
}

/// All shown steps.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    /// How many steps the procedure has, gaps included.
    pub steps: usize,
    pub layers: Vec<Layer>,
}

impl Graph {
    /// The graph of a map over its pool.
    pub fn new(map: &StepMap, pool: &Pool) -> Self {
        let layers = map.steps.iter().enumerate().filter_map(|(step, matches)| {
            let known = matches.iter().filter(|found| found.clip.row() < pool.len());
            let states: Vec<State> = known
                .map(|found| {
                    let clip = pool.clip(found.clip);
                    let (source, start) = (clip.video, clip.span.start());
                    State { clip: found.clip, source, start, gain: gain(found.similarity) }
                })
                .collect();
            (!states.is_empty()).then(|| Layer::new(step, states))
        });
        Self { steps: map.steps.len(), layers: layers.collect() }
    }

    /// Only these sources, which are sorted.
    pub fn restrict(&self, sources: &[VideoId]) -> Self {
        let layers = self.layers.iter().map(|layer| layer.restrict(sources));
        Self { steps: self.steps, layers: layers.filter(|l| !l.states.is_empty()).collect() }
    }

    /// The clips of a path, one state for each layer, with the gaps between them.
    pub fn sequence(&self, path: &[u32]) -> Sequence {
        let mut clips = vec![None; self.steps];
        for (layer, state) in self.layers.iter().zip(path) {
            clips[layer.step] = Some(layer.states[*state as usize].clip);
        }
        Sequence(clips)
    }
}

/// Cosines lie between -1 and 1; the rest is rounding or a mistake that must not overflow.
fn gain(similarity: f32) -> i64 {
    parts(f64::from(similarity.clamp(-2.0, 2.0)))
}
