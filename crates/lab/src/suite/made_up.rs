//! Right clips on the made-up library: mixed procedures whose truth is known, answered and checked.

use std::path::Path;

use serde::Serialize;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Choice, Demonstration, Demonstrator, Options, demonstrate};
use stitch_engine::progress::Progress;

use super::MeasureError;
use super::metrics::{Estimate, count_ratio};
use stitch_world::library::{MixedProcedure, MixedStep, Source, fewest_changes};

pub(super) const RESAMPLES: usize = 10_000;

#[derive(Clone, Debug, Serialize)]
pub struct AnswerReport {
    pub procedures: usize,
    pub steps: usize,
    pub right: Estimate,
    /// Share of steps called a gap although the library shows them.
    pub false_gaps: Estimate,
    /// Source changes of an answer, on average;
    pub changes: Estimate,
    /// of the sequence that the procedure was mixed from;
    pub true_changes: Estimate,
    /// the fewest that right clips allow.
    pub fewest_changes: Estimate,
    /// Ratio of the answers' to the truths'.
    pub changes_to_truth: Estimate,
    /// Procedures whose answer has more source changes than its truth.
    pub more_changes: usize,
    pub wrong: Vec<WrongStep>,
}

#[derive(Clone, Debug, Serialize)]
pub struct WrongStep {
    pub procedure: String,
    pub step: String,
    /// File and text of the clip; none for a gap.
    pub shown: Option<(String, String)>,
}

/// Answers every procedure and checks every step.
pub fn evaluate(
    with: &Demonstrator<'_>,
    procedures: &[MixedProcedure],
    options: &Options,
    progress: &dyn Progress,
) -> Result<AnswerReport, MeasureError> {
    progress.begin("answering procedures", procedures.len() as u64);
    let mut answers = Vec::new();
    for mixed in procedures {
        progress.check()?;
        let procedure = Procedure::new(&mixed.title, mixed.steps.iter().map(|s| &s.text))?;
        answers.push(check(mixed, &demonstrate(with, &procedure, options)?));
        progress.advance(1);
    }
    Ok(report(&answers, options.seed))
}

struct Answer {
    steps: usize,
    right: usize,
    gaps: usize,
    changes: usize,
    true_changes: usize,
    fewest_changes: usize,
    wrong: Vec<WrongStep>,
}

fn check(mixed: &MixedProcedure, answer: &Demonstration) -> Answer {
    let mut wrong = Vec::new();
    let mut gaps = 0;
    for (step, answered) in mixed.steps.iter().zip(&answer.steps) {
        let chosen = answered.chosen.as_ref();
        gaps += usize::from(chosen.is_none());
        if !chosen.is_some_and(|choice| is_right(choice, step)) {
            let shown = chosen.map(|choice| (file_name(&choice.source.path), choice.text.clone()));
            let (procedure, step) = (mixed.title.clone(), step.text.clone());
            wrong.push(WrongStep { procedure, step, shown });
        }
    }
    Answer {
        steps: mixed.steps.len(),
        right: mixed.steps.len() - wrong.len(),
        gaps,
        changes: answer.source_changes,
        true_changes: mixed.changes,
        fewest_changes: fewest_changes(&mixed.steps),
        wrong,
    }
}

/// A clip is right if it is from a video that shows the step, where it shows it: at least half of
/// the shorter of the two spans is common.
pub(super) fn is_right(choice: &Choice, step: &MixedStep) -> bool {
    let (file, span) = (file_name(&choice.source.path), choice.span);
    let covers = |source: &Source| {
        same_place((span.start_ms, span.end_ms), (source.start_ms, source.end_ms))
    };
    span.start_ms < span.end_ms
        && step.sources.iter().any(|source| source.file == file && covers(source))
}

/// Whether at least half of the shorter of two spans is in both.
pub(super) fn same_place((a, a_end): (u64, u64), (b, b_end): (u64, u64)) -> bool {
    let both = a_end.min(b_end).saturating_sub(a.max(b));
    both * 2 >= a_end.saturating_sub(a).min(b_end.saturating_sub(b))
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn report(answers: &[Answer], seed: u64) -> AnswerReport {
    let share =
        |counts: fn(&Answer) -> (usize, usize)| count_ratio(answers, counts, RESAMPLES, seed);
    AnswerReport {
        procedures: answers.len(),
        steps: answers.iter().map(|a| a.steps).sum(),
        right: share(|a| (a.right, a.steps)),
        false_gaps: share(|a| (a.gaps, a.steps)),
        changes: share(|a| (a.changes, 1)),
        true_changes: share(|a| (a.true_changes, 1)),
        fewest_changes: share(|a| (a.fewest_changes, 1)),
        changes_to_truth: share(|a| (a.changes, a.true_changes)),
        more_changes: answers.iter().filter(|a| a.changes > a.true_changes).count(),
        wrong: answers.iter().flat_map(|a| a.wrong.clone()).collect(),
    }
}
