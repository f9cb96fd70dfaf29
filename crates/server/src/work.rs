//! Doing the jobs: one thread for each kind, the engine's own functions inside.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::thread::JoinHandle;

use stitch_engine::index::Indexer;
use stitch_engine::progress::Progress;
use stitch_engine::render;

use crate::demonstrations;
use crate::error::Problem;
use crate::finding;
use crate::jobs::{Kind, Status, Watched, Work};
use crate::looks::Looks;
use crate::state::{Shared, State};

/// Starts the threads; they end after [`crate::jobs::Jobs::stop`].
pub fn start(state: &Shared) -> Vec<JoinHandle<()>> {
    let begin = |kind: Kind| {
        let state = state.clone();
        std::thread::Builder::new().name(kind.name().into()).spawn(move || work(&state, kind))
    };
    let started = Kind::ALL.into_iter().map(begin);
    started
        .filter_map(|thread| thread.inspect_err(|e| tracing::error!(%e, "no thread")).ok())
        .collect()
}

fn work(state: &State, kind: Kind) {
    loop {
        match run_next(state, kind) {
            Ok(true) => {}
            Ok(false) => {
                if !state.jobs.wait() {
                    return;
                }
            }
            Err(error) => {
                tracing::error!(%error, "the queue cannot be read");
                if !state.jobs.wait() {
                    return;
                }
            }
        }
    }
}

/// Does the next job of a kind; whether there was one.
pub fn run_next(state: &State, kind: Kind) -> rusqlite::Result<bool> {
    let Some(job) = state.jobs.claim(&state.store, kind)? else { return Ok(false) };
    let progress = Watched::new(&state.jobs, &state.store, job.id);
    // A job that panics is one that failed; the others go on.
    let done = std::panic::catch_unwind(AssertUnwindSafe(|| match &job.work {
        Some(work) => run(state, job.id, work, &progress),
        None => Err(Problem::wrong("this job was made by another version; make it again")),
    }));
    let done = done.unwrap_or_else(|_| Err(Problem::wrong("the job broke off unexpectedly")));
    let (status, message) = match done {
        Ok(message) => (Status::Done, message),
        Err(_) if progress.called_off() => (Status::Cancelled, None),
        // Stopped with the server: it goes on when the server does.
        Err(_) if progress.stopped() => (Status::Queued, None),
        Err(problem) => (Status::Failed, Some(problem.error)),
    };
    state.jobs.end(&state.store, job.id, status, message)?;
    Ok(status != Status::Queued)
}

fn run(
    state: &State,
    id: i64,
    work: &Work,
    progress: &Watched<'_>,
) -> Result<Option<String>, Problem> {
    match work {
        Work::Index { folder } => index(state, folder, progress).map(Some),
        Work::Make { demonstration } => {
            finding::make(state, *demonstration, progress).map(|()| None)
        }
        Work::Render { demonstration, revision, options } => {
            render(state, id, (*demonstration, *revision), options, progress).map(|()| None)
        }
    }
}

fn index(state: &State, folder: &str, progress: &dyn Progress) -> Result<String, Problem> {
    let folder = state.admitted(folder)?;
    let indexer = Indexer {
        library: &state.kit.library,
        encoder: state.kit.encoder.as_ref(),
        sentence: &state.kit.sentence,
        chat: None,
        speech: state.kit.speech.as_ref(),
        list: None,
    };
    let report = indexer.run(&[folder], progress).map_err(|e| Problem::wrong(e.to_string()));
    state.load_stock()?; // also what was indexed before it was stopped
    let report = report?;
    Ok(format!(
        "{} videos found, {} indexed now with {} clips, {} known already, {} the same as another, \
         {} failed",
        report.found,
        report.indexed,
        report.clips,
        report.unchanged,
        report.duplicates,
        report.failed.len()
    ))
}

fn render(
    state: &State,
    job: i64,
    (id, revision): (i64, i64),
    looks: &Looks,
    progress: &dyn Progress,
) -> Result<(), Problem> {
    let found = demonstrations::revision(&state.store, id, revision)?;
    let answer = found.ok_or_else(|| Problem::missing("demonstration"))?.answer;
    let out: PathBuf = state.render_file(job);
    render::render(&answer, &looks.options(), &out, &state.cuts(), progress)?;
    Ok(())
}
