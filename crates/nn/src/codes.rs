//! Vectors in 8 bits, and dot products with them that are known to be so near the true ones.
//!
//! A row is `scale` times its codes, and the rest of it has at most the length `error`. So a dot product with a vector
//! differs from the one by codes by at most the lengths of vector and rest multiplied (Cauchy and Schwarz).

use std::cmp::Ordering;

use crate::kernels::simd;

/// The largest code of a row.
const MAX_CODE: f32 = i8::MAX as f32;

/// How a row follows from its codes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CodeScale {
    /// 0 for a row of zeros.
    pub scale: f32,
    /// At least the length of what the codes leave of the row.
    pub error: f32,
}

/// Writes the codes of a row of length 1 or 0.
pub fn encode(row: &[f32], codes: &mut [u8]) -> CodeScale {
    let scale = row.iter().fold(0.0f32, |max, x| max.max(x.abs())) / MAX_CODE;
    if scale == 0.0 {
        codes.fill(0);
        return CodeScale::default();
    }
    let mut rest = 0.0;
    for (x, code) in row.iter().zip(codes) {
        let rounded = (x / scale).round() as i8;
        rest += (f64::from(*x) - f64::from(scale) * f64::from(rounded)).powi(2);
        *code = rounded as u8;
    }
    CodeScale { scale, error: (rest.sqrt() as f32).next_up() }
}

/// Rows of codes.
#[derive(Clone, Copy, Debug)]
pub struct Coded<'a> {
    /// Row-major; signed, in two's complement.
    pub codes: &'a [u8],
    pub scales: &'a [CodeScale],
}

/// Functions of rows: a bias and, for each matrix that they look at, a dot product with its row.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    biases: Vec<f32>,
    /// How far each can be from its value as somebody computes it.
    roundings: Vec<f32>,
    vectors: Vec<CodedVectors>,
}

/// A function that may reach a value at a row, and the bounds of what it is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    pub row: usize,
    pub function: usize,
    pub lower: f32,
    pub upper: f32,
}

impl Functions {
    /// Each given by its bias and rounding; row i of each matrix' vectors belongs to function i.
    pub fn new(biases: Vec<f32>, roundings: Vec<f32>, vectors: &[Vec<&[f32]>]) -> Self {
        let vectors = vectors.iter().map(|vectors| CodedVectors::new(vectors)).collect();
        Self { biases, roundings, vectors }
    }

    /// Appends where a function may reach its `least`. Each matrix has the same number of rows.
    pub fn reaching(&self, matrices: &[Coded<'_>], least: &[f32], found: &mut Vec<Reach>) {
        let functions = self.biases.len();
        let rows = matrices.first().map_or(0, |matrix| matrix.scales.len());
        let mut near = self.biases.repeat(rows);
        let mut width = self.roundings.repeat(rows);
        let mut products = vec![0; rows * functions];
        for (matrix, vectors) in matrices.iter().zip(&self.vectors) {
            vectors.products(matrix.codes, &mut products);
            vectors.add(matrix.scales, &products, &mut near, &mut width);
        }
        for at in 0..rows * functions {
            let (lower, upper) = (near[at] - width[at], near[at] + width[at]);
            let (row, function) = (at / functions, at % functions);
            // Not below: what is no number is no reason to leave something out.
            if upper.partial_cmp(&least[function]) != Some(Ordering::Less) {
                found.push(Reach { row, function, lower, upper });
            }
        }
    }
}

/// Vectors that rows are multiplied with, in as many bits as a sum of 32 holds.
#[derive(Clone, Debug, Default)]
struct CodedVectors {
    /// Row-major.
    codes: Vec<i16>,
    /// Of each vector what a product of codes is multiplied with, besides the row's scale.
    scales: Vec<f32>,
    /// How far a dot product with the vector can be from the one by codes: so far,
    bounds: Vec<f32>,
    /// and so many times the row's error.
    slopes: Vec<f32>,
}

impl CodedVectors {
    fn new(vectors: &[&[f32]]) -> Self {
        let mut all = Self::default();
        vectors.iter().for_each(|vector| all.push(vector));
        all
    }

    fn push(&mut self, vector: &[f32]) {
        // Half of what a sum can hold, for the rounding of these numbers themselves.
        let most = i32::MAX as f32 / 2.0 / (vector.len().max(1) as f32 * MAX_CODE);
        let max_code = most.min(f32::from(i16::MAX)).floor();
        let max = vector.iter().fold(0.0f32, |max, x| max.max(x.abs()));
        let scale = if max > 0.0 { max / max_code } else { 1.0 };
        let (mut length, mut rest) = (0.0, 0.0);
        for x in vector {
            let code = (x / scale).round() as i16;
            self.codes.push(code);
            length += f64::from(*x).powi(2);
            rest += (f64::from(*x) - f64::from(scale) * f64::from(code)).powi(2);
        }
        // By its codes a row is at most its own length, a little above 1, and its error long.
        let (length, rest) = (length.sqrt() as f32, (rest.sqrt() as f32).next_up());
        self.scales.push(scale);
        self.bounds.push(rest * 1.001);
        self.slopes.push((length + rest) * 1.001);
    }

    /// The products of every vector with rows of codes, `out[row][vector]`.
    fn products(&self, rows: &[u8], out: &mut [i32]) {
        let count = self.scales.len();
        let dim = self.codes.len() / count.max(1);
        if dim == 0 {
            return;
        }
        let mut wide = vec![0i16; dim];
        simd!(for (row, out) in rows.chunks_exact(dim).zip(out.chunks_exact_mut(count)) {
            wide.iter_mut().zip(row).for_each(|(wide, code)| *wide = i16::from(*code as i8));
            for (product, vector) in out.iter_mut().zip(self.codes.chunks_exact(dim)) {
                *product = dot(&wide, vector);
            }
        });
    }

    /// Adds the dot products by codes, and how far they can be from the true ones.
    fn add(&self, rows: &[CodeScale], products: &[i32], near: &mut [f32], width: &mut [f32]) {
        let count = self.scales.len().max(1);
        let sums = near.chunks_exact_mut(count).zip(width.chunks_exact_mut(count));
        simd!(for (((near, width), products), row) in
            sums.zip(products.chunks_exact(count)).zip(rows)
        {
            for at in 0..near.len() {
                near[at] += row.scale * self.scales[at] * products[at] as f32;
                width[at] += self.bounds[at] + row.error * self.slopes[at];
            }
        });
    }
}

#[inline(always)]
fn dot(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::tests::random;

    fn unit(mut row: Vec<f32>) -> Vec<f32> {
        stitch_core::features::normalise(&mut row);
        row
    }

    /// Rows and vectors at every length, also of one large number, of equal numbers and of zeros.
    #[test]
    fn the_true_value_is_within_the_bounds() {
        for dim in [1, 2, 3, 31, 64, 100, 768, 4096] {
            let mut spike = vec![1e-4; dim];
            spike[dim / 2] = -1.0;
            let kinds = [random(dim, 1), random(dim, 2), vec![1.0; dim], vec![0.0; dim], spike];
            let vectors = kinds.clone().map(|row| row.iter().map(|x| x * 9.0).collect::<Vec<_>>());
            let rows = kinds.map(unit);
            let mut codes = vec![0; dim * rows.len()];
            let scales: Vec<CodeScale> = rows
                .iter()
                .zip(codes.chunks_mut(dim))
                .map(|(row, codes)| encode(row, codes))
                .collect();
            let vectors: Vec<&[f32]> = vectors.iter().map(Vec::as_slice).collect();
            let functions =
                Functions::new(vec![-2.0; 5], vec![1e-4; 5], std::slice::from_ref(&vectors));
            let mut found = Vec::new();
            let matrix = Coded { codes: &codes, scales: &scales };
            functions.reaching(&[matrix], &[f32::NEG_INFINITY; 5], &mut found);
            assert_eq!(found.len(), 25);
            for Reach { row, function, lower, upper } in found {
                let pairs = rows[row].iter().zip(vectors[function]);
                let exact = pairs.map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>() - 2.0;
                assert!(
                    (f64::from(lower)..=f64::from(upper)).contains(&exact),
                    "{dim} {row} {function}"
                );
                let length = vectors[function].iter().map(|x| x * x).sum::<f32>().sqrt();
                assert!(upper - lower <= 0.03 * length + 1e-3, "{dim} {row} {function}: far apart");
            }
        }
    }

    #[test]
    fn what_cannot_reach_is_left_out_and_what_is_no_number_is_not() {
        let (row, mut codes) = ([0.6, 0.8], [0; 2]);
        let scales = [encode(&row, &mut codes)];
        let vectors: [&[f32]; 3] = [&[1.0, 0.0], &[0.0, 1.0], &[f32::NAN, 0.0]];
        let functions = Functions::new(vec![0.0; 3], vec![0.0; 3], &[vectors.to_vec()]);
        let mut found = Vec::new();
        functions.reaching(&[Coded { codes: &codes, scales: &scales }], &[0.7; 3], &mut found);
        let found: Vec<usize> = found.iter().map(|reach| reach.function).collect();
        assert_eq!(found, [1, 2]);
    }
}
