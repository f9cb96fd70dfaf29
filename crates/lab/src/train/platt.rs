//! Platt scaling: logistic regression of right or wrong on a logit, by Newton's method with a little ridge.

use stitch_engine::evaluator::PlattScaling;

/// L2 regularisation of the slope, which would be infinite for separable samples.
const RIDGE: f64 = 0.1;

/// The same of the shift: only so much that the curvature is never 0.
const SHIFT_RIDGE: f64 = 1e-9;

const MAX_ITERATIONS: usize = 50;

/// The smallest scale, so that the order of scores stays where they are wrong; chosen by hand.
const MIN_SCALE: f64 = 1e-3;

/// The calibration under which the samples, logits with their labels, are most likely. The default where
/// they are all right or all wrong.
pub fn fit(samples: &[(f32, bool)]) -> PlattScaling {
    let right = samples.iter().filter(|(_, right)| *right).count();
    if right == 0 || right == samples.len() {
        return PlattScaling::default();
    }
    let [mut shift, mut scale] = newton(samples, true);
    if scale < 0.0 {
        [shift, scale] = newton(samples, false);
    }
    PlattScaling { scale: scale.max(MIN_SCALE) as f32, shift: shift as f32 }
}

/// Shift and scale; the scale stays 0 unless it is used.
fn newton(samples: &[(f32, bool)], use_scale: bool) -> [f64; 2] {
    let [mut shift, mut scale] = [0.0, 0.0];
    for _ in 0..MAX_ITERATIONS {
        let (mut gradient, mut curvature) = ([0.0; 2], [[0.0; 2]; 2]);
        for (logit, right) in samples {
            let p = 1.0 / (1.0 + (-(shift + scale * f64::from(*logit))).exp());
            let x = if use_scale { f64::from(*logit) } else { 0.0 };
            let (error, weight) = (f64::from(u8::from(*right)) - p, p * (1.0 - p));
            gradient = [gradient[0] + error, gradient[1] + error * x];
            let [[a, b], [_, d]] = curvature;
            curvature = [[a + weight, b + weight * x], [b + weight * x, d + weight * x * x]];
        }
        gradient = [gradient[0] - SHIFT_RIDGE * shift, gradient[1] - RIDGE * scale];
        curvature[0][0] += SHIFT_RIDGE;
        curvature[1][1] += RIDGE;
        let step = solve(curvature, gradient);
        shift += step[0].clamp(-5.0, 5.0);
        scale += step[1].clamp(-5.0, 5.0);
        if step.iter().all(|x| x.abs() < 1e-9) {
            break;
        }
    }
    [shift, scale]
}

/// Gaussian elimination of a positive definite matrix.
fn solve(a: [[f64; 2]; 2], b: [f64; 2]) -> [f64; 2] {
    let factor = a[1][0] / a[0][0].max(1e-12);
    let last = (b[1] - factor * b[0]) / (a[1][1] - factor * a[0][1]).max(1e-12);
    [(b[0] - a[0][1] * last) / a[0][0].max(1e-12), last]
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
