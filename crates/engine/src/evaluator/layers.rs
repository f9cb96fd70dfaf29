//! The parts of a transformer on rows of numbers, each with its way back: matrix product, bias,
//! residual, activation, layer norm, attention inside sequences that lie one after the other.
//!
//! By hand and not by a tensor library, whose unfused norm and softmax make a training step take two
//! and a half times as long.

use std::ops::Range;

use gemm::{Parallelism, gemm};
use rayon::prelude::*;

use super::dropout::Mask;
use crate::kernels::{Activation, add, dot, exp, gelu, softmax, sum};

/// Keeps the division in a norm finite.
const EPS: f32 = 1e-5;

/// Fewer numbers than this are not worth a second core.
const WORTH_SHARING: usize = 1 << 14;

/// Who does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cores {
    /// The thread that asks.
    One,
    /// All of them.
    All,
}

impl Cores {
    /// How many of `rows` rows of this width one core takes.
    fn share(self, rows: usize, width: usize) -> usize {
        match self {
            Self::All if rows * width >= WORTH_SHARING => {
                rows.div_ceil(rayon::current_num_threads()).max(1)
            }
            _ => rows.max(1),
        }
    }
}

/// Numbers as a matrix, as they stand or turned.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    down: usize,
    across: usize,
}

impl<'a> Matrix<'a> {
    /// Rows of so many columns.
    pub fn new(data: &'a [f32], columns: usize) -> Self {
        assert!(columns > 0 && data.len().is_multiple_of(columns), "numbers that make no matrix");
        Self { data, rows: data.len() / columns, columns, down: columns, across: 1 }
    }

    /// Columns as rows.
    pub fn turned(self) -> Self {
        let Self { data, rows, columns, down, across } = self;
        Self { data, rows: columns, columns: rows, down: across, across: down }
    }
}

/// out = a·b, or out + a·b.
pub(super) fn multiply(a: Matrix<'_>, b: Matrix<'_>, out: &mut [f32], add: bool, cores: Cores) {
    assert_eq!(a.columns, b.rows, "a product of unequal lengths");
    assert_eq!(out.len(), a.rows * b.columns, "a product that does not fit its place");
    if out.is_empty() {
        return;
    }
    let parallelism = match cores {
        Cores::One => Parallelism::None,
        Cores::All => Parallelism::Rayon(0),
    };
    // SAFETY: a matrix covers its slice exactly, whichever way it is walked, and so does `out`.
    unsafe {
        gemm(
            a.rows,
            b.columns,
            a.columns,
            out.as_mut_ptr(),
            1,
            b.columns as isize,
            add,
            a.data.as_ptr(),
            a.across as isize,
            a.down as isize,
            b.data.as_ptr(),
            b.across as isize,
            b.down as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// `work` over all rows of `out`, a share for each core, with the widest vector instructions there
/// are; it is told the index of its first number.
fn by_rows(out: &mut [f32], width: usize, cores: Cores, work: impl Fn(usize, &mut [f32]) + Sync) {
    let share = cores.share(out.len() / width, width) * width;
    let run = |(number, part): (usize, &mut [f32])| {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || work(number * share, part),
        );
    };
    match share >= out.len() {
        true => run((0, out)),
        false => out.par_chunks_mut(share).enumerate().for_each(run),
    }
}

/// x + bias, in every row.
pub(super) fn add_bias(x: &mut [f32], bias: &[f32], cores: Cores) {
    by_rows(
        x,
        bias.len(),
        cores,
        #[inline(always)]
        |_, part| part.chunks_exact_mut(bias.len()).for_each(|row| add(row, bias)),
    );
}

/// x becomes residual + dropped(x + bias).
pub(super) fn join(
    x: &mut [f32],
    bias: &[f32],
    residual: &[f32],
    mask: Option<Mask>,
    cores: Cores,
) {
    let width = bias.len();
    by_rows(
        x,
        width,
        cores,
        #[inline(always)]
        |first, part| {
            let rows = part.chunks_exact_mut(width).zip(residual[first..].chunks_exact(width));
            for (number, (row, residual)) in rows.enumerate() {
                let index = (first + number * width) as u32;
                match mask {
                    None => {
                        row.iter_mut().zip(bias).zip(residual).for_each(|((x, b), r)| *x += b + r)
                    }
                    Some(mask) => {
                        for (i, ((x, b), r)) in row.iter_mut().zip(bias).zip(residual).enumerate() {
                            *x = r + (*x + b) * mask.factor(index + i as u32);
                        }
                    }
                }
            }
        },
    );
}

/// x with some numbers left out, in place.
pub(super) fn drop_out(x: &mut [f32], width: usize, mask: Option<Mask>, cores: Cores) {
    let Some(mask) = mask else { return };
    by_rows(
        x,
        width,
        cores,
        #[inline(always)]
        |first, part| {
            for (i, x) in part.iter_mut().enumerate() {
                *x *= mask.factor((first + i) as u32);
            }
        },
    );
}

/// x becomes dropped(activation(x + bias)); with GELU the sums themselves go to `before`.
pub(super) fn activate(
    x: &mut [f32],
    bias: &[f32],
    before: &mut Vec<f32>,
    activation: Activation,
    mask: Option<Mask>,
    cores: Cores,
) {
    let width = bias.len();
    if activation == Activation::Gelu {
        add_bias(x, bias, cores);
        before.clear();
        before.extend_from_slice(x);
    }
    by_rows(
        x,
        width,
        cores,
        #[inline(always)]
        |first, part| match activation {
            Activation::Relu => {
                for row in part.chunks_exact_mut(width) {
                    row.iter_mut().zip(bias).for_each(|(x, b)| *x = (*x + b).max(0.0));
                }
                mask_part(part, first, mask);
            }
            Activation::Gelu => {
                part.iter_mut().for_each(|x| *x = gelu(*x));
                mask_part(part, first, mask);
            }
        },
    );
}

#[inline(always)]
fn mask_part(part: &mut [f32], first: usize, mask: Option<Mask>) {
    let Some(mask) = mask else { return };
    for (i, x) in part.iter_mut().enumerate() {
        *x *= mask.factor((first + i) as u32);
    }
}

/// The way back through [`activate`]: from the gradient of its result to that of its sums.
pub(super) fn activate_back(
    gradient: &mut [f32],
    result: &[f32],
    before: &[f32],
    activation: Activation,
    mask: Option<Mask>,
    width: usize,
    cores: Cores,
) {
    let scale = mask.map_or(1.0, |mask| mask.scale);
    by_rows(
        gradient,
        width,
        cores,
        #[inline(always)]
        |first, part| match activation {
            // What was left out and what was negative are both 0 in the result.
            Activation::Relu => part.iter_mut().zip(&result[first..]).for_each(|(g, y)| {
                *g *= if *y > 0.0 { scale } else { 0.0 };
            }),
            Activation::Gelu => {
                mask_part(part, first, mask);
                part.iter_mut().zip(&before[first..]).for_each(|(g, x)| *g *= gelu_slope(*x));
            }
        },
    );
}

/// Φ(x) + x·φ(x)
#[inline(always)]
fn gelu_slope(x: f32) -> f32 {
    const SCALE: f32 = 0.398_942_3; // 1 / √(2π)
    let below = if x.abs() > 1e-3 { gelu(x) / x } else { 0.5 + SCALE * x };
    below + x * SCALE * exp(-0.5 * x * x)
}

/// y = the norm of every row of x. x is left as the rows at mean 0 and variance 1, `scales` as what
/// they were multiplied by for that: the way back needs both.
pub(super) fn norm(
    x: &mut [f32],
    y: &mut [f32],
    scales: &mut [f32],
    (weight, bias): (&[f32], &[f32]),
    cores: Cores,
) {
    let width = weight.len();
    let share = cores.share(scales.len(), width);
    let work = |((x, y), scales): ((&mut [f32], &mut [f32]), &mut [f32])| {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let rows = x.chunks_exact_mut(width).zip(y.chunks_exact_mut(width)).zip(scales);
                rows.for_each(|((x, y), scale)| *scale = norm_row(x, y, weight, bias));
            },
        );
    };
    let parts = x.par_chunks_mut(share * width).zip(y.par_chunks_mut(share * width));
    parts.zip(scales.par_chunks_mut(share)).for_each(work);
}

#[inline(always)]
fn norm_row(x: &mut [f32], y: &mut [f32], weight: &[f32], bias: &[f32]) -> f32 {
    let count = x.len() as f32;
    let mean = sum(x, |x| x) / count;
    let variance = sum(x, |x| (x - mean) * (x - mean)) / count;
    let scale = 1.0 / (variance + EPS).sqrt();
    for (((x, y), w), b) in x.iter_mut().zip(y).zip(weight).zip(bias) {
        *x = (*x - mean) * scale;
        *y = *x * w + b;
    }
    scale
}

/// What [`norm`] left behind.
#[derive(Clone, Copy)]
pub(super) struct Normed<'a> {
    pub rows: &'a [f32],
    pub scales: &'a [f32],
    pub weight: &'a [f32],
}

/// The way back through [`norm`]: `gradient` from that of its result to that of its rows.
pub(super) fn norm_back(
    gradient: &mut [f32],
    normed: Normed<'_>,
    (of_weight, of_bias): (&mut [f32], &mut [f32]),
    cores: Cores,
) {
    let width = normed.weight.len();
    column_sums(gradient, of_bias, cores);
    product_sums(gradient, normed.rows, of_weight, cores);
    by_rows(
        gradient,
        width,
        cores,
        #[inline(always)]
        |first, part| {
            let scales = &normed.scales[first / width..];
            let rows = normed.rows[first..].chunks_exact(width);
            for ((gradient, row), scale) in part.chunks_exact_mut(width).zip(rows).zip(scales) {
                norm_back_row(gradient, row, normed.weight, *scale);
            }
        },
    );
}

#[inline(always)]
fn norm_back_row(gradient: &mut [f32], row: &[f32], weight: &[f32], scale: f32) {
    gradient.iter_mut().zip(weight).for_each(|(g, w)| *g *= w);
    let count = row.len() as f32;
    let mean = sum(gradient, |g| g) / count;
    let along = dot(gradient, row) / count;
    gradient.iter_mut().zip(row).for_each(|(g, x)| *g = scale * (*g - mean - x * along));
}

/// The sum of every column, each by one core, so that it is the same however many there are.
pub(super) fn column_sums(rows: &[f32], out: &mut [f32], cores: Cores) {
    let width = out.len();
    by_columns(
        out,
        rows.len(),
        cores,
        #[inline(always)]
        |first, out| {
            out.fill(0.0);
            for row in rows.chunks_exact(width) {
                out.iter_mut().zip(&row[first..]).for_each(|(sum, x)| *sum += x);
            }
        },
    );
}

/// The sum over rows of a·b, for every column.
fn product_sums(a: &[f32], b: &[f32], out: &mut [f32], cores: Cores) {
    let width = out.len();
    by_columns(
        out,
        a.len(),
        cores,
        #[inline(always)]
        |first, out| {
            out.fill(0.0);
            for (a, b) in a.chunks_exact(width).zip(b.chunks_exact(width)) {
                let both = a[first..].iter().zip(&b[first..]);
                out.iter_mut().zip(both).for_each(|(sum, (a, b))| *sum += a * b);
            }
        },
    );
}

/// `work` over a share of the columns for each core; it is told its first column.
fn by_columns(
    out: &mut [f32],
    numbers: usize,
    cores: Cores,
    work: impl Fn(usize, &mut [f32]) + Sync,
) {
    let alone = cores == Cores::One || numbers < WORTH_SHARING;
    let parts = if alone { 1 } else { rayon::current_num_threads() };
    let share = out.len().div_ceil(parts).next_multiple_of(16);
    let run = |(number, part): (usize, &mut [f32])| {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || work(number * share, part),
        );
    };
    match alone {
        true => run((0, out)),
        false => out.par_chunks_mut(share).enumerate().for_each(run),
    }
}

/// Sequences of rows that lie one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequences {
    spans: Vec<Range<usize>>,
    /// Whether only the first row of each asks.
    first_asks: bool,
}

impl Sequences {
    /// Sequences of these lengths, in which every row asks.
    pub fn new(lengths: impl Iterator<Item = usize>) -> Self {
        let mut end = 0;
        let span = |length| {
            let start = end;
            end += length;
            start..end
        };
        Self { spans: lengths.map(span).collect(), first_asks: false }
    }

    /// The same, in which only the first row of each asks.
    pub fn with_first_asking(&self) -> Self {
        Self { spans: self.spans.clone(), first_asks: true }
    }

    /// Whether only the first rows ask.
    pub fn only_first_asks(&self) -> bool {
        self.first_asks
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.spans.last().map_or(0, |span| span.end)
    }

    /// The first row of each.
    pub fn firsts(&self) -> impl Iterator<Item = usize> {
        self.spans.iter().map(|span| span.start)
    }

    /// The rows of each.
    pub fn spans(&self) -> &[Range<usize>] {
        &self.spans
    }

    fn asking(&self, span: &Range<usize>) -> usize {
        if self.first_asks { 1 } else { span.len() }
    }

    /// How many rows ask.
    pub fn all_asking(&self) -> usize {
        if self.first_asks { self.len() } else { self.rows() }
    }

    /// How many shares the attention of so many heads gives out.
    pub fn shares(&self, heads: usize) -> usize {
        self.spans.iter().map(|span| heads * self.asking(span) * span.len()).sum()
    }
}

/// What attention works on.
#[derive(Clone, Copy)]
pub(super) struct Attention<'a> {
    pub sequences: &'a Sequences,
    pub heads: usize,
    pub width: usize,
    /// \[asking, d\]
    pub queries: &'a [f32],
    /// \[rows, 2·d\]: keys and values side by side.
    pub keys_values: &'a [f32],
}

/// One sequence of it.
struct One<'a> {
    heads: usize,
    width: usize,
    queries: &'a [f32],
    keys_values: &'a [f32],
}

impl<'a> Attention<'a> {
    /// The attended values \[asking, d\], and the share each row got of each that asks.
    pub fn forward(&self, shares: &mut [f32], out: &mut [f32], cores: Cores) {
        let sequences = self.sequences.spans.iter();
        let asking = sequences.clone().map(|span| self.sequences.asking(span));
        let shares =
            split(shares, asking.clone().zip(sequences).map(|(a, s)| self.heads * a * s.len()));
        let outs = split(out, asking.map(|asking| asking * self.width));
        let tasks: Vec<_> = self.parts().into_iter().zip(shares).zip(outs).collect();
        let run = |((one, shares), out): ((One<'_>, &mut [f32]), &mut [f32])| {
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || one.forward(shares, out),
            );
        };
        match cores {
            Cores::One => tasks.into_iter().for_each(run),
            Cores::All => tasks.into_par_iter().for_each(run),
        }
    }

    /// From the gradient of what was attended to those of queries and of keys and values.
    pub fn back(
        &self,
        gradient: &[f32],
        shares: &[f32],
        of_queries: &mut [f32],
        of_keys_values: &mut [f32],
    ) {
        let spans = self.sequences.spans.iter();
        let asking = spans.clone().map(|span| self.sequences.asking(span));
        let rows = || asking.clone().map(|asking| asking * self.width);
        let of_queries = split(of_queries, rows());
        let of_keys_values = split(of_keys_values, spans.clone().map(|s| s.len() * 2 * self.width));
        let sizes = asking.clone().zip(spans).map(|(a, s)| self.heads * a * s.len());
        let known = parts(gradient, rows()).into_iter().zip(parts(shares, sizes));
        let wanted = of_queries.into_iter().zip(of_keys_values);
        let tasks: Vec<_> = self.parts().into_iter().zip(known).zip(wanted).collect();
        tasks.into_par_iter().for_each(|((one, (gradient, shares)), (of_queries, of_keys))| {
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || one.back(gradient, shares, of_queries, of_keys),
            );
        });
    }

    fn parts(&self) -> Vec<One<'a>> {
        let mut first = 0;
        let one = |span: &Range<usize>| {
            let start = first;
            first += self.sequences.asking(span);
            One {
                heads: self.heads,
                width: self.width,
                queries: &self.queries[start * self.width..first * self.width],
                keys_values: &self.keys_values
                    [span.start * 2 * self.width..span.end * 2 * self.width],
            }
        };
        self.sequences.spans.iter().map(one).collect()
    }
}

impl One<'_> {
    #[inline(always)]
    fn forward(&self, shares: &mut [f32], out: &mut [f32]) {
        let (width, size) = (self.width, self.width / self.heads);
        let length = self.keys_values.len() / (2 * width);
        let asking = self.queries.len() / width;
        let scale = 1.0 / (size as f32).sqrt();
        for (number, shares) in shares.chunks_exact_mut(length).enumerate() {
            let (at, asks) = (number / asking * size, number % asking);
            let query = &self.queries[asks * width + at..][..size];
            let rows = self.keys_values.chunks_exact(2 * width);
            for (share, row) in shares.iter_mut().zip(rows.clone()) {
                *share = dot(query, &row[at..at + size]) * scale;
            }
            softmax(shares);
            let out = &mut out[asks * width + at..][..size];
            out.fill(0.0);
            for (share, row) in shares.iter().zip(rows) {
                add_times(out, *share, &row[width + at..][..size]);
            }
        }
    }

    #[inline(always)]
    fn back(&self, gradient: &[f32], shares: &[f32], of_queries: &mut [f32], of_rows: &mut [f32]) {
        let (width, size) = (self.width, self.width / self.heads);
        let length = self.keys_values.len() / (2 * width);
        let asking = self.queries.len() / width;
        let scale = 1.0 / (size as f32).sqrt();
        let mut slopes = vec![0.0; length];
        of_queries.fill(0.0);
        of_rows.fill(0.0);
        for (number, shares) in shares.chunks_exact(length).enumerate() {
            let (at, asks) = (number / asking * size, number % asking);
            let gradient = &gradient[asks * width + at..][..size];
            let query = &self.queries[asks * width + at..][..size];
            let of_query = &mut of_queries[asks * width + at..][..size];
            let rows = self.keys_values.chunks_exact(2 * width);
            for (slope, row) in slopes.iter_mut().zip(rows.clone()) {
                *slope = dot(gradient, &row[width + at..][..size]);
            }
            let mean: f32 = shares.iter().zip(&slopes).map(|(share, slope)| share * slope).sum();
            let all = rows.zip(of_rows.chunks_exact_mut(2 * width)).zip(shares.iter().zip(&slopes));
            for ((row, of_row), (share, slope)) in all {
                let slope = share * (slope - mean) * scale;
                add_times(of_query, slope, &row[at..at + size]);
                let (of_key, of_value) = of_row.split_at_mut(width);
                add_times(&mut of_key[at..at + size], slope, query);
                add_times(&mut of_value[at..at + size], *share, gradient);
            }
        }
    }
}

#[inline(always)]
fn add_times(sum: &mut [f32], factor: f32, row: &[f32]) {
    sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
}

/// Slices of these sizes, one after the other.
fn split(mut data: &mut [f32], sizes: impl Iterator<Item = usize>) -> Vec<&mut [f32]> {
    let mut out = Vec::new();
    for size in sizes {
        let (first, rest) = data.split_at_mut(size);
        out.push(first);
        data = rest;
    }
    out
}

/// The same for slices that are only read.
fn parts(mut data: &[f32], sizes: impl Iterator<Item = usize>) -> Vec<&[f32]> {
    let mut out = Vec::new();
    for size in sizes {
        let (first, rest) = data.split_at(size);
        out.push(first);
        data = rest;
    }
    out
}
