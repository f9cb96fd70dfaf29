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
use stitch_world::library::{MixedProcedure, MixedStep, Source, fewest_changes};

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
    /// Source changes, on average: of the answers.
    pub changes: Estimate,
    /// Of the sequences that the procedures were mixed from.
    pub true_changes: Estimate,
    /// The fewest that right clips allow.
    pub fewest_changes: Estimate,
    /// The answers' against the truths'.
    pub changes_to_truth: Estimate,
    /// Procedures whose answer has more source changes than its truth.
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
    /// A library could not be read.
    #[error(transparent)]
    Library(#[from] stitch_engine::library::LibraryError),
    /// A text is no procedure.
    #[error(transparent)]
    Recipe(#[from] stitch_engine::recipe::RecipeError),
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
    true_changes: usize,
    fewest_changes: usize,
    wrong: Vec<Wrong>,
}

fn judge(mixed: &MixedProcedure, answer: &Demonstration) -> Verdict {
    let mut wrong = Vec::new();
    let mut gaps = 0;
    for (step, answered) in mixed.steps.iter().zip(&answer.steps) {
        let chosen = answered.chosen.as_ref();
        gaps += usize::from(chosen.is_none());
        if !chosen.is_some_and(|choice| chosen_rightly(choice, step)) {
            let shown = chosen.map(|choice| (file_name(&choice.source.path), choice.text.clone()));
            wrong.push(Wrong { procedure: mixed.title.clone(), step: step.text.clone(), shown });
        }
    }
    Verdict {
        steps: mixed.steps.len(),
        right: mixed.steps.len() - wrong.len(),
        gaps,
        changes: answer.source_changes,
        true_changes: mixed.changes,
        fewest_changes: fewest_changes(&mixed.steps),
        wrong,
    }
}

/// Whether a clip shows the step.
pub(super) fn chosen_rightly(choice: &Choice, step: &MixedStep) -> bool {
    let span = Span::new(choice.span.start_ms, choice.span.end_ms);
    span.is_some_and(|span| is_right(&file_name(&choice.source.path), span, step))
}

/// A clip is right if it is from a video that shows the step, where it shows it: at least half of
/// the shorter of the two spans is common.
pub(super) fn is_right(file: &str, span: Span, step: &MixedStep) -> bool {
    let covers = |source: &Source| {
        let both = span.end().min(source.end_ms).saturating_sub(span.start().max(source.start_ms));
        let shorter = span.length().min(source.end_ms.saturating_sub(source.start_ms));
        both * 2 >= shorter
    };
    step.sources.iter().any(|source| source.file == file && covers(source))
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
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
        changes: share(|v| v.changes, |_| 1),
        true_changes: share(|v| v.true_changes, |_| 1),
        fewest_changes: share(|v| v.fewest_changes, |_| 1),
        changes_to_truth: share(|v| v.changes, |v| v.true_changes),
        more_changes: judged.iter().filter(|v| v.changes > v.true_changes).count(),
        wrong: judged.iter().flat_map(|v| v.wrong.clone()).collect(),
    }
}
