//! Groups of similar videos: pairs, triplets and quartets whose summaries are all similar.
//!
//! Exact: all pairs of summaries are compared, in blocks that fit the cache and on all cores, which takes
//! N²·d multiplications (300,000 videos of 768 numbers: some 7·10¹³, about an hour on two cores). Groups are
//! then extended among neighbours only: all of them where they may be [`MAX_LISTED`], else random ones, since
//! a task of 1,000 similar videos alone has 4·10¹⁰ quartets.

use std::collections::HashSet;

use rand::RngExt;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;
use stitch_core::features::{Features, similarity};

/// Groups of one size that are all listed, to choose from: a second or so of work.
const MAX_LISTED: u64 = 10_000_000;

/// Draws for each group that is wanted, after which no more are tried; chosen by hand.
const MAX_DRAWS: usize = 20;

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
        let seed = options.seed ^ size as u64;
        let mut found = match most_groups(&near, size) <= MAX_LISTED {
            true => listed(&near, size, options.most, seed),
            false => sampled(&near, size, options.most, seed),
        };
        found.sort_unstable();
        groups.append(&mut found);
    }
    groups
}

/// How many groups of this size there are at most: of each row and any of its later neighbours.
fn most_groups(near: &[Vec<u32>], size: usize) -> u64 {
    let choices = |neighbours: u64| {
        let factor = |chosen: u64| neighbours.saturating_sub(chosen);
        (0..size as u64 - 1)
            .fold(1, |all: u64, chosen| all.saturating_mul(factor(chosen)) / (chosen + 1))
    };
    near.iter().fold(0, |all: u64, of_row| all.saturating_add(choices(of_row.len() as u64)))
}

/// A uniform choice out of all groups of this size.
fn listed(near: &[Vec<u32>], size: usize, most: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut kept = Reservoir::new(most, seed);
    for first in 0..near.len() {
        extend(&mut vec![first as u32], &near[first], size, near, &mut kept);
    }
    kept.groups
}

/// Different groups of this size, each grown from a random pair by random rows that are similar to all of it.
/// Groups with few such rows beside them are more likely than others.
fn sampled(near: &[Vec<u32>], size: usize, most: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut both: Vec<Vec<u32>> = vec![Vec::new(); near.len()];
    for (row, later) in near.iter().enumerate() {
        both[row].extend(later);
        later.iter().for_each(|&other| both[other as usize].push(row as u32));
    }
    both.iter_mut().for_each(|neighbours| neighbours.sort_unstable());
    let pairs: Vec<(u32, u32)> = (0..)
        .zip(near)
        .flat_map(|(row, later)| later.iter().map(move |&other| (row, other)))
        .collect();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut found = HashSet::new();
    for _ in 0..most.saturating_mul(MAX_DRAWS) {
        if found.len() == most {
            break;
        }
        let Some(&(first, second)) = pairs.choose(&mut random) else { break };
        found.extend(grown(vec![first, second], size, &both, &mut random));
    }
    found.into_iter().collect()
}

/// The pair with random rows that are similar to all of it; none if there are too few.
fn grown(
    mut group: Vec<u32>,
    size: usize,
    both: &[Vec<u32>],
    random: &mut ChaCha8Rng,
) -> Option<Vec<usize>> {
    while group.len() < size {
        let (first, others) = group.split_first()?;
        let is_near =
            |row: &&u32| others.iter().all(|o| both[*o as usize].binary_search(row).is_ok());
        let common: Vec<&u32> = both[*first as usize].iter().filter(is_near).collect();
        group.push(**common.choose(random)?);
    }
    group.sort_unstable();
    Some(group.into_iter().map(|row| row as usize).collect())
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
    fn random_groups_are_groups_and_all_are_found_where_they_are_few() {
        // Three tasks of six videos each.
        let rows: Vec<f32> =
            (0..18).flat_map(|at| (0..3).map(move |x| f32::from(at / 6 == x))).collect();
        let rows = Features::new(3, rows).unwrap();
        let near = neighbours(&rows, 0.8);
        for (size, all) in [(2, 45), (3, 60), (4, 45)] {
            assert_eq!(most_groups(&near, size), all);
            let found = sampled(&near, size, 1000, 1);
            assert!(found.iter().all(|group| group.is_sorted() && group.len() == size));
            assert!(
                found
                    .iter()
                    .flatten()
                    .zip(found.iter().flat_map(|g| vec![g[0]; size]))
                    .all(|(row, first)| row / 6 == first / 6)
            );
            assert_eq!(found.len() as u64, all, "every group of {size}");
            let sorted = |mut groups: Vec<Vec<usize>>| {
                groups.sort_unstable();
                groups
            };
            assert_eq!(sorted(sampled(&near, size, 9, 1)), sorted(sampled(&near, size, 9, 1)));
            assert_eq!(sampled(&near, size, 9, 1).len(), 9);
        }
    }

    #[test]
    fn a_task_of_a_thousand_videos_is_sampled() {
        let rows = Features::new(1, vec![1.0; 1000]).unwrap();
        let found = groups(&rows, &MineOptions { most: 50, ..MineOptions::default() });
        assert_eq!(found.len(), 150);
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
