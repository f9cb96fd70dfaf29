//! Reading alone: which lines of a text are read as steps, against the true ones.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stitch_core::procedure::Procedure;
use stitch_engine::progress::Progress;
use stitch_engine::recipe::{Labeller, RecipeError, read_procedure};

use super::made_up::RESAMPLES;
use super::metrics::{Estimate, count_ratio};
use super::{MeasureError, with_extension};

/// A text with its true steps; one line of a set. Natural procedures are such texts too.
#[derive(Clone, Debug, Deserialize)]
pub struct ReadingText {
    pub id: String,
    /// Where it is from; what is reported apart.
    #[serde(default)]
    pub source: String,
    /// A file name, whose extension may tell the form of the text.
    #[serde(default)]
    pub name: String,
    pub text: String,
    pub steps: Vec<TrueStep>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct TrueStep {
    /// Its text inside the whole.
    pub line: String,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct ReadingReport {
    /// By source, and of all texts at the end.
    pub groups: Vec<ReadingGroup>,
    pub errors: Vec<ReadingError>,
}

#[derive(Clone, Debug, Serialize)]
pub struct ReadingGroup {
    pub name: String,
    pub texts: usize,
    pub steps: usize,
    /// Steps that were not read, as a share of the steps.
    pub missed: Estimate,
    /// Lines wrongly read as steps, relative to the steps.
    pub extra: Estimate,
    /// Read steps that hold several true ones, relative to the steps.
    pub joined: Estimate,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadingError {
    /// The text's id.
    pub id: String,
    pub kind: ReadingErrorKind,
    pub line: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingErrorKind {
    /// A step was not read.
    Missed,
    /// A line that is no step was read as one.
    Extra,
    /// Several steps were read as one; none of them counts as missed.
    Joined,
}

/// Reads a set of JSON lines: one file, or every `.jsonl` file of a folder in the order of names.
pub fn read_set<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, MeasureError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| MeasureError::Set { path, source }
    };
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        files = with_extension(path, "jsonl").map_err(failed(path))?;
    }
    let mut procedures = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(failed(&path))?;
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        for (text, line) in lines {
            let failed = |source| MeasureError::SetLine { path: path.clone(), line, source };
            procedures.push(serde_json::from_str(text).map_err(failed)?);
        }
    }
    match procedures.is_empty() {
        true => Err(MeasureError::EmptySet(path.into())),
        false => Ok(procedures),
    }
}

/// The procedure in a text; none where no step is found.
pub(crate) fn read_text(
    name: &str,
    text: &str,
    labeller: Option<&dyn Labeller>,
) -> Result<Option<Procedure>, MeasureError> {
    match read_procedure(name, text.as_bytes(), labeller) {
        Ok(reading) => Ok(Some(reading.procedure)),
        Err(RecipeError::NoSteps { .. } | RecipeError::Empty) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Which of the read steps are the true one, for every true one: by letters and digits alone, where one
/// contains the other. A step may be read as several, and several as one.
pub(crate) fn matches<'a>(
    steps: impl Iterator<Item = &'a str>,
    read: impl Iterator<Item = &'a str>,
) -> Vec<Vec<usize>> {
    let read: Vec<String> = read.map(letters).collect();
    let of = |step: &str| {
        let line = letters(step);
        let is_this = |text: &String| line.contains(text) || text.contains(&line);
        let is_hit = |at: &usize| !line.is_empty() && !read[*at].is_empty() && is_this(&read[*at]);
        (0..read.len()).filter(is_hit).collect()
    };
    steps.map(of).collect()
}

/// Letters and digits in lower case: what two texts are compared by.
pub(super) fn letters(text: &str) -> String {
    text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Reads every text, by rules alone where there is no labeller.
pub fn evaluate(
    texts: &[ReadingText],
    labeller: Option<&dyn Labeller>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<ReadingReport, MeasureError> {
    progress.begin("reading texts", texts.len() as u64);
    let mut counted = Vec::with_capacity(texts.len());
    let mut errors = Vec::new();
    for text in texts {
        progress.check()?;
        let procedure = read_text(&text.name, &text.text, labeller)?;
        let read = procedure.as_ref().map(Procedure::steps).unwrap_or_default();
        let found = compare(text, read);
        let count = |kind| found.iter().filter(|error| error.kind == kind).count();
        counted.push(Counts {
            source: &text.source,
            steps: text.steps.len(),
            missed: count(ReadingErrorKind::Missed),
            extra: count(ReadingErrorKind::Extra),
            joined: count(ReadingErrorKind::Joined),
        });
        errors.extend(found);
        progress.advance(1);
    }
    Ok(ReadingReport { groups: groups(&counted, seed), errors })
}

/// The errors in one text.
fn compare(text: &ReadingText, read: &[String]) -> Vec<ReadingError> {
    let lines = || text.steps.iter().map(|step| step.line.as_str());
    let matches = matches(lines(), read.iter().map(String::as_str));
    let error = |kind, line: &str| ReadingError { id: text.id.clone(), kind, line: line.into() };
    let missed = text.steps.iter().zip(&matches).filter(|(_, hits)| hits.is_empty());
    let missed = missed.map(|(step, _)| error(ReadingErrorKind::Missed, &step.line));
    let is_extra = |at: &usize| !matches.iter().any(|hits| hits.contains(at));
    let extra = (0..read.len()).filter(is_extra);
    let extra = extra.map(|at| error(ReadingErrorKind::Extra, &read[at]));
    let joined = read.iter().filter(|read| held(read, lines()) > 1);
    let joined = joined.map(|read| error(ReadingErrorKind::Joined, read));
    missed.chain(extra).chain(joined).collect()
}

/// How many of the true steps stand in a read one, in order and without overlap.
fn held<'a>(read: &str, steps: impl Iterator<Item = &'a str>) -> usize {
    let read = letters(read);
    let (mut rest, mut count) = (read.as_str(), 0);
    for line in steps.map(letters).filter(|line| !line.is_empty()) {
        if let Some(at) = rest.find(&line) {
            (rest, count) = (&rest[at + line.len()..], count + 1);
        }
    }
    count
}

/// The counts of one text.
#[derive(Clone, Copy)]
struct Counts<'a> {
    source: &'a str,
    steps: usize,
    missed: usize,
    extra: usize,
    joined: usize,
}

fn groups(counted: &[Counts], seed: u64) -> Vec<ReadingGroup> {
    let group = |name: &str, texts: &[Counts]| ReadingGroup {
        name: name.to_owned(),
        texts: texts.len(),
        steps: texts.iter().map(|text| text.steps).sum(),
        missed: count_ratio(texts, |text| (text.missed, text.steps), RESAMPLES, seed),
        extra: count_ratio(texts, |text| (text.extra, text.steps), RESAMPLES, seed),
        joined: count_ratio(texts, |text| (text.joined, text.steps), RESAMPLES, seed),
    };
    let mut sources: Vec<&str> = counted.iter().map(|text| text.source).collect();
    sources.sort_unstable();
    sources.dedup();
    sources.retain(|source| !source.is_empty());
    let of = |source: &str| -> Vec<Counts> {
        counted.iter().filter(|text| text.source == source).copied().collect()
    };
    let mut groups: Vec<_> = sources.iter().map(|source| group(source, &of(source))).collect();
    groups.push(group("all", counted));
    groups
}

#[cfg(test)]
mod tests {
    use stitch_engine::progress::Silent;

    use super::*;

    fn text(id: &str, source: &str, text: &str, steps: &[&str]) -> ReadingText {
        let steps = steps.iter().map(|line| TrueStep { line: (*line).into() }).collect();
        let (id, source, name) = (id.into(), source.into(), String::new());
        ReadingText { id, source, name, text: text.into(), steps }
    }

    #[test]
    fn missed_and_extra_steps_are_counted_by_source() {
        let texts = [
            text("a", "one", "1. Chop it.\n2. Fry it.\n3. Enjoy", &["Chop it", "Fry it."]),
            text("b", "two", "2 eggs\n1 onion\n200 g flour", &["2 eggs", "Whisk"]),
            text("c", "two", "1. Whisk, then rest\n2. Bake", &["whisk", "rest", "Bake"]),
        ];
        let mut report = evaluate(&texts, None, 1, &Silent).unwrap();
        report.errors.retain(|error| error.kind != ReadingErrorKind::Joined);
        let found: Vec<_> = report
            .groups
            .iter()
            .map(|g| (g.name.as_str(), g.texts, g.steps, g.missed.value, g.extra.value))
            .collect();
        let expected =
            [("one", 1, 2, 0.0, 0.5), ("two", 2, 5, 0.4, 0.0), ("all", 3, 7, 2.0 / 7.0, 1.0 / 7.0)];
        assert_eq!(found, expected);
        let errors: Vec<_> =
            report.errors.iter().map(|e| (e.id.as_str(), e.kind, &*e.line)).collect();
        let expected = [
            ("a", ReadingErrorKind::Extra, "Enjoy"),
            ("b", ReadingErrorKind::Missed, "2 eggs"),
            ("b", ReadingErrorKind::Missed, "Whisk"),
        ];
        assert_eq!(errors, expected);
    }

    #[test]
    fn steps_that_are_read_as_one_are_told() {
        let joined = |steps: &[&str], read: &[&str]| -> Vec<String> {
            let read: Vec<String> = read.iter().map(|line| (*line).to_owned()).collect();
            let errors = compare(&text("a", "", "", steps), &read);
            assert!(
                errors.iter().all(|error| error.kind == ReadingErrorKind::Joined),
                "{errors:?}"
            );
            errors.into_iter().map(|error| error.line).collect()
        };
        let steps = ["Whisk.", "Rest it.", "Bake"];
        assert_eq!(joined(&steps, &["Whisk, then rest it", "Bake"]), ["Whisk, then rest it"]);
        assert!(joined(&steps, &["Whisk", "Rest it", "Bake"]).is_empty());
        assert!(joined(&["Stir", "Stir the soup", "Stir"], &["Stir", "Stir the soup"]).is_empty());
        assert!(joined(&["Whisk and rest it"], &["Whisk", "and rest it"]).is_empty());
    }

    #[test]
    fn a_line_without_letters_is_no_step() {
        assert_eq!(
            matches(["-", "Bake"].into_iter(), ["Bake", "…"].into_iter()),
            [vec![], vec![0]]
        );
        assert_eq!(held("Bake", ["-", "Bake"].into_iter()), 1);
    }

    #[test]
    fn natural_procedures_can_be_read() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/natural/development.jsonl");
        let texts: Vec<ReadingText> = read_set(&path).unwrap();
        assert!(texts.iter().all(|text| !text.steps.is_empty()));
    }

    #[test]
    fn what_is_no_set_is_told() {
        let read = |path: &Path| read_set::<ReadingText>(path).unwrap_err();
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read(folder.path()), MeasureError::EmptySet(_)));
        assert!(matches!(read(&folder.path().join("none")), MeasureError::Set { .. }));
        let file = folder.path().join("a.jsonl");
        std::fs::write(&file, "\n{}\n").unwrap();
        assert!(matches!(read(&file), MeasureError::SetLine { line: 2, .. }));
    }
}
