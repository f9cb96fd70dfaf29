//! The best way on from every match to the last step.

use super::graph::{Graph, Layer, State, Weights};
use crate::clip::VideoId;

/// For every state of every layer the greatest score from there to the end, its own gain included.
pub(super) struct Suffixes {
    pub values: Vec<Vec<i64>>,
    /// The state of the next layer on that way.
    next: Vec<Vec<u32>>,
}

/// A state to go to and what that is worth; the greater is better, then the earlier clip.
#[derive(Clone, Copy)]
struct Way {
    value: i64,
    state: u32,
}

impl Suffixes {
    /// From the last layer to the first.
    pub fn new(graph: &Graph, weights: &Weights) -> Self {
        let mut suffixes = Self { values: Vec::new(), next: Vec::new() };
        let mut later: Option<(&Layer, Vec<i64>)> = None;
        for layer in graph.layers.iter().rev() {
            let (values, next) = match &later {
                None => (layer.states.iter().map(|state| state.gain).collect(), Vec::new()),
                Some((after, values)) => ways_on(layer, after, values, weights),
            };
            suffixes.next.push(next);
            if let Some((_, values)) = later.replace((layer, values)) {
                suffixes.values.push(values);
            }
        }
        suffixes.values.extend(later.map(|(_, values)| values));
        suffixes.values.reverse();
        suffixes.next.reverse();
        suffixes
    }

    /// Adds the best way on from the path's last state.
    pub fn follow(&self, path: &mut Vec<u32>) {
        while let Some(last) = path.last() {
            let Some(next) = self.next[path.len() - 1].get(*last as usize) else { break };
            path.push(*next);
        }
    }

    /// The best first state.
    pub fn best_start(&self, graph: &Graph) -> Option<u32> {
        let (layer, values) = (graph.layers.first()?, self.values.first()?);
        let ways = (0..layer.states.len()).map(|i| Way { value: values[i], state: i as u32 });
        ways.reduce(|a, b| better(layer, a, b)).map(|way| way.state)
    }
}

/// The better of two ways into a layer.
fn better(layer: &Layer, a: Way, b: Way) -> Way {
    let key = |way: Way| (-way.value, layer.states[way.state as usize].clip);
    if key(b) < key(a) { b } else { a }
}

/// Values and next states of a layer, from the values of the one after it.
fn ways_on(
    layer: &Layer,
    after: &Layer,
    values: &[i64],
    weights: &Weights,
) -> (Vec<i64>, Vec<u32>) {
    let arrivals = Arrivals::new(after, values);
    let mut ways = Vec::with_capacity(layer.states.len());
    for (source, range) in &layer.groups {
        let group = after.group(*source);
        for state in &layer.states[range.clone()] {
            ways.push(arrivals.best_from(state, &group, weights));
        }
    }
    let on = layer.states.iter().zip(&ways).map(|(state, way)| state.gain + way.value);
    (on.collect(), ways.iter().map(|way| way.state).collect())
}

/// What arriving in a layer is worth.
struct Arrivals<'a> {
    layer: &'a Layer,
    /// The best of all, and the best of any other source.
    best: Way,
    other: Option<Way>,
    /// Within each source: the best up to each state, and from each state on.
    up_to: Vec<Way>,
    from: Vec<Way>,
}

impl<'a> Arrivals<'a> {
    fn new(layer: &'a Layer, values: &[i64]) -> Self {
        let way = |state: usize| Way { value: values[state], state: state as u32 };
        let mut up_to: Vec<Way> = (0..values.len()).map(way).collect();
        let mut from = up_to.clone();
        for (_, group) in &layer.groups {
            for i in group.clone().skip(1) {
                up_to[i] = better(layer, up_to[i - 1], up_to[i]);
            }
            for i in group.clone().rev().skip(1) {
                from[i] = better(layer, from[i], from[i + 1]);
            }
        }
        let heads = || layer.groups.iter().map(|(source, group)| (*source, from[group.start]));
        let pick = |a: (VideoId, Way), b: (VideoId, Way)| {
            if better(layer, a.1, b.1).state == a.1.state { a } else { b }
        };
        let best = heads().reduce(pick).expect("a layer has states");
        let other = heads().filter(|head| head.0 != best.0).reduce(pick);
        Self { layer, best: best.1, other: other.map(|other| other.1), up_to, from }
    }

    /// The best way on from a state whose source has this group here.
    fn best_from(&self, state: &State, group: &std::ops::Range<usize>, weights: &Weights) -> Way {
        let source_of = |way: &Way| self.layer.states[way.state as usize].source;
        let elsewhere = [Some(self.best), self.other];
        let switch = elsewhere.into_iter().flatten().find(|way| source_of(way) != state.source);
        let starts = &self.layer.states[group.clone()];
        let later = group.start + starts.partition_point(|to| to.start < state.start);
        let back = (later > group.start).then(|| self.up_to[later - 1]);
        let on = (later < group.end).then(|| self.from[later]);
        let less = |way: Option<Way>, cost| way.map(|w| Way { value: w.value - cost, ..w });
        [on, less(back, weights.order), less(switch, weights.switch)]
            .into_iter()
            .flatten()
            .reduce(|a, b| better(self.layer, a, b))
            .expect("a layer has states")
    }
}
