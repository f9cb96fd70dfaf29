//! The result of an alignment.

use std::ops::Range;

/// The cheapest alignment of steps with seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    /// The sum of all matching and drop costs.
    pub cost: f64,
    /// The cells of the dynamic programme from the end back to the start.
    pub path: Vec<PathCell>,
    /// For each step its seconds, from the first to the last that shows it; none if it is missing.
    pub spans: Vec<Option<Range<usize>>>,
}

/// A cell of the dynamic programme; step and second count from 1, 0 is before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathCell {
    pub step: u32,
    pub second: u32,
    /// The second shows the step; otherwise the second is dropped or the step is missing.
    pub is_match: bool,
}

impl Alignment {
    pub(super) fn new(cost: f64, steps: usize, seconds: usize) -> Self {
        Self { cost, path: Vec::with_capacity(steps + seconds), spans: vec![None; steps] }
    }

    /// Adds a cell while walking back from the end.
    pub(super) fn push(&mut self, step: usize, second: usize, is_match: bool) {
        self.path.push(PathCell { step: step as u32, second: second as u32, is_match });
        if is_match {
            let end = self.spans[step - 1].as_ref().map_or(second, |span| span.end);
            self.spans[step - 1] = Some(second - 1..end);
        }
    }
}
