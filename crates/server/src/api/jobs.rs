//! Jobs: started, listed, followed, cancelled.

use std::convert::Infallible;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use serde::{Deserialize, Serialize};
use stitch_engine::files::mark_used;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use utoipa::ToSchema;

use super::extract::{AcceptedReply, AppState, Json, Path, Reply, accepted, blocking};
use super::library::{VideoFile, send_file};
use crate::database::to_json;
use crate::error::{ApiError, BodyErrors, NotFound, Result};
use crate::jobs::{Job, JobKind, JobStatus, Task};
use crate::state::SharedState;

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IndexRequest {
    /// The absolute path of a folder of videos
    pub folder: String,
}

/// Index a folder of videos
#[utoipa::path(post, path = "/api/index", tag = "library", request_body = IndexRequest,
    responses(BodyErrors, (status = 202, description = "the index job", body = Job),
        (status = 429, description = "too many jobs are queued", body = ApiError)))]
pub async fn index(
    State(state): AppState,
    Json(IndexRequest { folder }): Json<IndexRequest>,
) -> AcceptedReply<Job> {
    let enqueue = move || {
        let folder = state.allowed_folder(&folder)?.to_string_lossy().into_owned();
        state.jobs.enqueue(&Task::Index { folder })
    };
    blocking(enqueue).await.map(accepted)
}

/// List the last 100 jobs
#[utoipa::path(get, path = "/api/jobs", tag = "jobs",
    responses((status = 200, description = "newest first", body = [Job])))]
pub async fn list(State(state): AppState) -> Reply<Vec<Job>> {
    blocking(move || Ok(state.jobs.list(100)?)).await.map(Json)
}

/// Get a job
#[utoipa::path(get, path = "/api/jobs/{id}", tag = "jobs", params(("id" = i64, Path)),
    responses(NotFound, (status = 200, description = "its status and progress", body = Job)))]
pub async fn get(State(state): AppState, Path(id): Path<i64>) -> Reply<Job> {
    get_job(&state, id).await.map(Json)
}

/// Cancel a job
#[utoipa::path(delete, path = "/api/jobs/{id}", tag = "jobs", params(("id" = i64, Path)),
    responses(NotFound, (status = 202, description = "it stops at the next safe point", body = Job)))]
pub async fn cancel(State(state): AppState, Path(id): Path<i64>) -> AcceptedReply<Job> {
    blocking(move || state.jobs.cancel(id)).await.map(accepted)
}

/// Follow a job
#[utoipa::path(get, path = "/api/jobs/{id}/events", tag = "jobs", params(("id" = i64, Path)),
    responses(NotFound, (status = 200, description = "events named `job`, each a job as JSON, until it ends",
        content_type = "text/event-stream", body = String)))]
pub async fn events(
    State(state): AppState,
    Path(id): Path<i64>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let next = async |mut events: JobEvents| {
        let job = events.next().await?;
        Some((Ok(Event::default().event("job").data(to_json(&job))), events))
    };
    let events = JobEvents::of(&state, id).await?;
    Ok(Sse::new(unfold(events, next)).keep_alive(KeepAlive::default()))
}

async fn get_job(state: &SharedState, id: i64) -> Result<Job> {
    let state = state.clone();
    blocking(move || state.jobs.get(id)).await
}

/// The events of one job, until it ends.
pub struct JobEvents {
    state: SharedState,
    id: i64,
    receiver: Receiver<Job>,
    first: Option<Job>,
    over: bool,
}

impl JobEvents {
    pub async fn of(state: &SharedState, id: i64) -> Result<Self> {
        let receiver = state.jobs.subscribe(); // before reading the job, so that no event is missed
        let job = get_job(state, id).await?;
        Ok(Self { state: state.clone(), id, receiver, first: Some(job), over: false })
    }

    /// The job as it is now, and then after every change; none after it has ended.
    pub async fn next(&mut self) -> Option<Job> {
        if self.over {
            return None;
        }
        let job = match self.first.take() {
            Some(job) => job,
            None => self.receive().await?,
        };
        self.over = job.status.is_over();
        Some(job)
    }

    async fn receive(&mut self) -> Option<Job> {
        let id = self.id;
        loop {
            match self.receiver.recv().await {
                Ok(job) if job.id == id => return Some(job),
                Ok(_) => {}
                // Too slow to receive every event: the current state replaces the missed ones.
                Err(RecvError::Lagged(_)) => return get_job(&self.state, id).await.ok(),
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// Get the video that a job rendered
#[utoipa::path(get, path = "/api/jobs/{id}/video", tag = "jobs", params(("id" = i64, Path)),
    responses(VideoFile, NotFound, (status = 409, description = "it is not rendered yet, or was removed", body = ApiError)))]
pub async fn video(
    State(state): AppState,
    Path(id): Path<i64>,
    request: Request,
) -> Result<Response> {
    let job = get_job(&state, id).await?;
    match (job.kind, job.status) {
        (JobKind::Render, JobStatus::Done) => {}
        (JobKind::Render, _) => {
            let unfinished = "the video is not rendered yet".to_owned();
            return Err(ApiError::conflict(job.message.unwrap_or(unfinished)));
        }
        _ => return Err(ApiError::not_found("video")),
    }
    let download = request.uri().query() == Some("download");
    let file = state.render_file(id);
    let used = file.clone();
    blocking(move || {
        mark_used(&used);
        Ok(())
    })
    .await?;
    let mut response = send_file(file, request).await?;
    let name = format!("attachment; filename=\"demonstration-{id}.mp4\"");
    if let Some(name) = HeaderValue::from_str(&name).ok().filter(|_| download) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
