//! Right clips on the made-up library: mixed procedures whose truth is known, answered and judged.

use std::path::Path;

use serde::Serialize;
use stitch_core::clip::Span;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{
    Choice, DemonstrateError, Demonstration, Demonstrator, Options, demonstrate,
};
use stitch_engine::progress::{Progress, Stopped};

use super::metrics::{Estimate, ratio};
use crate::world::library::{MixedProcedure, MixedStep, Source};

/// How the answers to mixed procedures fared.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How many procedures were asked.
    pub procedures: usize,
    /// How many steps they have.
    pub steps: usize,
    /// Share of steps whose clip is a right one.
    pub right: Estimate,
    /// Share of steps called a gap although the library shows them.
    pub false_gaps: Estimate,
    /// Source changes of the answers against the fewest that right clips allow.
    pub changes: Estimate,
    /// Procedures whose answer has more source changes than that.
    pub more_changes: usize,
    /// Every wrong step, for looking at.
    pub wrong: Vec<Wrong>,
}

/// A step that was answered wrongly.
#[derive(Clone, Debug, Serialize)]
pub struct Wrong {
    /// The procedure.
    pub procedure: String,
    /// The step.
    pub step: String,
    /// What was shown instead: file and text; nothing for a gap.
    pub shown: Option<(String, String)>,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// A procedure could not be answered.
    #[error(transparent)]
    Demonstrate(#[from] DemonstrateError),
    /// A procedure has no steps.
    #[error(transparent)]
    Procedure(#[from] stitch_core::procedure::ProcedureError),
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Answers every procedure and judges every step.
pub fn evaluate(
    with: &Demonstrator<'_>,
    procedures: &[MixedProcedure],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, EvaluateError> {
    progress.begin("answering procedures", procedures.len() as u64);
    let mut judged = Vec::new();
    for mixed in procedures {
        progress.check()?;
        let procedure = Procedure::new(&mixed.title, mixed.steps.iter().map(|s| &s.text))?;
        judged.push(judge(mixed, &demonstrate(with, &procedure, options)?));
        progress.advance(1);
    }
    Ok(report(&judged, options.seed))
}

/// One procedure's verdict.
struct Verdict {
    steps: usize,
    right: usize,
    gaps: usize,
    changes: usize,
    fewest_changes: usize,
    wrong: Vec<Wrong>,
}

fn judge(mixed: &MixedProcedure, answer: &Demonstration) -> Verdict {
    let mut wrong = Vec::new();
    let mut gaps = 0;
    for (step, answered) in mixed.steps.iter().zip(&answer.steps) {
        let chosen = answered.chosen.as_ref();
        gaps += usize::from(chosen.is_none());
        if !chosen.is_some_and(|choice| is_right(choice, step)) {
            let shown = chosen.map(|choice| (file_name(&choice.source.path), choice.text.clone()));
            wrong.push(Wrong { procedure: mixed.title.clone(), step: step.text.clone(), shown });
        }
    }
    Verdict {
        steps: mixed.steps.len(),
        right: mixed.steps.len() - wrong.len(),
        gaps,
        changes: answer.source_changes,
        fewest_changes: fewest_changes(&mixed.steps),
        wrong,
    }
}

/// A clip is right if it is from a video that shows the step, where it shows it: at least half of
/// the shorter of the two spans is common.
fn is_right(choice: &Choice, step: &MixedStep) -> bool {
    let file = file_name(&choice.source.path);
    let Some(span) = Span::new(choice.span.start_ms, choice.span.end_ms) else { return false };
    let covers = |source: &Source| {
        let both = span.end().min(source.end_ms).saturating_sub(span.start().max(source.start_ms));
        let shorter = span.length().min(source.end_ms.saturating_sub(source.start_ms));
        both * 2 >= shorter
    };
    step.sources.iter().any(|source| source.file == file && covers(source))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The fewest source changes with which right clips can show all steps: stay with a set of sources
/// as long as one of them still serves.
fn fewest_changes(steps: &[MixedStep]) -> usize {
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

fn report(judged: &[Verdict], seed: u64) -> Report {
    let share = |part: fn(&Verdict) -> usize, whole: fn(&Verdict) -> usize| {
        let clusters: Vec<_> = judged.iter().map(|v| (part(v) as f64, whole(v) as f64)).collect();
        ratio(&clusters, 10_000, seed)
    };
    Report {
        procedures: judged.len(),
        steps: judged.iter().map(|v| v.steps).sum(),
        right: share(|v| v.right, |v| v.steps),
        false_gaps: share(|v| v.gaps, |v| v.steps),
        changes: share(|v| v.changes, |v| v.fewest_changes),
        more_changes: judged.iter().filter(|v| v.changes > v.fewest_changes).count(),
        wrong: judged.iter().flat_map(|v| v.wrong.clone()).collect(),
    }
}
