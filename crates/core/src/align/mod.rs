//! F_T: Drop-DTW, where in a video each step is shown.
//!
//! Every step is matched to a stretch of seconds, in order; seconds that show no step are dropped
//! at a cost of their own. [`drop_dtw`] matches every step; [`drop_dtw_with_missing_steps`] may
//! leave steps out too, for summaries that come from elsewhere than this video.

mod lanes;
mod costs;
mod states;
mod exclusive;

pub use costs::{CostOptions, Costs};
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
    fn new(cost: f64, steps: usize, seconds: usize) -> Self {
        Self { cost, path: Vec::with_capacity(steps + seconds), spans: vec![None; steps] }
    }

    /// Adds a cell while walking back from the end.
    fn push(&mut self, step: usize, second: usize, is_match: bool) {
        self.path.push(PathCell { step: step as u32, second: second as u32, is_match });
        if is_match {
            let end = self.spans[step - 1].as_ref().map_or(second, |span| span.end);
            self.spans[step - 1] = Some(second - 1..end);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlignOptions {
    /// A second shows at most one step.
    pub exclusive: bool,
    /// The seconds of a step follow one another without a dropped one between.
    pub contiguous: bool,
}

impl Default for AlignOptions {
    fn default() -> Self {
        Self { exclusive: true, contiguous: true }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlignError {
    #[error("there are no steps to align: give at least one")]
    NoSteps,
    #[error(
        "{steps} steps do not fit into {seconds} seconds: merge steps, take a longer window, or \
         allow missing steps"
    )]
    TooManySteps { steps: usize, seconds: usize },
    /// The matching costs (or similarities) are no full matrix.
    #[error("{numbers} costs are not one for each of {seconds} seconds in every row")]
    Ragged { numbers: usize, seconds: usize },
    /// NaN or minus infinity; the second counts from 0.
    #[error("the cost of second {second} is not a number")]
    NotANumber { second: usize },
    #[error("{given} {what} where {expected} are needed")]
    Count { what: &'static str, expected: usize, given: usize },
    #[error("{what} must lie {range}")]
    Option { what: &'static str, range: &'static str },
    #[error("no alignment has a finite cost: widen the windows of the steps")]
    Impossible,
}

/// The cheapest alignment that shows every step.
///
/// ```
/// use stitch_core::align::{AlignOptions, Costs, drop_dtw};
///
/// let matching = vec![
///     0.1, 5.0, 5.0, 5.0, // the first step is shown in second 0
///     5.0, 5.0, 0.2, 0.2, // the second step in seconds 2 and 3
/// ];
/// let costs = Costs::new(matching, vec![1.0; 4])?;
/// let alignment = drop_dtw(&costs, &AlignOptions::default())?;
/// assert_eq!(alignment.spans, [Some(0..1), Some(2..4)]);
/// # Ok::<(), stitch_core::align::AlignError>(())
/// ```
pub fn drop_dtw(costs: &Costs, options: &AlignOptions) -> Result<Alignment, AlignError> {
    let (steps, seconds) = (costs.steps(), costs.seconds());
    if options.exclusive && steps > seconds {
        return Err(AlignError::TooManySteps { steps, seconds });
    }
    match options.exclusive {
        true => exclusive::align(costs, options.contiguous),
        false => states::align(costs, None, options),
    }
}

/// The cheapest alignment in which a step may be missing, at its own cost `step_drop`.
///
/// It is the cheapest over every choice of steps to keep: the drop costs of the others plus
/// [`drop_dtw`] of those kept.
pub fn drop_dtw_with_missing_steps(
    costs: &Costs,
    step_drop: &[f64],
    options: &AlignOptions,
) -> Result<Alignment, AlignError> {
    let (expected, given) = (costs.steps(), step_drop.len());
    if expected != given {
        return Err(AlignError::Count { what: "drop costs", expected, given });
    }
    if step_drop.iter().any(|x| x.is_nan() || *x == f64::NEG_INFINITY) {
        return Err(AlignError::Option { what: "a step's drop cost", range: "above -infinity" });
    }
    states::align(costs, Some(step_drop), options)
}
