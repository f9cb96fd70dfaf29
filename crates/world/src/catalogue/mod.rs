//! The data files that libraries are made from: tasks, steps, wordings, presenters and procedures.
//!
//! docs/src/world.md explains the keys of a domain. The files are part of the program; a
//! test checks every entry.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::vocabulary::{Action, Domain, Thing, Verb};

#[derive(Debug)]
pub struct Catalogue {
    pub domains: Vec<DomainData>,
    pub speech: Speech,
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
    /// How presenters say it: imperatives that also stand after "I" and "let's".
    pub narrations: Vec<String>,
    /// How users ask for it; no video says it in these words.
    pub queries: Vec<String>,
}

/// What presenters say in every domain, and their voices. `{}` stands for a step's narration.
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
    pub presenters: Vec<Presenter>,
    /// Names of espeak-ng's voices, by the kind that a presenter names.
    pub voices: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Presenter {
    pub name: String,
    /// A key of [`Speech::voices`].
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
}

/// A data file's name and text.
type File = (&'static str, &'static str);

const DOMAINS: [File; 3] = [
    ("cooking.toml", include_str!("../../data/cooking.toml")),
    ("woodworking.toml", include_str!("../../data/woodworking.toml")),
    ("gardening.toml", include_str!("../../data/gardening.toml")),
];
const SPEECH: File = ("speech.toml", include_str!("../../data/speech.toml"));
const PROCEDURES: File = ("procedures.toml", include_str!("../../data/procedures.toml"));

/// The built-in catalogue.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(|| {
        // A test reads these very files, so it cannot fail for a user.
        read().expect("the built-in data files are valid")
    });
    &CATALOGUE
}

fn read() -> Result<Catalogue, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Procedures {
        procedures: Vec<ProcedureData>,
    }
    let domains =
        DOMAINS.into_iter().map(|(file, text)| parse(file, text)).collect::<Result<_, _>>()?;
    let Procedures { procedures } = parse(PROCEDURES.0, PROCEDURES.1)?;
    Ok(Catalogue { domains, speech: parse(SPEECH.0, SPEECH.1)?, procedures })
}

/// The error names the file, the line and the key.
fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| format!("{file}: {error}"))
}

#[cfg(test)]
mod tests;
