//! Matrix products (gemm), and element-wise work over rows or columns, on one core or on all.

use std::ops::Range;

use gemm::{Parallelism, gemm};
use rayon::prelude::*;

use crate::kernels::simd;

/// Below this many elements a second core costs more than it saves; chosen by hand.
const MIN_PARALLEL_ELEMENTS: usize = 1 << 14;

/// On how many cores something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cores {
    /// The calling thread alone.
    One,
    /// All of rayon's threads.
    All,
}

impl Cores {
    /// How many of `rows` rows of this width one core takes.
    pub fn share(self, rows: usize, width: usize) -> usize {
        match self {
            Self::All if rows * width >= MIN_PARALLEL_ELEMENTS => {
                rows.div_ceil(rayon::current_num_threads()).max(1)
            }
            _ => rows.max(1),
        }
    }

    /// How many elements of whole rows one core takes.
    pub fn row_share(self, elements: usize, width: usize) -> usize {
        self.share(elements / width, width) * width
    }

    /// How many columns one core takes, of this many in a matrix of so many elements.
    pub fn column_share(self, columns: usize, elements: usize) -> usize {
        let alone = self == Self::One || elements < MIN_PARALLEL_ELEMENTS;
        let parts = if alone { 1 } else { rayon::current_num_threads() };
        columns.div_ceil(parts).next_multiple_of(16)
    }
}

/// A view of a slice as a matrix. Rows may overlap; the last one always ends inside the slice.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a, T = f32> {
    data: &'a [T],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// Rows one after the other.
    pub fn new(data: &'a [T], columns: usize) -> Self {
        assert!(columns > 0 && data.len().is_multiple_of(columns), "not a whole number of rows");
        Self::strided(data, data.len() / columns, columns, columns)
    }

    /// Rows that begin `stride` elements apart.
    pub fn strided(data: &'a [T], rows: usize, columns: usize, stride: usize) -> Self {
        let end = rows.saturating_sub(1) * stride + columns;
        assert!(rows == 0 || end <= data.len(), "rows end outside their slice");
        Self { data, rows, columns, row_stride: stride, column_stride: 1 }
    }

    pub fn row_count(&self) -> usize {
        self.rows
    }

    /// Some of the rows of a matrix that is not transposed.
    pub fn rows(self, which: Range<usize>) -> Self {
        assert!(self.column_stride == 1 && which.end <= self.rows, "no such rows");
        Self::strided(
            &self.data[which.start * self.row_stride..],
            which.len(),
            self.columns,
            self.row_stride,
        )
    }

    /// Some of the columns of a matrix that is not transposed.
    pub fn columns(self, which: Range<usize>) -> Self {
        assert!(self.column_stride == 1 && which.end <= self.columns, "no such columns");
        Self { data: &self.data[which.start.min(self.data.len())..], columns: which.len(), ..self }
    }

    pub fn transposed(self) -> Self {
        let Self { data, rows, columns, row_stride, column_stride } = self;
        Self {
            data,
            rows: columns,
            columns: rows,
            row_stride: column_stride,
            column_stride: row_stride,
        }
    }
}

/// out = a·b, or out + a·b where `accumulate`; rows of `out` lie one after the other.
pub(crate) fn multiply<T: Copy + From<f32> + 'static>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    out: &mut [T],
    accumulate: bool,
    cores: Cores,
) {
    assert_eq!(out.len(), a.rows * b.columns, "the product has another size than its output");
    multiply_into(a, b, (out, b.columns), accumulate, cores);
}

/// The same where the rows of `out` begin `stride` elements apart.
pub(crate) fn multiply_into<T: Copy + From<f32> + 'static>(
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    (out, stride): (&mut [T], usize),
    accumulate: bool,
    cores: Cores,
) {
    assert_eq!(a.columns, b.rows, "inner dimensions differ");
    if a.rows * b.columns == 0 {
        return;
    }
    let end = (a.rows - 1) * stride + b.columns;
    assert!(stride >= b.columns && end <= out.len(), "the output is too small");
    let parallelism = match cores {
        Cores::One => Parallelism::None,
        Cores::All => Parallelism::Rayon(0),
    };
    // SAFETY: every element of the three matrices lies inside its slice, by the checks here and in
    // `Matrix::strided`.
    unsafe {
        gemm(
            a.rows,
            b.columns,
            a.columns,
            out.as_mut_ptr(),
            1,
            stride as isize,
            accumulate,
            a.data.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            T::from(1.0),
            T::from(1.0),
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// Runs `work` over shares of `out`, one for each core, vectorised; it gets the index of its first
/// element.
pub(crate) fn run_in_shares(
    out: &mut [f32],
    share: usize,
    work: impl Fn(usize, &mut [f32]) + Sync,
) {
    let run = |(number, part): (usize, &mut [f32])| simd!(work(number * share, part));
    match share >= out.len() {
        true => run((0, out)),
        false => out.par_chunks_mut(share).enumerate().for_each(run),
    }
}

/// [`run_in_shares`] with a closure that is always inlined, as `simd!` needs it.
macro_rules! in_shares {
    ($out:expr, $share:expr, |$first:pat_param, $part:pat_param| $work:expr) => {{
        let share = $share;
        $crate::matrix::run_in_shares(
            $out,
            share,
            #[inline(always)]
            |$first, $part| $work,
        );
    }};
}
pub(crate) use in_shares;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "rows end outside")]
    fn rows_outside_their_slice_are_refused() {
        Matrix::strided(&[0.0f32; 9], 2, 5, 5);
    }
}
