//! The best way on from every match to the last step.

use super::graph::{Graph, Layer, State, Weights};
use std::ops::Range;

/// For every state of every layer the greatest score from there to the end, its own gain included.
pub(super) struct Suffixes<'a> {
    graph: &'a Graph,
    values: Vec<i64>,
    /// The state of the next layer on that way.
    next: Vec<u32>,
}

/// A state to go to and its value; the greater is better, then the earlier clip.
#[derive(Clone, Copy)]
struct Way {
    value: i64,
    state: u32,
}

impl<'a> Suffixes<'a> {
    /// From the last layer to the first.
    pub fn new(graph: &'a Graph, weights: &Weights) -> Self {
        let values = graph.states().iter().map(|state| state.gain).collect();
        let mut suffixes = Self { graph, values, next: vec![0; graph.states().len()] };
        let mut arrivals = Arrivals::default();
        for layer in (1..graph.len()).rev() {
            arrivals.set(&graph.layer(layer), &suffixes.values[graph.range(layer)]);
            suffixes.extend(layer - 1, &arrivals, weights);
        }
        suffixes
    }

    /// Values and next states of a layer, from the values of arriving in the one after it.
    fn extend(&mut self, layer: usize, arrivals: &Arrivals, weights: &Weights) {
        let first = self.graph.range(layer).start;
        let (layer, after) = (self.graph.layer(layer), self.graph.layer(layer + 1));
        for (source, range) in layer.groups {
            let group = after.group(*source);
            for at in range.clone() {
                let way = arrivals.best_from(&layer.states[at], &after, &group, weights);
                self.values[first + at] += way.value;
                self.next[first + at] = way.state;
            }
        }
    }

    pub fn values(&self, layer: usize) -> &[i64] {
        &self.values[self.graph.range(layer)]
    }

    /// Adds the best way on from the path's last state.
    pub fn follow(&self, path: &mut Vec<u32>) {
        while let Some(last) = path.last()
            && path.len() < self.graph.len()
        {
            let at = self.graph.range(path.len() - 1).start + *last as usize;
            path.push(self.next[at]);
        }
    }

    /// The best path of all.
    pub fn best(&self) -> Vec<u32> {
        let mut path = Vec::with_capacity(self.graph.len());
        if self.graph.len() > 0 {
            let (layer, values) = (self.graph.layer(0), self.values(0));
            let ways = (0..values.len()).map(|i| Way { value: values[i], state: i as u32 });
            path.extend(ways.reduce(|a, b| better(&layer, a, b)).map(|way| way.state));
            self.follow(&mut path);
        }
        path
    }
}

/// The better of two ways into a layer.
fn better(layer: &Layer, a: Way, b: Way) -> Way {
    let key = |way: Way| (-way.value, layer.state(way.state).clip);
    if key(b) < key(a) { b } else { a }
}

/// The values of arriving in a layer.
#[derive(Default)]
struct Arrivals {
    /// The best of all, and the best of any other source.
    best: Option<Way>,
    other: Option<Way>,
    /// Within each source: the best up to each state, and from each state on.
    up_to: Vec<Way>,
    from: Vec<Way>,
}

impl Arrivals {
    fn set(&mut self, layer: &Layer, values: &[i64]) {
        let ways = || values.iter().enumerate().map(|(i, v)| Way { value: *v, state: i as u32 });
        self.up_to.clear();
        self.up_to.extend(ways());
        self.from.clear();
        self.from.extend(ways());
        (self.best, self.other) = (None, None);
        for (_, group) in layer.groups {
            for i in group.clone().skip(1) {
                self.up_to[i] = better(layer, self.up_to[i - 1], self.up_to[i]);
            }
            for i in group.clone().rev().skip(1) {
                self.from[i] = better(layer, self.from[i], self.from[i + 1]);
            }
            self.offer(layer, self.from[group.start]);
        }
    }

    /// The best way into one more source.
    fn offer(&mut self, layer: &Layer, way: Way) {
        let beats = |other: Option<Way>| {
            other.is_none_or(|other| better(layer, other, way).state == way.state)
        };
        if beats(self.best) {
            self.other = self.best.replace(way);
        } else if beats(self.other) {
            self.other = Some(way);
        }
    }

    /// The best way on from a state whose source has this group in the layer.
    fn best_from(
        &self,
        state: &State,
        layer: &Layer,
        group: &Range<usize>,
        weights: &Weights,
    ) -> Way {
        let elsewhere = |way: &Way| layer.state(way.state).source != state.source;
        let switch = self.best.filter(elsewhere).or(self.other.filter(elsewhere));
        let starts = &layer.states[group.clone()];
        let later = group.start + starts.partition_point(|to| to.start < state.start);
        let back = (later > group.start).then(|| self.up_to[later - 1]);
        let on = (later < group.end).then(|| self.from[later]);
        let less = |way: Option<Way>, cost| way.map(|w| Way { value: w.value - cost, ..w });
        [on, less(back, weights.order), less(switch, weights.switch)]
            .into_iter()
            .flatten()
            .reduce(|a, b| better(layer, a, b))
            .expect("a layer has states")
    }
}
