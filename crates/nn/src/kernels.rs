//! Element-wise and row-wise functions on slices, written so that they vectorise: callers run them
//! inside [`vectorised`].

/// Elements handled side by side; two registers of AVX-512, four of AVX2.
const LANES: usize = 32;

/// The activation function of a hidden layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    Relu,
    /// The exact form, by the error function.
    Gelu,
}

impl Activation {
    #[inline(always)]
    pub(crate) fn apply(self, row: &mut [f32]) {
        match self {
            Self::Relu => row.iter_mut().for_each(|x| *x = x.max(0.0)),
            Self::Gelu => row.iter_mut().for_each(|x| *x = gelu(*x)),
        }
    }
}

/// Runs the work with the widest vector instructions of this machine.
#[inline(always)]
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// [`vectorised`] with a closure that is always inlined, without which it would be compiled for the
/// narrowest instructions.
macro_rules! simd {
    ($work:expr) => {
        $crate::kernels::vectorised(
            #[inline(always)]
            || $work,
        )
    };
}
pub(crate) use simd;

#[inline(always)]
pub(crate) fn add(row: &mut [f32], other: &[f32]) {
    row.iter_mut().zip(other).for_each(|(x, y)| *x += y);
}

/// sum += factor · row
#[inline(always)]
pub(crate) fn add_scaled(sum: &mut [f32], factor: f32, row: &[f32]) {
    sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
}

/// The mean of a row, and 1 / its standard deviation.
#[inline(always)]
pub(crate) fn mean_and_rstd(row: &[f32], eps: f32) -> (f32, f32) {
    let count = row.len() as f32;
    let mean = sum(row, |x| x) / count;
    let variance = sum(row, |x| (x - mean) * (x - mean)) / count;
    (mean, 1.0 / (variance + eps).sqrt())
}

#[inline(always)]
pub(crate) fn layer_norm(row: &mut [f32], weight: &[f32], bias: &[f32], eps: f32) {
    let (mean, rstd) = mean_and_rstd(row, eps);
    for ((x, w), b) in row.iter_mut().zip(weight).zip(bias) {
        *x = (*x - mean) * rstd * w + b;
    }
}

#[inline(always)]
pub(crate) fn softmax(scores: &mut [f32]) {
    let max = largest(scores);
    scores.iter_mut().for_each(|x| *x = exp(*x - max));
    let scale = 1.0 / sum(scores, |x| x);
    scores.iter_mut().for_each(|x| *x *= scale);
}

/// One query's attention over the keys and values of a sequence: leaves softmax(q·k / √size + bias)
/// in `probs` and the values' sum by these in `out`.
#[inline(always)]
pub(crate) fn attend<'a>(
    query: &[f32],
    keys: impl Iterator<Item = &'a [f32]>,
    values: impl Iterator<Item = &'a [f32]>,
    bias: Option<&[f32]>,
    probs: &mut [f32],
    out: &mut [f32],
) {
    let scale = 1.0 / (query.len() as f32).sqrt();
    for (score, key) in probs.iter_mut().zip(keys) {
        *score = dot(query, key) * scale;
    }
    if let Some(bias) = bias {
        add(probs, bias);
    }
    softmax(probs);
    out.fill(0.0);
    for (prob, value) in probs.iter().zip(values) {
        add_scaled(out, *prob, value);
    }
}

/// The sum of all lanes, in halves: one after the other each would wait for the last.
#[inline(always)]
fn total(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(a, b)| *a += *b);
        half /= 2;
    }
    lanes[0]
}

/// The largest element of a row that holds no NaN, in several lanes so that it vectorises.
#[inline(always)]
pub fn largest(row: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (blocks, rest) = row.as_chunks::<LANES>();
    let mut max = [f32::NEG_INFINITY; LANES];
    for block in blocks {
        max.iter_mut().zip(block).for_each(|(max, x)| *max = larger(*max, *x));
    }
    let max = max.iter().copied().fold(f32::NEG_INFINITY, larger);
    rest.iter().copied().fold(max, larger)
}

/// The sum of `f` of every element, in several running sums so that it vectorises.
#[inline(always)]
pub fn sum(row: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let (blocks, rest) = row.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for block in blocks {
        sums.iter_mut().zip(block).for_each(|(sum, x)| *sum += f(*x));
    }
    total(sums) + rest.iter().map(|x| f(*x)).sum::<f32>()
}

#[inline(always)]
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a_blocks, a_rest), (b_blocks, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0f32; LANES];
    for (x, y) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    total(sums) + a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum::<f32>()
}

/// e^x within 2e-7 (relative) for x ≤ 0, and 0 far below.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    /// Adding and taking away 1.5·2^23 rounds to an integer.
    const ROUND: f32 = 12_582_912.0;
    let x = x.max(-87.0);
    let whole = x * std::f32::consts::LOG2_E + ROUND - ROUND;
    // ln 2 in two pieces, so that the difference keeps its last digits.
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let series = 1.0 / 720.0;
    let series = series * rest + 1.0 / 120.0;
    let series = series * rest + 1.0 / 24.0;
    let series = series * rest + 1.0 / 6.0;
    let series = series * rest + 0.5;
    let series = series * rest + 1.0;
    let series = series * rest + 1.0;
    series * f32::from_bits(((whole as i32 + 127) as u32) << 23)
}

/// x/2 (1 + erf(x/√2)), erf by Abramowitz and Stegun 7.1.26 (within 1.5e-7).
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series = 1.061_405_4 * t - 1.453_152;
    let series = series * t + 1.421_413_7;
    let series = series * t - 0.284_496_74;
    let series = series * t + 0.254_829_6;
    let erf = 1.0 - series * t * exp(-z * z);
    0.5 * x + 0.5 * x.abs() * erf
}

/// The logistic function within 3e-7.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    let e = exp(-x.abs());
    (if x < 0.0 { e } else { 1.0 }) / (1.0 + e)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Pseudo-random numbers from -1 to 1, the same every time.
    pub(crate) fn random(count: usize, seed: u32) -> Vec<f32> {
        let hash = |i: usize| (i as u32 + 7 * seed + 1).wrapping_mul(2_654_435_761);
        (0..count).map(|i| (hash(i).rotate_left(13) >> 8) as f32 / 8_388_608.0 - 1.0).collect()
    }

    pub(crate) fn assert_near(a: &[f32], b: &[f32], tolerance: f32) {
        assert_eq!(a.len(), b.len());
        let far = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far < tolerance, "{far}");
    }

    /// By its power series, for |x| up to 5.
    fn erf(x: f64) -> f64 {
        let (mut term, mut sum) = (x, x);
        for n in 1..150 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    }

    #[test]
    fn exp_sigmoid_and_gelu_are_near_the_exact_ones() {
        for i in -900_000..=0 {
            let x = i as f32 / 1e4;
            let (near, exact) = (f64::from(exp(x)), f64::from(x.max(-87.0)).exp());
            assert!((near - exact).abs() <= 4e-7 * exact, "exp({x}): {near} {exact}");
        }
        for i in -9000..9000 {
            let x = f64::from(i as f32 / 1000.0);
            let erf = if x.abs() < 6.0 { erf(x / 2f64.sqrt()) } else { x.signum() };
            let exact = 0.5 * x * (1.0 + erf);
            assert!((f64::from(gelu(x as f32)) - exact).abs() < 1e-6, "gelu({x})");
            let exact = 1.0 / (1.0 + (-x).exp());
            assert!((f64::from(sigmoid(x as f32)) - exact).abs() < 1e-6, "sigmoid({x})");
        }
    }
}
