//! Where in a video each of its steps is shown: Drop-DTW between step texts and seconds, within the
//! windows the steps were spoken in.

use std::ops::Range;

use stitch_core::align::{self, AlignOptions, CostOptions, Costs};
use stitch_core::clip::Span;
use stitch_core::features::Features;
use stitch_core::scenes::{self, SceneOptions};

/// How steps are found.
#[derive(Clone, Copy, Debug)]
pub struct LocaliseOptions {
    /// Of the alignment's costs.
    pub costs: CostOptions,
    /// How far before and after its words a step may be shown, in seconds.
    pub around: usize,
}

impl Default for LocaliseOptions {
    fn default() -> Self {
        Self { costs: CostOptions { keep: 0.3, temperature: 0.1 }, around: 1 }
    }
}

/// A step that may be in the video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its text.
    pub text: String,
    /// When it is spoken of, in milliseconds, where that is known.
    pub window: Option<(u64, u64)>,
}

/// A step that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// Its number among the steps; none for a scene that no words tell of.
    pub step: Option<usize>,
    /// The seconds that show it.
    pub seconds: Range<usize>,
    /// The same in milliseconds.
    pub span: Span,
}

/// Finds the steps in the seconds of a video of this length. Steps that the video does not show are
/// left out; a step whose window alone is known keeps its window.
pub fn localise(
    steps: &[Step],
    queries: &Features,
    seconds: &Features,
    length_ms: u64,
    options: &LocaliseOptions,
) -> Vec<Located> {
    let aligned = align_steps(steps, queries, seconds, options);
    let place = |(number, step): (usize, &Step)| {
        let range = aligned[number].clone().or_else(|| step.window.map(seconds_of))?;
        let range = range.start..range.end.min(seconds.len());
        let span = Span::new(range.start as u64 * 1000, (range.end as u64 * 1000).min(length_ms))?;
        Some(Located { step: Some(number), seconds: range, span })
    };
    steps.iter().enumerate().filter_map(place).collect()
}

/// The scenes of a video that no words tell of.
pub fn scenes(seconds: &Features, shots: &[u64], length_ms: u64) -> Vec<Located> {
    let shot_seconds: Vec<usize> = shots.iter().map(|at| ((at + 500) / 1000) as usize).collect();
    let scene = |range: Range<usize>| {
        let span = Span::new(range.start as u64 * 1000, (range.end as u64 * 1000).min(length_ms))?;
        Some(Located { step: None, seconds: range, span: trimmed(span, shots) })
    };
    let found = scenes::scenes(seconds, &shot_seconds, &SceneOptions::default());
    found.into_iter().filter_map(scene).collect()
}

/// The span from shot to shot, where one begins within a second of its ends: a cut in the middle of
/// a picture change looks like a mistake.
pub fn trimmed(span: Span, shots: &[u64]) -> Span {
    const NEAR_MS: u64 = 1000;
    let nearest = |at: u64| {
        let near = shots.iter().copied().filter(|shot| shot.abs_diff(at) <= NEAR_MS);
        near.min_by_key(|shot| shot.abs_diff(at)).unwrap_or(at)
    };
    Span::new(nearest(span.start()), nearest(span.end())).unwrap_or(span)
}

/// Drop-DTW's answer; no step found where it has none.
fn align_steps(
    steps: &[Step],
    queries: &Features,
    seconds: &Features,
    options: &LocaliseOptions,
) -> Vec<Option<Range<usize>>> {
    let texts: Vec<&str> = steps.iter().map(|step| step.text.as_str()).collect();
    let nothing = || vec![None; steps.len()];
    let Ok(mut costs) = Costs::from_features(queries, seconds, &texts, &options.costs) else {
        return nothing();
    };
    let windows: Vec<_> = steps.iter().map(|step| step.window).collect();
    for (number, window) in windows.iter().enumerate() {
        if let Some(window) = window {
            let allowed = widened(seconds_of(*window), options.around, seconds.len());
            costs.bound(number, allowed);
        }
    }
    let every_step_is_shown = windows.iter().all(Option::is_some);
    let alignment = if every_step_is_shown {
        align::drop_dtw(&costs, &AlignOptions::default())
    } else {
        // A step that fits no second better than the seconds fit nothing is not shown.
        let mean_drop = costs.drop().iter().sum::<f64>() / costs.seconds() as f64;
        let step_drop = vec![mean_drop; steps.len()];
        align::drop_dtw_with_missing_steps(&costs, &step_drop, &AlignOptions::default())
    };
    alignment.map_or_else(|_| nothing(), |alignment| alignment.spans().to_vec())
}

/// The seconds that a stretch of milliseconds touches.
fn seconds_of((start_ms, end_ms): (u64, u64)) -> Range<usize> {
    let start = (start_ms / 1000) as usize;
    start..(end_ms.div_ceil(1000) as usize).max(start + 1)
}

fn widened(range: Range<usize>, by: usize, length: usize) -> Range<usize> {
    range.start.saturating_sub(by)..(range.end + by).min(length)
}
