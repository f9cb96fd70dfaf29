//! Drop-DTW with every option: shared seconds, and steps that may be missing.
//!
//! Four states say what became of the last step and the last second; each alignment is one path
//! through them, because steps that are missing are passed before the seconds that are dropped.

use super::costs::Costs;
use super::{AlignError, AlignOptions, Alignment};

/// M: step and second match.
const MATCH: usize = 0;
/// D: the second is dropped, the step matched before.
const DROP: usize = 1;
/// The step is missing, the second matched an earlier step (or nothing was dropped yet).
const MISSING: usize = 2;
/// The step is missing and the second dropped.
const NEITHER: usize = 3;

/// The costs of one cell, by state.
type Cell = [f64; 4];

const UNREACHABLE: Cell = [f64::INFINITY; 4];

/// How many steps and seconds a state lies back, and which it is.
type Predecessor = (usize, usize, usize);

/// Where each state may come from, in the order that decides ties. A back pointer is an index here.
const PREDECESSORS: [&[Predecessor]; 4] = [
    &[
        (1, 1, MATCH),
        (1, 1, DROP),
        (1, 1, MISSING),
        (1, 1, NEITHER),
        (0, 1, MATCH),
        (0, 1, DROP),
        (1, 0, MATCH),
        (1, 0, MISSING),
    ],
    &[(0, 1, MATCH), (0, 1, DROP)],
    &[(1, 0, MATCH), (1, 0, MISSING)],
    &[(0, 1, MISSING), (0, 1, NEITHER)],
];

/// A step of the current second and what is known around it.
struct Near<'a> {
    step: usize,
    /// The second before, by step.
    before: &'a [Cell],
    /// The current second, as far as it is known.
    column: &'a [Cell],
}

impl Near<'_> {
    /// The cost of a state's cheapest predecessor, and its index.
    fn cheapest(&self, state: usize, options: &AlignOptions) -> (f64, u8) {
        let mut best = (f64::INFINITY, 0);
        for (number, from) in PREDECESSORS[state].iter().enumerate() {
            let cost = self.cost(*from);
            if cost < best.0 && is_allowed(state, *from, options) {
                best = (cost, number as u8);
            }
        }
        best
    }

    fn cost(&self, (steps_back, seconds_back, state): Predecessor) -> f64 {
        let cells = if seconds_back == 1 { self.before } else { self.column };
        self.step.checked_sub(steps_back).map_or(f64::INFINITY, |step| cells[step][state])
    }
}

fn is_allowed(state: usize, from: Predecessor, options: &AlignOptions) -> bool {
    match (state, from) {
        (MATCH, (0, 1, DROP)) => !options.contiguous,
        (MATCH, (1, 0, _)) => !options.exclusive,
        _ => true,
    }
}

/// The cheapest alignment; steps may be missing where their costs are given.
pub(super) fn align(
    costs: &Costs,
    step_drop: Option<&[f64]>,
    options: &AlignOptions,
) -> Result<Alignment, AlignError> {
    let (steps, seconds) = (costs.steps(), costs.seconds());
    let mut pointers = vec![[0u8; 4]; (steps + 1) * (seconds + 1)];
    let mut column = vec![UNREACHABLE; steps + 1];
    for (second, pointers) in pointers.chunks_exact_mut(steps + 1).enumerate() {
        let before = std::mem::replace(&mut column, vec![UNREACHABLE; steps + 1]);
        for step in 0..=steps {
            if (step, second) == (0, 0) {
                column[0][MATCH] = 0.0;
                continue;
            }
            let own = own_costs(costs, step_drop, step, second);
            for state in 0..4 {
                let near = Near { step, before: &before, column: &column };
                let (cost, pointer) = near.cheapest(state, options);
                column[step][state] = own[state] + cost;
                pointers[step][state] = pointer;
            }
        }
    }
    let end = column[steps];
    let state = (0..4).reduce(|a, b| if end[b] < end[a] { b } else { a }).unwrap_or(MATCH);
    if !end[state].is_finite() {
        return Err(AlignError::Impossible);
    }
    Ok(walk_back(costs, &pointers, end[state], state))
}

/// What the states of a cell add to their predecessors; step and second count from 1.
fn own_costs(costs: &Costs, step_drop: Option<&[f64]>, step: usize, second: usize) -> Cell {
    let (step, second) = (step.checked_sub(1), second.checked_sub(1));
    let matching = step.zip(second).map(|(step, second)| costs.matching(step, second));
    let drop = second.map_or(f64::INFINITY, |second| costs.drop()[second]);
    let missing = step.zip(step_drop).map(|(step, costs)| costs[step]);
    [matching.unwrap_or(f64::INFINITY), drop, missing.unwrap_or(f64::INFINITY), drop]
}

/// Follows the back pointers from the last step and second to the first.
fn walk_back(costs: &Costs, pointers: &[[u8; 4]], cost: f64, mut state: usize) -> Alignment {
    let (mut step, mut second) = (costs.steps(), costs.seconds());
    let mut alignment = Alignment::new(cost, step, second);
    while (step, second) != (0, 0) {
        alignment.push(step, second, state == MATCH);
        let pointer = pointers[second * (costs.steps() + 1) + step][state];
        let (steps_back, seconds_back, before) = PREDECESSORS[state][usize::from(pointer)];
        (step, second, state) = (step - steps_back, second - seconds_back, before);
    }
    alignment
}
