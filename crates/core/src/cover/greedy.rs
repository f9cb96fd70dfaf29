//! The paper's adaptive search-space reduction: the sequences of many small set covers.

use super::Sequence;
use super::graph::{Graph, Weights};
use super::k_best::{KBestOptions, best_paths};
use super::sources::{Cover, Sources};
use super::suffix::Suffixes;
use crate::clip::ClipId;
use crate::map::StepMap;
use crate::pool::Pool;
use std::collections::HashSet;

/// Up to `most` sequences, each showing every step that has a match, fewest changes of source
/// first, then the most likely.
///
/// Videos that show everything come first. Then covers by several videos: grown greedily from
/// every video, by what they add and by how far they serve without a break, runners-up included.
/// Each cover gives its best sequence: fewest changes, then fewest steps back in time within a
/// source, then most likely; and the one in which every change gains more than its `costs`. Where there are
/// too few covers, their next-best sequences follow, so that `most` come whenever there are so many.
pub fn greedy(map: &StepMap, pool: &Pool, most: usize, costs: &KBestOptions) -> Vec<Sequence> {
    let graph = Graph::new(map, pool);
    let sources = Sources::new(&graph);
    let mut chosen = Chosen::new(&graph, &sources, most, costs);
    // A cover's sequence may be less likely than the cover promised: look at more than asked.
    let plenty = most.saturating_add(most / 4);
    let mut covers = sources.whole(plenty);
    if covers.len() < most {
        covers.extend(sources.by_runs(most.div_ceil(2)));
        covers.extend(sources.by_sets(plenty));
    }
    covers.iter().for_each(|cover| chosen.add_best(cover));
    chosen.select();
    chosen.fill(&covers);
    chosen.sequences.sort_unstable();
    chosen.sequences.iter().map(|found| graph.sequence(&found.clips)).collect()
}

/// A path through the graph, as it is sorted.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    changes: usize,
    /// The negative log probability, so that the most likely sorts first.
    distance: i64,
    clips: Vec<ClipId>,
}

impl Found {
    /// The distance and the cost of the changes.
    fn cost(&self, costs: &Weights) -> i64 {
        self.distance + self.changes as i64 * costs.switch
    }
}

/// The distinct sequences chosen so far.
struct Chosen<'a> {
    graph: &'a Graph,
    sources: &'a Sources,
    fewest: Weights,
    costs: Weights,
    most: usize,
    sequences: Vec<Found>,
    seen: HashSet<Vec<ClipId>>,
}

impl<'a> Chosen<'a> {
    fn new(graph: &'a Graph, sources: &'a Sources, most: usize, costs: &KBestOptions) -> Self {
        let (fewest, costs) = (fewest_changes_first(graph), Weights::new(costs));
        let (sequences, seen) = (Vec::new(), HashSet::new());
        Self { graph, sources, fewest, costs, most, sequences, seen }
    }

    /// The best sequences from these videos: with the fewest changes, and with changes where
    /// another video is much more likely.
    fn add_best(&mut self, cover: &Cover) {
        let part = self.sources.part(self.graph, cover);
        let best = Suffixes::new(&part, &self.fewest).best();
        self.add(&part, &best);
        if cover.len() > 1 {
            self.add(&part, &Suffixes::new(&part, &self.costs).best());
        }
    }

    /// A path through a part of the graph.
    fn add(&mut self, part: &Graph, path: &[u32]) {
        let states = || part.layers().zip(path).map(|(layer, at)| *layer.state(*at));
        let clips: Vec<ClipId> = states().map(|state| state.clip).collect();
        if !self.seen.insert(clips.clone()) {
            return;
        }
        let pairs = states().zip(states().skip(1));
        let changes = pairs.filter(|(a, b)| a.source != b.source).count();
        let distance = -states().map(|state| state.gain).sum::<i64>();
        self.sequences.push(Found { changes, distance, clips });
    }

    /// Keeps as many as asked: every whole video, then by turns those with the fewest changes and
    /// those of the least cost, so that neither kind crowds out the other.
    fn select(&mut self) {
        self.sequences.sort_unstable();
        if self.sequences.len() <= self.most {
            return;
        }
        let whole = self.sequences.partition_point(|found| found.changes == 0);
        let others = self.sequences.split_off(whole.min(self.most));
        let room = self.most - self.sequences.len();
        let mut by_cost: Vec<usize> = (0..others.len()).collect();
        by_cost.sort_by_key(|at| others[*at].cost(&self.costs));
        let turns =
            (0..others.len()).zip(by_cost).flat_map(|(fewest, cheapest)| [fewest, cheapest]);
        let mut kept = HashSet::new();
        for at in turns {
            if kept.len() < room {
                kept.insert(at);
            }
        }
        let kept = others.into_iter().enumerate().filter(|(at, _)| kept.contains(at));
        self.sequences.extend(kept.map(|(_, found)| found));
    }

    /// The covers' next-best sequences, then the best of all, until there are enough.
    fn fill(&mut self, covers: &[Cover]) {
        let covers = &covers[..covers.len().min(self.most)];
        for cover in covers {
            let missing = self.most.saturating_sub(self.sequences.len());
            if missing == 0 {
                return;
            }
            let part = self.sources.part(self.graph, cover);
            self.fill_from(&part, missing.div_ceil(covers.len()) + 1);
        }
        if self.sequences.len() < self.most {
            self.fill_from(self.graph, self.most);
        }
    }

    fn fill_from(&mut self, part: &Graph, k: usize) {
        for path in best_paths(part, &self.fewest, k) {
            if self.sequences.len() < self.most {
                self.add(part, &path.states);
            }
        }
    }
}

/// One change outweighs all steps back, one step back outweighs all log probabilities, for as many steps
/// as a procedure may have.
fn fewest_changes_first(graph: &Graph) -> Weights {
    let steps = graph.len().max(1) as i64;
    let gains = graph.states().iter().map(|state| state.gain.abs());
    let switch = i64::MAX / 4 / steps;
    let order = 2 * steps * gains.max().unwrap_or(0) + 1;
    Weights { switch, order: order.min(switch / (steps + 1)) }
}
