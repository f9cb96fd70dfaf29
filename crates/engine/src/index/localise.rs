//! Where in a video each of its steps is shown: Drop-DTW between step texts and seconds, within the
//! windows the steps were spoken in.

use std::ops::Range;

use stitch_core::align::{self, AlignOptions, CostOptions, Costs};
use stitch_core::clip::Span;
use stitch_core::features::{Features, similarity};
use stitch_core::scenes::{self, SceneOptions};

/// How far after its words a step may be shown, in seconds: hands go on when everything is said.
pub(super) const AFTER: usize = 3;

/// How steps are found.
#[derive(Clone, Copy, Debug)]
pub struct LocaliseOptions {
    /// Of the alignment's costs.
    pub costs: CostOptions,
    /// How far before its words a step may be shown, in seconds,
    pub before: usize,
    /// and how far after them.
    pub after: usize,
}

impl Default for LocaliseOptions {
    fn default() -> Self {
        Self { costs: CostOptions { keep: 0.3, temperature: 0.1 }, before: 1, after: AFTER }
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

impl Located {
    /// Takes the seconds of its span.
    pub fn follow(&mut self, length: usize) {
        let nearest = |at: u64| ((at + 500) / 1000) as usize;
        let range = nearest(self.span.start())..nearest(self.span.end()).min(length);
        if !range.is_empty() {
            self.seconds = range;
        }
    }
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

/// How well a step's words suit the seconds in which it is told.
#[derive(Clone, Copy)]
pub(super) struct Suits {
    /// The mean cosine with these seconds.
    pub cosine: f32,
    /// By how many standard deviations of the other seconds it is above their mean.
    pub above: f32,
}

/// Which of the steps that were perhaps told are seen: those whose words suit their own seconds more than
/// the video's others, a fifth as clearly and half as well as a told step's words usually do here. Where
/// even told steps hardly show, the eyes are too weak for this video, and none is.
pub fn seen(
    told: (&[Step], &Features),
    perhaps: (&[Step], &Features),
    seconds: &Features,
) -> Vec<bool> {
    const ABLE: f32 = 1.0;
    const LEAST: Suits = Suits { cosine: 0.5, above: 0.2 };
    let suit = |(steps, queries): (&[Step], &Features)| -> Vec<Option<Suits>> {
        let both = steps.iter().zip(queries.rows());
        both.map(|(step, query)| suits(query, step.window?, seconds)).collect()
    };
    let told: Vec<Suits> = suit(told).into_iter().flatten().collect();
    let usual = |of: fn(&Suits) -> f32| median(told.iter().map(of).collect());
    let (cosine, above) = (usual(|suits| suits.cosine), usual(|suits| suits.above));
    let is_seen = |suits: Suits| {
        suits.above > LEAST.above * above && suits.cosine > LEAST.cosine * cosine.max(0.0)
    };
    let seen = suit(perhaps).into_iter();
    seen.map(|suits| above > ABLE && suits.is_some_and(is_seen)).collect()
}

/// The middle one; 0 of none.
fn median(mut numbers: Vec<f32>) -> f32 {
    numbers.sort_by(f32::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(0.0)
}

/// How well a text suits the seconds of a window; none where there are no others to compare with.
pub(super) fn suits(query: &[f32], window: (u64, u64), seconds: &Features) -> Option<Suits> {
    let window = seconds_of(window);
    let cosines = seconds.rows().map(|second| similarity(query, second)).enumerate();
    let (own, others): (Vec<_>, Vec<_>) = cosines.partition(|(at, _)| window.contains(at));
    if own.is_empty() || others.is_empty() {
        return None;
    }
    let numbers = |of: Vec<(usize, f32)>| of.into_iter().map(|(_, c)| c).collect::<Vec<f32>>();
    let (cosine, _) = mean_and_spread(&numbers(own));
    let (usual, spread) = mean_and_spread(&numbers(others));
    Some(Suits { cosine, above: (cosine - usual) / spread.max(1e-6) })
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

/// Lets steps, in order of time, last from the beginning to the end of the shots they are told in: hands
/// go on after the words, and the words of one step end elsewhere when they are heard than when they are
/// read. No step grows into another, nor far.
pub fn grow(steps: &mut [Located], shots: &[u64], length_ms: u64) {
    const FAR_MS: u64 = 4000;
    if shots.is_empty() {
        return; // nobody looked for them
    }
    for at in 0..steps.len() {
        let free = at.checked_sub(1).map_or(0, |before| steps[before].span.end());
        let taken = steps.get(at + 1).map_or(length_ms, |after| after.span.start());
        let span = steps[at].span;
        let (start, end) = (span.start(), span.end());
        let begins = shots.iter().copied().filter(|shot| *shot <= start).max().unwrap_or(0);
        let ends = shots.iter().copied().filter(|shot| *shot >= end).min().unwrap_or(length_ms);
        let from = Some(begins.max(free)).filter(|from| start.saturating_sub(*from) <= FAR_MS);
        let to = Some(ends.min(taken)).filter(|to| to.saturating_sub(end) <= FAR_MS);
        let (from, to) = (from.unwrap_or(start).min(start), to.unwrap_or(end).max(end));
        steps[at].span = Span::new(from, to).unwrap_or(span);
    }
}

/// Takes from a step shots at its ends that show something else.
pub fn tighten(found: &mut Located, query: &[f32], seconds: &Features, shots: &[u64]) {
    let tight = tightened(found.span, query, seconds, shots);
    if tight != found.span {
        found.span = tight;
        found.follow(seconds.len());
    }
}

/// The span without shots at its ends that suit the step's words clearly less than the rest does: the
/// presenter who speaks of it before it is shown.
fn tightened(span: Span, query: &[f32], seconds: &Features, shots: &[u64]) -> Span {
    const CLEARLY: f32 = 0.5;
    const LEAST_MS: u64 = 2000;
    let cosines: Vec<f32> = seconds.rows().map(|second| similarity(query, second)).collect();
    let (mean, spread) = mean_and_spread(&cosines);
    let suits = |start: u64, end: u64| {
        let own = cosines.iter().enumerate().filter(|(at, _)| {
            let middle = *at as u64 * 1000 + 500;
            (start..end).contains(&middle)
        });
        let own: Vec<f32> = own.map(|(_, cosine)| *cosine).collect();
        if own.is_empty() { mean } else { mean_and_spread(&own).0 }
    };
    let (mut start, mut end) = (span.start(), span.end());
    let inside = |from: u64, to: u64| shots.iter().copied().filter(move |s| from < *s && *s < to);
    let worse = |part: (u64, u64), rest: (u64, u64)| {
        let enough = rest.1 - rest.0 >= LEAST_MS && rest.1 - rest.0 >= part.1 - part.0;
        enough && suits(part.0, part.1) + CLEARLY * spread < suits(rest.0, rest.1)
    };
    if let Some(shot) = inside(start, end).next().filter(|s| worse((start, *s), (*s, end))) {
        start = shot;
    }
    if let Some(shot) = inside(start, end).next_back().filter(|s| worse((*s, end), (start, *s))) {
        end = shot;
    }
    Span::new(start, end).unwrap_or(span)
}

/// The mean of some numbers and their standard deviation; 0 of none.
fn mean_and_spread(of: &[f32]) -> (f32, f32) {
    let count = of.len().max(1) as f32;
    let mean = of.iter().sum::<f32>() / count;
    (mean, (of.iter().map(|x| (x - mean).powi(2)).sum::<f32>() / count).sqrt())
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
            let allowed = widened(seconds_of(*window), options, seconds.len());
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

fn widened(range: Range<usize>, by: &LocaliseOptions, length: usize) -> Range<usize> {
    range.start.saturating_sub(by.before)..(range.end + by.after).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds that show the first thing, then the second, then the third; three of each.
    fn seconds() -> Features {
        let thing = |at: usize| [0, 1, 2].map(|other| f32::from(u8::from(other == at)));
        let rows = (0..9).flat_map(|second| thing(second / 3));
        Features::new(3, rows.collect()).unwrap()
    }

    fn step(text: &str, from: u64) -> Step {
        Step { text: text.into(), window: Some((from * 1000, from * 1000 + 3000)) }
    }

    #[test]
    fn a_step_lasts_as_long_as_its_shots() {
        let grown = |spans: &[(u64, u64)], shots: &[u64]| {
            let found = |(start, end): &(u64, u64)| {
                let span = Span::new(*start, *end).unwrap();
                Located { step: Some(0), seconds: 0..1, span }
            };
            let mut steps: Vec<Located> = spans.iter().map(found).collect();
            grow(&mut steps, shots, 20_000);
            steps.iter().map(|s| (s.span.start(), s.span.end())).collect::<Vec<_>>()
        };
        assert_eq!(grown(&[(4000, 6000)], &[3000, 8000]), [(3000, 8000)]);
        assert_eq!(grown(&[(5000, 7000)], &[0, 15_000]), [(5000, 7000)], "far away");
        assert_eq!(
            grown(&[(4000, 6000), (7000, 9000)], &[3000, 12_000]),
            [(3000, 7000), (7000, 12_000)]
        );
        assert_eq!(grown(&[(17_000, 18_000)], &[17_000]), [(17_000, 20_000)], "to the video's end");
        assert_eq!(grown(&[(17_000, 18_000)], &[]), [(17_000, 18_000)], "shots that nobody knows");
        assert_eq!(grown(&[(3000, 8000)], &[3000, 8000]), [(3000, 8000)]);
        // what overlaps already stays so
        assert_eq!(
            grown(&[(4000, 6000), (5000, 7000)], &[3000, 8000]),
            [(3000, 6000), (5000, 8000)]
        );
    }

    #[test]
    fn a_shot_that_shows_something_else_is_cut_off() {
        let second = [0.1, 1.0, 0.1];
        let tight = |start, end, shots: &[u64]| {
            let span = tightened(Span::new(start, end).unwrap(), &second, &seconds(), shots);
            (span.start(), span.end())
        };
        // the second thing is seen from 3 s to 6 s
        assert_eq!(tight(2000, 6000, &[0, 3000, 6000]), (3000, 6000));
        assert_eq!(tight(3000, 7000, &[0, 3000, 6000]), (3000, 6000));
        assert_eq!(tight(3000, 6000, &[0, 4000]), (3000, 6000), "the same thing in two shots");
        assert_eq!(tight(1000, 4000, &[0, 3000]), (1000, 4000), "too little would be left");
        assert_eq!(tight(2000, 6000, &[]), (2000, 6000), "shots that nobody knows");
    }

    #[test]
    fn what_is_perhaps_told_is_a_step_where_it_is_seen() {
        let told = [step("the first", 0)];
        let queries = Features::new(3, vec![1.0, 0.1, 0.1]).unwrap();
        let perhaps = [step("the second", 3), step("the first again", 3), step("nothing", 6)];
        let said = Features::new(3, vec![0.2, 1.0, 0.2, 1.0, 0.0, 0.0, 0.5, 0.5, 0.5]).unwrap();
        let seen = |told: &[Step]| seen((told, &queries), (&perhaps, &said), &seconds());
        assert_eq!(seen(&told), [true, false, false]);
        assert_eq!(seen(&[]), [false; 3], "nothing to compare with");
    }
}
