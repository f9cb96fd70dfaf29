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

/// The steps, and the scenes of the stretches between them that are long enough to show something.
pub fn with_untold(
    mut located: Vec<Located>,
    seconds: &Features,
    shots: &[u64],
    length_ms: u64,
) -> Vec<Located> {
    /// The fewest milliseconds between two steps that a scene is made of.
    const SHORTEST_MS: u64 = 3000;
    let mut free = Vec::new();
    for scene in scenes(seconds, shots, length_ms) {
        free.extend(left_free(scene.span, &located));
    }
    let scene = |(start, end): (u64, u64)| {
        let range = (start.div_ceil(1000) as usize)..((end / 1000) as usize).min(seconds.len());
        let span = Span::new(start, end).filter(|span| span.length() >= SHORTEST_MS)?;
        (!range.is_empty()).then_some(Located { step: None, seconds: range, span })
    };
    located.extend(free.into_iter().filter_map(scene));
    located.sort_by_key(|found| (found.span.start(), found.span.end()));
    located
}

/// The parts of a span that no step takes.
fn left_free(span: Span, taken: &[Located]) -> Vec<(u64, u64)> {
    let mut spans: Vec<Span> = taken.iter().map(|found| found.span).collect();
    spans.sort_by_key(|step| step.start());
    let (mut free, mut at) = (Vec::new(), span.start());
    for step in spans {
        if step.start() > at && at < span.end() {
            free.push((at, step.start().min(span.end())));
        }
        at = at.max(step.end());
    }
    if at < span.end() {
        free.push((at, span.end()));
    }
    free
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

#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: usize, start: u64, end: u64) -> Located {
        let span = Span::new(start * 1000, end * 1000).unwrap();
        Located { step: Some(number), seconds: start as usize..end as usize, span }
    }

    #[test]
    fn what_no_words_tell_of_keeps_its_scenes() {
        // Twenty seconds of one picture, then twenty of another.
        let picture = |second: usize| if second < 20 { [1.0, 0.0] } else { [0.0, 1.0] };
        let seconds = Features::new(2, (0..40).flat_map(picture).collect()).unwrap();
        let steps = vec![step(0, 5, 12), step(1, 10, 18), step(2, 30, 38)];
        let found = with_untold(steps, &seconds, &[20_000], 40_000);
        let spans: Vec<_> =
            found.iter().map(|f| (f.step, f.span.start() / 1000, f.span.end() / 1000)).collect();
        let expected =
            [(None, 0, 5), (Some(0), 5, 12), (Some(1), 10, 18), (None, 20, 30), (Some(2), 30, 38)];
        assert_eq!(spans, expected); // two seconds are too few to show anything
        assert!(found.iter().all(|f| f.seconds.start * 1000 == f.span.start() as usize));
    }
}
