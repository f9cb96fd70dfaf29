//! The matches of all shown steps as the layers of a graph; a path through it is a sequence.

use super::Sequence;
use crate::clip::{ClipId, VideoId};
use crate::map::{Match, StepMap};
use crate::pool::Pool;
use std::ops::Range;

/// Scores are counted in whole parts of this size, so that sums do not depend on their order and
/// equal scores are equal.
const PARTS: f64 = (1u64 << 30) as f64;

/// A score in parts; no single one is beyond a million.
pub(super) fn parts(score: f64) -> i64 {
    (score.clamp(-1e6, 1e6) * PARTS).round() as i64
}

/// A match of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    pub clip: ClipId,
    pub source: VideoId,
    pub start: u64,
    /// Its log probability, in parts.
    pub gain: i64,
}

/// The states of one source in a layer, counted within the layer.
pub(super) type Group = (VideoId, Range<usize>);

/// The matches of one shown step, by source, then in the source's own order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layer<'a> {
    pub states: &'a [State],
    /// The states of each source, by source.
    pub groups: &'a [Group],
}

impl Layer<'_> {
    pub fn group(&self, source: VideoId) -> Range<usize> {
        let found = self.groups.binary_search_by_key(&source, |group| group.0);
        found.map_or(0..0, |at| self.groups[at].1.clone())
    }

    pub fn state(&self, at: u32) -> &State {
        &self.states[at as usize]
    }
}

/// What a step from one clip to the next costs, in parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub switch: i64,
    pub order: i64,
}

impl Weights {
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

/// All shown steps, in few long vectors: greedy covers make thousands of small graphs.
#[derive(Clone, Debug, Default)]
pub(super) struct Graph {
    /// How many steps the procedure has, gaps included.
    steps: usize,
    states: Vec<State>,
    groups: Vec<Group>,
    layers: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    step: usize,
    states: usize,
    groups: usize,
}

impl Graph {
    pub fn new(map: &StepMap, pool: &Pool) -> Self {
        let mut graph = Self { steps: map.steps.len(), ..Self::default() };
        for (step, matches) in map.steps.iter().enumerate() {
            let known = matches.iter().filter(|found| found.clip.row() < pool.len());
            let mut states: Vec<State> = known.map(|found| state(found, pool)).collect();
            states.sort_unstable_by_key(|s| (s.source, s.start, s.clip, -s.gain));
            states.dedup_by_key(|state| state.clip);
            graph.open_layer(step);
            for group in states.chunk_by(|a, b| a.source == b.source) {
                graph.push_group(group);
            }
            graph.close_layer();
        }
        graph
    }

    /// Only some states: those in `groups(layer)`, ranges of all states, by source.
    pub fn restrict<G: Iterator<Item = Range<usize>>>(&self, groups: impl Fn(usize) -> G) -> Self {
        let mut part = Self { steps: self.steps, ..Self::default() };
        part.layers.reserve(self.len());
        part.states.reserve(self.len() * 2);
        part.groups.reserve(self.len() * 2);
        for (at, layer) in self.layers.iter().enumerate() {
            part.open_layer(layer.step);
            groups(at).for_each(|group| part.push_group(&self.states[group]));
            part.close_layer();
        }
        part
    }

    fn open_layer(&mut self, step: usize) {
        self.layers.push(Place { step, states: self.states.len(), groups: self.groups.len() });
    }

    /// Adds the states of one source to the open layer.
    fn push_group(&mut self, states: &[State]) {
        if let (Some(first), Some(layer)) = (states.first(), self.layers.last()) {
            let start = self.states.len() - layer.states;
            self.groups.push((first.source, start..start + states.len()));
            self.states.extend_from_slice(states);
        }
    }

    /// A layer without states is none.
    fn close_layer(&mut self) {
        if self.layers.last().is_some_and(|layer| layer.states == self.states.len()) {
            self.layers.pop();
        }
    }

    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Where the states of a layer stand among all.
    pub fn range(&self, layer: usize) -> Range<usize> {
        let end = self.layers.get(layer + 1).map_or(self.states.len(), |next| next.states);
        self.layers[layer].states..end
    }

    pub fn layer(&self, layer: usize) -> Layer<'_> {
        let place = self.layers[layer];
        let groups = self.layers.get(layer + 1).map_or(self.groups.len(), |next| next.groups);
        Layer {
            states: &self.states[self.range(layer)],
            groups: &self.groups[place.groups..groups],
        }
    }

    pub fn layers(&self) -> impl Iterator<Item = Layer<'_>> {
        (0..self.len()).map(|layer| self.layer(layer))
    }

    pub fn states(&self) -> &[State] {
        &self.states
    }

    /// One clip for each layer, with the gaps between them.
    pub fn sequence(&self, clips: &[ClipId]) -> Sequence {
        let mut steps = vec![None; self.steps];
        self.layers.iter().zip(clips).for_each(|(layer, clip)| steps[layer.step] = Some(*clip));
        Sequence(steps)
    }
}

fn state(found: &Match, pool: &Pool) -> State {
    let clip = pool.clip(found.clip);
    // Neither less than one in a billion, nor what is no log probability at all, may overflow.
    let gain = parts(f64::from(found.log_prob.clamp(-20.0, 2.0)));
    State { clip: found.clip, source: clip.video, start: clip.span.start(), gain }
}
