//! Waits for a job on behalf of an agent: tells its progress, and cancels it when the agent asks for that.

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;

use crate::api::extract::blocking;
use crate::api::jobs::JobEvents;
use crate::error::{ApiError, Result};
use crate::jobs::{Job, JobStatus};
use crate::state::SharedState;

/// Waits until a job is done; an error if it fails or is cancelled.
pub async fn follow(
    state: &SharedState,
    job: i64,
    context: &RequestContext<RoleServer>,
) -> Result<()> {
    let mut events = JobEvents::of(state, job).await?;
    let mut stages = Stages::default();
    loop {
        let job = tokio::select! {
            () = context.ct.cancelled() => return cancel(state, job).await,
            job = events.next() => job,
        };
        let job = job.ok_or_else(|| ApiError::conflict("the server stops"))?;
        match job.status {
            JobStatus::Done => return Ok(()),
            JobStatus::Cancelled => return Err(ApiError::conflict("the job was cancelled")),
            JobStatus::Failed => {
                return Err(ApiError::conflict(job.message.unwrap_or_else(|| "it failed".into())));
            }
            JobStatus::Queued | JobStatus::Running => {}
        }
        if let Some(progress) = stages.progress(&job) {
            notify(context, &job, progress).await;
        }
    }
}

async fn cancel(state: &SharedState, job: i64) -> Result<()> {
    let state = state.clone();
    blocking(move || state.jobs.cancel(job)).await?;
    Err(ApiError::conflict("the job was cancelled"))
}

/// Tells a client that has asked for progress.
async fn notify(context: &RequestContext<RoleServer>, job: &Job, progress: f64) {
    let Some(token) = context.meta.get_progress_token() else { return };
    let message = match job.total {
        0 => job.stage.clone(),
        total => format!("{}: {} of {total}", job.stage, job.done),
    };
    let progress = ProgressNotificationParam::new(token, progress).with_message(message);
    if let Err(error) = context.peer.notify_progress(progress).await {
        tracing::debug!(%error, "the client does not hear of the progress");
    }
}

/// The stages of a job as one number that only grows, as the protocol asks for: every stage counts one.
#[derive(Default)]
struct Stages {
    begun: u32,
    stage: String,
    told: f64,
}

impl Stages {
    /// The progress, if it has grown by a hundredth of a stage since it was last told.
    fn progress(&mut self, job: &Job) -> Option<f64> {
        if job.stage != self.stage {
            self.begun += 1;
            self.stage.clone_from(&job.stage);
        }
        let part = if job.total == 0 { 0.0 } else { job.done as f64 / job.total as f64 };
        let progress = f64::from(self.begun) + part.min(0.99);
        let grown = progress >= self.told + 0.01;
        grown.then(|| {
            self.told = progress;
            progress
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::JobKind;

    #[test]
    fn progress_only_grows() {
        let mut stages = Stages::default();
        let job = |stage: &str, done, total| Job {
            id: 1,
            kind: JobKind::Render,
            status: JobStatus::Running,
            stage: stage.into(),
            done,
            total,
            message: None,
            warnings: Vec::new(),
            demonstration: None,
            folder: None,
            runs: 1,
            task: None,
        };
        let events = [
            (job("", 0, 0), None),
            (job("cut", 0, 4), Some(1.0)),
            (job("cut", 2, 4), Some(1.5)),
            (job("cut", 2, 4), None),
            (job("cut", 5, 4), Some(1.99)),
            (job("join", 0, 0), Some(2.0)),
            (job("join", 9, 0), None),
        ];
        for (job, expected) in events {
            assert_eq!(stages.progress(&job), expected, "{job:?}");
        }
    }
}
