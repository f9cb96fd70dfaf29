//! Reliability: how often what was called likely was true.

use serde::Serialize;

/// A bin of the reliability table.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Reliability {
    /// Probabilities from here
    pub from: f64,
    /// to here.
    pub to: f64,
    /// How many.
    pub count: usize,
    /// Their mean.
    pub said: f64,
    /// The share that was right.
    pub was: f64,
}

/// Ten bins.
pub(crate) fn reliability(judged: impl Iterator<Item = (f64, bool)>) -> Vec<Reliability> {
    let mut bins = vec![Reliability::default(); 10];
    for (said, right) in judged {
        let bin = &mut bins[((said * 10.0) as usize).min(9)];
        bin.count += 1;
        bin.said += said;
        bin.was += f64::from(u8::from(right));
    }
    for (at, bin) in bins.iter_mut().enumerate() {
        (bin.from, bin.to) = (at as f64 / 10.0, (at + 1) as f64 / 10.0);
        bin.said /= bin.count.max(1) as f64;
        bin.was /= bin.count.max(1) as f64;
    }
    bins
}

/// Expected calibration error.
pub(crate) fn calibration_error(bins: &[Reliability]) -> f64 {
    let all: usize = bins.iter().map(|bin| bin.count).sum();
    let off = |bin: &Reliability| bin.count as f64 * (bin.said - bin.was).abs();
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
