//! Ratios and medians with bootstrap intervals.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// A value and its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    pub fn interval(&self) -> [f64; 2] {
        [self.low, self.high]
    }
}

/// The ratio of two sums over clusters (right steps to all steps, say), with the percentile
/// interval of `resamples` bootstrap samples of whole clusters. Zero where there is nothing.
pub fn ratio(clusters: &[(f64, f64)], resamples: usize, seed: u64) -> Estimate {
    bootstrap(clusters.len(), resamples, seed, |chosen| {
        let (mut part, mut whole) = (0.0, 0.0);
        chosen.for_each(|i| {
            part += clusters[i].0;
            whole += clusters[i].1;
        });
        if whole > 0.0 { part / whole } else { 0.0 }
    })
}

/// As [`ratio`], of one count to another in each item.
pub fn count_ratio<T>(
    items: &[T],
    counts: impl Fn(&T) -> (usize, usize),
    resamples: usize,
    seed: u64,
) -> Estimate {
    let cluster = |item: &T| {
        let (part, whole) = counts(item);
        (part as f64, whole as f64)
    };
    ratio(&items.iter().map(cluster).collect::<Vec<_>>(), resamples, seed)
}

/// The median of all values, with the interval of bootstrap samples of whole clusters.
pub fn median(clusters: &[Vec<f64>], resamples: usize, seed: u64) -> Estimate {
    bootstrap(clusters.len(), resamples, seed, |chosen| {
        median_of(&mut chosen.flat_map(|i| clusters[i].iter().copied()).collect::<Vec<_>>())
    })
}

/// The mean of the two middle values of an even number; zero of none.
pub fn median_of(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let even = values.len().is_multiple_of(2);
    let (below, middle, _) = values.select_nth_unstable_by(values.len() / 2, f64::total_cmp);
    match even {
        true => (below.iter().copied().fold(f64::MIN, f64::max) + *middle) / 2.0,
        false => *middle,
    }
}

/// The value of all clusters, and the percentile interval of it over samples of as many clusters.
fn bootstrap(
    count: usize,
    resamples: usize,
    seed: u64,
    of: impl Fn(&mut dyn Iterator<Item = usize>) -> f64,
) -> Estimate {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let samples = (0..resamples.max(1))
        .map(|_| of(&mut (0..count).map(|_| random.random_range(0..count))))
        .collect();
    let [low, high] = interval(samples);
    Estimate { value: of(&mut (0..count)), low, high }
}

/// The middle 95 % of samples; zero of none.
pub fn interval(mut samples: Vec<f64>) -> [f64; 2] {
    samples.sort_by(f64::total_cmp);
    let last = samples.len().saturating_sub(1) as f64;
    let at = |share: f64| samples.get((share * last).round() as usize).copied().unwrap_or(0.0);
    [at(0.025), at(0.975)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certain_figures_have_no_width_and_uncertain_ones_do() {
        let sure = ratio(&[(3.0, 3.0); 10], 1000, 1);
        assert_eq!(sure, Estimate { value: 1.0, low: 1.0, high: 1.0 });
        let clusters: Vec<_> = (0..100).map(|i| (f64::from(i % 2), 1.0)).collect();
        let half = ratio(&clusters, 2000, 1);
        assert_eq!(half.value, 0.5);
        // One standard error is 0.05.
        assert!((half.low - 0.40).abs() < 0.03 && (half.high - 0.60).abs() < 0.03, "{half:?}");
        assert_eq!(ratio(&[], 10, 1).value, 0.0);
    }

    #[test]
    fn the_median_is_the_middle() {
        let of = |clusters: &[Vec<f64>]| median(clusters, 100, 1).value;
        assert_eq!(of(&[vec![5.0, 1.0], vec![2.0]]), 2.0);
        assert_eq!(of(&[vec![5.0, 1.0], vec![2.0, 4.0]]), 3.0);
        assert_eq!(of(&[]), 0.0);
    }
}
