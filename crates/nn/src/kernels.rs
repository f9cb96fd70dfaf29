//! What a transformer does between its matrix products, fused: one pass over memory instead of
//! five. On CPU and without gradients the fused form runs, with the widest vector instructions
//! that the machine has; elsewhere (training, GPU) the same sums as plain tensor operations.

use candle_core::{
    CpuStorage, CustomOp1, D, DType, Error, InplaceOp3, Layout, Result, Shape, Tensor,
};

/// Numbers handled side by side; two registers of AVX-512, four of AVX2.
const LANES: usize = 32;

/// What a hidden layer does with its sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// Negative numbers become 0.
    Relu,
    /// The exact Gaussian error linear unit.
    Gelu,
}

/// A linear layer: `weight` \[out, in\], `bias` \[out\], as PyTorch keeps it.
#[derive(Clone, Debug)]
pub struct Linear {
    /// \[out, in\]
    pub weight: Tensor,
    /// \[out\]
    pub bias: Tensor,
}

/// A layer norm over the last dimension.
#[derive(Clone, Debug)]
pub struct Norm {
    /// \[d\]
    pub weight: Tensor,
    /// \[d\]
    pub bias: Tensor,
    /// Keeps the division finite.
    pub eps: f64,
}

/// Whether the fused form may run: nobody will ask for a gradient, and the numbers are f32 here.
fn fused(x: &Tensor) -> bool {
    x.device().is_cpu() && x.dtype() == DType::F32 && !x.track_op()
}

impl Linear {
    /// x Wᵀ: the product alone. x is \[.., in\].
    fn product(&self, x: &Tensor) -> Result<Tensor> {
        let (out, into) = self.weight.dims2()?;
        let mut shape = x.dims().to_vec();
        let rows = x.elem_count() / into.max(1);
        if let Some(last) = shape.last_mut() {
            *last = out;
        }
        x.reshape((rows, into))?.matmul(&self.weight.t()?)?.reshape(shape)
    }

    /// x Wᵀ + b
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let y = self.product(x)?;
        if !fused(&y) {
            return y.broadcast_add(&self.bias);
        }
        in_place(
            "bias",
            &y,
            (&self.bias, &self.bias),
            #[inline(always)]
            |y, bias, _| {
                y.chunks_exact_mut(bias.len()).for_each(|row| add(row, bias));
            },
        )
    }

    /// activation(x Wᵀ + b)
    pub fn forward_activated(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        let y = self.product(x)?;
        if !fused(&y) {
            let y = y.broadcast_add(&self.bias)?;
            return match activation {
                Activation::Relu => y.relu(),
                Activation::Gelu => y.gelu_erf(),
            };
        }
        in_place(
            "bias-activation",
            &y,
            (&self.bias, &self.bias),
            #[inline(always)]
            |y, bias, _| {
                y.chunks_exact_mut(bias.len()).for_each(|row| activate(row, bias, activation));
            },
        )
    }

    /// residual + x Wᵀ + b
    pub fn forward_added(&self, x: &Tensor, residual: &Tensor) -> Result<Tensor> {
        let y = self.product(x)?;
        if !fused(&y) {
            return y.broadcast_add(&self.bias)? + residual;
        }
        in_place(
            "bias-residual",
            &y,
            (&self.bias, residual),
            #[inline(always)]
            |y, bias, residual| {
                let rows = y.chunks_exact_mut(bias.len()).zip(residual.chunks_exact(bias.len()));
                rows.for_each(|(row, residual)| add_both(row, bias, residual));
            },
        )
    }
}

impl Norm {
    /// Every row shifted to mean 0 and variance 1, then scaled and shifted.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if !fused(x) {
            return self.composed(x);
        }
        self.normalise(x.copy()?)
    }

    /// The same for a tensor that nobody else holds, without a copy.
    pub fn forward_owned(&self, x: Tensor) -> Result<Tensor> {
        if fused(&x) { self.normalise(x) } else { self.composed(&x) }
    }

    fn normalise(&self, x: Tensor) -> Result<Tensor> {
        let eps = self.eps as f32;
        in_place(
            "layer-norm",
            &x,
            (&self.weight, &self.bias),
            #[inline(always)]
            |x, weight, bias| {
                x.chunks_exact_mut(weight.len()).for_each(|row| norm(row, weight, bias, eps));
            },
        )
    }

    fn composed(&self, x: &Tensor) -> Result<Tensor> {
        let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
        let variance = centred.sqr()?.mean_keepdim(D::Minus1)?;
        let normed = centred.broadcast_div(&(variance + self.eps)?.sqrt()?)?;
        normed.broadcast_mul(&self.weight)?.broadcast_add(&self.bias)
    }
}

/// Runs the work with the widest vector instructions of this machine.
#[inline(always)]
pub fn vectorised<R>(work: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(work)
}

/// Runs `work` over the numbers of `y`, vectorised for this machine, and returns `y`.
fn in_place(
    name: &'static str,
    y: &Tensor,
    (first, second): (&Tensor, &Tensor),
    work: impl Fn(&mut [f32], &[f32], &[f32]),
) -> Result<Tensor> {
    y.inplace_op3(first, second, &InPlace { name, work })?;
    Ok(y.clone())
}

struct InPlace<F> {
    name: &'static str,
    work: F,
}

impl<F: Fn(&mut [f32], &[f32], &[f32])> InplaceOp3 for InPlace<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn cpu_fwd(
        &self,
        target: &mut CpuStorage,
        layout: &Layout,
        first: &CpuStorage,
        first_layout: &Layout,
        second: &CpuStorage,
        second_layout: &Layout,
    ) -> Result<()> {
        let (first, second) = (numbers(first, first_layout)?, numbers(second, second_layout)?);
        let range = contiguous(layout)?;
        let CpuStorage::F32(target) = target else { return Err(not_f32()) };
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || (self.work)(&mut target[range], first, second),
        );
        Ok(())
    }
}

fn not_f32() -> Error {
    Error::Msg("the fused operations take f32".into())
}

fn contiguous(layout: &Layout) -> Result<std::ops::Range<usize>> {
    let (from, to) = layout
        .contiguous_offsets()
        .ok_or_else(|| Error::Msg("the fused operations take contiguous tensors".into()))?;
    Ok(from..to)
}

pub(crate) fn numbers<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let range = contiguous(layout)?;
    Ok(&storage.as_slice::<f32>()?[range])
}

/// Which tokens ask for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queries {
    /// All of them: one row out for each row in.
    All,
    /// The first of each sequence: one row out for each sequence.
    First,
}

/// Multi-head attention over sequences that lie one after the other, without padding.
pub struct Attention<'a> {
    /// How many heads share a row.
    pub heads: usize,
    /// (first row, length) of each sequence.
    pub spans: &'a [(usize, usize)],
    /// What a key `offset` places after its query adds to the score, per head.
    pub relative: Option<&'a Relative>,
    /// Who asks.
    pub queries: Queries,
}

/// A number per head and distance between key and query.
#[derive(Clone, Debug)]
pub struct Relative {
    /// The longest sequence it serves.
    pub longest: usize,
    /// \[heads\]\[2·longest - 1\]; the middle is distance 0.
    pub table: Vec<f32>,
}

impl Relative {
    /// For one head and query the numbers for the keys 0, 1, ..
    #[inline(always)]
    fn row(&self, head: usize, query: usize) -> &[f32] {
        let start = head * (2 * self.longest - 1) + self.longest - 1 - query;
        &self.table[start..start + self.longest]
    }
}

impl Attention<'_> {
    /// From queries, keys and values side by side \[rows, 3·d\] to the attended values
    /// \[rows, d\], or \[sequences, d\] where only the first token asks.
    pub fn forward(&self, qkv: &Tensor) -> Result<Tensor> {
        qkv.apply_op1_no_bwd(self)
    }

    #[inline(always)]
    fn run(&self, qkv: &[f32], width: usize, out: &mut [f32]) {
        let longest = self.spans.iter().map(|span| span.1).max().unwrap_or(0);
        let mut scores = vec![0.0f32; longest];
        for (number, &(start, length)) in self.spans.iter().enumerate() {
            let sequence = &qkv[start * 3 * width..(start + length) * 3 * width];
            let (first, asking) = match self.queries {
                Queries::All => (start, length),
                Queries::First => (number, length.min(1)),
            };
            let out = &mut out[first * width..(first + asking) * width];
            for head in 0..self.heads {
                self.run_head(sequence, width, head, out, &mut scores[..length]);
            }
        }
    }

    #[inline(always)]
    fn run_head(
        &self,
        sequence: &[f32],
        width: usize,
        head: usize,
        out: &mut [f32],
        scores: &mut [f32],
    ) {
        let size = width / self.heads;
        let at = head * size;
        let scale = 1.0 / (size as f32).sqrt();
        for (i, answer) in out.chunks_exact_mut(width).enumerate() {
            let query = &sequence[i * 3 * width + at..][..size];
            for (score, row) in scores.iter_mut().zip(sequence.chunks_exact(3 * width)) {
                *score = dot(query, &row[width + at..][..size]) * scale;
            }
            if let Some(relative) = self.relative {
                add(scores, &relative.row(head, i)[..scores.len()]);
            }
            softmax(scores);
            let answer = &mut answer[at..at + size];
            answer.fill(0.0);
            for (share, row) in scores.iter().zip(sequence.chunks_exact(3 * width)) {
                let value = &row[2 * width + at..][..size];
                answer.iter_mut().zip(value).for_each(|(sum, x)| *sum += share * x);
            }
        }
    }

    /// That every sequence lies inside the rows and the heads divide the width.
    fn check(&self, rows: usize, width: usize) -> Result<()> {
        let longest = self.relative.map_or(usize::MAX, |relative| relative.longest);
        let inside =
            |&(start, length): &(usize, usize)| start + length <= rows && length <= longest;
        if self.heads > 0 && width.is_multiple_of(3 * self.heads) && self.spans.iter().all(inside) {
            return Ok(());
        }
        Err(Error::Msg(format!("attention over [{rows}, {width}] with {} heads", self.heads)))
    }
}

impl CustomOp1 for Attention<'_> {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, triple) = layout.shape().dims2()?;
        self.check(rows, triple)?;
        let qkv = numbers(storage, layout)?;
        let asking = if self.queries == Queries::All { rows } else { self.spans.len() };
        let mut out = vec![0.0; asking * (triple / 3)];
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || self.run(qkv, triple / 3, &mut out),
        );
        Ok((CpuStorage::F32(out), (asking, triple / 3).into()))
    }
}

#[inline(always)]
pub(crate) fn add(row: &mut [f32], bias: &[f32]) {
    row.iter_mut().zip(bias).for_each(|(x, b)| *x += b);
}

#[inline(always)]
fn add_both(row: &mut [f32], bias: &[f32], residual: &[f32]) {
    row.iter_mut().zip(bias).zip(residual).for_each(|((x, b), r)| *x += b + r);
}

#[inline(always)]
fn activate(row: &mut [f32], bias: &[f32], activation: Activation) {
    match activation {
        Activation::Relu => row.iter_mut().zip(bias).for_each(|(x, b)| *x = (*x + b).max(0.0)),
        Activation::Gelu => row.iter_mut().zip(bias).for_each(|(x, b)| *x = gelu(*x + b)),
    }
}

#[inline(always)]
pub(crate) fn norm(row: &mut [f32], weight: &[f32], bias: &[f32], eps: f32) {
    let count = row.len() as f32;
    let mean = sum(row, |x| x) / count;
    let variance = sum(row, |x| (x - mean) * (x - mean)) / count;
    let scale = 1.0 / (variance + eps).sqrt();
    for ((x, w), b) in row.iter_mut().zip(weight).zip(bias) {
        *x = (*x - mean) * scale * w + b;
    }
}

#[inline(always)]
pub(crate) fn softmax(scores: &mut [f32]) {
    let most = largest(scores);
    scores.iter_mut().for_each(|x| *x = exp(*x - most));
    let scale = 1.0 / sum(scores, |x| x);
    scores.iter_mut().for_each(|x| *x *= scale);
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

/// The largest number of a row that holds no NaN, in several lanes so that it vectorises.
#[inline(always)]
pub fn largest(row: &[f32]) -> f32 {
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (blocks, rest) = row.as_chunks::<LANES>();
    let mut most = [f32::NEG_INFINITY; LANES];
    for block in blocks {
        most.iter_mut().zip(block).for_each(|(most, x)| *most = larger(*most, *x));
    }
    let most = most.iter().copied().fold(f32::NEG_INFINITY, larger);
    rest.iter().copied().fold(most, larger)
}

/// The sum of `f` of every number, in several running sums so that it vectorises.
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
    /// Adding and taking away 1.5·2^23 rounds to a whole number.
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

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;

    /// Numbers that look random and are the same every time.
    fn random(count: usize, seed: u32) -> Vec<f32> {
        let hash = |i: usize| (i as u32 + 7 * seed + 1).wrapping_mul(2_654_435_761);
        (0..count).map(|i| (hash(i).rotate_left(13) >> 8) as f32 / 8_388_608.0 - 1.0).collect()
    }

    fn tensor(shape: &[usize], seed: u32) -> Tensor {
        let count = shape.iter().product();
        Tensor::from_vec(random(count, seed), shape, &Device::Cpu).unwrap()
    }

    fn assert_near(a: &Tensor, b: &Tensor) {
        let largest = (a - b).unwrap().abs().unwrap().flatten_all().unwrap().max(0).unwrap();
        let largest = largest.to_scalar::<f32>().unwrap();
        assert!(largest < 1e-5, "{largest}");
    }

    #[test]
    fn exp_and_gelu_are_near_the_exact_ones() {
        for i in -900_000..=0 {
            let x = i as f32 / 1e4;
            let (near, exact) = (f64::from(exp(x)), f64::from(x.max(-87.0)).exp());
            assert!((near - exact).abs() <= 4e-7 * exact, "exp({x}): {near} {exact}");
        }
        let xs = Tensor::arange_step(-9.0f32, 9.0, 0.001, &Device::Cpu).unwrap();
        let exact = xs.to_dtype(DType::F64).unwrap().gelu_erf().unwrap().to_vec1::<f64>().unwrap();
        for (x, exact) in xs.to_vec1::<f32>().unwrap().into_iter().zip(exact) {
            assert!((f64::from(gelu(x)) - exact).abs() < 1e-6, "gelu({x})");
        }
    }

    #[test]
    fn the_fused_forms_equal_the_plain_ones() {
        for (rows, d) in [(1, 5), (7, 32), (3, 100)] {
            let linear = Linear { weight: tensor(&[d, d], 1), bias: tensor(&[d], 2) };
            let norm = Norm { weight: tensor(&[d], 3), bias: tensor(&[d], 4), eps: 1e-5 };
            let x = tensor(&[rows, d], 5);
            let residual = tensor(&[rows, d], 6);
            // A variable keeps track of its gradient, so that the plain form runs.
            let tracked = Var::from_tensor(&x).unwrap();
            let tracked = tracked.as_tensor();
            assert_near(&linear.forward(&x).unwrap(), &linear.forward(tracked).unwrap());
            assert_near(&norm.forward(&x).unwrap(), &norm.forward(tracked).unwrap());
            let added = linear.forward_added(&x, &residual).unwrap();
            assert_near(&added, &linear.forward_added(tracked, &residual).unwrap());
            for activation in [Activation::Relu, Activation::Gelu] {
                let fused = linear.forward_activated(&x, activation).unwrap();
                let plain = linear.forward_activated(tracked, activation).unwrap();
                assert_near(&fused, &plain);
            }
        }
    }

    #[test]
    fn attention_stays_inside_its_sequence_and_its_first_row_is_the_same_alone() {
        let (rows, width, heads) = (9, 24, 3);
        let qkv = tensor(&[rows, 3 * width], 1);
        let spans = [(0, 4), (4, 1), (5, 4)];
        let attention = |spans: &[(usize, usize)], queries| {
            Attention { heads, spans, relative: None, queries }.forward(&qkv).unwrap()
        };
        let all = attention(&spans, Queries::All);
        let first = attention(&spans, Queries::First);
        for (number, &(start, length)) in spans.iter().enumerate() {
            let alone = attention(&[(start, length)], Queries::First);
            assert_near(&alone, &first.narrow(0, number, 1).unwrap());
            assert_near(&alone, &all.narrow(0, start, 1).unwrap());
        }
        // A sequence of one token attends to itself alone.
        let value = qkv.narrow(0, 4, 1).unwrap().narrow(1, 2 * width, width).unwrap();
        assert_near(&all.narrow(0, 4, 1).unwrap(), &value.contiguous().unwrap());
    }

    #[test]
    fn sequences_outside_the_rows_are_refused() {
        let qkv = tensor(&[4, 12], 1);
        for (heads, span) in [(2, (3, 2)), (3, (0, 4)), (0, (0, 4))] {
            let spans = [span];
            let attention =
                Attention { heads, spans: &spans, relative: None, queries: Queries::All };
            assert!(attention.forward(&qkv).is_err());
        }
    }
}
