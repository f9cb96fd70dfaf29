//! Attention inside sequences that lie one after the other, without padding, and its backward pass.

use std::ops::Range;

use rayon::prelude::*;

use crate::kernels::{add_scaled, attend, dot, simd, softmax};
use crate::matrix::Cores;

/// Sequences of rows that lie one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequences {
    /// The rows of each.
    pub spans: Vec<Range<usize>>,
    /// Whether only the first row of each, the CLS token, has a query.
    pub cls_only: bool,
}

impl Sequences {
    /// Sequences of these lengths, in which every row has a query.
    pub fn new(lengths: impl Iterator<Item = usize>) -> Self {
        let mut end = 0;
        let span = |length| {
            let start = end;
            end += length;
            start..end
        };
        Self { spans: lengths.map(span).collect(), cls_only: false }
    }

    /// The same, in which only the first row of each has a query.
    pub fn with_cls_queries(&self) -> Self {
        Self { spans: self.spans.clone(), cls_only: true }
    }

    pub fn len(&self) -> usize {
        self.spans.len()
    }

    pub fn rows(&self) -> usize {
        self.spans.last().map_or(0, |span| span.end)
    }

    /// The first row of each.
    pub fn cls_rows(&self) -> impl Iterator<Item = usize> {
        self.spans.iter().map(|span| span.start)
    }

    fn queries_in(&self, span: &Range<usize>) -> usize {
        if self.cls_only { 1 } else { span.len() }
    }

    pub fn queries(&self) -> usize {
        if self.cls_only { self.len() } else { self.rows() }
    }

    /// How many probabilities the attention of so many heads has.
    pub fn probs(&self, heads: usize) -> usize {
        self.spans.iter().map(|span| heads * self.queries_in(span) * span.len()).sum()
    }
}

#[derive(Clone, Copy)]
pub(super) struct PackedAttention<'a> {
    pub sequences: &'a Sequences,
    pub heads: usize,
    pub width: usize,
    /// \[queries, d\]
    pub queries: &'a [f32],
    /// \[rows, 2·d\]: keys and values side by side.
    pub keys_values: &'a [f32],
}

/// Attention of the first row of each sequence to all of its rows, where `folded` \[heads, B, d\] holds
/// each head's query times the key weights: in its place comes the mean of the rows by their
/// probabilities.
pub(super) fn attend_to_inputs(
    folded: &mut [f32],
    rows: &[f32],
    sequences: &Sequences,
    (heads, width): (usize, usize),
) {
    let scale = 1.0 / ((width / heads) as f32).sqrt();
    let count = sequences.len();
    simd!({
        let mut probs = Vec::new();
        for (number, query) in folded.chunks_exact_mut(width).enumerate() {
            let span = &sequences.spans[number % count];
            let rows = rows[span.start * width..span.end * width].chunks_exact(width);
            probs.clear();
            probs.extend(rows.clone().map(|row| dot(query, row) * scale));
            softmax(&mut probs);
            query.fill(0.0);
            rows.zip(&probs).for_each(|(row, prob)| add_scaled(query, *prob, row));
        }
    });
}

/// One sequence of it.
struct SequenceAttention<'a> {
    width: usize,
    size: usize,
    queries: &'a [f32],
    keys_values: &'a [f32],
}

impl<'a> PackedAttention<'a> {
    /// The attended values \[queries, d\], and the probabilities \[sequences: heads, queries, length\].
    pub fn forward(&self, probs: &mut [f32], out: &mut [f32], cores: Cores) {
        let probs = split_mut(probs, self.prob_counts());
        let outs = split_mut(out, self.query_lengths());
        let tasks: Vec<_> = self.parts().into_iter().zip(probs).zip(outs).collect();
        let run = |((one, probs), out): ((SequenceAttention<'_>, &mut [f32]), &mut [f32])| {
            simd!(one.forward(probs, out));
        };
        match cores {
            Cores::One => tasks.into_iter().for_each(run),
            Cores::All => tasks.into_par_iter().for_each(run),
        }
    }

    /// From the gradient of the attended values to those of queries and of keys and values.
    pub fn backward(
        &self,
        gradient: &[f32],
        probs: &[f32],
        d_queries: &mut [f32],
        d_keys_values: &mut [f32],
    ) {
        let spans = self.sequences.spans.iter();
        let d_queries = split_mut(d_queries, self.query_lengths());
        let d_keys_values = split_mut(d_keys_values, spans.map(|s| s.len() * 2 * self.width));
        let gradients = split(gradient, self.query_lengths());
        let known = gradients.into_iter().zip(split(probs, self.prob_counts()));
        let wanted = d_queries.into_iter().zip(d_keys_values);
        let tasks: Vec<_> = self.parts().into_iter().zip(known).zip(wanted).collect();
        tasks.into_par_iter().for_each(|((one, (gradient, probs)), (d_queries, d_rows))| {
            simd!(one.backward(gradient, probs, d_queries, d_rows));
        });
    }

    /// The length of each sequence's queries.
    fn query_lengths(&self) -> impl Iterator<Item = usize> {
        let sequences = self.sequences;
        sequences.spans.iter().map(|span| sequences.queries_in(span) * self.width)
    }

    /// How many probabilities each sequence has.
    fn prob_counts(&self) -> impl Iterator<Item = usize> {
        let sequences = self.sequences;
        sequences.spans.iter().map(|span| self.heads * sequences.queries_in(span) * span.len())
    }

    fn parts(&self) -> Vec<SequenceAttention<'a>> {
        let queries = split(self.queries, self.query_lengths()).into_iter();
        let (width, size) = (self.width, self.width / self.heads);
        let part = |(span, queries): (&Range<usize>, &'a [f32])| SequenceAttention {
            width,
            size,
            queries,
            keys_values: &self.keys_values[span.start * 2 * width..span.end * 2 * width],
        };
        self.sequences.spans.iter().zip(queries).map(part).collect()
    }
}

impl SequenceAttention<'_> {
    fn length(&self) -> usize {
        self.keys_values.len() / (2 * self.width)
    }

    /// Where the query of a row of probabilities begins: its number and its head's column.
    fn query_at(&self, row: usize) -> (usize, usize) {
        let queries = self.queries.len() / self.width;
        let column = row / queries * self.size;
        (row % queries * self.width + column, column)
    }

    #[inline(always)]
    fn forward(&self, probs: &mut [f32], out: &mut [f32]) {
        let (width, size) = (self.width, self.size);
        for (number, probs) in probs.chunks_exact_mut(self.length()).enumerate() {
            let (at, column) = self.query_at(number);
            let part = |from: usize| {
                self.keys_values.chunks_exact(2 * width).map(move |row| &row[from..from + size])
            };
            let (keys, values) = (part(column), part(width + column));
            let (query, out) = (&self.queries[at..at + size], &mut out[at..at + size]);
            attend(query, keys, values, None, probs, out);
        }
    }

    #[inline(always)]
    fn backward(&self, gradient: &[f32], probs: &[f32], d_queries: &mut [f32], d_rows: &mut [f32]) {
        let (width, size) = (self.width, self.size);
        let scale = 1.0 / (size as f32).sqrt();
        let mut slopes = vec![0.0; self.length()];
        d_queries.fill(0.0);
        d_rows.fill(0.0);
        for (number, probs) in probs.chunks_exact(self.length()).enumerate() {
            let (at, column) = self.query_at(number);
            let (gradient, query) = (&gradient[at..at + size], &self.queries[at..at + size]);
            let d_query = &mut d_queries[at..at + size];
            let rows = self.keys_values.chunks_exact(2 * width);
            for (slope, row) in slopes.iter_mut().zip(rows.clone()) {
                *slope = dot(gradient, &row[width + column..][..size]);
            }
            let mean: f32 = probs.iter().zip(&slopes).map(|(prob, slope)| prob * slope).sum();
            let all = rows.zip(d_rows.chunks_exact_mut(2 * width)).zip(probs.iter().zip(&slopes));
            for ((row, d_row), (prob, slope)) in all {
                let slope = prob * (slope - mean) * scale;
                add_scaled(d_query, slope, &row[column..column + size]);
                let (d_key, d_value) = d_row.split_at_mut(width);
                add_scaled(&mut d_key[column..column + size], slope, query);
                add_scaled(&mut d_value[column..column + size], *prob, gradient);
            }
        }
    }
}

const LENGTHS: &str = "every slice of a batch is as long as its sequences say";

/// Slices of these lengths, one after the other.
fn split(mut data: &[f32], lengths: impl Iterator<Item = usize>) -> Vec<&[f32]> {
    lengths.map(|length| data.split_off(..length).expect(LENGTHS)).collect()
}

fn split_mut(mut data: &mut [f32], lengths: impl Iterator<Item = usize>) -> Vec<&mut [f32]> {
    lengths.map(|length| data.split_off_mut(..length).expect(LENGTHS)).collect()
}
