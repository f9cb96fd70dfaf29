//! What an alignment says: its cost, its path, and the seconds of each step.

use std::ops::Range;

/// The cheapest way through steps and seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Alignment {
    cost: f64,
    path: Vec<(u32, u32)>,
    /// The step of each second, counted from 1; 0 is none.
    labels: Vec<u32>,
    spans: Vec<Option<Range<usize>>>,
}

impl Alignment {
    /// Nothing is matched yet.
    pub(super) fn new(cost: f64, steps: usize, seconds: usize) -> Self {
        let path = Vec::with_capacity(steps + seconds);
        Self { cost, path, labels: vec![0; seconds], spans: vec![None; steps] }
    }

    /// Adds a cell in which nothing is matched, both counted from 1, walking back.
    pub(super) fn pass(&mut self, step: usize, second: usize) {
        self.path.push((step as u32, second as u32));
    }

    /// Adds a cell in which the step is matched with the second, both counted from 1, walking
    /// back. A second that several steps share is labelled with the first of them.
    pub(super) fn meet(&mut self, step: usize, second: usize) {
        self.path.push((step as u32, second as u32));
        self.labels[second - 1] = step as u32;
        let end = self.spans[step - 1].as_ref().map_or(second, |span| span.end);
        self.spans[step - 1] = Some(second - 1..end);
    }

    /// The sum of all matching and drop costs.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// The cells of the dynamic programme from the end back to the start, as (step, second)
    /// counted from 1; step 0 is before the first.
    pub fn path(&self) -> impl ExactSizeIterator<Item = (usize, usize)> {
        self.path.iter().map(|(step, second)| (*step as usize, *second as usize))
    }

    /// For each second the step it shows, counted from 0.
    pub fn labels(&self) -> impl ExactSizeIterator<Item = Option<usize>> {
        self.labels.iter().map(|label| (*label as usize).checked_sub(1))
    }

    /// For each step its seconds, from the first to the last that shows it; none if it is missing.
    pub fn spans(&self) -> &[Option<Range<usize>>] {
        &self.spans
    }

    /// The steps that no second shows, counted from 0.
    pub fn dropped_steps(&self) -> Vec<usize> {
        (0..self.spans.len()).filter(|step| self.spans[*step].is_none()).collect()
    }
}
