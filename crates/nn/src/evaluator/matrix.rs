//! Matrix products, and work over rows or columns, on one core or on all.

use std::ops::Range;

use gemm::{Parallelism, gemm};
use rayon::prelude::*;

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
    pub fn share(self, rows: usize, width: usize) -> usize {
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

    /// Some of the columns.
    pub fn columns(self, which: Range<usize>) -> Self {
        assert!(self.across == 1 && which.end <= self.columns, "columns that are not there");
        Self { data: &self.data[which.start.min(self.data.len())..], columns: which.len(), ..self }
    }

    /// Columns as rows.
    pub fn turned(self) -> Self {
        let Self { data, rows, columns, down, across } = self;
        Self { data, rows: columns, columns: rows, down: across, across: down }
    }
}

/// out = a·b, or out + a·b.
pub(super) fn multiply(a: Matrix<'_>, b: Matrix<'_>, out: &mut [f32], add: bool, cores: Cores) {
    assert_eq!(out.len(), a.rows * b.columns, "a product that does not fit its place");
    multiply_into(a, b, (out, b.columns), add, cores);
}

/// The same where the rows of `out` lie so many numbers apart.
pub(super) fn multiply_into(
    a: Matrix<'_>,
    b: Matrix<'_>,
    (out, apart): (&mut [f32], usize),
    add: bool,
    cores: Cores,
) {
    assert_eq!(a.columns, b.rows, "a product of unequal lengths");
    if a.rows * b.columns == 0 {
        return;
    }
    assert!(apart >= b.columns && (a.rows - 1) * apart + b.columns <= out.len(), "no room");
    let parallelism = match cores {
        Cores::One => Parallelism::None,
        Cores::All => Parallelism::Rayon(0),
    };
    // SAFETY: a matrix lies inside its slice, whichever way it is walked, and so does the result.
    unsafe {
        gemm(
            a.rows,
            b.columns,
            a.columns,
            out.as_mut_ptr(),
            1,
            apart as isize,
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
pub(super) fn by_rows(
    out: &mut [f32],
    width: usize,
    cores: Cores,
    work: impl Fn(usize, &mut [f32]) + Sync,
) {
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

/// `work` over a share of the columns for each core; it is told its first column.
pub(super) fn by_columns(
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
