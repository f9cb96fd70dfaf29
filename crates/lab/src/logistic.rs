//! Logistic regression with an L2 penalty, by Newton's method (iteratively reweighted least squares).

const MAX_ITERATIONS: usize = 100;

/// The fit ends when the next step would change no weight by more than this.
const TOLERANCE: f64 = 1e-9;

/// Halvings of a step that would raise the loss; after so many it is smaller than rounding errors.
const MAX_HALVINGS: usize = 40;

/// The weights of least loss: the negative log-likelihood of the samples plus half the sum of `ridge`
/// times squared weight. A bias is the weight of a constant 1. Every ridge must be positive, so that there
/// is one such point, also where the samples can be separated.
pub fn fit<const N: usize>(samples: &[([f64; N], bool)], ridge: [f64; N]) -> [f64; N] {
    let mut weights = [0.0; N];
    let mut current = loss(samples, &ridge, &weights);
    for _ in 0..MAX_ITERATIONS {
        let (gradient, curvature) = derivatives(samples, &ridge, &weights);
        let step = solve(curvature, gradient);
        if step.iter().all(|part| part.abs() < TOLERANCE) {
            break;
        }
        let scales = (0..MAX_HALVINGS).map(|halvings| 0.5f64.powi(halvings as i32));
        let tried = scales.map(|scale| std::array::from_fn(|i| weights[i] - scale * step[i]));
        let mut losses = tried.map(|next| (loss(samples, &ridge, &next), next));
        let Some((lower, next)) = losses.find(|(lower, _)| *lower < current) else {
            break;
        };
        (current, weights) = (lower, next);
    }
    weights
}

fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn loss<const N: usize>(samples: &[([f64; N], bool)], ridge: &[f64; N], weights: &[f64; N]) -> f64 {
    let of = |(features, right): &([f64; N], bool)| {
        let z = dot(features, weights);
        let against = if *right { -z } else { z };
        // ln(1 + e^against), without overflow
        against.max(0.0) + (-against.abs()).exp().ln_1p()
    };
    let penalty: f64 = ridge.iter().zip(weights).map(|(ridge, w)| ridge * w * w / 2.0).sum();
    samples.iter().map(of).sum::<f64>() + penalty
}

/// The gradient and the Hessian of the loss.
fn derivatives<const N: usize>(
    samples: &[([f64; N], bool)],
    ridge: &[f64; N],
    weights: &[f64; N],
) -> ([f64; N], [[f64; N]; N]) {
    let mut gradient: [f64; N] = std::array::from_fn(|i| ridge[i] * weights[i]);
    let mut curvature = [[0.0; N]; N];
    (0..N).for_each(|i| curvature[i][i] = ridge[i]);
    for (features, right) in samples {
        let p = 1.0 / (1.0 + (-dot(features, weights)).exp());
        let (error, weight) = (p - f64::from(u8::from(*right)), p * (1.0 - p));
        for (i, x) in features.iter().enumerate() {
            gradient[i] += error * x;
            for (entry, y) in curvature[i].iter_mut().zip(features) {
                *entry += weight * x * y;
            }
        }
    }
    (gradient, curvature)
}

/// Gaussian elimination; a positive definite matrix needs no pivoting.
fn solve<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> [f64; N] {
    for column in 0..N {
        for row in column + 1..N {
            let factor = a[row][column] / a[column][column];
            (column..N).for_each(|k| a[row][k] -= factor * a[column][k]);
            b[row] -= factor * b[column];
        }
    }
    let mut x = [0.0; N];
    for row in (0..N).rev() {
        let known: f64 = (row + 1..N).map(|k| a[row][k] * x[k]).sum();
        x[row] = (b[row] - known) / a[row][row];
    }
    x
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// So many samples of these features, the first ones right.
    fn group<const N: usize>(features: [f64; N], right: usize, of: usize) -> Vec<([f64; N], bool)> {
        (0..of).map(|i| (features, i < right)).collect()
    }

    #[test]
    fn weights_are_those_computed_by_hand() {
        let three = 3f64.ln();
        // 8 - 10 p = ridge w, and w = ln 3 gives p = 3/4.
        let [w] = fit(&group([1.0], 8, 10), [0.5 / three]);
        assert!((w - three).abs() < 1e-6, "{w}");
        // One in four is right without the feature, three in four with it: log-odds -ln 3 and ln 3.
        let samples = [group([1.0, 0.0], 1, 4), group([1.0, 1.0], 3, 4)].concat();
        let [bias, w] = fit(&samples, [1e-12; 2]);
        assert!((bias + three).abs() < 1e-6 && (w - 2.0 * three).abs() < 1e-6, "{bias} {w}");
    }

    fn random_samples(truth: [f64; 4], count: usize) -> Vec<([f64; 4], bool)> {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut sample = || {
            let mut x = [1.0; 4];
            x[1..].fill_with(|| random.random_range(-2.0..2.0));
            let p = 1.0 / (1.0 + (-dot(&x, &truth)).exp());
            (x, random.random_range(0.0..1.0) < p)
        };
        (0..count).map(|_| sample()).collect()
    }

    #[test]
    fn the_weights_that_made_the_samples_are_found() {
        let truth = [-1.0, 2.0, -0.5, 0.0];
        let found = fit(&random_samples(truth, 20_000), [1.0; 4]);
        assert!(found.iter().zip(truth).all(|(a, b)| (a - b).abs() < 0.15), "{found:?}");
    }

    #[test]
    fn derivatives_are_those_of_the_loss() {
        const H: f64 = 1e-5;
        let (samples, ridge) = (random_samples([0.5; 4], 50), [0.1, 1.0, 2.0, 3.0]);
        let at = [0.3, -0.7, 0.2, 1.1];
        let (gradient, curvature) = derivatives(&samples, &ridge, &at);
        let moved = |i: usize, by: f64| {
            let mut at = at;
            at[i] += by;
            at
        };
        for i in 0..4 {
            let change = |by: f64| loss(&samples, &ridge, &moved(i, by));
            let slope = (change(H) - change(-H)) / (2.0 * H);
            assert!((slope - gradient[i]).abs() < 1e-5, "{i}: {slope} {}", gradient[i]);
            let [up, down] = [H, -H].map(|by| derivatives(&samples, &ridge, &moved(i, by)).0);
            for j in 0..4 {
                let slope = (up[j] - down[j]) / (2.0 * H);
                assert!((slope - curvature[i][j]).abs() < 1e-5, "{i} {j}");
            }
        }
    }

    #[test]
    fn the_gradient_is_zero_where_the_fit_ends_and_separable_samples_have_an_end() {
        let separable: Vec<_> = (-5..5).map(|i| ([1.0, f64::from(i)], i >= 0)).collect();
        for samples in [separable, group([1.0, 1.0], 4, 4)] {
            let ridge = [1e-6, 1.0];
            let found = fit(&samples, ridge);
            let (gradient, _) = derivatives(&samples, &ridge, &found);
            assert!(gradient.iter().all(|part| part.abs() < 1e-5), "{found:?} {gradient:?}");
        }
    }
}
