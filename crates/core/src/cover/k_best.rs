//! The exact K best sequences by log probability, changes of source and order within a source.
//!
//! The successors of every match are ranked; a path is the list of ranks it takes, and the best path
//! takes rank 0 throughout. Raising the last rank that is not 0, or any rank after it, gives each
//! other path once and never a better one: a heap of those yields the paths best first.

use super::Sequence;
use super::graph::{Graph, Layer, State, Weights, parts};
use super::suffix::Suffixes;
use crate::clip::ClipId;
use crate::map::StepMap;
use crate::pool::Pool;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

/// What makes a sequence worse, in natural logarithms of probability (0.7 is a factor of two); beyond
/// a million counts as a million.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KBestOptions {
    /// For every change of source between shown steps.
    pub switch_cost: f64,
    /// For every shown step whose clip starts before the previous shown step's of the same source.
    pub order_cost: f64,
}

impl Weights {
    pub fn new(costs: &KBestOptions) -> Self {
        Self { switch: parts(costs.switch_cost), order: parts(costs.order_cost) }
    }
}

/// The `k` best sequences, best first; among equals the one with the earlier clips in the pool.
///
/// Steps without a match are gaps: they neither change the source nor break the order. Scores are
/// exact to 2⁻³⁰ a step.
pub fn k_best(map: &StepMap, pool: &Pool, k: usize, options: &KBestOptions) -> Vec<Sequence> {
    let graph = Graph::new(map, pool);
    let best = best_paths(&graph, &Weights::new(options), k);
    best.iter().map(|path| graph.sequence(&path.clips)).collect()
}

/// The `k` best paths through a graph, best first.
pub(super) fn best_paths(graph: &Graph, weights: &Weights, k: usize) -> Vec<Path> {
    let mut search = Search::new(graph, weights, k);
    let mut found = Vec::new();
    while found.len() < k {
        let Some(path) = search.open.pop() else { break };
        search.open_children(&path);
        found.push(path);
    }
    found
}

/// A path and where it leaves its best continuation for the last time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub score: i64,
    pub states: Vec<u32>,
    /// The clips of the states, which break ties.
    clips: Vec<ClipId>,
    last_choice: usize,
    rank: usize,
}

impl Ord for Path {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.cmp(&other.score).then_with(|| other.clips.cmp(&self.clips))
    }
}

impl PartialOrd for Path {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

struct Search<'a> {
    graph: &'a Graph,
    weights: &'a Weights,
    suffixes: Suffixes<'a>,
    /// For each layer its states best first, as far as `k` paths can need them.
    ranked: Vec<Vec<u32>>,
    /// The ranked successors of the states met so far; the start is `u32::MAX` before layer 0.
    successors: HashMap<(usize, u32), Successors>,
    open: BinaryHeap<Path>,
    /// The k best scores ever opened: nothing below the worst of them is needed.
    floor: BinaryHeap<Reverse<i64>>,
    k: usize,
}

const START: u32 = u32::MAX;

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, weights: &'a Weights, k: usize) -> Self {
        let suffixes = Suffixes::new(graph, weights);
        let layers = graph.layers().enumerate();
        let ranked = layers.map(|(at, layer)| rank(&layer, suffixes.values(at), k)).collect();
        let (successors, open, floor) = (HashMap::new(), BinaryHeap::new(), BinaryHeap::new());
        let mut search = Self { graph, weights, suffixes, ranked, successors, open, floor, k };
        search.open_best();
        search
    }

    fn open_best(&mut self) {
        let states = self.suffixes.best();
        let score = states.first().map_or(0, |state| self.suffixes.values(0)[*state as usize]);
        let clips = self.clips(&states);
        self.open.push(Path { score, states, clips, last_choice: 0, rank: 0 });
    }

    /// Opens every path that differs from this one by one rank, at its last choice or after.
    fn open_children(&mut self, path: &Path) {
        let mut so_far = 0;
        for layer in 0..path.states.len() {
            let from = layer.checked_sub(1).map_or(START, |before| path.states[before]);
            if layer >= path.last_choice {
                let rank = if layer == path.last_choice { path.rank + 1 } else { 1 };
                if let Some((value, state)) = self.successor(layer, from, rank) {
                    self.open_child(path, layer, rank, so_far + value, state);
                }
            }
            so_far += self.paid(layer, from, path.states[layer]);
        }
    }

    /// Opens the path that goes to `state` at `layer` and on from there as well as can be.
    fn open_child(&mut self, path: &Path, layer: usize, rank: usize, score: i64, state: u32) {
        if self.floor.len() >= self.k {
            if self.floor.peek().is_some_and(|floor| score < floor.0) {
                return;
            }
            self.floor.pop();
        }
        self.floor.push(Reverse(score));
        let mut states = Vec::with_capacity(path.states.len());
        states.extend_from_slice(&path.states[..layer]);
        states.push(state);
        self.suffixes.follow(&mut states);
        let clips = self.clips(&states);
        self.open.push(Path { score, states, clips, last_choice: layer, rank });
    }

    fn clips(&self, states: &[u32]) -> Vec<ClipId> {
        self.graph.layers().zip(states).map(|(layer, state)| layer.state(*state).clip).collect()
    }

    /// The gain of a state less the cost of coming to it.
    fn paid(&self, layer: usize, from: u32, to: u32) -> i64 {
        let at = self.graph.layer(layer);
        let to = at.state(to);
        match from {
            START => to.gain,
            _ => to.gain - self.weights.between(self.graph.layer(layer - 1).state(from), to),
        }
    }

    /// The successor of this rank in `layer` of a state of the layer before, and its value.
    fn successor(&mut self, layer: usize, from: u32, rank: usize) -> Option<(i64, u32)> {
        let near = Near {
            layer: self.graph.layer(layer),
            values: self.suffixes.values(layer),
            ranked: &self.ranked[layer],
            switch: if from == START { 0 } else { self.weights.switch },
        };
        let (graph, weights) = (self.graph, self.weights);
        let successors = self.successors.entry((layer, from)).or_insert_with(|| match from {
            START => Successors::default(),
            _ => near.same_source(graph.layer(layer - 1).state(from), weights),
        });
        near.get(successors, rank)
    }
}

/// The states of a layer best first, as many as `k` successors of any state can need: besides the
/// successors themselves only those of the state's own source are passed over.
fn rank(layer: &Layer, values: &[i64], k: usize) -> Vec<u32> {
    let own = layer.groups.iter().map(|(_, group)| group.len()).max().unwrap_or(0);
    let needed = k.saturating_add(own).saturating_add(1);
    let key = |state: &u32| (-values[*state as usize], layer.states[*state as usize].clip);
    let mut ranked: Vec<u32> = (0..values.len() as u32).collect();
    if needed < ranked.len() {
        ranked.select_nth_unstable_by_key(needed, key);
        ranked.truncate(needed);
    }
    ranked.sort_unstable_by_key(key);
    ranked
}

/// The successors of one state, best first, as far as they were asked for.
#[derive(Default)]
struct Successors {
    found: Vec<(i64, u32)>,
    /// The states of the same source, worst first, so that the best is taken from the end.
    same: Vec<(i64, u32)>,
    /// The source, and how many of the layer's ranked states were looked at.
    source: Option<crate::clip::VideoId>,
    looked_at: usize,
}

/// A layer as it is seen from the one before.
struct Near<'a> {
    layer: Layer<'a>,
    values: &'a [i64],
    ranked: &'a [u32],
    switch: i64,
}

impl Near<'_> {
    /// The successors in the same source, none found yet.
    fn same_source(&self, from: &State, weights: &Weights) -> Successors {
        let group = self.layer.group(from.source);
        let value = |i: usize| self.values[i] - weights.between(from, &self.layer.states[i]);
        let mut same: Vec<(i64, u32)> = group.map(|i| (value(i), i as u32)).collect();
        same.sort_unstable_by_key(|successor| Reverse(self.key(*successor)));
        Successors { same, source: Some(from.source), ..Successors::default() }
    }

    /// Successors sort best first by it.
    fn key(&self, (value, state): (i64, u32)) -> (i64, ClipId) {
        (-value, self.layer.states[state as usize].clip)
    }

    /// The successor of this rank, if there are so many.
    fn get(&self, successors: &mut Successors, rank: usize) -> Option<(i64, u32)> {
        while successors.found.len() <= rank {
            let next = self.next(successors)?;
            successors.found.push(next);
        }
        Some(successors.found[rank])
    }

    /// The better of the next successor in the same source and the next elsewhere.
    fn next(&self, successors: &mut Successors) -> Option<(i64, u32)> {
        let other = self.next_elsewhere(successors);
        let same = successors.same.last().copied();
        let stays = match (same, other) {
            (Some(same), Some(other)) => self.key(same) < self.key(other),
            (same, _) => same.is_some(),
        };
        if stays {
            return successors.same.pop();
        }
        successors.looked_at += 1;
        other
    }

    /// The next successor in another source; it is not yet taken.
    fn next_elsewhere(&self, successors: &mut Successors) -> Option<(i64, u32)> {
        loop {
            let state = *self.ranked.get(successors.looked_at)?;
            if Some(self.layer.states[state as usize].source) != successors.source {
                return Some((self.values[state as usize] - self.switch, state));
            }
            successors.looked_at += 1;
        }
    }
}
