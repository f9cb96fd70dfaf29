//! Drop-DTW with every option: shared seconds, and steps that may be missing.
//!
//! Four states say what became of the last step and the last second; each alignment is one path
//! through them, because steps that are missing are passed before the seconds that are dropped.

use super::alignment::Alignment;
use super::costs::Costs;
use super::{AlignError, AlignOptions};

/// What became of step i and second j.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// M: they match.
    Match,
    /// D: the second is dropped, the step matched before.
    Drop,
    /// The step is missing, the second matched an earlier step (or nothing was dropped yet).
    Missing,
    /// The step is missing and the second dropped.
    Neither,
}

/// The costs of one cell, by state.
#[derive(Clone, Copy)]
struct Cell {
    matched: f64,
    dropped: f64,
    missing: f64,
    neither: f64,
}

const NOWHERE: Cell = Cell {
    matched: f64::INFINITY,
    dropped: f64::INFINITY,
    missing: f64::INFINITY,
    neither: f64::INFINITY,
};

/// Where M may come from, in the order that decides ties; the number is stored in a back pointer.
const PREDECESSORS: [(usize, usize, State); 8] = [
    (1, 1, State::Match),
    (1, 1, State::Drop),
    (1, 1, State::Missing),
    (1, 1, State::Neither),
    (0, 1, State::Match),
    (0, 1, State::Drop),
    (1, 0, State::Match),
    (1, 0, State::Missing),
];

/// Bits of a back pointer above M's three: set where the state comes from its own kind.
const STILL_DROPPED: u8 = 1 << 3;
const STILL_MISSING: u8 = 1 << 4;
const STILL_NEITHER: u8 = 1 << 5;

/// The cheapest alignment; steps may be missing where their costs are given.
pub(super) fn align(
    costs: &Costs,
    step_drop: Option<&[f64]>,
    options: &AlignOptions,
) -> Result<Alignment, AlignError> {
    let steps = costs.steps();
    let missing = |step: usize| step_drop.map_or(f64::INFINITY, |costs| costs[step]);
    let mut column = first_column(steps, missing);
    let mut pointers = vec![0u8; steps * costs.seconds()];
    for (second, pointers) in pointers.chunks_exact_mut(steps).enumerate() {
        let drop = costs.drop()[second];
        let mut before = column[0];
        column[0] = Cell { dropped: drop + before.dropped.min(before.matched), ..NOWHERE };
        for step in 0..steps {
            let near = Near { diagonal: before, left: column[step + 1], above: column[step] };
            before = near.left;
            let paid =
                Paid { matching: costs.matching(step, second), drop, missing: missing(step) };
            (column[step + 1], pointers[step]) = near.next(paid, options);
        }
    }
    finish(costs, column[steps], &pointers)
}

/// Before any second: all steps so far are missing.
fn first_column(steps: usize, missing: impl Fn(usize) -> f64) -> Vec<Cell> {
    let mut column = vec![NOWHERE; steps + 1];
    column[0] = Cell { matched: 0.0, ..NOWHERE };
    let mut sum = 0.0;
    for (step, cell) in column[1..].iter_mut().enumerate() {
        sum += missing(step);
        cell.missing = sum;
    }
    column
}

/// A cell's neighbours.
struct Near {
    diagonal: Cell,
    left: Cell,
    above: Cell,
}

/// What a cell's own states cost.
struct Paid {
    matching: f64,
    drop: f64,
    missing: f64,
}

impl Near {
    /// The cell between these neighbours and its back pointer.
    #[inline(always)]
    fn next(&self, paid: Paid, options: &AlignOptions) -> (Cell, u8) {
        let (matched, mut pointer) = self.best_match(options);
        let mut pick = |first: f64, second: f64, bit: u8| {
            if second < first {
                pointer |= bit;
                second
            } else {
                first
            }
        };
        let dropped = pick(self.left.matched, self.left.dropped, STILL_DROPPED);
        let missing = pick(self.above.matched, self.above.missing, STILL_MISSING);
        let neither = pick(self.left.missing, self.left.neither, STILL_NEITHER);
        let cell = Cell {
            matched: paid.matching + matched,
            dropped: paid.drop + dropped,
            missing: paid.missing + missing,
            neither: paid.drop + neither,
        };
        (cell, pointer)
    }

    /// M's best predecessor: its cost and its number.
    #[inline(always)]
    fn best_match(&self, options: &AlignOptions) -> (f64, u8) {
        let where_allowed = |allowed: bool, cost: f64| if allowed { cost } else { f64::INFINITY };
        let candidates = [
            self.diagonal.matched,
            self.diagonal.dropped,
            self.diagonal.missing,
            self.diagonal.neither,
            self.left.matched,
            where_allowed(!options.contiguous, self.left.dropped),
            where_allowed(!options.exclusive, self.above.matched),
            where_allowed(!options.exclusive, self.above.missing),
        ];
        let mut best = (candidates[0], 0);
        for (number, cost) in candidates.into_iter().enumerate().skip(1) {
            if cost < best.0 {
                best = (cost, number as u8);
            }
        }
        best
    }
}

/// The best state of the last cell, walked back.
fn finish(costs: &Costs, end: Cell, pointers: &[u8]) -> Result<Alignment, AlignError> {
    let mut best = (end.matched, State::Match);
    let others =
        [(end.dropped, State::Drop), (end.missing, State::Missing), (end.neither, State::Neither)];
    for other in others {
        if other.0 < best.0 {
            best = other;
        }
    }
    if !best.0.is_finite() {
        return Err(AlignError::Impossible);
    }
    Ok(walk_back(costs, pointers, best.0, best.1))
}

/// Follows the back pointers from the last step and second to the first.
fn walk_back(costs: &Costs, pointers: &[u8], cost: f64, mut state: State) -> Alignment {
    let (mut step, mut second) = (costs.steps(), costs.seconds());
    let mut alignment = Alignment::new(cost, step, second);
    while (step, second) != (0, 0) {
        if state == State::Match {
            alignment.meet(step, second);
        } else {
            alignment.pass(step, second);
        }
        let pointer = match (step, second) {
            (0, _) => STILL_DROPPED,
            (_, 0) => STILL_MISSING,
            _ => pointers[(second - 1) * costs.steps() + step - 1],
        };
        let (steps_back, seconds_back, before) = predecessor(state, pointer);
        (step, second, state) = (step - steps_back, second - seconds_back, before);
    }
    alignment
}

/// How many steps and seconds to go back, and the state there.
fn predecessor(state: State, pointer: u8) -> (usize, usize, State) {
    let still = |bit: u8, yes: State, no: State| if pointer & bit != 0 { yes } else { no };
    match state {
        State::Match => PREDECESSORS[usize::from(pointer & 7)],
        State::Drop => (0, 1, still(STILL_DROPPED, State::Drop, State::Match)),
        State::Missing => (1, 0, still(STILL_MISSING, State::Missing, State::Match)),
        State::Neither => (0, 1, still(STILL_NEITHER, State::Neither, State::Missing)),
    }
}
