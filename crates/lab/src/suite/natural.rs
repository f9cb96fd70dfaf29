//! Natural procedures: texts as people write them, with what each step means, read and answered as a
//! user's would be, and judged by the made-up library's truth.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stitch_core::gaps::FEATURES;
use stitch_engine::demonstrate::{
    Asked, Choice, Demonstrator, Options, Stock, gap_features, solve,
};
use stitch_engine::progress::Progress;
use stitch_engine::recipe::{RecipeError, read_procedure};
use stitch_world::truth::{StepTruth, Truth};
use stitch_world::vocabulary::{Domain, Kind, Verb};

use super::made_up::{EvaluateError, file_name};
use super::metrics::{Estimate, ratio};
use super::reliability::{calibration_error, reliability};

/// How many bootstrap samples an interval takes.
const RESAMPLES: usize = 10_000;

/// A text with its truth; one line of a set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NaturalProcedure {
    /// Its name in reports.
    pub id: String,
    /// What it is about.
    pub domain: Domain,
    /// What it makes.
    pub title: String,
    /// The whole text as pasted.
    pub text: String,
    /// Its steps.
    pub steps: Vec<NaturalStep>,
}

/// A step of a natural procedure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NaturalStep {
    /// Its text inside the whole.
    pub line: String,
    /// The actions whose clips rightly show it; empty where nothing in the library does.
    pub accept: Vec<(Verb, Kind)>,
    /// Whether it needs earlier steps or the title to be understood.
    pub context: bool,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum NaturalError {
    /// The set cannot be read.
    #[error("{path}: {source}; give a file or folder of natural procedures (.jsonl)")]
    Read {
        /// The file or folder.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is not a procedure.
    #[error(
        "{path}, line {line} is no natural procedure ({source}); give a .jsonl file like \
             crates/lab/data/natural/development.jsonl"
    )]
    Line {
        /// The file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// There is nothing to measure.
    #[error("{0} holds no procedure; give a file or folder of natural procedures (.jsonl)")]
    Empty(String),
    /// A procedure could not be answered.
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
}

/// How a step was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// By a clip that shows it.
    Right,
    /// By another.
    Wrong,
    /// As a gap.
    Gap,
}

/// One step, judged.
#[derive(Clone, Debug, Serialize)]
pub struct JudgedStep {
    /// The procedure's id.
    pub id: String,
    /// The procedure's domain.
    pub domain: Domain,
    /// The step's text.
    pub line: String,
    /// Whether the library shows it.
    pub shown: bool,
    /// Whether it needs context.
    pub context: bool,
    /// How it was answered.
    pub verdict: Verdict,
    /// Why it is not right, for looking at.
    pub reason: Option<&'static str>,
    /// The text of the clip that was chosen.
    pub clip: Option<String>,
    /// The probability that was told for it.
    pub probability: Option<f32>,
    /// What the decision about gaps went by, before it.
    pub features: Option<[f32; FEATURES]>,
    /// Whether the clip that was the best before that decision is right.
    pub best_right: Option<bool>,
}

/// A set, judged.
#[derive(Clone, Debug, Serialize)]
pub struct NaturalReport {
    /// How many procedures.
    pub procedures: usize,
    /// Every step.
    pub steps: Vec<JudgedStep>,
    /// Lines that are no steps and were read as one, with the procedure's id.
    pub extra_steps: Vec<(String, String)>,
    /// Steps that were not read as one.
    pub missed_steps: usize,
    /// Shares by group of steps, each with its name.
    pub groups: Vec<Group>,
    /// Expected calibration error of the probabilities of chosen clips.
    pub calibration_error: f64,
}

/// How a group of steps fared.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// Which steps.
    pub name: String,
    /// How many.
    pub steps: usize,
    /// Share answered by a right clip.
    pub right: Estimate,
    /// Share answered by a wrong one.
    pub wrong: Estimate,
    /// Share called a gap.
    pub gap: Estimate,
}

/// Reads one file, or every `.jsonl` file of a folder in the order of names.
pub fn read(path: &Path) -> Result<Vec<NaturalProcedure>, NaturalError> {
    let failed = |source| NaturalError::Read { path: path.display().to_string(), source };
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(failed)?;
        files = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
        files.sort();
    }
    let mut procedures = Vec::new();
    for file in files {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file)
            .map_err(|source| NaturalError::Read { path: name.clone(), source })?;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let read = serde_json::from_str(line);
            let read = read.map_err(|source| NaturalError::Line {
                path: name.clone(),
                line: at + 1,
                source,
            })?;
            procedures.push(read);
        }
    }
    if procedures.is_empty() {
        return Err(NaturalError::Empty(path.display().to_string()));
    }
    Ok(procedures)
}

/// Reads and answers every procedure and judges every step.
pub fn evaluate(
    with: &Demonstrator<'_>,
    truth: &Truth,
    procedures: &[NaturalProcedure],
    options: &Options,
    progress: &dyn Progress,
) -> Result<NaturalReport, NaturalError> {
    progress.begin("answering procedures", procedures.len() as u64);
    let stock = Stock::load(with.library).map_err(EvaluateError::from)?;
    let mut report = NaturalReport {
        procedures: procedures.len(),
        steps: Vec::new(),
        extra_steps: Vec::new(),
        missed_steps: 0,
        groups: Vec::new(),
        calibration_error: 0.0,
    };
    for natural in procedures {
        progress.check().map_err(EvaluateError::from)?;
        judge(with, &stock, truth, natural, options, &mut report)?;
        progress.advance(1);
    }
    report.groups = groups(&report.steps, procedures, options.seed);
    let told = report
        .steps
        .iter()
        .filter_map(|step| Some((f64::from(step.probability?), step.verdict == Verdict::Right)));
    report.calibration_error = calibration_error(&reliability(told));
    Ok(report)
}

/// An answered step of what was read: its text, its clip, and what decided about it.
struct Answered {
    text: String,
    chosen: Option<Choice>,
    features: Option<[f32; FEATURES]>,
    best: Option<Choice>,
}

fn answer(
    with: &Demonstrator<'_>,
    stock: &Stock,
    natural: &NaturalProcedure,
    options: &Options,
) -> Result<Vec<Answered>, EvaluateError> {
    let reading = match read_procedure("natural.txt", natural.text.as_bytes(), Some(with.sentence))
    {
        Ok(reading) => reading,
        Err(RecipeError::NoSteps { .. } | RecipeError::Empty) => return Ok(Vec::new()),
        Err(error) => return Err(EvaluateError::Recipe(error)),
    };
    let asked = Asked::encode(with, &reading.procedure)?;
    let features = gap_features(with, stock, &asked, options)?;
    let never = Options { threshold: Some(0.0), ..options.clone() };
    let before = solve(with, stock, &asked, &never)?;
    let answer = solve(with, stock, &asked, options)?;
    let steps = answer.steps.into_iter().zip(before.steps).zip(features);
    let answered = steps.map(|((step, before), features)| Answered {
        text: step.text,
        chosen: step.chosen,
        features,
        best: before.chosen,
    });
    Ok(answered.collect())
}

fn judge(
    with: &Demonstrator<'_>,
    stock: &Stock,
    truth: &Truth,
    natural: &NaturalProcedure,
    options: &Options,
    report: &mut NaturalReport,
) -> Result<(), NaturalError> {
    let answered = answer(with, stock, natural, options)?;
    let texts: Vec<String> = answered.iter().map(|step| letters(&step.text)).collect();
    let mut used = BTreeSet::new();
    for step in &natural.steps {
        let line = letters(&step.line);
        let is_this = |text: &String| {
            !text.is_empty() && (line.contains(text.as_str()) || text.contains(&line))
        };
        let hits: Vec<usize> = (0..texts.len()).filter(|at| is_this(&texts[*at])).collect();
        used.extend(hits.iter().copied());
        report.missed_steps += usize::from(hits.is_empty());
        let right = |choice: &Choice| is_accepted(choice, truth, &step.accept);
        let chosen: Vec<&Choice> =
            hits.iter().filter_map(|at| answered[*at].chosen.as_ref()).collect();
        let verdict = match &chosen[..] {
            [] => Verdict::Gap,
            some if some.iter().any(|choice| right(choice)) => Verdict::Right,
            _ => Verdict::Wrong,
        };
        let first = hits.first().map(|at| &answered[*at]);
        let best_right = first.and_then(|first| first.best.as_ref()).map(right);
        report.steps.push(JudgedStep {
            id: natural.id.clone(),
            domain: natural.domain,
            line: step.line.clone(),
            shown: !step.accept.is_empty(),
            context: step.context,
            verdict,
            reason: reason(verdict, step, first, truth),
            clip: chosen.first().map(|choice| choice.text.clone()),
            probability: chosen.first().map(|choice| choice.similarity.probability),
            features: first.and_then(|first| first.features),
            best_right,
        });
    }
    let extra = answered.into_iter().enumerate().filter(|(at, _)| !used.contains(at));
    report.extra_steps.extend(extra.map(|(_, step)| (natural.id.clone(), step.text)));
    Ok(())
}

/// Why a step is not answered rightly.
fn reason(
    verdict: Verdict,
    step: &NaturalStep,
    answered: Option<&Answered>,
    truth: &Truth,
) -> Option<&'static str> {
    let right = |choice: &Choice| is_accepted(choice, truth, &step.accept);
    let Some(answered) = answered else { return Some("not read as a step") };
    match (step.accept.is_empty(), verdict) {
        (false, Verdict::Right) | (true, Verdict::Gap) => None,
        (true, _) => Some("shown though nothing shows it"),
        (false, Verdict::Gap) if answered.best.as_ref().is_some_and(right) => Some("called a gap"),
        (false, _) => Some("outranked"),
    }
}

/// Letters and digits in lower case: what two texts are compared by.
fn letters(text: &str) -> String {
    text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Whether the clip shows one of the accepted actions: half of the shorter of the two spans is common.
fn is_accepted(choice: &Choice, truth: &Truth, accept: &[(Verb, Kind)]) -> bool {
    let file = file_name(&choice.source.path);
    let span = choice.span;
    let shows = |step: &&StepTruth| {
        let both = step.end_ms.min(span.end_ms).saturating_sub(step.start_ms.max(span.start_ms));
        both * 2 >= (step.end_ms - step.start_ms).min(span.length_ms())
    };
    let videos = truth.videos.iter().filter(|video| video.file == file);
    let mut shown = videos.flat_map(|video| &video.steps).filter(shows);
    shown.any(|step| {
        step.things.first().is_some_and(|thing| accept.contains(&(step.verb, thing.kind)))
    })
}

/// Shares for all shown steps, by context and domain, and for the unshown ones.
fn groups(steps: &[JudgedStep], procedures: &[NaturalProcedure], seed: u64) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut add = |name: &str, of: &dyn Fn(&JudgedStep) -> bool| {
        let share = |verdict: Verdict| {
            let cluster = |procedure: &NaturalProcedure| {
                let own = steps.iter().filter(|step| step.id == procedure.id && of(step));
                own.fold((0.0, 0.0), |(part, all), step| {
                    (part + f64::from(u8::from(step.verdict == verdict)), all + 1.0)
                })
            };
            let clusters: Vec<(f64, f64)> = procedures.iter().map(cluster).collect();
            ratio(&clusters, RESAMPLES, seed)
        };
        groups.push(Group {
            name: name.to_owned(),
            steps: steps.iter().filter(|step| of(step)).count(),
            right: share(Verdict::Right),
            wrong: share(Verdict::Wrong),
            gap: share(Verdict::Gap),
        });
    };
    add("shown steps", &|step| step.shown);
    add("  that stand alone", &|step| step.shown && !step.context);
    add("  that need context", &|step| step.shown && step.context);
    for domain in [Domain::Cooking, Domain::Woodworking, Domain::Gardening] {
        let name = format!("  {domain:?}").to_lowercase();
        add(&name, &|step| step.shown && step.domain == domain);
    }
    add("steps that nothing shows", &|step| !step.shown);
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_sets_are_sound() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/natural");
        let development = read(&root.join("development.jsonl")).unwrap();
        let reporting = read(&root.join("reporting.jsonl")).unwrap();
        assert!(development.len() + reporting.len() >= 150);
        let lines = |set: &[NaturalProcedure]| -> BTreeSet<String> {
            set.iter().flat_map(|p| &p.steps).map(|step| letters(&step.line)).collect()
        };
        assert_eq!(lines(&development).intersection(&lines(&reporting)).count(), 0);
        for procedure in development.iter().chain(&reporting) {
            let text = letters(&procedure.text);
            assert!((4..=10).contains(&procedure.steps.len()), "{}", procedure.id);
            for step in &procedure.steps {
                assert!(text.contains(&letters(&step.line)), "{}: {}", procedure.id, step.line);
            }
        }
    }

    #[test]
    fn what_is_no_set_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read(folder.path()), Err(NaturalError::Empty(_))));
        assert!(matches!(read(&folder.path().join("none")), Err(NaturalError::Read { .. })));
        let file = folder.path().join("a.jsonl");
        std::fs::write(&file, "\n{}\n").unwrap();
        assert!(matches!(read(&file), Err(NaturalError::Line { line: 2, .. })));
    }
}
