//! Where in a video each of its steps is shown: [`PASSES`], in order.

use std::ops::Range;

use stitch_core::align::{self, AlignOptions, CostOptions, Costs};
use stitch_core::clip::Span;
use stitch_core::features::Features;
use stitch_core::scenes::{self, SceneOptions};

use super::similarity::{cosines, mean_and_deviation, seconds_of};
use super::steps::VideoStep;

/// Of the alignment of step texts with seconds.
pub const COSTS: CostOptions = CostOptions { keep: 0.3, temperature: 0.1 };
/// How far before its words a step may be shown, in seconds. The values of this file were chosen by
/// hand; `stitch eval speech --against` measures them.
const BEFORE_S: usize = 1;
/// How far after its words a step may be shown, in seconds: hands go on when everything is said.
pub const AFTER_S: usize = 3;
/// A shot this near to an end of a span means that end, in milliseconds.
const MAX_SNAP_MS: u64 = 1000;
/// The most by which a span grows at each end.
const MAX_GROWTH_MS: u64 = 4000;
/// A shot is trimmed if its similarity is lower than the rest's by so many standard deviations,
const MIN_TRIM_DEVIATIONS: f32 = 0.5;
/// and if so much is left.
const MIN_TRIMMED_MS: u64 = 2000;

/// A video, and the steps to find in it.
pub struct Context<'a> {
    pub steps: &'a [VideoStep],
    /// Row i is F_M's feature of step i.
    pub queries: &'a Features,
    pub seconds: &'a Features,
    /// Where shots begin, in milliseconds; empty where unknown.
    pub shots: &'a [u64],
    pub length_ms: u64,
    /// Whether the features of seconds are made of frames.
    pub sees: bool,
    /// Whether the steps' windows are those of spoken words.
    pub spoken: bool,
}

impl Context<'_> {
    /// Whether hands may go on after the words, and the frames can tell.
    fn outlasts_words(&self) -> bool {
        self.spoken && self.sees
    }
}

/// The part of a video that shows a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepSpan {
    /// The step's index; none for a scene of a video without steps.
    pub step: Option<usize>,
    /// The seconds whose features are the clip's.
    pub seconds: Range<usize>,
    pub span: Span,
}

/// A pass takes the spans of the one before it, in the order of the steps.
pub type Pass = fn(&Context, Vec<StepSpan>) -> Vec<StepSpan>;

/// Everything that is done to a span, in order.
pub const PASSES: [(&str, Pass); 5] = [
    ("align steps with seconds", align_steps),
    ("snap to shots", snap_to_shots),
    ("grow to shots", grow_to_shots),
    ("trim dissimilar shots", trim_dissimilar_shots),
    ("choose the seconds", choose_seconds),
];

/// The spans of the steps that the video shows.
pub fn spans(context: &Context) -> Vec<StepSpan> {
    PASSES.iter().fold(Vec::new(), |spans, (name, pass)| {
        let spans = pass(context, spans);
        tracing::trace!(pass = name, ?spans);
        spans
    })
}

/// The scenes of a video without steps.
pub fn scenes(seconds: &Features, shots: &[u64], length_ms: u64) -> Vec<StepSpan> {
    let shot_seconds: Vec<usize> = shots.iter().map(|at| nearest_second(*at)).collect();
    let found = scenes::scenes(seconds, &shot_seconds, &SceneOptions::default());
    let scene = |range: Range<usize>| {
        let span = snapped(span_of(&range, length_ms)?, shots);
        Some(StepSpan { step: None, seconds: range, span })
    };
    found.into_iter().filter_map(scene).collect()
}

/// Drop-DTW within the steps' windows. Steps that the video does not show are left out; a step that
/// cannot be aligned keeps its window.
fn align_steps(context: &Context, _: Vec<StepSpan>) -> Vec<StepSpan> {
    let length = context.seconds.len();
    let aligned = drop_dtw(context).unwrap_or_else(|| vec![None; context.steps.len()]);
    let steps = context.steps.iter().zip(aligned).enumerate();
    let place = |(step, (wanted, aligned)): (usize, (&VideoStep, Option<Range<usize>>))| {
        let range = aligned.or_else(|| wanted.window.map(seconds_of))?;
        let seconds = range.start..range.end.min(length);
        let span = span_of(&seconds, context.length_ms)?;
        Some(StepSpan { step: Some(step), seconds, span })
    };
    steps.filter_map(place).collect()
}

/// The seconds of each step; none where they cannot be aligned.
fn drop_dtw(context: &Context) -> Option<Vec<Option<Range<usize>>>> {
    let texts: Vec<&str> = context.steps.iter().map(|step| step.text.as_str()).collect();
    let mut costs = Costs::from_features(context.queries, context.seconds, &texts, &COSTS).ok()?;
    let after = if context.outlasts_words() { AFTER_S } else { BEFORE_S };
    for (number, step) in context.steps.iter().enumerate() {
        if let Some(window) = step.window.map(seconds_of) {
            let end = (window.end + after).min(context.seconds.len());
            costs.bound(number, window.start.saturating_sub(BEFORE_S)..end);
        }
    }
    let options = AlignOptions::default();
    let alignment = if context.steps.iter().all(|step| step.window.is_some()) {
        align::drop_dtw(&costs, &options)
    } else {
        // A step that fits no second better than the seconds fit nothing is not shown.
        let mean_drop = costs.drop().iter().sum::<f64>() / costs.seconds() as f64;
        let step_drop = vec![mean_drop; context.steps.len()];
        align::drop_dtw_with_missing_steps(&costs, &step_drop, &options)
    };
    Some(alignment.ok()?.spans)
}

/// Moves ends to shots that begin near: a cut just beside a change of picture looks like a mistake.
fn snap_to_shots(context: &Context, spans: Vec<StepSpan>) -> Vec<StepSpan> {
    let snap = |found: StepSpan| StepSpan { span: snapped(found.span, context.shots), ..found };
    spans.into_iter().map(snap).collect()
}

fn snapped(span: Span, shots: &[u64]) -> Span {
    let nearest = |at: u64| {
        let near = shots.iter().copied().filter(|shot| shot.abs_diff(at) <= MAX_SNAP_MS);
        near.min_by_key(|shot| shot.abs_diff(at)).unwrap_or(at)
    };
    Span::new(nearest(span.start()), nearest(span.end())).unwrap_or(span)
}

/// Lets narrated steps last from the beginning to the end of their shots: hands go on after the words,
/// and speech ends earlier than its subtitle. No step grows into another.
fn grow_to_shots(context: &Context, mut spans: Vec<StepSpan>) -> Vec<StepSpan> {
    if !context.outlasts_words() || context.shots.is_empty() {
        return spans;
    }
    let (shots, length_ms) = (context.shots, context.length_ms);
    for at in 0..spans.len() {
        let free = at.checked_sub(1).map_or(0, |before| spans[before].span.end());
        let taken = spans.get(at + 1).map_or(length_ms, |after| after.span.start());
        let span = spans[at].span;
        let (start, end) = (span.start(), span.end());
        let shot_start = shots.iter().copied().filter(|shot| *shot <= start).max().unwrap_or(0);
        let shot_end = shots.iter().copied().filter(|shot| *shot >= end).min().unwrap_or(length_ms);
        let (mut from, mut to) = (shot_start.max(free), shot_end.min(taken));
        if start.saturating_sub(from) > MAX_GROWTH_MS {
            from = start;
        }
        if to.saturating_sub(end) > MAX_GROWTH_MS {
            to = end;
        }
        spans[at].span = Span::new(from.min(start), to.max(end)).unwrap_or(span);
    }
    spans
}

/// Cuts off a first or last shot that is clearly less similar to the step than the rest: the presenter
/// who speaks of it before it is shown.
fn trim_dissimilar_shots(context: &Context, spans: Vec<StepSpan>) -> Vec<StepSpan> {
    let trim = |found: StepSpan| match found.step.filter(|_| context.sees) {
        Some(step) => {
            let query = context.queries.row(step);
            let span = trimmed(found.span, query, context.seconds, context.shots);
            let is_same = span == found.span;
            let trimmed = StepSpan { span, ..found };
            if is_same { trimmed } else { with_seconds_of_span(trimmed, context.seconds.len()) }
        }
        None => found,
    };
    spans.into_iter().map(trim).collect()
}

fn trimmed(span: Span, query: &[f32], seconds: &Features, shots: &[u64]) -> Span {
    let cosines = cosines(query, seconds);
    let (mean, deviation) = mean_and_deviation(&cosines);
    let mean_within = |(start, end): (u64, u64)| {
        let is_inside = |at: usize| (start..end).contains(&(at as u64 * 1000 + 500));
        let own = cosines.iter().enumerate().filter(|(at, _)| is_inside(*at));
        let own: Vec<f32> = own.map(|(_, cosine)| *cosine).collect();
        if own.is_empty() { mean } else { mean_and_deviation(&own).0 }
    };
    let is_worse = |part: (u64, u64), rest: (u64, u64)| {
        let length = rest.1 - rest.0;
        length >= MIN_TRIMMED_MS
            && length >= part.1 - part.0
            && mean_within(part) + MIN_TRIM_DEVIATIONS * deviation < mean_within(rest)
    };
    let (mut start, mut end) = (span.start(), span.end());
    let inside = |from: u64, to: u64| shots.iter().copied().filter(move |s| from < *s && *s < to);
    if let Some(shot) = inside(start, end).next().filter(|s| is_worse((start, *s), (*s, end))) {
        start = shot;
    }
    if let Some(shot) = inside(start, end).next_back().filter(|s| is_worse((*s, end), (start, *s)))
    {
        end = shot;
    }
    Span::new(start, end).unwrap_or(span)
}

/// Takes the features of narrated steps from their final spans.
fn choose_seconds(context: &Context, spans: Vec<StepSpan>) -> Vec<StepSpan> {
    if !context.outlasts_words() {
        return spans;
    }
    spans.into_iter().map(|found| with_seconds_of_span(found, context.seconds.len())).collect()
}

fn with_seconds_of_span(found: StepSpan, length: usize) -> StepSpan {
    let range = whole_seconds(found.span, length);
    if range.is_empty() { found } else { StepSpan { seconds: range, ..found } }
}

fn whole_seconds(span: Span, length: usize) -> Range<usize> {
    nearest_second(span.start())..nearest_second(span.end()).min(length)
}

/// A span that is known already, in a video of `length` seconds.
pub fn known(step: Option<usize>, span: Span, length: usize) -> StepSpan {
    let touched = seconds_of((span.start(), span.end()));
    let seconds = touched.start.min(length)..touched.end.min(length);
    with_seconds_of_span(StepSpan { step, seconds, span }, length)
}

fn nearest_second(at_ms: u64) -> usize {
    ((at_ms + 500) / 1000) as usize
}

fn span_of(seconds: &Range<usize>, length_ms: u64) -> Option<Span> {
    Span::new(seconds.start as u64 * 1000, (seconds.end as u64 * 1000).min(length_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH_MS: u64 = 20_000;

    /// Seconds that show the first thing, then the second, then the third; three of each.
    fn seconds() -> Features {
        let thing = |at: usize| [0, 1, 2].map(|other| f32::from(u8::from(other == at)));
        let rows = (0..9).flat_map(|second| thing(second / 3));
        Features::new(3, rows.collect()).unwrap()
    }

    /// What a pass makes of spans in milliseconds, over a video of nine seconds that are searched for the
    /// second thing.
    fn run(pass: Pass, spans: &[(u64, u64)], shots: &[u64]) -> Vec<StepSpan> {
        let (seconds, queries) = (seconds(), Features::new(3, vec![0.1, 1.0, 0.1]).unwrap());
        let context = Context {
            steps: &[],
            queries: &queries,
            seconds: &seconds,
            shots,
            length_ms: LENGTH_MS,
            sees: true,
            spoken: true,
        };
        let found = |(start, end): &(u64, u64)| {
            let span = Span::new(*start, *end).unwrap();
            StepSpan { step: Some(0), seconds: 0..1, span }
        };
        pass(&context, spans.iter().map(found).collect())
    }

    fn check(pass: Pass, spans: &[(u64, u64)], shots: &[u64], expected: &[(u64, u64)], why: &str) {
        let found = run(pass, spans, shots);
        let found: Vec<_> = found.iter().map(|s| (s.span.start(), s.span.end())).collect();
        assert_eq!(found, expected, "{why}");
    }

    #[test]
    fn aligned_steps_lie_in_their_windows_and_others_keep_theirs() {
        // Each thing for two seconds, and two that are unlike all of them.
        let (one, none) = ([1.0, 0.0, 0.0], [-1.0; 3]);
        let shown = |at: usize| [0, 1, 2].map(|other| one[(other + 3 - at) % 3]);
        let rows = (0..12).flat_map(|at| if at % 4 < 2 { shown(at / 4) } else { none });
        let seconds = Features::new(3, rows.collect()).unwrap();
        let step = |text: &str, window| VideoStep { text: text.into(), window };
        let (first, third) = (Some((0, 4000)), Some((8000, 12_000)));
        let steps = [step("first", first), step("second", None), step("third", third)];
        let queries = Features::new(3, [shown(0), shown(1), shown(2)].concat()).unwrap();
        let context = Context {
            steps: &steps,
            queries: &queries,
            seconds: &seconds,
            shots: &[],
            length_ms: 9500,
            sees: true,
            spoken: true,
        };
        let found = align_steps(&context, Vec::new());
        let found: Vec<_> = found.iter().map(|s| (s.seconds.clone(), s.span.end())).collect();
        assert_eq!(found, [(0..2, 2000), (4..6, 6000), (8..10, 9500)]);
        let none = Features::empty(2);
        let unaligned = Context { queries: &none, ..context };
        let found = align_steps(&unaligned, Vec::new());
        let found: Vec<_> = found.iter().map(|s| (s.step, s.seconds.clone())).collect();
        assert_eq!(found, [(Some(0), 0..4), (Some(2), 8..12)]);
    }

    #[test]
    fn ends_snap_to_the_nearest_shot() {
        let snaps = |span, shots: &[u64], expected, why| {
            check(snap_to_shots, &[span], shots, &[expected], why);
        };
        snaps((4000, 6000), &[3200, 4400, 7000], (4400, 7000), "the nearest");
        snaps((4000, 6000), &[2000, 7001], (4000, 6000), "none is near");
        snaps((4000, 4500), &[4200], (4000, 4500), "nothing would be left");
    }

    #[test]
    fn a_step_lasts_as_long_as_its_shots() {
        let grows = |spans: &[(u64, u64)], shots: &[u64], expected: &[(u64, u64)], why| {
            check(grow_to_shots, spans, shots, expected, why);
        };
        grows(&[(4000, 6000)], &[3000, 8000], &[(3000, 8000)], "both ends");
        grows(&[(5000, 7000)], &[0, 15_000], &[(5000, 7000)], "far away");
        let (two, grown) = ([(4000, 6000), (7000, 9000)], [(3000, 7000), (7000, 12_000)]);
        grows(&two, &[3000, 12_000], &grown, "not into another");
        grows(&[(17_000, 18_000)], &[17_000], &[(17_000, 20_000)], "to the video's end");
        grows(&[(17_000, 18_000)], &[], &[(17_000, 18_000)], "unknown shots");
        grows(&[(3000, 8000)], &[3000, 8000], &[(3000, 8000)], "already there");
        let (two, grown) = ([(4000, 6000), (5000, 7000)], [(3000, 6000), (5000, 8000)]);
        grows(&two, &[3000, 8000], &grown, "what overlaps stays so");
    }

    #[test]
    fn a_shot_that_shows_something_else_is_cut_off() {
        let trims = |span, shots: &[u64], expected, why| {
            check(trim_dissimilar_shots, &[span], shots, &[expected], why);
        };
        // the second thing is seen from 3 s to 6 s
        trims((2000, 6000), &[0, 3000, 6000], (3000, 6000), "before");
        trims((3000, 7000), &[0, 3000, 6000], (3000, 6000), "after");
        trims((3000, 6000), &[0, 4000], (3000, 6000), "the same thing in two shots");
        trims((1000, 4000), &[0, 3000], (1000, 4000), "too little would be left");
        trims((2000, 6000), &[], (2000, 6000), "unknown shots");
        let found = run(trim_dissimilar_shots, &[(2000, 6000), (3000, 6000)], &[3000]);
        let seconds: Vec<_> = found.into_iter().map(|found| found.seconds).collect();
        assert_eq!(seconds, [3..6, 0..1], "only a trimmed span has new seconds");
    }

    #[test]
    fn the_seconds_are_the_nearest_within_the_video() {
        let found = run(choose_seconds, &[(1400, 3500), (8600, 12_000), (2500, 2600)], &[]);
        let seconds: Vec<_> = found.into_iter().map(|found| found.seconds).collect();
        assert_eq!(seconds, [1..4, 0..1, 0..1], "none left: as before");
    }
}
