//! Platt scaling: logistic regression of right or wrong on a logit, with a little ridge.

use stitch_engine::evaluator::PlattScaling;

use crate::logistic;

/// L2 regularisation of the slope, which would be infinite for separable samples.
const RIDGE: f64 = 0.1;

/// The same of the shift: only so much that the curvature is never 0.
const SHIFT_RIDGE: f64 = 1e-9;

/// The smallest scale, so that the order of scores stays where they are wrong; chosen by hand.
const MIN_SCALE: f64 = 1e-3;

/// The calibration under which the samples, logits with their labels, are most likely. The default where
/// they are all right or all wrong.
pub fn fit(samples: &[(f32, bool)]) -> PlattScaling {
    let right = samples.iter().filter(|(_, right)| *right).count();
    if right == 0 || right == samples.len() {
        return PlattScaling::default();
    }
    let both: Vec<_> = samples.iter().map(|(x, right)| ([1.0, f64::from(*x)], *right)).collect();
    let [mut shift, mut scale] = logistic::fit(&both, [SHIFT_RIDGE, RIDGE]);
    if scale < 0.0 {
        let alone: Vec<_> = samples.iter().map(|(_, right)| ([1.0], *right)).collect();
        ([shift], scale) = (logistic::fit(&alone, [SHIFT_RIDGE]), 0.0);
    }
    PlattScaling { scale: scale.max(MIN_SCALE) as f32, shift: shift as f32 }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn finds_the_calibration_that_made_the_samples() {
        let truth = PlattScaling { scale: 3.0, shift: -1.0 };
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut sample = || {
            let logit = random.random_range(-1.0..1.0);
            (logit, random.random_range(0.0..1.0) < truth.probability(logit))
        };
        let found = fit(&(0..20_000).map(|_| sample()).collect::<Vec<_>>());
        assert!((found.scale - truth.scale).abs() < 0.15, "{found:?}");
        assert!((found.shift - truth.shift).abs() < 0.15, "{found:?}");
    }

    #[test]
    fn overconfident_logits_are_scaled_down() {
        // Of sequences at logit 4, three in four are right; at -4 one in four.
        let samples: Vec<(f32, bool)> = (0..400)
            .map(|i| if i % 2 == 0 { (4.0, i % 8 != 0) } else { (-4.0, i % 8 == 1) })
            .collect();
        let calibration = fit(&samples);
        assert!((calibration.probability(4.0) - 0.75).abs() < 0.02, "{calibration:?}");
        assert!((calibration.probability(-4.0) - 0.25).abs() < 0.02, "{calibration:?}");
        assert_eq!(fit(&[(1.0, true)]), PlattScaling::default());
    }

    #[test]
    fn the_order_stays_even_where_the_evaluator_is_wrong() {
        let samples: Vec<(f32, bool)> = (0..100).map(|i| (i as f32 - 50.0, i < 50)).collect();
        assert!(fit(&samples).scale > 0.0);
    }

    #[test]
    fn separable_samples_have_a_finite_calibration() {
        let sure = [-1.0, 1.0, 2.0, -2.0].map(|logit: f32| (logit, logit > 0.0));
        let found = fit(&sure);
        assert!(
            found.shift.is_finite() && found.scale.is_finite() && found.scale > 1.0,
            "{found:?}"
        );
    }
}
