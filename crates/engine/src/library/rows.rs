//! The rows of a pool, mapped: stretches of segments in the order of the videos.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use stitch_core::features::Rows;

use super::segment::{MATRICES, PoolSegment};

/// All matrices of a pool.
pub(super) struct MappedRows {
    segments: Vec<PoolSegment>,
    runs: Vec<Run>,
    len: usize,
}

/// Rows of one segment that follow each other in the pool.
struct Run {
    /// The row of the pool that it begins with.
    first: usize,
    segment: usize,
    rows: Range<usize>,
}

impl MappedRows {
    /// Of stretches of the segments, in pool order.
    pub fn new(
        segments: Vec<PoolSegment>,
        stretches: impl Iterator<Item = (usize, Range<usize>)>,
    ) -> Self {
        let mut all = Self { segments, runs: Vec::new(), len: 0 };
        for (segment, rows) in stretches {
            let first = all.len;
            all.len += rows.len();
            match all.runs.last_mut() {
                Some(last) if last.segment == segment && last.rows.end == rows.start => {
                    last.rows.end = rows.end;
                }
                _ => all.runs.push(Run { first, segment, rows }),
            }
        }
        all
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The pool's rows in pieces of at most so many: the first row, and the rows of the segment.
    pub fn blocks(&self, most: usize) -> impl Iterator<Item = (usize, &PoolSegment, Range<usize>)> {
        self.runs.iter().flat_map(move |Run { first, segment, rows }| {
            rows.clone().step_by(most).map(move |from| {
                let first = first + from - rows.start;
                (first, &self.segments[*segment], from..rows.end.min(from + most))
            })
        })
    }

    fn row(&self, matrix: usize, row: usize) -> Vec<f32> {
        let per_clip = MATRICES[matrix].per_clip;
        let clip = row / per_clip;
        assert!(clip < self.len, "clip {clip} of {}", self.len);
        let run = &self.runs[self.runs.partition_point(|run| run.first <= clip) - 1];
        let clip = run.rows.start + clip - run.first;
        self.segments[run.segment].row(matrix, clip, row % per_clip)
    }
}

impl std::fmt::Debug for MappedRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows of {} segments", self.len, self.segments.len())
    }
}

/// One of the matrices.
#[derive(Debug)]
pub(super) struct MatrixRows {
    pub rows: Arc<MappedRows>,
    /// Its place in [`MATRICES`].
    pub matrix: usize,
    pub dim: usize,
}

impl Rows for MatrixRows {
    fn dim(&self) -> usize {
        self.dim
    }

    fn len(&self) -> usize {
        self.rows.len * MATRICES[self.matrix].per_clip
    }

    fn row(&self, row: usize) -> Cow<'_, [f32]> {
        self.rows.row(self.matrix, row).into()
    }
}
