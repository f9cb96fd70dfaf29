//! Attention inside sequences that lie one after the other, without padding, and its way back.

use std::ops::Range;

use rayon::prelude::*;

use super::matrix::Cores;
use crate::kernels::{dot, softmax};

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

/// Attention of the first row of each sequence to all of its rows, where `folded` \[heads, B, d\] holds
/// what each head's query makes of a row: in its place comes the mean of the rows by their shares.
pub(super) fn attend_rows(
    folded: &mut [f32],
    rows: &[f32],
    sequences: &Sequences,
    (heads, width): (usize, usize),
) {
    let scale = 1.0 / ((width / heads) as f32).sqrt();
    let count = sequences.len();
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut shares = Vec::new();
            for (number, query) in folded.chunks_exact_mut(width).enumerate() {
                let span = &sequences.spans[number % count];
                let rows = rows[span.start * width..span.end * width].chunks_exact(width);
                shares.clear();
                shares.extend(rows.clone().map(|row| dot(query, row) * scale));
                softmax(&mut shares);
                query.fill(0.0);
                rows.zip(&shares).for_each(|(row, share)| add_times(query, *share, row));
            }
        },
    );
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
