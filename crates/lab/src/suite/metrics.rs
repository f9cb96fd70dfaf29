//! Means with bootstrap intervals.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// A figure and the interval that holds it with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
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

/// The median of all values (the mean of the two middle ones of an even number), with the interval
/// of bootstrap samples of whole clusters. Zero where there is nothing.
pub fn median(clusters: &[Vec<f64>], resamples: usize, seed: u64) -> Estimate {
    bootstrap(clusters.len(), resamples, seed, |chosen| {
        let mut values: Vec<f64> = chosen.flat_map(|i| clusters[i].iter().copied()).collect();
        values.sort_by(f64::total_cmp);
        match (values.len(), values.len() / 2) {
            (0, _) => 0.0,
            (count, half) if count % 2 == 0 => (values[half - 1] + values[half]) / 2.0,
            (_, half) => values[half],
        }
    })
}

/// A figure of all clusters, and the percentile interval of it over samples of as many clusters.
fn bootstrap(
    count: usize,
    resamples: usize,
    seed: u64,
    of: impl Fn(&mut dyn Iterator<Item = usize>) -> f64,
) -> Estimate {
    let value = of(&mut (0..count));
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut samples: Vec<f64> = (0..resamples.max(1))
        .map(|_| of(&mut (0..count).map(|_| random.random_range(0..count))))
        .collect();
    samples.sort_by(f64::total_cmp);
    let at = |share: f64| samples[(share * (samples.len() - 1) as f64).round() as usize];
    Estimate { value, low: at(0.025), high: at(0.975) }
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
