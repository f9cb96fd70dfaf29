//! Groups of similar videos: pairs, triplets and quartets whose summaries are all similar.
//!
//! Exact: all pairs of summaries are compared, in blocks that fit the cache and on all cores, which takes
//! N²·d multiplications (300,000 videos of 768 numbers: some 7·10¹³, about an hour on two cores). Groups are
//! then extended among neighbours only.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;
use stitch_core::features::{Features, similarity};

#[derive(Clone, Copy, Debug)]
pub struct MineOptions {
    /// The least similarity of any two of a group.
    pub similarity: f32,
    /// The most videos of a group: 2 to 4.
    pub largest: usize,
    /// The most groups of each size, chosen by the seed.
    pub most: usize,
    pub seed: u64,
}

impl MineOptions {
    /// The paper's.
    pub const SIMILARITY: f32 = 0.8;
}

impl Default for MineOptions {
    fn default() -> Self {
        Self { similarity: Self::SIMILARITY, largest: 4, most: 10_000, seed: 0 }
    }
}

/// For each row the later rows of at least this similarity, ascending.
pub fn neighbours(rows: &Features, least: f32) -> Vec<Vec<u32>> {
    const BLOCK: usize = 256;
    let blocks: Vec<usize> = (0..rows.len()).step_by(BLOCK).collect();
    let found: Vec<Vec<Vec<u32>>> = blocks
        .par_iter()
        .map(|&start| {
            let end = (start + BLOCK).min(rows.len());
            let mut found = vec![Vec::new(); end - start];
            for other in (start..rows.len()).step_by(BLOCK) {
                for (row, near) in (start..end).zip(found.iter_mut()) {
                    let columns = other.max(row + 1)..(other + BLOCK).min(rows.len());
                    let alike = |c: &usize| similarity(rows.row(row), rows.row(*c)) >= least;
                    near.extend(columns.filter(alike).map(|c| c as u32));
                }
            }
            found
        })
        .collect();
    found.into_iter().flatten().collect()
}

/// The groups in which every two are similar, smallest first; each group ascending.
pub fn groups(rows: &Features, options: &MineOptions) -> Vec<Vec<usize>> {
    let near = neighbours(rows, options.similarity);
    let mut groups = Vec::new();
    for size in 2..=options.largest.clamp(2, 4) {
        let mut kept = Reservoir::new(options.most, options.seed ^ size as u64);
        for first in 0..near.len() {
            extend(&mut vec![first as u32], &near[first], size, &near, &mut kept);
        }
        kept.groups.sort_unstable();
        groups.append(&mut kept.groups);
    }
    groups
}

/// Adds all groups of this size that begin with `group`; `common` are the later rows similar to all of it.
fn extend(
    group: &mut Vec<u32>,
    common: &[u32],
    size: usize,
    near: &[Vec<u32>],
    kept: &mut Reservoir,
) {
    if group.len() == size {
        kept.offer(group);
        return;
    }
    for (at, &next) in common.iter().enumerate() {
        let of_next = &near[next as usize];
        let left: Vec<u32> =
            common[at + 1..].iter().copied().filter(|c| of_next.binary_search(c).is_ok()).collect();
        group.push(next);
        extend(group, &left, size, near, kept);
        group.pop();
    }
}

/// Reservoir sampling: a uniform choice out of a stream of unknown length.
struct Reservoir {
    most: usize,
    seen: usize,
    random: ChaCha8Rng,
    groups: Vec<Vec<usize>>,
}

impl Reservoir {
    fn new(most: usize, seed: u64) -> Self {
        Self { most, seen: 0, random: ChaCha8Rng::seed_from_u64(seed), groups: Vec::new() }
    }

    fn offer(&mut self, group: &[u32]) {
        self.seen += 1;
        let group = || group.iter().map(|row| *row as usize).collect();
        if self.groups.len() < self.most {
            self.groups.push(group());
        } else if let at @ 0.. = self.random.random_range(0..self.seen)
            && at < self.most
        {
            self.groups[at] = group();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_hand(rows: &Features, size: usize, least: f32) -> Vec<Vec<usize>> {
        let alike = |group: &Vec<usize>| {
            let pairs = group.iter().flat_map(|a| group.iter().map(move |b| (a, b)));
            pairs
                .filter(|(a, b)| a < b)
                .all(|(a, b)| similarity(rows.row(*a), rows.row(*b)) >= least)
        };
        let mut groups: Vec<Vec<usize>> = vec![vec![]];
        for _ in 0..size {
            let longer = |group: &Vec<usize>| {
                let from = group.last().map_or(0, |last| last + 1);
                let group = group.clone();
                (from..rows.len()).map(move |next| [&group[..], &[next]].concat())
            };
            groups = groups.iter().flat_map(longer).collect();
        }
        groups.retain(alike);
        groups
    }

    proptest! {
        #[test]
        fn finds_every_group_and_no_other(
            data in prop::collection::vec(-1.0f32..1.0, 3 * 9), least in 0.2f32..0.9,
        ) {
            let rows = Features::new(3, data).unwrap();
            let options = MineOptions { similarity: least, ..MineOptions::default() };
            let found = groups(&rows, &options);
            for size in 2..=4 {
                let of_size: Vec<_> = found.iter().filter(|g| g.len() == size).cloned().collect();
                prop_assert_eq!(of_size, by_hand(&rows, size, least));
            }
        }
    }

    #[test]
    fn keeps_no_more_than_asked_and_the_same_for_the_same_seed() {
        let rows = Features::new(1, vec![1.0; 12]).unwrap();
        let options = MineOptions { most: 5, ..MineOptions::default() };
        let found = groups(&rows, &options);
        assert_eq!(found.len(), 15, "five of each size");
        assert_eq!(found, groups(&rows, &options));
        assert_ne!(found, groups(&rows, &MineOptions { seed: 1, ..options }));
    }
}
