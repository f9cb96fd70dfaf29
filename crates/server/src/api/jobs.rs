//! Long work: begun, looked at, followed as it happens, called off.

use std::convert::Infallible;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{Stream, unfold};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use utoipa::ToSchema;

use super::extract::{Json, Path, blocking};
use super::library::send_file;
use crate::error::{BodyProblems, Problem};
use crate::jobs::{Job, Kind, Status, Work};
use crate::state::{Shared, State as Server};

/// Enters a job, unless too many wait.
pub fn enter(state: &Server, work: &Work) -> Result<Job, Problem> {
    let most = state.settings.limits.jobs;
    state.jobs.enter(&state.store, work, most)?.ok_or_else(|| {
        let why = format!("{most} jobs are waiting already; try again when some are done");
        Problem::new(StatusCode::TOO_MANY_REQUESTS, why)
    })
}

/// A folder of videos to add.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Folder {
    /// Its whole path.
    pub folder: String,
}

/// Add a folder of videos
#[utoipa::path(post, path = "/api/index", tag = "library", request_body = Folder,
    responses(BodyProblems, (status = 202, description = "the job that reads it", body = Job),
        (status = 429, description = "too many jobs wait", body = Problem)))]
pub async fn index(
    State(state): State<Shared>,
    Json(Folder { folder }): Json<Folder>,
) -> Result<(StatusCode, Json<Job>), Problem> {
    let begin = move |state: &Server| {
        let folder = state.admitted(&folder)?.to_string_lossy().into_owned();
        enter(state, &Work::Index { folder })
    };
    Ok((StatusCode::ACCEPTED, Json(blocking(&state, begin).await?)))
}

/// The last jobs
#[utoipa::path(get, path = "/api/jobs", tag = "jobs",
    responses((status = 200, description = "newest first", body = [Job])))]
pub async fn list(State(state): State<Shared>) -> Result<Json<Vec<Job>>, Problem> {
    blocking(&state, |state| Ok(state.jobs.list(&state.store, 100)?)).await.map(Json)
}

/// A job by its number.
pub fn get(state: &Server, id: i64) -> Result<Job, Problem> {
    state.jobs.get(&state.store, id)?.ok_or_else(|| Problem::missing("job"))
}

/// One job
#[utoipa::path(get, path = "/api/jobs/{id}", tag = "jobs", params(("id" = i64, Path)),
    responses((status = 200, description = "where it stands", body = Job),
        (status = 404, description = "there is none", body = Problem)))]
pub async fn one(State(state): State<Shared>, Path(id): Path<i64>) -> Result<Json<Job>, Problem> {
    blocking(&state, move |state| get(state, id)).await.map(Json)
}

/// Call a job off
#[utoipa::path(delete, path = "/api/jobs/{id}", tag = "jobs", params(("id" = i64, Path)),
    responses((status = 202, description = "it stops where nothing is lost", body = Job),
        (status = 404, description = "there is none", body = Problem)))]
pub async fn cancel(
    State(state): State<Shared>,
    Path(id): Path<i64>,
) -> Result<(StatusCode, Json<Job>), Problem> {
    let call_off = move |state: &Server| {
        state.jobs.cancel(&state.store, id)?.ok_or_else(|| Problem::missing("job"))
    };
    Ok((StatusCode::ACCEPTED, Json(blocking(&state, call_off).await?)))
}

/// What happens to a job, as it happens
#[utoipa::path(get, path = "/api/jobs/{id}/events", tag = "jobs", params(("id" = i64, Path)),
    responses((status = 200, description = "events named `job`, each a job as JSON, until it is over",
            content_type = "text/event-stream", body = String),
        (status = 404, description = "there is none", body = Problem)))]
pub async fn events(
    State(state): State<Shared>,
    Path(id): Path<i64>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let receiver = state.jobs.listen(); // before looking, so that nothing is missed
    let now = blocking(&state, move |state| get(state, id)).await?;
    let follower = Follower { state, id, receiver, first: Some(now), over: false };
    Ok(Sse::new(unfold(follower, Follower::next)).keep_alive(KeepAlive::default()))
}

/// Follows one job to its end.
struct Follower {
    state: Shared,
    id: i64,
    receiver: Receiver<Job>,
    first: Option<Job>,
    over: bool,
}

impl Follower {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if self.over {
            return None;
        }
        let job = match self.first.take() {
            Some(job) => job,
            None => self.news().await?,
        };
        self.over = job.status.is_over();
        let told = serde_json::to_string(&job).unwrap_or_default();
        Some((Ok(Event::default().event("job").data(told)), self))
    }

    async fn news(&mut self) -> Option<Job> {
        let id = self.id;
        loop {
            match self.receiver.recv().await {
                Ok(job) if job.id == id => return Some(job),
                Ok(_) => {}
                // Too slow to hear everything: where it stands now is enough.
                Err(RecvError::Lagged(_)) => {
                    return blocking(&self.state, move |state| get(state, id)).await.ok();
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }
}

/// The video that a job made
#[utoipa::path(get, path = "/api/jobs/{id}/video", tag = "jobs", params(("id" = i64, Path)),
    responses((status = 200, description = "all of it", content_type = "video/mp4", body = Vec<u8>),
        (status = 206, description = "the range asked for", content_type = "video/mp4", body = Vec<u8>),
        (status = 404, description = "there is none", body = Problem),
        (status = 409, description = "it is not done yet", body = Problem),
        (status = 416, description = "there is no such range")))]
pub async fn video(
    State(state): State<Shared>,
    Path(id): Path<i64>,
    request: Request,
) -> Result<Response, Problem> {
    let path = blocking(&state, move |state| {
        let job = get(state, id)?;
        match (job.kind, job.status) {
            (Kind::Render, Status::Done) => Ok(state.render_file(id)),
            (Kind::Render, _) => Err(Problem::conflict("the video is not done yet")),
            _ => Err(Problem::missing("video")),
        }
    })
    .await?;
    let download = request.uri().query() == Some("download");
    let mut response = send_file(path, request).await?;
    if download {
        let name =
            HeaderValue::from_str(&format!("attachment; filename=\"demonstration-{id}.mp4\""));
        name.into_iter().for_each(|name| {
            response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
        });
    }
    Ok(response)
}
