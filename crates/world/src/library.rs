//! Which videos a library holds, and procedures that only several of them together can show.

use serde::{Deserialize, Serialize};

use super::dice::Dice;
use super::narration::sentence;
use super::script::Script;
use super::task::{Lesson, lessons};
use super::truth::{StepTruth, Truth, VideoTruth, flow_problem};
use super::vocabulary::{Action, Domain, Kind, Thing, Verb};

/// The scripts of a library.
pub fn scripts(seed: u64, videos: usize) -> Vec<Script> {
    (0..videos).map(|index| Script::new(seed, index)).collect()
}

/// A procedure to ask for, with every right answer: a line of procedures.jsonl.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixedProcedure {
    /// What it makes.
    pub title: String,
    /// The fields of work it touches.
    pub domains: Vec<Domain>,
    /// Its steps.
    pub steps: Vec<MixedStep>,
    /// How many videos are needed at least to show every step.
    pub fewest_sources: usize,
    /// How often the source changes in the sequence of clips that it was mixed from.
    #[serde(default)]
    pub changes: usize,
}

/// A step to ask for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixedStep {
    /// How it is asked for, in words no video uses.
    pub text: String,
    /// What is done.
    pub verb: Verb,
    /// To what; the subject first.
    pub things: Vec<Thing>,
    /// Every place in the library that shows it.
    pub sources: Vec<Source>,
}

/// A right answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The video's file.
    pub file: String,
    /// When the pictures begin.
    pub start_ms: u64,
    /// When they end.
    pub end_ms: u64,
}

/// The procedures written by hand that this library can show with two or more videos.
pub fn examples(truth: &Truth) -> Vec<MixedProcedure> {
    let known = lessons();
    let find = |&(verb, kind): &(Verb, Kind)| {
        known.iter().copied().find(|each| each.verb == verb && each.things[0].kind == kind)
    };
    let actions = |steps: &[(Verb, Kind)]| -> Option<Vec<&'static Lesson>> {
        steps.iter().map(find).collect()
    };
    let build = |(title, steps): &(&str, &[(Verb, Kind)])| {
        procedure(title, &actions(steps)?, 0, None, truth)
    };
    EXAMPLES.iter().filter_map(build).collect()
}

/// A procedure written by hand: its title, and what is done to what.
type Example = (&'static str, &'static [(Verb, Kind)]);

const EXAMPLES: [Example; 9] = {
    use Kind::*;
    use Verb::*;
    [
        (
            "Vegan tacos",
            &[
                (Simmer, BlackBeans),
                (Mash, Avocado),
                (Wash, Lettuce),
                (Shred, Lettuce),
                (Chop, Tomato),
                (Warm, Tortilla),
                (Squeeze, Lime),
            ],
        ),
        (
            "Taco salad bowl",
            &[
                (Chop, Onion),
                (Fry, Mince),
                (Wash, Lettuce),
                (Shred, Lettuce),
                (Grate, Cheese),
                (Whisk, Dressing),
                (Toss, Salad),
            ],
        ),
        (
            "Savoury pancakes with guacamole",
            &[
                (Whisk, Batter),
                (Mash, Avocado),
                (Chop, Pepper),
                (Pour, Pancake),
                (Flip, Pancake),
                (Grate, Cheese),
            ],
        ),
        (
            "Planter on legs",
            &[
                (Measure, Board),
                (Saw, Board),
                (Screw, PlanterBox),
                (Drill, PlanterBox),
                (Saw, Leg),
                (Glue, Leg),
                (Paint, PlanterBox),
            ],
        ),
        (
            "Nesting shelf",
            &[
                (Measure, Board),
                (Saw, Board),
                (Sand, Board),
                (Drill, Panel),
                (Screw, Bookshelf),
                (Varnish, Bookshelf),
            ],
        ),
        (
            "Tomatoes and basil side by side",
            &[
                (Fill, Pot),
                (Sow, BasilSeeds),
                (Water, Pot),
                (Sprout, Basil),
                (Transplant, TomatoPlant),
                (Stake, TomatoPlant),
                (Harvest, Basil),
            ],
        ),
        (
            "Roses above a lettuce bed",
            &[
                (Dig, GardenBed),
                (MixIn, GardenBed),
                (Transplant, Rose),
                (Transplant, LettuceSeedling),
                (Mulch, GardenBed),
                (Water, LettuceSeedling),
                (Prune, Rose),
            ],
        ),
        (
            "Herb planter",
            &[
                (Measure, Board),
                (Saw, Board),
                (Screw, PlanterBox),
                (Drill, PlanterBox),
                (Fill, Pot),
                (Sow, BasilSeeds),
                (Water, Pot),
                (Sprout, Basil),
            ],
        ),
        (
            "Salad from bed to bowl",
            &[
                (Dig, GardenBed),
                (Transplant, LettuceSeedling),
                (Water, LettuceSeedling),
                (Wash, Lettuce),
                (Shred, Lettuce),
                (Whisk, Dressing),
                (Toss, Salad),
            ],
        ),
    ]
};

/// Any number of procedures made by taking steps of two or three videos in turn. Fewer come back only
/// when the library is too small to give more.
pub fn mixed(truth: &Truth, count: usize, seed: u64) -> Vec<MixedProcedure> {
    let mut dice = Dice::new(seed, "mixed procedures");
    let mut found: Vec<MixedProcedure> = Vec::new();
    for attempt in 0..count.saturating_mul(50) {
        if found.len() == count {
            break;
        }
        let Some(made) = mix(truth, attempt, &mut dice) else { continue };
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
fn mix(truth: &Truth, attempt: usize, dice: &mut Dice) -> Option<MixedProcedure> {
    let sources = pick_sources(truth, dice)?;
    let mut chosen: Vec<&StepTruth> = Vec::new();
    let mut serving = 0;
    for video in &sources {
        let before = chosen.len();
        for step in stretch(video, dice) {
            let again =
                chosen.iter().any(|each| each.verb == step.verb && each.things == step.things);
            chosen.extend((!again).then_some(step));
        }
        serving += usize::from(chosen.len() > before);
    }
    if chosen.len() < 4 || flow_problem(chosen.iter().map(|s| s.things.as_slice())).is_some() {
        return None;
    }
    let known = lessons();
    let lesson = |step: &&StepTruth| {
        known.iter().copied().find(|each| each.verb == step.verb && each.things == step.things)
    };
    let steps: Vec<&Lesson> = chosen.iter().map(lesson).collect::<Option<_>>()?;
    let names: Vec<&str> = sources.iter().map(|video| video.title.as_str()).collect();
    procedure(&names.join(" meets "), &steps, attempt, Some(serving - 1), truth)
}

/// Two or three videos of different tasks, mostly of one field of work.
fn pick_sources<'a>(truth: &'a Truth, dice: &mut Dice) -> Option<Vec<&'a VideoTruth>> {
    let first = truth.videos.get(dice.below(truth.videos.len()))?;
    let anywhere = dice.chance(15);
    let mut sources = vec![first];
    for _ in 0..dice.between(1, 2) {
        let fits = |video: &&VideoTruth| {
            (anywhere || video.domain == first.domain)
                && sources.iter().all(|s| s.task != video.task)
        };
        let others: Vec<&VideoTruth> = truth.videos.iter().filter(fits).collect();
        sources.extend(others.get(dice.below(others.len())));
    }
    (sources.len() > 1).then_some(sources)
}

/// Two to four consecutive steps of a video.
fn stretch<'a>(video: &'a VideoTruth, dice: &mut Dice) -> &'a [StepTruth] {
    let length = (dice.between(2, 4) as usize).min(video.steps.len());
    let start = dice.below(video.steps.len() - length + 1);
    &video.steps[start..start + length]
}

/// The procedure of these lessons with every right answer; none if a step is nowhere to be seen or a
/// single video shows all of it. Where it was mixed from no clips, its source changes are the fewest
/// there can be.
fn procedure(
    title: &str,
    lessons: &[&Lesson],
    wording: usize,
    changes: Option<usize>,
    truth: &Truth,
) -> Option<MixedProcedure> {
    let steps: Vec<MixedStep> = lessons
        .iter()
        .enumerate()
        .map(|(at, lesson)| mixed_step(lesson, wording + at, truth))
        .collect();
    let fewest_sources = fewest_sources(&steps, truth)?;
    let shows = |video: &&VideoTruth| {
        video.steps.iter().any(|step| lessons.iter().any(|l| step.shows(&l.action())))
    };
    let mut domains: Vec<Domain> = truth.videos.iter().filter(shows).map(|v| v.domain).collect();
    domains.sort_unstable();
    domains.dedup();
    let changes = changes.unwrap_or_else(|| fewest_changes(&steps));
    let made = MixedProcedure { title: title.to_owned(), domains, steps, fewest_sources, changes };
    (fewest_sources >= 2).then_some(made)
}

fn mixed_step(lesson: &Lesson, wording: usize, truth: &Truth) -> MixedStep {
    let action = lesson.action();
    let sources = truth.videos.iter().flat_map(|video| sources(video, &action)).collect();
    let text = sentence(lesson.asked[wording % lesson.asked.len()]);
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

/// Everything one can ask for, in every wording, with every right answer; by lesson. A step that this
/// library does not show has none.
pub fn questions(truth: &Truth) -> Vec<(usize, MixedStep)> {
    let wordings = |(number, lesson): (usize, &'static Lesson)| {
        let ask = move |wording| (number, mixed_step(lesson, wording, truth));
        (0..lesson.asked.len()).map(ask).collect::<Vec<_>>()
    };
    lessons().into_iter().enumerate().flat_map(wordings).collect()
}

/// The procedure as a text one can hand to the tool: the title, an empty line, numbered steps.
pub fn as_text(procedure: &MixedProcedure) -> String {
    let step = |(at, step): (usize, &MixedStep)| format!("{}. {}\n", at + 1, step.text);
    let steps: String = procedure.steps.iter().enumerate().map(step).collect();
    format!("{}\n\n{steps}", procedure.title)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn truth(seed: u64, videos: usize) -> Truth {
        Truth::new(seed, &scripts(seed, videos))
    }

    #[test]
    fn a_larger_library_begins_with_the_smaller_one() {
        assert_eq!(scripts(5, 30)[..24], scripts(5, 24)[..]);
    }

    #[test]
    fn videos_have_names_places_and_titles_of_their_own() {
        let all = scripts(1, 120);
        let distinct =
            |key: fn(&Script) -> String| all.iter().map(key).collect::<HashSet<_>>().len();
        assert_eq!(distinct(|script| script.name.clone()), 120);
        assert_eq!(distinct(|script| script.place_seed.to_string()), 120);
    }

    #[test]
    fn the_default_library_can_show_every_example() {
        let truth = truth(1, 24);
        let shown: Vec<String> = examples(&truth).into_iter().map(|each| each.title).collect();
        assert_eq!(shown.len(), EXAMPLES.len(), "only {shown:?}");
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
