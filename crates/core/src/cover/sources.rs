//! S_i: the steps that each video can show, and small sets of videos that show all of them.

use super::graph::Graph;
use crate::clip::VideoId;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::Range;

/// For each video the shown steps it has a match for.
pub(super) struct Sources {
    videos: Vec<VideoId>,
    layers: usize,
    /// One bit per layer, `words` words per video.
    shown: Vec<u64>,
    words: usize,
    /// The best gain of each video at each layer, where it has one.
    gains: Vec<i64>,
    /// The states of each video at each layer, among all states of the graph.
    states: Vec<Range<usize>>,
}

/// Some videos, by their rows in [`Sources`], sorted.
pub(super) type Cover = Vec<u32>;

/// Some videos and what they show together.
struct Partial {
    sources: Cover,
    covered: Vec<u64>,
    gain: i64,
}

impl Partial {
    fn count(&self) -> u32 {
        self.covered.iter().map(|word| word.count_ones()).sum()
    }

    /// Sorts the partial covers that show the most first, then the most likely.
    fn key(&self) -> (Reverse<u32>, i64, Cover) {
        (Reverse(self.count()), -self.gain, self.sources.clone())
    }
}

impl Sources {
    pub fn new(graph: &Graph) -> Self {
        let mut videos: Vec<VideoId> =
            graph.layers().flat_map(|layer| layer.groups.iter().map(|group| group.0)).collect();
        videos.sort_unstable();
        videos.dedup();
        let (layers, words) = (graph.len(), graph.len().div_ceil(64));
        let cells = layers * videos.len();
        let shown = vec![0; words * videos.len()];
        let (gains, states) = (vec![0; cells], vec![0..0; cells]);
        let mut sources = Self { videos, layers, shown, words, gains, states };
        (0..layers).for_each(|layer| sources.enter(graph, layer));
        sources
    }

    /// Enters what the videos can show at one layer.
    fn enter(&mut self, graph: &Graph, at: usize) {
        let (layer, first) = (graph.layer(at), graph.range(at).start);
        let mut source = 0;
        for (video, group) in layer.groups {
            source += self.videos[source..].partition_point(|other| other < video);
            let best = layer.states[group.clone()].iter().map(|state| state.gain).max();
            self.shown[source * self.words + at / 64] |= 1 << (at % 64);
            self.gains[source * self.layers + at] = best.unwrap_or(0);
            self.states[source * self.layers + at] = first + group.start..first + group.end;
        }
    }

    /// The part of the graph that these videos make.
    pub fn part(&self, graph: &Graph, cover: &Cover) -> Graph {
        graph.restrict(|layer| {
            let at = move |source: &u32| *source as usize * self.layers + layer;
            cover.iter().map(move |source| self.states[at(source)].clone())
        })
    }

    /// The videos that show every step, the most likely first.
    pub fn whole(&self, most: usize) -> Vec<Cover> {
        let mut whole: Vec<Partial> = self.singles().filter(|one| self.is_complete(one)).collect();
        whole.sort_by_cached_key(Partial::key);
        whole.into_iter().take(most).map(|one| one.sources).collect()
    }

    /// Covers by runs: a video that shows the first step, as far as it serves, then at each break
    /// the video that serves furthest. The best of them has the fewest changes there can be.
    pub fn by_runs(&self, most: usize) -> Vec<Cover> {
        let (furthest, mut starts) = self.furthest();
        starts.sort_unstable();
        let cover = |(Reverse(reach), _, source): (Reverse<usize>, i64, u32)| {
            let mut cover = vec![source];
            let mut at = reach;
            while at < self.layers {
                let (end, _, Reverse(next)) = furthest[at];
                cover.push(next);
                at = end;
            }
            cover.sort_unstable();
            cover.dedup();
            cover
        };
        starts.into_iter().take(most).map(cover).collect()
    }

    /// For each layer how far a video serves from there, its gain and the video, at best; and the
    /// same of the first layer for each video that shows it.
    #[allow(clippy::type_complexity)]
    fn furthest(&self) -> (Vec<(usize, i64, Reverse<u32>)>, Vec<(Reverse<usize>, i64, u32)>) {
        let mut furthest = vec![(0, 0, Reverse(0)); self.layers];
        let mut starts = Vec::new();
        for source in 0..self.videos.len() {
            let (mut reach, mut gain) = (self.layers, 0);
            for layer in (0..self.layers).rev() {
                if !self.shows(source, layer) {
                    (reach, gain) = (layer, 0);
                    continue;
                }
                gain += self.gains[source * self.layers + layer];
                furthest[layer] = furthest[layer].max((reach, gain, Reverse(source as u32)));
            }
            if reach > 0 && self.shows(source, 0) {
                starts.push((Reverse(reach), -gain, source as u32));
            }
        }
        (furthest, starts)
    }

    /// Set covers: every video starts one, and each is completed greedily by the videos that show
    /// the most of what is missing, the runners-up included.
    pub fn by_sets(&self, most: usize) -> Vec<Cover> {
        let mut covers = Vec::new();
        let mut seen = HashSet::new();
        let mut beam: Vec<Partial> = self.singles().filter(|one| !self.is_complete(one)).collect();
        let mut widest = most;
        while !beam.is_empty() && covers.len() < most {
            beam.sort_by_cached_key(Partial::key);
            beam.truncate(widest.max(1));
            let width = (2 * most / beam.len()).clamp(2, 32);
            let grown = beam.iter().flat_map(|partial| self.grow(partial, width));
            let new = grown.filter(|grown| seen.insert(grown.sources.clone()));
            let (mut complete, partial): (Vec<Partial>, Vec<Partial>) =
                new.partition(|grown| self.is_complete(grown));
            complete.sort_by_cached_key(Partial::key);
            covers.extend(complete.into_iter().map(|cover| cover.sources));
            beam = partial;
            // Every video may start a cover; after that the most promising go on.
            widest = most.div_ceil(8);
        }
        covers.truncate(most);
        covers
    }

    fn singles(&self) -> impl Iterator<Item = Partial> {
        let nothing = || Partial { sources: vec![], covered: vec![0; self.words], gain: 0 };
        (0..self.videos.len()).map(move |source| {
            let gain = self.new_gain(source, &vec![0; self.words]);
            self.with(&nothing(), source, gain)
        })
    }

    fn is_complete(&self, partial: &Partial) -> bool {
        partial.count() as usize == self.layers
    }

    /// The partial cover with each of the `width` videos that add the most to it, then the most
    /// likely.
    fn grow(&self, partial: &Partial, width: usize) -> Vec<Partial> {
        let counts = self.new_counts(&partial.covered);
        let least = self.least_of_the_greatest(&counts, width);
        let mut ranked: Vec<(Reverse<u32>, i64, u32)> = (0..counts.len())
            .filter(|source| counts[*source] >= least)
            .map(|source| {
                let gain = self.new_gain(source, &partial.covered);
                (Reverse(counts[source]), -gain, source as u32)
            })
            .collect();
        ranked.sort_unstable();
        ranked.truncate(width);
        ranked.iter().map(|(_, gain, source)| self.with(partial, *source as usize, -gain)).collect()
    }

    /// The count, not 0, that about `width` of the counts reach.
    fn least_of_the_greatest(&self, counts: &[u32], width: usize) -> u32 {
        let mut having = vec![0; self.layers + 1];
        counts.iter().for_each(|count| having[*count as usize] += 1);
        let mut reaching = 0;
        let enough = |count: &usize| {
            reaching += having[*count];
            reaching >= width
        };
        (1..=self.layers).rev().find(enough).unwrap_or(1) as u32
    }

    fn with(&self, partial: &Partial, source: usize, gain: i64) -> Partial {
        let mut sources = partial.sources.clone();
        let at = sources.partition_point(|other| (*other as usize) < source);
        sources.insert(at, source as u32);
        let covered = self.mask(source).iter().zip(&partial.covered).map(|(a, b)| a | b).collect();
        Partial { sources, covered, gain: partial.gain + gain }
    }

    fn mask(&self, source: usize) -> &[u64] {
        &self.shown[source * self.words..(source + 1) * self.words]
    }

    fn shows(&self, source: usize, layer: usize) -> bool {
        self.mask(source)[layer / 64] >> (layer % 64) & 1 == 1
    }

    /// How many layers each video adds to those covered.
    fn new_counts(&self, covered: &[u64]) -> Vec<u32> {
        if let [covered] = covered {
            return self.shown.iter().map(|mask| (mask & !covered).count_ones()).collect();
        }
        let new = |mask: &[u64]| mask.iter().zip(covered).map(|(m, c)| (m & !c).count_ones()).sum();
        self.shown.chunks_exact(self.words).map(new).collect()
    }

    /// The gain of the layers that the video adds to those covered.
    fn new_gain(&self, source: usize, covered: &[u64]) -> i64 {
        let gains = &self.gains[source * self.layers..(source + 1) * self.layers];
        let mut sum = 0;
        for (word, (mask, covered)) in self.mask(source).iter().zip(covered).enumerate() {
            let mut new = mask & !covered;
            while new != 0 {
                sum += gains[word * 64 + new.trailing_zeros() as usize];
                new &= new - 1;
            }
        }
        sum
    }
}
