//! truth.json: what every video of the library shows and when; and whether that can be.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stitch_engine::files::FileError;

use crate::catalogue::{Catalogue, StepData, TaskSet, catalogue};
use crate::script::{Script, Shot};
use crate::vocabulary::{Action, Domain, Kind, OtherKind, Scene, State, Thing, Verb};

/// Of the format.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truth {
    pub version: u32,
    pub seed: u64,
    #[serde(default, skip_serializing_if = "TaskSet::is_default")]
    pub tasks: TaskSet,
    pub videos: Vec<VideoTruth>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VideoTruth {
    /// Its file, beside truth.json.
    pub file: String,
    pub title: String,
    pub domain: Domain,
    pub task: String,
    /// espeak-ng's name of it.
    pub voice: String,
    pub place_seed: u64,
    pub duration_ms: u64,
    /// In the order of the video.
    pub steps: Vec<StepTruth>,
    /// What shows no step; together with `steps` it fills the video without a hole.
    pub other: Vec<OtherTruth>,
}

/// A step and the span of the pictures that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTruth {
    /// Its key in the catalogue; empty in libraries made before there were keys.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// The step in short words.
    pub text: String,
    /// What is said about it, which may begin before the span.
    pub narration: String,
    pub start_ms: u64,
    pub end_ms: u64,
    pub verb: Verb,
    /// What it is done to; the subject first.
    pub things: Vec<Thing>,
}

impl StepTruth {
    /// Whether this step shows that action: the same done to the same subject in the same states.
    pub fn shows(&self, action: &Action) -> bool {
        self.verb == action.verb && self.things.first() == action.things.first()
    }
}

/// A span that shows no step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherTruth {
    pub kind: OtherKind,
    pub start_ms: u64,
    pub end_ms: u64,
}

/// Why a truth.json cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TruthError {
    #[error("{0}; `stitch world render --out DIR` writes a library with its truth")]
    File(#[from] FileError),
    #[error("{path} is not a truth.json of version {VERSION}: {source}; render the library again")]
    Format { path: String, source: serde_json::Error },
    #[error("{video}: {problem}")]
    Unsound { video: String, problem: String },
}

impl Truth {
    pub fn new(tasks: TaskSet, seed: u64, scripts: &[Script]) -> Self {
        let videos = scripts.iter().map(VideoTruth::new).collect();
        Self { version: VERSION, seed, tasks, videos }
    }

    /// Of its task set.
    pub fn catalogue(&self) -> &'static Catalogue {
        catalogue(self.tasks)
    }

    /// All that the catalogue says about a step of this library: narrations, queries, contextual queries.
    pub fn data(&self, step: &StepTruth) -> Option<&'static StepData> {
        let shown = |data: &&StepData| data.verb == step.verb && data.things == step.things;
        let catalogue = self.catalogue();
        catalogue.step(&step.key).or_else(|| catalogue.steps().map(|each| each.1).find(shown))
    }

    /// Reads a truth.json and checks it.
    pub fn read(path: &Path) -> Result<Self, TruthError> {
        let text = std::fs::read_to_string(path).map_err(FileError::at(path))?;
        let format = |source| TruthError::Format { path: path.display().to_string(), source };
        let truth: Self = serde_json::from_str(&text).map_err(format)?;
        truth.check()?;
        Ok(truth)
    }

    fn check(&self) -> Result<(), TruthError> {
        self.videos.iter().try_for_each(VideoTruth::check)
    }
}

impl VideoTruth {
    fn new(script: &Script) -> Self {
        Self {
            file: format!("{}.mp4", script.name),
            title: script.title.clone(),
            domain: script.domain,
            task: script.task.to_owned(),
            voice: script.voice.name.clone(),
            place_seed: script.place_seed,
            duration_ms: script.duration_ms(),
            steps: script.shots.iter().filter_map(step).collect(),
            other: script.shots.iter().filter_map(other).collect(),
        }
    }

    /// Whether spans follow each other without overlap, and things only move forward.
    fn check(&self) -> Result<(), TruthError> {
        let spans = self.spans();
        let problem = spans_problem(&spans, self.duration_ms)
            .or_else(|| flow_problem(self.steps.iter().map(|step| step.things.as_slice())));
        let unsound = |problem| TruthError::Unsound { video: self.file.clone(), problem };
        problem.map_or(Ok(()), |problem| Err(unsound(problem)))
    }

    /// Every span, steps and others, in their order; steps must already be in theirs.
    fn spans(&self) -> Vec<(u64, u64)> {
        let others = self.other.iter().map(|other| (other.start_ms, other.end_ms));
        let steps = self.steps.iter().map(|step| (step.start_ms, step.end_ms));
        let mut spans: Vec<_> = others.chain(steps).collect();
        spans.sort_unstable();
        spans
    }
}

fn step(shot: &Shot) -> Option<StepTruth> {
    let Scene::Step(action) = &shot.scene else { return None };
    Some(StepTruth {
        key: shot.key.to_owned(),
        text: shot.text.clone(),
        narration: shot.narration.clone(),
        start_ms: shot.start_ms,
        end_ms: shot.end_ms,
        verb: action.verb,
        things: action.things.clone(),
    })
}

fn other(shot: &Shot) -> Option<OtherTruth> {
    let &Shot { start_ms, end_ms, .. } = shot;
    shot.other.map(|kind| OtherTruth { kind, start_ms, end_ms })
}

/// What is wrong with spans that should fill the video from its start to its end.
fn spans_problem(spans: &[(u64, u64)], duration: u64) -> Option<String> {
    let mut now = 0;
    for &(start, end) in spans {
        if start != now || end <= start {
            return Some(format!(
                "the span {start}-{end} does not follow the one that ends at {now}"
            ));
        }
        now = end;
    }
    (now != duration).then(|| format!("the spans end at {now}, the video at {duration}"))
}

/// What is wrong with the way things change over these steps: a thing must be in the state in which
/// the last step left it (or have grown since), and a step may only move it forward.
pub fn flow_problem<'a>(steps: impl IntoIterator<Item = &'a [Thing]>) -> Option<String> {
    let mut states: HashMap<Kind, State> = HashMap::new();
    for thing in steps.into_iter().flatten() {
        let Thing { kind, before, after } = *thing;
        let (Some(from), Some(to)) = (rank(kind, before), rank(kind, after)) else {
            return Some(format!("{kind:?} is never {before:?} or never {after:?}"));
        };
        if to < from {
            return Some(format!("{kind:?} goes back from {before:?} to {after:?}"));
        }
        if let Some(last) = states.insert(kind, after)
            && !is_consistent(kind, last, before)
        {
            return Some(format!("{kind:?} was {last:?} and is suddenly {before:?}"));
        }
    }
    None
}

/// Whether a thing that was left in one state may be seen in another next.
pub fn is_consistent(kind: Kind, left: State, seen: State) -> bool {
    left == seen || grows(kind, left, seen)
}

/// Plants change by themselves between two steps, forward only.
fn grows(kind: Kind, from: State, to: State) -> bool {
    let plant = states_of(kind).contains(&State::Sprout) || kind == Kind::Rose;
    plant && matches!(to, State::Ripe | State::Overgrown) && rank(kind, from) < rank(kind, to)
}

/// How far along a state is for this kind of thing; none if the thing is never in it.
fn rank(kind: Kind, state: State) -> Option<usize> {
    states_of(kind).iter().position(|&each| each == state)
}

/// The states that a thing passes through, in order.
fn states_of(kind: Kind) -> &'static [State] {
    use State::*;
    match kind {
        Kind::Onion | Kind::Tomato | Kind::Pepper => &[Whole, Washed, Sliced, Chopped, Cooked],
        Kind::Lettuce => &[Whole, Washed, Shredded],
        Kind::Cucumber => &[Whole, Washed, Sliced],
        Kind::Carrot
        | Kind::Potato
        | Kind::Apple
        | Kind::Courgette
        | Kind::Beetroot
        | Kind::Mushroom
        | Kind::Pumpkin
        | Kind::Aubergine => &[
            Whole,
            Washed,
            Sliced,
            Chopped,
            Grated,
            CookedWhole,
            CookedSliced,
            CookedChopped,
            CookedGrated,
            Mashed,
            Topped,
        ],
        Kind::Avocado => &[Whole, Mashed],
        Kind::Cheese => &[Whole, Grated, Melted],
        Kind::Lime => &[Whole, Squeezed],
        Kind::Mince | Kind::BlackBeans | Kind::Tortilla => &[Raw, Cooked],
        Kind::TortillaChips => &[Raw, Spread],
        Kind::Nachos => &[Raw, Cooked, Topped],
        Kind::Taco => &[Empty, Filled, Topped],
        Kind::Dressing | Kind::Salad | Kind::Batter | Kind::Compost => &[Separate, Mixed],
        Kind::Butter => &[Whole, Melted],
        Kind::Pancake => &[Empty, Raw, Cooked, Topped],
        Kind::Berries => &[Whole, Washed],
        Kind::Syrup => &[Whole, Spread],
        Kind::Board => &[Plain, Marked, Cut, Sanded],
        Kind::Panel => &[Plain, Drilled, Glued],
        Kind::Leg => &[Plain, Cut, Glued],
        Kind::Seat => &[Rough, Sanded, Drilled],
        Kind::Birdhouse => &[Parts, Built, Painted],
        Kind::Stool => &[Parts, Glued, Clamped, Varnished],
        Kind::Bookshelf => &[Parts, Built, Varnished],
        Kind::PlanterBox => &[Parts, Built, Drilled, Painted],
        Kind::Soil => &[Flat],
        Kind::Pot => &[Empty, Filled, Sown, Watered],
        Kind::GardenBed => &[Flat, Dug, Enriched, Mulched],
        Kind::TomatoSeeds | Kind::BasilSeeds => &[Seed, Sown],
        Kind::TomatoPlant => &[Seed, Sprout, Seedling, Planted, Staked, Ripe, Harvested],
        Kind::Basil => &[Seed, Sprout, Seedling, Fed, Ripe, Harvested],
        Kind::LettuceSeedling => &[Seedling, Planted, Watered],
        Kind::Rose => &[Seedling, Planted, Fed, Overgrown, Pruned, Mulched, Watered],
        Kind::Crate
        | Kind::Bench
        | Kind::Tray
        | Kind::Table
        | Kind::Frame
        | Kind::Ladder
        | Kind::Chest
        | Kind::Chair
        | Kind::Gate => &[
            Parts,
            SandedParts,
            PaintedParts,
            VarnishedParts,
            Built,
            SandedBuilt,
            Painted,
            Varnished,
        ],
        Kind::Sunflower
        | Kind::PepperPlant
        | Kind::BeanPlant
        | Kind::StrawberryPlant
        | Kind::Marigold
        | Kind::PumpkinPlant
        | Kind::ChilliPlant => &[
            Seed,
            Sown,
            Sprout,
            Seedling,
            PlantedSprout,
            Planted,
            Staked,
            Mulched,
            Ripe,
            Harvested,
        ],
        Kind::Straw => &[Spread],
        Kind::Fertiliser => &[Whole],
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn truth(seed: u64, videos: usize) -> Truth {
        let set = TaskSet::Demonstration;
        let scripts: Vec<Script> = (0..videos).map(|index| Script::new(set, seed, index)).collect();
        Truth::new(set, seed, &scripts)
    }

    fn any_set() -> impl Strategy<Value = TaskSet> {
        proptest::sample::select(TaskSet::ALL.to_vec())
    }

    proptest! {
        #[test]
        fn every_library_is_sound(set in any_set(), seed in 0u64..1 << 53, skip in 0usize..400) {
            for index in skip..skip + 12 {
                let video = VideoTruth::new(&Script::new(set, seed, index));
                video.check().unwrap();
                prop_assert!((30_000..=90_000).contains(&video.duration_ms), "{}", video.duration_ms);
                prop_assert!(video.steps.len() >= 5);
                for step in &video.steps {
                    prop_assert!((4_000..=9_000).contains(&(step.end_ms - step.start_ms)));
                }
                let texts: HashSet<_> = video.steps.iter().map(|step| &step.text).collect();
                prop_assert_eq!(texts.len(), video.steps.len());
            }
        }

        #[test]
        fn nobody_talks_over_themselves(set in any_set(), seed in any::<u64>(), index in 0usize..100) {
            let script = Script::new(set, seed, index);
            for pair in script.lines.windows(2) {
                prop_assert!(pair[0].end_ms <= pair[1].start_ms);
            }
            prop_assert!(script.lines.last().unwrap().end_ms <= script.duration_ms());
        }
    }

    #[test]
    fn a_step_leads_to_its_words_also_in_libraries_without_keys() {
        for set in TaskSet::ALL {
            let scripts: Vec<Script> = (0..20).map(|index| Script::new(set, 4, index)).collect();
            let mut truth = Truth::new(set, 4, &scripts);
            let steps: Vec<StepTruth> =
                truth.videos.iter().flat_map(|video| video.steps.clone()).collect();
            for step in &steps {
                let data = truth.data(step).unwrap();
                let said = |words: &String| step.text.to_lowercase() == words.to_lowercase();
                assert!(data.narrations.iter().any(said) && step.shows(&data.action()), "{step:?}");
            }
            let keys = truth.videos.iter_mut().flat_map(|video| &mut video.steps);
            keys.for_each(|step| step.key.clear());
            let old: Truth = serde_json::from_str(&serde_json::to_string(&truth).unwrap()).unwrap();
            let all = old.videos.iter().flat_map(|video| &video.steps);
            for (old_step, step) in all.zip(&steps) {
                let data = old.data(old_step).unwrap();
                assert_eq!((data.verb, &data.things), (step.verb, &step.things));
            }
        }
    }

    #[test]
    fn breaches_are_found() {
        let sound = truth(1, 1);
        let break_it = |change: fn(&mut VideoTruth)| {
            let mut truth = sound.clone();
            change(&mut truth.videos[0]);
            truth.check().unwrap_err().to_string()
        };
        assert!(break_it(|video| video.steps[1].end_ms += 1).contains("does not follow"));
        assert!(break_it(|video| video.duration_ms += 1).contains("the video at"));
        assert!(
            break_it(|video| video.steps.swap(0, 5)).contains("does not follow")
                || break_it(|video| video.steps.swap(0, 5)).contains("suddenly")
        );
        assert!(
            break_it(|video| {
                let thing = &mut video.steps[0].things[0];
                (thing.before, thing.after) = (thing.after, thing.before);
            })
            .contains("goes back")
        );
        assert!(
            break_it(|video| video.steps[0].things[0].after = State::Harvested).contains("never")
        );
    }

    #[test]
    fn the_format_stays_what_it_is() {
        let one = truth(1, 1);
        let json = serde_json::to_string_pretty(&one).unwrap();
        insta::assert_snapshot!(json.lines().take(40).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn a_foreign_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("truth.json");
        for text in ["", "{}", "[1,2]", "{\"version\":1,\"seed\":-1,\"videos\":[]}"] {
            std::fs::write(&path, text).unwrap();
            assert!(matches!(Truth::read(&path), Err(TruthError::Format { .. })), "{text}");
        }
    }
}
