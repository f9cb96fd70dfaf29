//! Rows of unit vectors, and how similar two of them are.

use std::borrow::Cow;

/// Rows of unit vectors (or of zeros, for "nothing here"), in memory or in a file.
pub trait Rows: std::fmt::Debug + Send + Sync {
    fn dim(&self) -> usize;
    fn len(&self) -> usize;
    fn row(&self, row: usize) -> Cow<'_, [f32]>;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows in memory.
    fn to_features(&self) -> Features {
        let mut features = Features::empty(self.dim());
        (0..self.len()).for_each(|row| features.data.extend_from_slice(&self.row(row)));
        features
    }
}

impl Rows for Features {
    fn dim(&self) -> usize {
        self.dim
    }

    fn len(&self) -> usize {
        self.data.len() / self.dim
    }

    fn row(&self, row: usize) -> Cow<'_, [f32]> {
        self.row(row).into()
    }
}

/// A row-major matrix whose rows have length 1 (or 0, for "nothing here").
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    dim: usize,
    data: Vec<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeaturesError {
    #[error("{numbers} numbers do not make rows of {dim}")]
    Ragged { numbers: usize, dim: usize },
    /// The first row that holds NaN or an infinity.
    #[error("row {row} of the features holds a number that is not finite")]
    NotFinite { row: usize },
}

impl Features {
    /// Rows of `dim` numbers each; every row is scaled to length 1.
    pub fn new(dim: usize, mut data: Vec<f32>) -> Result<Self, FeaturesError> {
        if dim == 0 || !data.len().is_multiple_of(dim) {
            return Err(FeaturesError::Ragged { numbers: data.len(), dim });
        }
        if let Some(at) = data.iter().position(|x| !x.is_finite()) {
            return Err(FeaturesError::NotFinite { row: at / dim });
        }
        data.chunks_exact_mut(dim).for_each(normalise);
        Ok(Self { dim, data })
    }

    pub fn empty(dim: usize) -> Self {
        assert!(dim > 0, "features have a dimension");
        Self { dim, data: Vec::new() }
    }

    /// Rows that say nothing.
    pub fn zeros(dim: usize, rows: usize) -> Self {
        Self { dim, data: vec![0.0; rows * dim] }
    }

    /// The rows of all `parts` concatenated: their cosines are then the means of the parts' cosines.
    pub fn side_by_side(parts: &[Features]) -> Self {
        let mut joined = Self::empty(parts.iter().map(|part| part.dim).sum());
        let rows = parts.iter().map(Features::len).min().unwrap_or(0);
        for row in 0..rows {
            let row: Vec<f32> = parts.iter().flat_map(|part| part.row(row)).copied().collect();
            joined.push(&row);
        }
        joined
    }

    pub fn dim(&self) -> usize {
        self.dim
    }

    pub fn len(&self) -> usize {
        self.data.len() / self.dim
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    pub fn row(&self, row: usize) -> &[f32] {
        &self.data[row * self.dim..(row + 1) * self.dim]
    }

    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        self.data.chunks_exact(self.dim)
    }

    /// Row-major.
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// Adds a row, scaled to length 1.
    pub fn push(&mut self, row: &[f32]) {
        assert_eq!(row.len(), self.dim, "a row has the features' dimension");
        self.data.extend_from_slice(row);
        let start = self.data.len() - self.dim;
        normalise(&mut self.data[start..]);
    }

    /// The rows before this one, and the others.
    pub fn split_at(mut self, row: usize) -> (Self, Self) {
        let data = self.data.split_off(row * self.dim);
        let others = Self { dim: self.dim, data };
        (self, others)
    }

    /// The mean of the given rows, scaled to length 1: a clip's feature from its seconds.
    pub fn mean_of(&self, rows: std::ops::Range<usize>) -> Vec<f32> {
        let mut mean = vec![0.0; self.dim];
        for row in rows {
            mean.iter_mut().zip(self.row(row)).for_each(|(sum, x)| *sum += x);
        }
        normalise(&mut mean);
        mean
    }
}

/// The cosine of two unit vectors.
pub fn similarity(a: &[f32], b: &[f32]) -> f32 {
    debug_assert_eq!(a.len(), b.len());
    // Eight running sums let the compiler use vector registers without reordering one sum.
    let mut sums = [0.0f32; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f32 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a8.zip(b8) {
        for lane in 0..8 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// Scales a vector to length 1; a zero vector stays as it is.
pub fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) / length) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_length_one() {
        let features = Features::new(2, vec![3.0, 4.0, 0.0, 0.0]).unwrap();
        assert_eq!(features.row(0), [0.6, 0.8]);
        assert_eq!(features.row(1), [0.0, 0.0]);
        assert_eq!(features.mean_of(0..2), [0.6, 0.8]);
        let (first, others) = features.split_at(1);
        assert_eq!((first.as_slice(), others.as_slice()), (&[0.6, 0.8][..], &[0.0, 0.0][..]));
    }

    #[test]
    fn side_by_side_cosines_are_averaged() {
        let features = |numbers: [f32; 4]| Features::new(2, numbers.to_vec()).unwrap();
        let (a, b) = (features([3.0, 4.0, 1.0, 0.0]), features([0.0, 1.0, 5.0, 12.0]));
        let joined = Features::side_by_side(&[a.clone(), b.clone()]);
        assert_eq!((joined.dim(), joined.len()), (4, 2));
        let mean = |x: usize, y: usize| {
            (similarity(a.row(x), a.row(y)) + similarity(b.row(x), b.row(y))) / 2.0
        };
        assert!((similarity(joined.row(0), joined.row(1)) - mean(0, 1)).abs() < 1e-6);
        assert!((similarity(joined.row(0), joined.row(0)) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn bad_numbers_are_told() {
        let ragged = FeaturesError::Ragged { numbers: 3, dim: 2 };
        assert_eq!(Features::new(2, vec![1.0; 3]), Err(ragged));
        let nan = Features::new(2, vec![1.0, 0.0, f32::NAN, 0.0]);
        assert_eq!(nan, Err(FeaturesError::NotFinite { row: 1 }));
    }

    #[test]
    fn similarity_is_the_dot_product_at_every_length() {
        for n in 0..40 {
            let a: Vec<f32> = (0..n).map(|i| i as f32).collect();
            let b: Vec<f32> = (0..n).map(|i| (i % 3) as f32).collect();
            let plain: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            assert_eq!(similarity(&a, &b), plain);
        }
    }
}
