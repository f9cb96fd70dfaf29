//! The rank of the truth among its candidates: ranks with ties, metrics of many ranks, and bootstrap
//! intervals of metrics and of differences between methods.
//!
//! A tie is broken at random: its rank is the mean of the places it may get, a hit counts by the share of
//! those places, and so does a reciprocal. A scorer that gives all 500 candidates the same score gets a
//! median rank of 250.5 and R@50 of 0.10.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::metrics::{Estimate, interval, median_of};
use crate::rows::grouped;

/// Bootstrap samples of an interval, unless [`super::compare::CompareOptions`] says otherwise.
pub const RESAMPLES: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// How many candidates have a higher score.
    pub better: u32,
    /// How many others have the same score.
    pub ties: u32,
}

impl Rank {
    /// The rank of the first score among all. NaN is lower than any number.
    pub fn of_first(scores: &[f32]) -> Option<Self> {
        let worst = |score: &f32| if score.is_nan() { f32::NEG_INFINITY } else { *score };
        let (truth, others) = scores.split_first()?;
        let truth = worst(truth);
        let count = |of: &dyn Fn(f32) -> bool| others.iter().filter(|s| of(worst(s))).count();
        let (better, ties) = (count(&|score| score > truth), count(&|score| score == truth));
        Some(Self { better: better as u32, ties: ties as u32 })
    }

    /// The mean place, from 1, when ties are broken at random.
    pub fn expected(self) -> f64 {
        f64::from(self.better) + 1.0 + f64::from(self.ties) / 2.0
    }

    /// The probability that it is among the first `k`.
    pub fn within(self, k: u32) -> f64 {
        let places = f64::from(self.ties) + 1.0;
        ((f64::from(k) - f64::from(self.better)) / places).clamp(0.0, 1.0)
    }

    /// The mean of one over its place.
    pub fn reciprocal(self) -> f64 {
        let places = self.better + 1..=self.better + 1 + self.ties;
        places.map(|place| 1.0 / f64::from(place)).sum::<f64>() / (f64::from(self.ties) + 1.0)
    }

    /// What the metrics add up: hits at 1, 5 and 50, reciprocal, place.
    fn terms(self) -> [f64; 5] {
        let [r1, r5, r50] = [1, 5, 50].map(|k| self.within(k));
        [r1, r5, r50, self.reciprocal(), self.expected()]
    }
}

/// Metrics of many ranks, or something for each metric: an interval, an estimate of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RankMetrics<T = f64> {
    /// Median of the expected ranks.
    pub medr: T,
    pub r1: T,
    pub r5: T,
    pub r50: T,
    pub mrr: T,
    pub mean_rank: T,
}

impl<T: Copy> RankMetrics<T> {
    pub fn array(&self) -> [T; 6] {
        [self.medr, self.r1, self.r5, self.r50, self.mrr, self.mean_rank]
    }

    fn from_array([medr, r1, r5, r50, mrr, mean_rank]: [T; 6]) -> Self {
        Self { medr, r1, r5, r50, mrr, mean_rank }
    }
}

impl RankMetrics {
    /// The mean of each metric over several sets.
    pub fn mean(all: &[Self]) -> Self {
        let count = all.len().max(1) as f64;
        let mean = |at: usize| all.iter().map(|metrics| metrics.array()[at]).sum::<f64>() / count;
        Self::from_array(std::array::from_fn(mean))
    }

    /// All zero where there is no rank.
    pub fn of(ranks: &[Rank]) -> Self {
        Self::of_terms(ranks.iter().map(|rank| rank.terms()))
    }

    fn of_terms(terms: impl Iterator<Item = [f64; 5]>) -> Self {
        let mut sums = [0.0; 5];
        let mut places: Vec<f64> = Vec::with_capacity(terms.size_hint().0);
        for terms in terms {
            sums.iter_mut().zip(terms).for_each(|(sum, x)| *sum += x);
            places.push(terms[4]);
        }
        let count = places.len().max(1) as f64;
        let [r1, r5, r50, mrr, mean_rank] = sums.map(|sum| sum / count);
        Self { medr: median_of(&mut places), r1, r5, r50, mrr, mean_rank }
    }

    fn minus(&self, other: &Self) -> [f64; 6] {
        let (a, b) = (self.array(), other.array());
        std::array::from_fn(|at| a[at] - b[at])
    }
}

/// What is resampled together: the rows of one source video.
#[derive(Clone, Debug)]
pub struct Clusters(pub Vec<Vec<usize>>);

impl Clusters {
    /// Row i belongs to video i; in the order of videos.
    pub fn of<T: Ord>(videos: impl IntoIterator<Item = T>) -> Self {
        Self(grouped(videos.into_iter().zip(0..)).into_values().collect())
    }

    /// The metrics of the ranks, and of bootstrap samples of whole clusters. The same seed gives the same
    /// samples, so that methods can be compared pair by pair.
    pub fn resample(&self, ranks: &[Rank], resamples: usize, seed: u64) -> Bootstrap {
        let terms: Vec<[f64; 5]> = ranks.iter().map(|rank| rank.terms()).collect();
        let sample = |number: usize| {
            let mut random = ChaCha8Rng::seed_from_u64(seed ^ (number as u64) << 20);
            let count = self.0.len();
            let chosen = (0..count).flat_map(|_| &self.0[random.random_range(0..count)]);
            RankMetrics::of_terms(chosen.map(|at| terms[*at]))
        };
        let samples = (0..resamples).into_par_iter().map(sample).collect();
        Bootstrap { metrics: RankMetrics::of(ranks), samples }
    }
}

#[derive(Clone, Debug)]
pub struct Bootstrap {
    pub metrics: RankMetrics,
    samples: Vec<RankMetrics>,
}

impl Bootstrap {
    /// The 95 % interval of each metric.
    pub fn intervals(&self) -> RankMetrics<[f64; 2]> {
        RankMetrics::from_array(intervals(self.samples.iter().map(RankMetrics::array)))
    }

    /// By how much these metrics exceed those of the other method, sample by sample.
    pub fn minus(&self, other: &Self) -> RankMetrics<Estimate> {
        let pairs = self.samples.iter().zip(&other.samples);
        let ends = intervals(pairs.map(|(own, other)| own.minus(other)));
        let values = self.metrics.minus(&other.metrics);
        let estimate =
            |at: usize| Estimate { value: values[at], low: ends[at][0], high: ends[at][1] };
        RankMetrics::from_array(std::array::from_fn(estimate))
    }
}

fn intervals(samples: impl Iterator<Item = [f64; 6]>) -> [[f64; 2]; 6] {
    let mut columns: [Vec<f64>; 6] = Default::default();
    for sample in samples {
        columns.iter_mut().zip(sample).for_each(|(column, x)| column.push(x));
    }
    columns.map(interval)
}

/// The metrics when every tie is broken for the truth, and when every tie is broken against it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TieBounds {
    pub optimistic: RankMetrics,
    pub pessimistic: RankMetrics,
}

impl TieBounds {
    pub fn of(ranks: &[Rank]) -> Self {
        let with = |better: fn(&Rank) -> u32| {
            let ranks: Vec<Rank> =
                ranks.iter().map(|rank| Rank { better: better(rank), ties: 0 }).collect();
            RankMetrics::of(&ranks)
        };
        let pessimistic = with(|rank| rank.better + rank.ties);
        Self { optimistic: with(|rank| rank.better), pessimistic }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn a_constant_scorer_gets_the_middle_and_an_oracle_the_first_place() {
        let constant = [Rank::of_first(&[0.5; 500]).unwrap(); 7];
        let figures = RankMetrics::of(&constant);
        assert_eq!(figures.medr, 250.5);
        assert!(close(figures.r50, 0.10) && close(figures.r1, 0.002) && close(figures.r5, 0.01));
        assert!(close(figures.mean_rank, 250.5));
        let bounds = TieBounds::of(&constant);
        assert_eq!((bounds.optimistic.medr, bounds.pessimistic.medr), (1.0, 500.0));
        let mut scores = [0.0; 500];
        scores[0] = 1.0;
        let oracle = RankMetrics::of(&[Rank::of_first(&scores).unwrap(); 7]);
        let one = RankMetrics { medr: 1.0, r1: 1.0, r5: 1.0, r50: 1.0, mrr: 1.0, mean_rank: 1.0 };
        assert_eq!(oracle, one);
    }

    #[test]
    fn what_is_no_number_is_worst() {
        let rank = |scores: &[f32]| Rank::of_first(scores).unwrap();
        assert_eq!(rank(&[f32::NAN, 0.0, f32::NAN]), Rank { better: 1, ties: 1 });
        assert_eq!(rank(&[0.0, f32::NAN]), Rank { better: 0, ties: 0 });
        assert_eq!(Rank::of_first(&[]), None);
        assert_eq!(RankMetrics::of(&[]), RankMetrics::default());
    }

    #[test]
    fn intervals_hold_the_figure_and_widen_with_clusters() {
        let ranks: Vec<Rank> = (0..200).map(|at| Rank { better: at % 4, ties: 0 }).collect();
        let alone = Clusters::of(0..200).resample(&ranks, 2000, 1);
        let figures = RankMetrics::of(&ranks);
        let [low, high] = alone.intervals().r1;
        assert!(low <= figures.r1 && figures.r1 <= high && high - low < 0.2);
        // Ranks that come in blocks of the same kind tell less than as many single ones.
        let blocks = Clusters::of((0..200).map(|at| at % 4)).resample(&ranks, 2000, 1);
        let [wide_low, wide_high] = blocks.intervals().r1;
        assert!(wide_high - wide_low > 2.0 * (high - low));
    }

    #[test]
    fn paired_differences_are_surer_than_the_two_intervals() {
        // The second method is one place better everywhere: no doubt about the difference.
        let ours: Vec<Rank> = (0..100).map(|at| Rank { better: 1 + at % 9, ties: 0 }).collect();
        let theirs: Vec<Rank> =
            ours.iter().map(|rank| Rank { better: rank.better - 1, ties: 0 }).collect();
        let clusters = Clusters::of(0..100);
        let (a, b) = (clusters.resample(&ours, 1000, 5), clusters.resample(&theirs, 1000, 5));
        let mean = b.minus(&a).mean_rank;
        assert!(close(mean.value, -1.0) && close(mean.low, -1.0) && close(mean.high, -1.0));
    }

    proptest! {
        #[test]
        fn expected_figures_are_those_of_breaking_ties_by_chance(
            scores in prop::collection::vec(0u8..4, 1..12),
        ) {
            let scores: Vec<f32> = scores.into_iter().map(f32::from).collect();
            let rank = Rank::of_first(&scores).unwrap();
            let first = rank.better + 1;
            let places: Vec<f64> = (first..=first + rank.ties).map(f64::from).collect();
            let mean = |of: &dyn Fn(f64) -> f64| {
                places.iter().map(|place| of(*place)).sum::<f64>() / places.len() as f64
            };
            prop_assert!(close(rank.expected(), mean(&|place| place)));
            prop_assert!(close(rank.reciprocal(), mean(&|place| 1.0 / place)));
            for k in 1..13 {
                let hit = mean(&|place| f64::from(u8::from(place <= f64::from(k))));
                prop_assert!(close(rank.within(k), hit), "{k}");
            }
        }

        #[test]
        fn half_of_the_truths_are_within_the_median(
            ranks in prop::collection::vec((0u32..80, 0u32..3), 1..40),
        ) {
            let ranks: Vec<Rank> =
                ranks.into_iter().map(|(better, ties)| Rank { better, ties }).collect();
            let figures = RankMetrics::of(&ranks);
            // A median rank of at most k means that half of the truths are among the first k. Where
            // ties reach across k a hit counts in part, so this holds only without them.
            for (k, share) in [(1, figures.r1), (5, figures.r5), (50, figures.r50)] {
                let across = |rank: &Rank| (1e-9..1.0 - 1e-9).contains(&rank.within(k));
                let sound = figures.medr > f64::from(k) || share >= 0.5 - 1e-9;
                prop_assert!(sound || ranks.iter().any(across), "{k} {figures:?}");
            }
            prop_assert!(figures.r1 <= figures.r5 && figures.r5 <= figures.r50);
            let mut places: Vec<f64> = ranks.iter().map(|rank| rank.expected()).collect();
            places.sort_by(f64::total_cmp);
            let (a, b) = (places[(places.len() - 1) / 2], places[places.len() / 2]);
            prop_assert!(close(figures.medr, (a + b) / 2.0));
        }
    }
}
