//! Logistic regression on a handful of numbers, exact: Newton's method with a little ridge, and no
//! weight below zero.

/// How many numbers a sample has, besides the constant.
pub const NUMBERS: usize = 3;

/// Against weights that run away where the samples are separable.
const RIDGE: f64 = 0.1;

/// One thing that was seen.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// What is known of it.
    pub numbers: [f64; NUMBERS],
    /// What it was.
    pub right: bool,
    /// How much it counts.
    pub weight: f64,
}

/// The constant, then a weight for each number.
pub type Weights = [f64; NUMBERS + 1];

/// The weights that make the samples most likely. A number that would count against is left out: all
/// numbers here are agreements, and where more agreement seems to speak against, that is chance.
pub fn fit(samples: &[Sample]) -> Weights {
    let mut used = [true; NUMBERS];
    loop {
        let weights = newton(samples, &used);
        let worst = (0..NUMBERS).filter(|i| used[*i] && weights[i + 1] < 0.0);
        match worst.min_by(|a, b| weights[a + 1].total_cmp(&weights[b + 1])) {
            Some(number) => used[number] = false,
            None => return weights,
        }
    }
}

/// The probability of a sample that it is right.
pub fn probability(weights: &Weights, numbers: &[f64; NUMBERS]) -> f64 {
    let sum: f64 = weights[1..].iter().zip(numbers).map(|(w, x)| w * x).sum();
    1.0 / (1.0 + (-(weights[0] + sum)).exp())
}

fn newton(samples: &[Sample], used: &[bool; NUMBERS]) -> Weights {
    const SIZE: usize = NUMBERS + 1;
    let mut weights = [0.0; SIZE];
    for _ in 0..50 {
        let mut gradient = [0.0; SIZE];
        let mut curvature = [[0.0; SIZE]; SIZE];
        for sample in samples {
            let p = probability(&weights, &sample.numbers);
            let row = with_constant(&sample.numbers, used);
            for i in 0..SIZE {
                gradient[i] += sample.weight * (f64::from(u8::from(sample.right)) - p) * row[i];
                for j in 0..SIZE {
                    curvature[i][j] += sample.weight * p * (1.0 - p) * row[i] * row[j];
                }
            }
        }
        for i in 0..SIZE {
            let ridge = if i == 0 { 1e-9 } else { RIDGE };
            gradient[i] -= ridge * weights[i];
            curvature[i][i] += ridge;
        }
        let step = solve(curvature, gradient);
        (0..SIZE).for_each(|i| weights[i] += step[i].clamp(-5.0, 5.0));
        if step.iter().all(|x| x.abs() < 1e-9) {
            break;
        }
    }
    weights
}

fn with_constant(numbers: &[f64; NUMBERS], used: &[bool; NUMBERS]) -> Weights {
    let mut row = [1.0; NUMBERS + 1];
    for i in 0..NUMBERS {
        row[i + 1] = if used[i] { numbers[i] } else { 0.0 };
    }
    row
}

/// Gaussian elimination; the matrix is positive definite, so no row need change its place.
fn solve(mut a: [[f64; NUMBERS + 1]; NUMBERS + 1], mut b: Weights) -> Weights {
    let size = b.len();
    for pivot in 0..size {
        for row in pivot + 1..size {
            let factor = a[row][pivot] / a[pivot][pivot].max(1e-12);
            let above = a[pivot];
            a[row].iter_mut().zip(above).skip(pivot).for_each(|(x, y)| *x -= factor * y);
            b[row] -= factor * b[pivot];
        }
    }
    for row in (0..size).rev() {
        let rest: f64 = (row + 1..size).map(|column| a[row][column] * b[column]).sum();
        b[row] = (b[row] - rest) / a[row][row].max(1e-12);
    }
    b
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn samples(truth: &Weights, count: usize) -> Vec<Sample> {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut one = || {
            let numbers = [(); NUMBERS].map(|()| random.random_range(-1.0..1.0));
            let right = random.random_range(0.0..1.0) < probability(truth, &numbers);
            Sample { numbers, right, weight: 1.0 }
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn finds_the_weights_that_made_the_samples() {
        let truth = [-1.0, 3.0, 0.5, 2.0];
        let found = fit(&samples(&truth, 20_000));
        for (found, truth) in found.iter().zip(truth) {
            assert!((found - truth).abs() < 0.15, "{found} for {truth}");
        }
    }

    #[test]
    fn what_counts_against_is_left_out_and_separable_samples_end() {
        let found = fit(&samples(&[0.0, 3.0, -2.0, 1.0], 5_000));
        assert_eq!(found[2], 0.0);
        let sure = |x: f64| Sample { numbers: [x, 0.0, 0.0], right: x > 0.0, weight: 1.0 };
        let found = fit(&[sure(-1.0), sure(1.0), sure(2.0), sure(-2.0)]);
        assert!(found.iter().all(|w| w.is_finite()) && found[1] > 1.0, "{found:?}");
        assert!(fit(&[]).iter().all(|w| w.is_finite()));
    }
}
