//! The data files that libraries are made from: tasks, steps, wordings, presenters and procedures.
//!
//! docs/src/world.md explains the keys of a domain. The files are part of the program; a
//! test checks every entry.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::vocabulary::{Action, Domain, Thing, Verb};

/// Which tasks a library shows. Sets share no task, wording, presenter, voice or place, so that what learns
/// from one can be measured on another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskSet {
    /// The twelve tasks of the examples.
    #[default]
    Demonstration,
    Training,
    Development,
    Test,
}

impl TaskSet {
    pub const ALL: [Self; 4] = [Self::Demonstration, Self::Training, Self::Development, Self::Test];

    /// For serde: the demonstration's files do not name their set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Where the seeds of its places come from: a quarter each for the sets that are held apart. The
    /// demonstration is older than the sets and takes any.
    pub fn place_seeds(self) -> Range<u64> {
        const QUARTER: u64 = 1 << 51;
        match self {
            Self::Demonstration => 0..4 * QUARTER,
            Self::Training => 0..QUARTER,
            Self::Development => QUARTER..2 * QUARTER,
            Self::Test => 2 * QUARTER..3 * QUARTER,
        }
    }

    fn files(self) -> &'static SetFiles {
        &FILES[self as usize]
    }
}

/// The data of one task set, with what presenters say in all of them.
#[derive(Debug)]
pub struct Catalogue {
    pub domains: Vec<DomainData>,
    pub speech: Speech,
    pub people: People,
    /// Procedures written by hand that several videos together can show.
    pub procedures: Vec<ProcedureData>,
}

/// The steps and tasks of one domain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainData {
    pub domain: Domain,
    /// What a greeting calls the work: "today we are *cooking* beef tacos".
    pub gerunds: Vec<String>,
    /// Said to the camera between two steps, besides what is said in every domain.
    pub chatter: Vec<String>,
    /// Videos take them in turn.
    pub tasks: Vec<Task>,
    pub steps: BTreeMap<String, StepData>,
    /// Wordings that several steps share.
    #[serde(default)]
    pub families: BTreeMap<String, Family>,
}

/// Steps that presenters and users word alike although their subjects are in different states: only the
/// pictures and the steps before tell them apart.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// As [`StepData::narrations`]; they name neither the object nor its state.
    pub narrations: Vec<String>,
    /// As [`StepData::contextual`].
    pub contextual: Vec<String>,
}

/// Something that can be made, grown or cooked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// Its name in truth.json.
    pub name: String,
    /// Its name in file names.
    pub slug: String,
    /// Its name in a greeting, where that needs an article.
    pub spoken_name: Option<String>,
    /// Titles of videos about it.
    pub titles: Vec<String>,
    /// In an order that works.
    pub steps: Vec<TaskStep>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskStep {
    /// A key of [`DomainData::steps`].
    pub step: String,
    /// Whether some videos leave it out; then no later step may need the state it leads to.
    #[serde(default)]
    pub optional: bool,
    /// Earlier steps that must be done first although they share no thing with this one.
    #[serde(default)]
    pub after: Vec<String>,
}

/// A step that videos can show, and the words for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepData {
    pub verb: Verb,
    /// What it is done to; the subject first.
    pub things: Vec<Thing>,
    /// A key of [`DomainData::families`], from which it has its narrations and contextual queries.
    pub family: Option<String>,
    /// How presenters say it: imperatives that also stand after "I" and "let's".
    #[serde(default)]
    pub narrations: Vec<String>,
    /// How users ask for it; no video says it in these words.
    pub queries: Vec<String>,
    /// How users ask for it within a procedure: with pronouns for what the steps before were about.
    #[serde(default)]
    pub contextual: Vec<String>,
}

/// What presenters say in every domain. `{}` stands for a step's narration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Speech {
    pub first_step: Vec<String>,
    pub middle_step: Vec<String>,
    pub last_step: Vec<String>,
    /// Said after some steps.
    pub remarks: Vec<String>,
    /// With `{presenter}`.
    pub hellos: Vec<String>,
    /// With `{gerund}` and `{task}`.
    pub topics: Vec<String>,
    pub chatter: Vec<String>,
    pub farewells: Vec<String>,
    pub goodbyes: Vec<String>,
}

/// Who presents the videos of a set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct People {
    pub presenters: Vec<Presenter>,
    /// Names of espeak-ng's voices, by the kind that a presenter names.
    pub voices: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Presenter {
    pub name: String,
    /// A key of [`People::voices`].
    pub voice: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcedureData {
    pub title: String,
    /// Keys of [`DomainData::steps`] of any domain.
    pub steps: Vec<String>,
}

impl StepData {
    pub fn action(&self) -> Action {
        Action { verb: self.verb, things: self.things.clone() }
    }
}

impl DomainData {
    /// Whether step `early` of a task must be done before step `late`: it comes first in the order that
    /// works, and either both are about one thing or `late` names it.
    pub fn must_precede(&self, task: &Task, early: usize, late: usize) -> bool {
        let (a, b) = (&task.steps[early], &task.steps[late]);
        let kinds = |step: &TaskStep| self.steps[&step.step].things.iter().map(|thing| thing.kind);
        early < late
            && (b.after.contains(&a.step) || kinds(b).any(|kind| kinds(a).any(|k| k == kind)))
    }
}

impl Catalogue {
    /// Every task with its domain, in the order in which videos take them.
    pub fn tasks(&self) -> impl Iterator<Item = (&DomainData, &Task)> {
        self.domains.iter().flat_map(|domain| domain.tasks.iter().map(move |task| (domain, task)))
    }

    /// Every step with its key.
    pub fn steps(&self) -> impl Iterator<Item = (&String, &StepData)> {
        self.domains.iter().flat_map(|domain| &domain.steps)
    }

    /// The step with this key.
    pub fn step(&self, key: &str) -> Option<&StepData> {
        self.domains.iter().find_map(|domain| domain.steps.get(key))
    }
}

/// A data file's name and text.
type File = (&'static str, &'static str);

/// The files of one task set.
struct SetFiles {
    domains: [File; 3],
    people: File,
    procedures: File,
}

macro_rules! file {
    ($path:literal) => {
        ($path, include_str!(concat!("../../data/", $path)))
    };
}

const SPEECH: File = file!("speech.toml");
/// In the order of [`TaskSet::ALL`].
static FILES: [SetFiles; 4] = [
    SetFiles {
        domains: [
            file!("demonstration/cooking.toml"),
            file!("demonstration/woodworking.toml"),
            file!("demonstration/gardening.toml"),
        ],
        people: file!("demonstration/presenters.toml"),
        procedures: file!("demonstration/procedures.toml"),
    },
    SetFiles {
        domains: [
            file!("training/cooking.toml"),
            file!("training/woodworking.toml"),
            file!("training/gardening.toml"),
        ],
        people: file!("training/presenters.toml"),
        procedures: NONE,
    },
    SetFiles {
        domains: [
            file!("development/cooking.toml"),
            file!("development/woodworking.toml"),
            file!("development/gardening.toml"),
        ],
        people: file!("development/presenters.toml"),
        procedures: NONE,
    },
    SetFiles {
        domains: [
            file!("test/cooking.toml"),
            file!("test/woodworking.toml"),
            file!("test/gardening.toml"),
        ],
        people: file!("test/presenters.toml"),
        procedures: NONE,
    },
];
/// Only the demonstration has procedures written by hand.
const NONE: File = ("", "procedures = []");

/// The built-in catalogue of a task set.
pub fn catalogue(tasks: TaskSet) -> &'static Catalogue {
    static CATALOGUES: LazyLock<[Catalogue; 4]> = LazyLock::new(|| {
        // A test reads these very files, so it cannot fail for a user.
        TaskSet::ALL.map(|tasks| read(tasks.files()).expect("the built-in data files are valid"))
    });
    &CATALOGUES[tasks as usize]
}

fn read(files: &SetFiles) -> Result<Catalogue, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Procedures {
        procedures: Vec<ProcedureData>,
    }
    let Procedures { procedures } = parse(files.procedures)?;
    Ok(Catalogue {
        domains: files.domains.into_iter().map(read_domain).collect::<Result<_, _>>()?,
        speech: parse(SPEECH)?,
        people: parse(files.people)?,
        procedures,
    })
}

/// Reads a domain and gives the steps of families their words.
fn read_domain(file: File) -> Result<DomainData, String> {
    let mut data: DomainData = parse(file)?;
    for (key, step) in &mut data.steps {
        let Some(name) = &step.family else { continue };
        let unknown = || format!("{}: steps.{key}.family: there is no family {name:?}", file.0);
        let family = data.families.get(name).ok_or_else(unknown)?.clone();
        (step.narrations, step.contextual) = (family.narrations, family.contextual);
    }
    Ok(data)
}

/// The error names the file, the line and the key.
fn parse<T: DeserializeOwned>((file, text): File) -> Result<T, String> {
    toml::from_str(text).map_err(|error| format!("{file}: {error}"))
}

#[cfg(test)]
mod tests;
