//! The best continuation of every match to the last step.

use super::graph::{Graph, Layer, State, Weights};
use std::ops::Range;

/// For every state of every layer the greatest score from there to the end, its own gain included.
pub(super) struct Suffixes<'a> {
    graph: &'a Graph,
    values: Vec<i64>,
    /// The state of the next layer on that continuation.
    next: Vec<u32>,
}

/// A state to go to and its value; the greater is better, then the earlier clip.
#[derive(Clone, Copy)]
struct Successor {
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
                let successor = arrivals.best_from(&layer.states[at], &after, &group, weights);
                self.values[first + at] += successor.value;
                self.next[first + at] = successor.state;
            }
        }
    }

    pub fn values(&self, layer: usize) -> &[i64] {
        &self.values[self.graph.range(layer)]
    }

    /// Adds the best continuation from the path's last state.
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
            let successors =
                (0..values.len()).map(|i| Successor { value: values[i], state: i as u32 });
            path.extend(
                successors.reduce(|a, b| better(&layer, a, b)).map(|successor| successor.state),
            );
            self.follow(&mut path);
        }
        path
    }
}

/// The better of two successors in a layer.
fn better(layer: &Layer, a: Successor, b: Successor) -> Successor {
    let key = |successor: Successor| (-successor.value, layer.state(successor.state).clip);
    if key(b) < key(a) { b } else { a }
}

/// The values of arriving in a layer.
#[derive(Default)]
struct Arrivals {
    /// The best of all, and the best of any other source.
    best: Option<Successor>,
    other: Option<Successor>,
    /// Within each source: the best up to each state, and from each state on.
    up_to: Vec<Successor>,
    from: Vec<Successor>,
}

impl Arrivals {
    fn set(&mut self, layer: &Layer, values: &[i64]) {
        let successors =
            || values.iter().enumerate().map(|(i, v)| Successor { value: *v, state: i as u32 });
        self.up_to.clear();
        self.up_to.extend(successors());
        self.from.clear();
        self.from.extend(successors());
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

    /// The best successor in one more source.
    fn offer(&mut self, layer: &Layer, successor: Successor) {
        let beats = |other: Option<Successor>| {
            other.is_none_or(|other| better(layer, other, successor).state == successor.state)
        };
        if beats(self.best) {
            self.other = self.best.replace(successor);
        } else if beats(self.other) {
            self.other = Some(successor);
        }
    }

    /// The best successor of a state whose source has this group in the layer.
    fn best_from(
        &self,
        state: &State,
        layer: &Layer,
        group: &Range<usize>,
        weights: &Weights,
    ) -> Successor {
        let elsewhere = |successor: &Successor| layer.state(successor.state).source != state.source;
        let switch = self.best.filter(elsewhere).or(self.other.filter(elsewhere));
        let starts = &layer.states[group.clone()];
        let later = group.start + starts.partition_point(|to| to.start < state.start);
        let back = (later > group.start).then(|| self.up_to[later - 1]);
        let on = (later < group.end).then(|| self.from[later]);
        let less = |successor: Option<Successor>, cost| {
            successor.map(|w| Successor { value: w.value - cost, ..w })
        };
        [on, less(back, weights.order), less(switch, weights.switch)]
            .into_iter()
            .flatten()
            .reduce(|a, b| better(layer, a, b))
            .expect("a layer has states")
    }
}
