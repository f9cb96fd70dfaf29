//! The worker threads: one for each kind of job.

use std::panic::AssertUnwindSafe;
use std::thread::JoinHandle;

use stitch_engine::index::{Indexer, Report};
use stitch_engine::progress::Progress;
use stitch_engine::render::{self, overlays::find_overlays};

use crate::database::to_name;
use crate::demonstrations;
use crate::editor;
use crate::error::{ApiError, Result};
use crate::jobs::{JobKind, JobProgress, JobStatus, Task};
use crate::options::VideoOptions;
use crate::soundtrack::prepared;
use crate::state::{SharedState, State};

/// Starts the threads; they end after [`crate::jobs::JobQueue::stop`].
pub fn start(state: &SharedState) -> Vec<JoinHandle<()>> {
    let start = |kind: JobKind| {
        let state = state.clone();
        std::thread::Builder::new().name(to_name(&kind)).spawn(move || work(&state, kind))
    };
    let threads = JobKind::ALL.into_iter().map(start);
    threads
        .filter_map(|thread| thread.inspect_err(|e| tracing::error!(%e, "no thread")).ok())
        .collect()
}

fn work(state: &State, kind: JobKind) {
    loop {
        let ran = run_next(state, kind);
        let ran = ran.inspect_err(|error| tracing::error!(%error, "the queue cannot be read"));
        if !ran.unwrap_or(false) && !state.jobs.wait() {
            return;
        }
    }
}

/// Runs the next job of a kind; whether there was one.
pub fn run_next(state: &State, kind: JobKind) -> rusqlite::Result<bool> {
    let Some(job) = state.jobs.claim(kind)? else { return Ok(false) };
    let progress = JobProgress { queue: &state.jobs, job: job.id };
    // A job that panics has failed; the worker continues with the next one.
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| match &job.task {
        Some(task) => run(state, job.id, task, &progress),
        None => Err(ApiError::invalid("another version wrote this job; start it again")),
    }));
    let result = result.unwrap_or_else(|_| Err(ApiError::invalid("the job ended unexpectedly")));
    let (status, message) = match result {
        Ok(message) => (JobStatus::Done, message),
        Err(_) if progress.cancelled() => (JobStatus::Cancelled, None),
        // The server stops: the job continues after the next start.
        Err(_) if progress.stopped() => (JobStatus::Queued, None),
        Err(error) => (JobStatus::Failed, Some(error.error)),
    };
    while let Err(error) = state.jobs.end(job.id, status, message.clone()) {
        tracing::error!(%error, "how a job ended cannot be written; trying again");
        if !state.jobs.wait() {
            return Err(error);
        }
    }
    Ok(status != JobStatus::Queued)
}

/// Runs a task; its result in words, if it has one.
fn run(state: &State, job: i64, task: &Task, progress: &JobProgress<'_>) -> Result<Option<String>> {
    match task {
        Task::Index { folder } => return index(state, folder, progress).map(Some),
        Task::Make { demonstration } => editor::make(state, *demonstration, progress)?,
        Task::Render { demonstration, revision, options } => {
            render(state, job, (*demonstration, *revision), options, progress)?;
        }
    }
    Ok(None)
}

fn index(state: &State, folder: &str, progress: &dyn Progress) -> Result<String> {
    let folder = state.allowed_folder(folder)?;
    let indexer = Indexer {
        encoder: state.resources.encoder.as_ref(),
        sentence: &state.resources.sentence,
        chat: None,
        speech: state.resources.speech.as_ref(),
        screen_text: state.resources.screen_text.as_ref(),
        list: None,
        from: None,
    };
    let report = indexer.run(&state.resources.library, &[folder], progress);
    state.reload_pool()?; // videos that were indexed before an error count too
    let Report { found, indexed, clips, unchanged, duplicates, failed } = report?;
    let failed = failed.len();
    Ok(format!(
        "{found} videos found: {indexed} indexed now with {clips} clips, {unchanged} unchanged, \
         {duplicates} duplicates, {failed} failed"
    ))
}

fn render(
    state: &State,
    job: i64,
    (id, revision): (i64, i64),
    options: &VideoOptions,
    progress: &dyn Progress,
) -> Result<()> {
    let found = demonstrations::revision(&state.database, id, revision)?;
    let demonstration = found.ok_or_else(|| ApiError::not_found("demonstration"))?.answer;
    let (mut demonstration, options) = prepared(state, demonstration, options, progress)?;
    let (file, cuts) = (state.render_file(job), state.cuts_folder());
    find_overlays(&mut demonstration, options.overlays, &cuts, progress)?;
    let rendered = render::render(&demonstration, &options, &file, &cuts, progress);
    state.keep_render_budget();
    rendered?;
    Ok(())
}
