//! Which videos a library holds, and procedures that only several of them together can show.

use serde::{Deserialize, Serialize};

use crate::catalogue::{ProcedureData, StepData, TaskSet};
use crate::narration::sentence;
use crate::random::{SplitMix64, percent, stream};
use crate::script::Script;
use crate::truth::{StepTruth, Truth, VideoTruth, flow_problem};
use crate::vocabulary::{Action, Domain, Thing, Verb};

pub fn scripts(tasks: TaskSet, seed: u64, videos: usize) -> Vec<Script> {
    (0..videos).map(|index| Script::new(tasks, seed, index)).collect()
}

/// A query with every right answer: a line of procedures.jsonl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixedProcedure {
    pub title: String,
    /// Of the videos that show some of its steps.
    pub domains: Vec<Domain>,
    pub steps: Vec<MixedStep>,
    /// The least number of videos that together show every step.
    pub fewest_sources: usize,
    /// How often the source changes in the sequence of clips that it was mixed from.
    #[serde(default)]
    pub changes: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixedStep {
    /// In words no video uses.
    pub text: String,
    pub verb: Verb,
    /// What it is done to; the subject first.
    pub things: Vec<Thing>,
    /// Every span of the library that shows it.
    pub sources: Vec<Source>,
}

/// A span of a video that shows a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub file: String,
    pub start_ms: u64,
    pub end_ms: u64,
}

/// The procedures written by hand that this library can show with two or more videos.
pub fn examples(truth: &Truth) -> Vec<MixedProcedure> {
    let build = |example: &ProcedureData| {
        let steps: Vec<&StepData> =
            example.steps.iter().map(|key| truth.catalogue().step(key)).collect::<Option<_>>()?;
        procedure(&example.title, &steps, 0, None, truth)
    };
    truth.catalogue().procedures.iter().filter_map(build).collect()
}

/// Any number of procedures made by taking steps of two or three videos in turn. Fewer come back only
/// when the library is too small to give more.
pub fn mixed(truth: &Truth, count: usize, seed: u64) -> Vec<MixedProcedure> {
    let mut random = stream(seed, "mixed procedures");
    let mut found: Vec<MixedProcedure> = Vec::new();
    for attempt in 0..count.saturating_mul(50) {
        if found.len() == count {
            break;
        }
        let Some(made) = mix(truth, attempt, &mut random) else { continue };
        if !found.iter().any(|each| same_steps(each, &made)) {
            found.push(made);
        }
    }
    found
}

fn same_steps(a: &MixedProcedure, b: &MixedProcedure) -> bool {
    let actions = |p: &MixedProcedure| -> Vec<_> {
        p.steps.iter().map(|step| (step.verb, step.things.clone())).collect()
    };
    actions(a) == actions(b)
}

/// One attempt: a stretch of steps of each of two or three videos of different tasks.
fn mix(truth: &Truth, attempt: usize, random: &mut SplitMix64) -> Option<MixedProcedure> {
    let sources = pick_sources(truth, random)?;
    let mut chosen: Vec<&StepTruth> = Vec::new();
    let mut serving = 0;
    for video in &sources {
        let before = chosen.len();
        for step in stretch(video, random) {
            let again =
                chosen.iter().any(|each| each.verb == step.verb && each.things == step.things);
            chosen.extend((!again).then_some(step));
        }
        serving += usize::from(chosen.len() > before);
    }
    if chosen.len() < 4 || flow_problem(chosen.iter().map(|s| s.things.as_slice())).is_some() {
        return None;
    }
    let steps: Vec<&StepData> =
        chosen.iter().map(|step| truth.data(step)).collect::<Option<_>>()?;
    let names: Vec<&str> = sources.iter().map(|video| video.title.as_str()).collect();
    procedure(&names.join(" meets "), &steps, attempt, Some(serving - 1), truth)
}

/// Two or three videos of different tasks, mostly of one domain.
fn pick_sources<'a>(truth: &'a Truth, random: &mut SplitMix64) -> Option<Vec<&'a VideoTruth>> {
    let first = truth.videos.get(random.below(truth.videos.len()))?;
    let anywhere = percent(random, 15);
    let mut sources = vec![first];
    for _ in 0..random.between(1, 2) {
        let fits = |video: &&VideoTruth| {
            (anywhere || video.domain == first.domain)
                && sources.iter().all(|s| s.task != video.task)
        };
        let others: Vec<&VideoTruth> = truth.videos.iter().filter(fits).collect();
        sources.extend(others.get(random.below(others.len())));
    }
    (sources.len() > 1).then_some(sources)
}

/// Two to four consecutive steps of a video.
fn stretch<'a>(video: &'a VideoTruth, random: &mut SplitMix64) -> &'a [StepTruth] {
    let length = (random.between(2, 4) as usize).min(video.steps.len());
    let start = random.below(video.steps.len() - length + 1);
    &video.steps[start..start + length]
}

/// The procedure of these steps with every right answer; none if no video shows a step or one video
/// shows all of them. Without `changes` it has the fewest source changes there can be.
fn procedure(
    title: &str,
    data: &[&StepData],
    wording: usize,
    changes: Option<usize>,
    truth: &Truth,
) -> Option<MixedProcedure> {
    let step = |(at, data): (usize, &&StepData)| mixed_step(data, wording + at, truth);
    let steps: Vec<MixedStep> = data.iter().enumerate().map(step).collect();
    let fewest_sources = fewest_sources(&steps, truth)?;
    let shows = |video: &&VideoTruth| {
        video.steps.iter().any(|step| data.iter().any(|data| step.shows(&data.action())))
    };
    let mut domains: Vec<Domain> = truth.videos.iter().filter(shows).map(|v| v.domain).collect();
    domains.sort_unstable();
    domains.dedup();
    let changes = changes.unwrap_or_else(|| fewest_changes(&steps));
    let made = MixedProcedure { title: title.to_owned(), domains, steps, fewest_sources, changes };
    (fewest_sources >= 2).then_some(made)
}

fn mixed_step(data: &StepData, wording: usize, truth: &Truth) -> MixedStep {
    let action = data.action();
    let sources = truth.videos.iter().flat_map(|video| sources(video, &action)).collect();
    let text = sentence(&data.queries[wording % data.queries.len()]);
    MixedStep { text, verb: action.verb, things: action.things, sources }
}

fn sources(video: &VideoTruth, action: &Action) -> Vec<Source> {
    let right = video.steps.iter().filter(|step| step.shows(action));
    let source = |step: &StepTruth| Source {
        file: video.file.clone(),
        start_ms: step.start_ms,
        end_ms: step.end_ms,
    };
    right.map(source).collect()
}

/// The least number of videos that together show every step; none if some step is shown by none.
fn fewest_sources(steps: &[MixedStep], truth: &Truth) -> Option<usize> {
    let covers = |video: &VideoTruth| {
        let shown = |step: &MixedStep| step.sources.iter().any(|source| source.file == video.file);
        steps
            .iter()
            .enumerate()
            .fold(0u64, |set, (at, step)| set | u64::from(shown(step)) << (at % 64))
    };
    let mut sets: Vec<u64> = truth.videos.iter().map(covers).collect();
    sets.sort_unstable();
    sets.dedup();
    let all = (1u64 << steps.len().min(63)) - 1;
    let mut reached = vec![0u64];
    for count in 1..=steps.len() {
        let pairs = reached.iter().flat_map(|have| sets.iter().map(move |set| have | set));
        let mut next: Vec<u64> = pairs.collect();
        next.sort_unstable();
        next.dedup();
        if next.contains(&all) {
            return Some(count);
        }
        reached = next;
    }
    None
}

/// The fewest source changes with which right clips can show all steps: stay with a set of sources
/// as long as one of them still serves.
pub fn fewest_changes(steps: &[MixedStep]) -> usize {
    let mut changes = 0;
    let mut serving: Option<Vec<&str>> = None;
    for step in steps {
        let files: Vec<&str> = step.sources.iter().map(|source| source.file.as_str()).collect();
        let still: Vec<&str> = match &serving {
            Some(serving) => serving.iter().copied().filter(|file| files.contains(file)).collect(),
            None => files.clone(),
        };
        changes += usize::from(still.is_empty());
        serving = Some(if still.is_empty() { files } else { still });
    }
    changes
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn truth(seed: u64, videos: usize) -> Truth {
        let set = TaskSet::Demonstration;
        Truth::new(set, seed, &scripts(set, seed, videos))
    }

    /// The text that a user hands to `stitch make`: the title, an empty line, numbered steps.
    fn as_text(procedure: &MixedProcedure) -> String {
        let step = |(at, step): (usize, &MixedStep)| format!("{}. {}\n", at + 1, step.text);
        let steps: String = procedure.steps.iter().enumerate().map(step).collect();
        format!("{}\n\n{steps}", procedure.title)
    }

    #[test]
    fn a_larger_library_begins_with_the_smaller_one() {
        for set in TaskSet::ALL {
            assert_eq!(scripts(set, 5, 30)[..24], scripts(set, 5, 24)[..]);
        }
    }

    #[test]
    fn videos_have_names_places_and_titles_of_their_own() {
        let all = scripts(TaskSet::Demonstration, 1, 120);
        let distinct =
            |key: fn(&Script) -> String| all.iter().map(key).collect::<HashSet<_>>().len();
        assert_eq!(distinct(|script| script.name.clone()), 120);
        assert_eq!(distinct(|script| script.place_seed.to_string()), 120);
    }

    #[test]
    fn the_default_library_can_show_every_example() {
        let truth = truth(1, 24);
        let shown: Vec<String> = examples(&truth).into_iter().map(|each| each.title).collect();
        assert_eq!(shown.len(), truth.catalogue().procedures.len(), "only {shown:?}");
    }

    #[test]
    fn the_texts_in_the_examples_folder_are_these() {
        let truth = truth(1, 24);
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        for (title, file) in [
            ("Vegan tacos", "vegan-taco.txt"),
            ("Nesting shelf", "nesting-shelf.txt"),
            ("Herb planter", "herb-planter.txt"),
        ] {
            let example = examples(&truth).into_iter().find(|each| each.title == title).unwrap();
            let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
            assert_eq!(text, as_text(&example), "examples/{file}");
        }
    }

    #[test]
    fn examples_flow() {
        for example in examples(&truth(1, 24)) {
            let things = example.steps.iter().map(|step| step.things.as_slice());
            assert_eq!(flow_problem(things), None, "{}", example.title);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn every_mixed_procedure_needs_several_sources(seed in 0u64..1 << 53, videos in 2usize..40) {
            let truth = truth(seed, videos);
            for made in examples(&truth).into_iter().chain(mixed(&truth, 20, seed)) {
                prop_assert!(made.fewest_sources >= 2);
                let least = fewest_changes(&made.steps);
                prop_assert!(least + 1 >= made.fewest_sources && made.changes >= least);
                prop_assert!(made.steps.iter().all(|step| !step.sources.is_empty()));
                for video in &truth.videos {
                    let shows = |step: &MixedStep| step.sources.iter().any(|s| s.file == video.file);
                    prop_assert!(!made.steps.iter().all(shows), "{} shows all", video.file);
                }
            }
        }
    }

    #[test]
    fn as_many_as_asked_for_and_always_the_same() {
        let truth = truth(1, 24);
        let made = mixed(&truth, 200, 9);
        assert_eq!(made.len(), 200);
        assert_eq!(made, mixed(&truth, 200, 9));
        assert_ne!(made, mixed(&truth, 200, 10));
    }

    #[test]
    fn an_empty_library_offers_nothing() {
        assert!(examples(&truth(1, 0)).is_empty());
        assert!(mixed(&truth(1, 0), 5, 1).is_empty());
        assert!(mixed(&truth(1, 1), 5, 1).is_empty());
    }
}
