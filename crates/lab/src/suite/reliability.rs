//! Reliability of probabilities: how often what was predicted was right.

use serde::Serialize;

/// A bin of the reliability table.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Reliability {
    /// Probabilities from here
    pub from: f64,
    /// to here.
    pub to: f64,
    pub count: usize,
    /// Mean predicted probability.
    #[serde(rename = "said")]
    pub predicted: f64,
    /// Share that was right.
    #[serde(rename = "was")]
    pub right: f64,
}

pub(crate) fn reliability(samples: impl Iterator<Item = (f64, bool)>) -> Vec<Reliability> {
    let mut bins = vec![Reliability::default(); 10];
    for (predicted, right) in samples {
        let bin = &mut bins[((predicted * 10.0) as usize).min(9)];
        bin.count += 1;
        bin.predicted += predicted;
        bin.right += f64::from(u8::from(right));
    }
    for (at, bin) in bins.iter_mut().enumerate() {
        (bin.from, bin.to) = (at as f64 / 10.0, (at + 1) as f64 / 10.0);
        bin.predicted /= bin.count.max(1) as f64;
        bin.right /= bin.count.max(1) as f64;
    }
    bins
}

/// Expected calibration error.
pub(crate) fn calibration_error(bins: &[Reliability]) -> f64 {
    let all: usize = bins.iter().map(|bin| bin.count).sum();
    let off = |bin: &Reliability| bin.count as f64 * (bin.predicted - bin.right).abs();
    bins.iter().map(off).sum::<f64>() / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn honest_probabilities_have_no_error() {
        let honest: Vec<(f64, bool)> = (0..100).map(|i| (0.25, i % 4 == 0)).collect();
        assert!(calibration_error(&reliability(honest.into_iter())) < 1e-9);
        let boasting: Vec<(f64, bool)> = (0..100).map(|i| (0.95, i % 2 == 0)).collect();
        assert!((calibration_error(&reliability(boasting.into_iter())) - 0.45).abs() < 1e-9);
    }
}
