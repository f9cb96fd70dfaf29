//! Where the truth stands among its candidates: ranks under ties, their figures, and bootstrap
//! intervals of figures and of differences between methods.
//!
//! A tie is broken by chance, so its rank is the mean of the places it may get, a hit counts by the
//! share of those places, and so does a reciprocal. A scorer that says the same of all 500
//! candidates gets a median rank of 250.5 and R@50 of 0.10.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::metrics::Estimate;

/// How many bootstrap samples an interval is from.
pub const RESAMPLES: usize = 10_000;

/// Where the truth stands among its candidates; 1 is the first place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rank {
    /// How many candidates are better.
    pub better: u32,
    /// How many others are as good.
    pub ties: u32,
}

impl Rank {
    /// The rank of the first score among all. What is not a number is worse than any number.
    pub fn of_first(scores: &[f32]) -> Option<Self> {
        let worst = |score: &f32| if score.is_nan() { f32::NEG_INFINITY } else { *score };
        let (truth, others) = scores.split_first()?;
        let truth = worst(truth);
        let count = |of: &dyn Fn(f32) -> bool| others.iter().filter(|s| of(worst(s))).count();
        let (better, ties) = (count(&|score| score > truth), count(&|score| score == truth));
        Some(Self { better: better as u32, ties: ties as u32 })
    }

    /// Its place when every tie is broken in its favour.
    pub fn optimistic(self) -> f64 {
        f64::from(self.better) + 1.0
    }

    /// Its place when every tie is broken against it.
    pub fn pessimistic(self) -> f64 {
        f64::from(self.better) + f64::from(self.ties) + 1.0
    }

    /// Its mean place when ties are broken by chance.
    pub fn expected(self) -> f64 {
        f64::from(self.better) + 1.0 + f64::from(self.ties) / 2.0
    }

    /// How likely it is among the first `k`.
    pub fn within(self, k: u32) -> f64 {
        let places = f64::from(self.ties) + 1.0;
        ((f64::from(k) - f64::from(self.better)) / places).clamp(0.0, 1.0)
    }

    /// The mean of one over its place.
    pub fn reciprocal(self) -> f64 {
        let places = self.better + 1..=self.better + 1 + self.ties;
        places.map(|place| 1.0 / f64::from(place)).sum::<f64>() / (f64::from(self.ties) + 1.0)
    }
}

/// The figures of many ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// The median of the expected ranks; the mean of the middle two of an even number.
    pub medr: f64,
    /// Share of truths in the first place.
    pub r1: f64,
    /// Among the first five.
    pub r5: f64,
    /// Among the first fifty.
    pub r50: f64,
    /// Mean reciprocal rank.
    pub mrr: f64,
    /// Mean rank.
    pub mean_rank: f64,
}

impl Figures {
    /// The names of the figures, in the order of [`Figures::array`].
    pub const NAMES: [&str; 6] = ["medr", "r1", "r5", "r50", "mrr", "mean_rank"];

    /// Of the figures of several sets the mean of each.
    pub fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        Self {
            medr: mean(|figures| figures.medr),
            r1: mean(|figures| figures.r1),
            r5: mean(|figures| figures.r5),
            r50: mean(|figures| figures.r50),
            mrr: mean(|figures| figures.mrr),
            mean_rank: mean(|figures| figures.mean_rank),
        }
    }

    /// All figures.
    pub fn array(&self) -> [f64; 6] {
        [self.medr, self.r1, self.r5, self.r50, self.mrr, self.mean_rank]
    }

    fn from_array([medr, r1, r5, r50, mrr, mean_rank]: [f64; 6]) -> Self {
        Self { medr, r1, r5, r50, mrr, mean_rank }
    }

    /// Of these ranks; all zero where there is none.
    pub fn of(ranks: &[Rank]) -> Self {
        let numbers: Vec<Numbers> = ranks.iter().map(|rank| Numbers::of(*rank)).collect();
        let figures = Self::of_numbers(numbers.iter());
        figures.assert_sound(ranks);
        figures
    }

    fn of_numbers<'a>(numbers: impl Iterator<Item = &'a Numbers>) -> Self {
        let mut sums = [0.0; 5];
        let mut places: Vec<f64> = Vec::with_capacity(numbers.size_hint().0);
        for number in numbers {
            sums.iter_mut().zip(number.0).for_each(|(sum, x)| *sum += x);
            places.push(number.0[4]);
        }
        let count = places.len().max(1) as f64;
        let [r1, r5, r50, mrr, mean_rank] = sums.map(|sum| sum / count);
        Self { medr: median(&mut places), r1, r5, r50, mrr, mean_rank }
    }

    /// A median rank of at most k means that half of the truths are among the first k. Where ties
    /// reach across k a hit counts in part, so the figures can only be held to it without them.
    fn assert_sound(&self, ranks: &[Rank]) {
        for (k, share) in [(1, self.r1), (5, self.r5), (50, self.r50)] {
            let across = |rank: &Rank| (1e-9..1.0 - 1e-9).contains(&rank.within(k));
            let sound = ranks.is_empty() || self.medr > f64::from(k) || share >= 0.5 - 1e-9;
            assert!(
                sound || ranks.iter().any(across),
                "a median rank of {} and R@{k} of {share} cannot both be",
                self.medr
            );
        }
    }
}

/// What the figures add up, of one rank: hits at 1, 5 and 50, reciprocal, place.
#[derive(Clone, Copy)]
struct Numbers([f64; 5]);

impl Numbers {
    fn of(rank: Rank) -> Self {
        let [r1, r5, r50] = [1, 5, 50].map(|k| rank.within(k));
        Self([r1, r5, r50, rank.reciprocal(), rank.expected()])
    }
}

fn median(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let even = values.len().is_multiple_of(2);
    let (below, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    match even {
        true => (below.iter().copied().fold(f64::MIN, f64::max) + *middle) / 2.0,
        false => *middle,
    }
}

/// The ends of the 95 % intervals of [`Figures`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intervals {
    /// Of the median rank.
    pub medr: [f64; 2],
    /// Of R@1.
    pub r1: [f64; 2],
    /// Of R@5.
    pub r5: [f64; 2],
    /// Of R@50.
    pub r50: [f64; 2],
    /// Of the mean reciprocal rank.
    pub mrr: [f64; 2],
    /// Of the mean rank.
    pub mean_rank: [f64; 2],
}

/// Which ranks are resampled together: those of one source video.
#[derive(Clone, Debug)]
pub struct Clusters(Vec<Vec<usize>>);

impl Clusters {
    /// Of ranks whose videos are these, in order.
    pub fn of<T: Ord>(videos: impl IntoIterator<Item = T>) -> Self {
        let mut clusters: std::collections::BTreeMap<T, Vec<usize>> = Default::default();
        for (at, video) in videos.into_iter().enumerate() {
            clusters.entry(video).or_default().push(at);
        }
        Self(clusters.into_values().collect())
    }

    /// The figures of ranks over bootstrap samples of whole clusters. The same seed gives the same
    /// samples, so that methods over the same instances can be compared pair by pair.
    pub fn resample(&self, ranks: &[Rank], resamples: usize, seed: u64) -> Samples {
        let numbers: Vec<Numbers> = ranks.iter().map(|rank| Numbers::of(*rank)).collect();
        let sample = |number: usize| {
            let mut random = ChaCha8Rng::seed_from_u64(seed ^ (number as u64) << 20);
            let count = self.0.len();
            let chosen = (0..count).flat_map(|_| &self.0[random.random_range(0..count)]);
            Figures::of_numbers(chosen.map(|at| &numbers[*at]))
        };
        Samples((0..resamples).into_par_iter().map(sample).collect())
    }
}

/// Figures of many bootstrap samples.
#[derive(Clone, Debug)]
pub struct Samples(Vec<Figures>);

impl Samples {
    /// The middle 95 % of each figure.
    pub fn intervals(&self) -> Intervals {
        let [medr, r1, r5, r50, mrr, mean_rank] = ends(self.0.iter().map(Figures::array));
        Intervals { medr, r1, r5, r50, mrr, mean_rank }
    }

    /// By how much the figures of the other method exceed these, sample by sample; `ours` and
    /// `theirs` are the figures of all instances.
    pub fn difference(&self, ours: &Figures, other: &Self, theirs: &Figures) -> Difference {
        let minus = |(a, b): (&Figures, &Figures)| subtract(b, a).array();
        let ends = ends(self.0.iter().zip(&other.0).map(minus));
        let values = subtract(theirs, ours).array();
        let one = |at: usize| Estimate { value: values[at], low: ends[at][0], high: ends[at][1] };
        let [medr, r1, r5, r50, mrr, mean_rank] = [0, 1, 2, 3, 4, 5].map(one);
        Difference { medr, r1, r5, r50, mrr, mean_rank }
    }
}

/// Differences of figures with their intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Of the median ranks.
    pub medr: Estimate,
    /// Of R@1.
    pub r1: Estimate,
    /// Of R@5.
    pub r5: Estimate,
    /// Of R@50.
    pub r50: Estimate,
    /// Of the mean reciprocal ranks.
    pub mrr: Estimate,
    /// Of the mean ranks.
    pub mean_rank: Estimate,
}

fn subtract(a: &Figures, b: &Figures) -> Figures {
    let (a, b) = (a.array(), b.array());
    Figures::from_array([0, 1, 2, 3, 4, 5].map(|at| a[at] - b[at]))
}

fn ends(samples: impl Iterator<Item = [f64; 6]>) -> [[f64; 2]; 6] {
    let mut columns: [Vec<f64>; 6] = Default::default();
    for sample in samples {
        columns.iter_mut().zip(sample).for_each(|(column, x)| column.push(x));
    }
    columns.map(|mut column| {
        column.sort_by(f64::total_cmp);
        let last = column.len().saturating_sub(1) as f64;
        let at = |share: f64| column.get((share * last).round() as usize).copied().unwrap_or(0.0);
        [at(0.025), at(0.975)]
    })
}

/// The figures when every tie is broken for the truth, and when every tie is broken against it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// In its favour.
    pub optimistic: Figures,
    /// Against it.
    pub pessimistic: Figures,
}

impl Bounds {
    /// Of these ranks.
    pub fn of(ranks: &[Rank]) -> Self {
        let with = |better: fn(&Rank) -> u32| {
            let ranks: Vec<Rank> =
                ranks.iter().map(|rank| Rank { better: better(rank), ties: 0 }).collect();
            Figures::of(&ranks)
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
        let figures = Figures::of(&constant);
        assert_eq!(figures.medr, 250.5);
        assert!(close(figures.r50, 0.10) && close(figures.r1, 0.002) && close(figures.r5, 0.01));
        assert!(close(figures.mean_rank, 250.5));
        let bounds = Bounds::of(&constant);
        assert_eq!((bounds.optimistic.medr, bounds.pessimistic.medr), (1.0, 500.0));
        let mut scores = [0.0; 500];
        scores[0] = 1.0;
        let oracle = Figures::of(&[Rank::of_first(&scores).unwrap(); 7]);
        let one = Figures { medr: 1.0, r1: 1.0, r5: 1.0, r50: 1.0, mrr: 1.0, mean_rank: 1.0 };
        assert_eq!(oracle, one);
    }

    #[test]
    fn what_is_no_number_is_worst() {
        let rank = |scores: &[f32]| Rank::of_first(scores).unwrap();
        assert_eq!(rank(&[f32::NAN, 0.0, f32::NAN]), Rank { better: 1, ties: 1 });
        assert_eq!(rank(&[0.0, f32::NAN]), Rank { better: 0, ties: 0 });
        assert_eq!(Rank::of_first(&[]), None);
        assert_eq!(Figures::of(&[]), Figures::default());
    }

    #[test]
    fn intervals_hold_the_figure_and_widen_with_clusters() {
        let ranks: Vec<Rank> = (0..200).map(|at| Rank { better: at % 4, ties: 0 }).collect();
        let alone = Clusters::of(0..200).resample(&ranks, 2000, 1);
        let figures = Figures::of(&ranks);
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
        let difference = a.difference(&Figures::of(&ours), &b, &Figures::of(&theirs));
        let mean = difference.mean_rank;
        assert!(close(mean.value, -1.0) && close(mean.low, -1.0) && close(mean.high, -1.0));
    }

    proptest! {
        #[test]
        fn expected_figures_are_those_of_breaking_ties_by_chance(
            scores in prop::collection::vec(0u8..4, 1..12),
        ) {
            let scores: Vec<f32> = scores.into_iter().map(f32::from).collect();
            let rank = Rank::of_first(&scores).unwrap();
            let first = rank.optimistic() as u32;
            let places: Vec<f64> = (first..=rank.pessimistic() as u32).map(f64::from).collect();
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
            let figures = Figures::of(&ranks); // asserts it
            prop_assert!(figures.r1 <= figures.r5 && figures.r5 <= figures.r50);
            let mut places: Vec<f64> = ranks.iter().map(|rank| rank.expected()).collect();
            places.sort_by(f64::total_cmp);
            let (a, b) = (places[(places.len() - 1) / 2], places[places.len() / 2]);
            prop_assert!(close(figures.medr, (a + b) / 2.0));
        }
    }
}
