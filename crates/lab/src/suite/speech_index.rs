//! Whether an index made from speech answers as one made from subtitles.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use stitch_core::clip::{Clip, VideoId};
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Demonstrator, Options, Step, demonstrate};
use stitch_engine::library::{Library, LibraryError};
use stitch_engine::progress::Progress;

use super::MeasureError;
use super::made_up::{RESAMPLES, file_name, is_right, same_place};
use super::metrics::{Estimate, count_ratio, ratio};
use crate::rows::grouped;
use stitch_world::library::{MixedProcedure, MixedStep};

/// The answers of two libraries of the same videos. Two clips are the same if they are of the same file
/// and have at least half of the shorter span in common.
#[derive(Clone, Debug, Serialize)]
pub struct LibraryComparison {
    /// Clips of the second library.
    pub clips: usize,
    /// Share of those that the first has too, none for two.
    pub found: Estimate,
    pub steps: usize,
    /// Share of steps with the same clip; two gaps agree as well.
    pub same: Estimate,
    /// Share of steps with the same clip, or with two that both show the step.
    pub as_good: Estimate,
    /// Share of steps with the same clip when each step is a query by itself, so that no other step
    /// decides which of two sources to stay with.
    pub same_alone: Estimate,
    pub right: Estimate,
    pub right_of_other: Estimate,
    /// The steps with another clip.
    pub different: Vec<DifferentStep>,
}

/// A step that the libraries answer differently; none stands for a gap.
#[derive(Clone, Debug, Serialize)]
pub struct DifferentStep {
    pub procedure: String,
    pub step: String,
    pub shown: Option<ShownClip>,
    pub shown_by_other: Option<ShownClip>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ShownClip {
    pub file: String,
    pub start_ms: u64,
    pub end_ms: u64,
    /// Empty for a scene without words.
    pub text: String,
    /// Whether it shows the step.
    pub right: bool,
}

/// Answers every procedure from both libraries, the first made from speech, and compares step by step.
pub fn compare(
    one: &Demonstrator<'_>,
    other: &Demonstrator<'_>,
    procedures: &[MixedProcedure],
    options: &Options,
    progress: &dyn Progress,
) -> Result<LibraryComparison, MeasureError> {
    progress.begin("answering procedures", procedures.len() as u64);
    let found = also_found(&places(one.library)?, &places(other.library)?);
    let (mut counts, mut different) = (Vec::new(), Vec::new());
    for mixed in procedures {
        progress.check()?;
        let ask = |steps: &[MixedStep]| {
            let of = |library| answer(library, &mixed.title, steps, options);
            Ok::<_, MeasureError>(of(one)?.into_iter().zip(of(other)?))
        };
        let mut count = StepCounts::default();
        for (step, (shown, shown_by_other)) in mixed.steps.iter().zip(ask(&mixed.steps)?) {
            let mut alone = ask(std::slice::from_ref(step))?;
            count.same_alone += usize::from(alone.all(|(a, b)| agree(a.as_ref(), b.as_ref())));
            if !count.add(shown.as_ref(), shown_by_other.as_ref()) {
                let (procedure, step) = (mixed.title.clone(), step.text.clone());
                different.push(DifferentStep { procedure, step, shown, shown_by_other });
            }
        }
        counts.push(count);
        progress.advance(1);
    }
    Ok(comparison(&found, &counts, different, options.seed))
}

/// What a library shows for each step.
fn answer(
    with: &Demonstrator<'_>,
    title: &str,
    steps: &[MixedStep],
    options: &Options,
) -> Result<Vec<Option<ShownClip>>, MeasureError> {
    let procedure = Procedure::new(title, steps.iter().map(|step| &step.text))?;
    let answered = demonstrate(with, &procedure, options)?.steps;
    let shown = |(step, answered): (&MixedStep, Step)| {
        let choice = answered.chosen?;
        Some(ShownClip {
            file: file_name(&choice.source.path),
            start_ms: choice.span.start_ms,
            end_ms: choice.span.end_ms,
            right: is_right(&choice, step),
            text: choice.text,
        })
    };
    Ok(steps.iter().zip(answered).map(shown).collect())
}

/// The spans of every file's clips, by start.
type Places = BTreeMap<String, Vec<(u64, u64)>>;

pub(super) fn places(library: &Library) -> Result<Places, LibraryError> {
    let videos = library.videos()?;
    let files: HashMap<_, _> = videos.iter().map(|v| (VideoId(v.id), file_name(&v.path))).collect();
    let place = |clip: &Clip| (files[&clip.video].clone(), (clip.span.start(), clip.span.end()));
    let mut places = grouped(library.pool()?.clips().iter().map(place));
    places.values_mut().for_each(|spans| spans.sort_unstable());
    Ok(places)
}

/// For every file of `other` how many of its clips `one` has too, and how many they are.
fn also_found(one: &Places, other: &Places) -> Vec<(f64, f64)> {
    let of_file = |(file, wanted): (&String, &Vec<(u64, u64)>)| {
        let mut left = one.get(file).cloned().unwrap_or_default();
        let found = wanted.iter().filter(|&&wanted| {
            let at = left.iter().position(|&span| same_place(span, wanted));
            at.map(|at| left.remove(at)).is_some()
        });
        (found.count() as f64, wanted.len() as f64)
    };
    other.iter().map(of_file).collect()
}

#[derive(Default)]
struct StepCounts {
    steps: usize,
    same: usize,
    as_good: usize,
    same_alone: usize,
    right: usize,
    right_of_other: usize,
}

impl StepCounts {
    /// Counts a step; returns whether both show the same.
    fn add(&mut self, a: Option<&ShownClip>, b: Option<&ShownClip>) -> bool {
        let [right, right_of_other] = [a, b].map(|shown| shown.is_some_and(|shown| shown.right));
        let same = agree(a, b);
        self.steps += 1;
        self.same += usize::from(same);
        self.as_good += usize::from(same || right && right_of_other);
        self.right += usize::from(right);
        self.right_of_other += usize::from(right_of_other);
        same
    }
}

fn comparison(
    found: &[(f64, f64)],
    counts: &[StepCounts],
    different: Vec<DifferentStep>,
    seed: u64,
) -> LibraryComparison {
    let share = |part: fn(&StepCounts) -> usize| {
        count_ratio(counts, |count| (part(count), count.steps), RESAMPLES, seed)
    };
    LibraryComparison {
        clips: found.iter().map(|(_, clips)| *clips as usize).sum(),
        found: ratio(found, RESAMPLES, seed),
        steps: counts.iter().map(|count| count.steps).sum(),
        same: share(|count| count.same),
        as_good: share(|count| count.as_good),
        same_alone: share(|count| count.same_alone),
        right: share(|count| count.right),
        right_of_other: share(|count| count.right_of_other),
        different,
    }
}

fn agree(a: Option<&ShownClip>, b: Option<&ShownClip>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    a.file == b.file && same_place((a.start_ms, a.end_ms), (b.start_ms, b.end_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clip_is_found_at_its_place_and_only_once() {
        let places = |spans: &[(u64, u64)]| Places::from([("a.mp4".to_owned(), spans.to_vec())]);
        let other = places(&[(0, 4000), (4000, 8000), (9000, 12_000)]);
        assert_eq!(also_found(&places(&[(0, 8000)]), &other), [(1.0, 3.0)]);
        assert_eq!(also_found(&places(&[(500, 4000), (7000, 9500)]), &other), [(1.0, 3.0)]);
        assert_eq!(also_found(&Places::new(), &other), [(0.0, 3.0)]);
    }

    #[test]
    fn steps_are_the_same_as_good_or_neither() {
        let clip = |file: &str, start_ms, right| {
            let (file, text) = (file.to_owned(), String::new());
            Some(ShownClip { file, start_ms, end_ms: start_ms + 4000, text, right })
        };
        let mut count = StepCounts::default();
        let mut add =
            |a: Option<ShownClip>, b: Option<ShownClip>| count.add(a.as_ref(), b.as_ref());
        assert!(add(clip("a", 0, true), clip("a", 2000, true)));
        assert!(!add(clip("a", 0, true), clip("a", 2001, true)));
        assert!(!add(clip("a", 0, true), clip("b", 0, false)));
        assert!(!add(None, clip("b", 0, true)));
        assert!(add(None, None));
        assert_eq!((count.steps, count.same, count.as_good), (5, 2, 3));
        assert_eq!((count.right, count.right_of_other), (3, 3));
    }
}
