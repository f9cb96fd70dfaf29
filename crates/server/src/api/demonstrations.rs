//! Demonstrations: created, listed, changed, rendered, exported.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stitch_engine::export::{Export, Format};
use stitch_engine::progress::Silent;
use stitch_engine::render::Plan;
use utoipa::ToSchema;

use super::extract::{
    AcceptedReply, AppState, Json, Path, Reply, accepted, attachment, blocking, with_ffmpeg,
};
use super::procedures::ProcedureText;
use crate::demonstrations;
use crate::editor;
use crate::error::{ApiError, BodyErrors, NotFound, Result};
use crate::jobs::{Job, JobKind, Task};
use crate::options::{SearchOptions, VideoOptions};
use crate::shares;
use crate::soundtrack::{music_file, prepared};
use crate::state::{SharedState, State as Server};
use crate::wire::{Change, DemonstrationView};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DemonstrationRequest {
    pub procedure: ProcedureText,
    #[serde(default)]
    pub search: SearchOptions,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CreatedDemonstration {
    pub id: i64,
    /// The job that searches its clips
    pub job: Job,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DemonstrationSummary {
    pub id: i64,
    pub title: String,
    /// The number of steps
    pub steps: usize,
    /// Whether the search has ended
    pub found: bool,
}

/// Create a demonstration
#[utoipa::path(post, path = "/api/demonstrations", tag = "demonstrations",
    request_body = DemonstrationRequest,
    responses(BodyErrors, (status = 202, description = "the search is queued", body = CreatedDemonstration),
        (status = 429, description = "too many jobs are queued", body = ApiError)))]
pub async fn create(
    State(state): AppState,
    Json(request): Json<DemonstrationRequest>,
) -> AcceptedReply<CreatedDemonstration> {
    blocking(move || enqueue_search(&state, &request)).await.map(accepted)
}

pub fn enqueue_search(
    state: &Server,
    request: &DemonstrationRequest,
) -> Result<CreatedDemonstration> {
    let procedure = request.procedure.procedure()?;
    request.search.validate()?;
    let id = demonstrations::create(&state.database, &procedure, &request.search)?;
    match state.jobs.enqueue(&Task::Make { demonstration: id }) {
        Ok(job) => Ok(CreatedDemonstration { id, job }),
        Err(error) => {
            demonstrations::remove(&state.database, id)?;
            Err(error)
        }
    }
}

/// List the last 100 demonstrations
#[utoipa::path(get, path = "/api/demonstrations", tag = "demonstrations",
    responses((status = 200, description = "newest first", body = [DemonstrationSummary])))]
pub async fn list(State(state): AppState) -> Reply<Vec<DemonstrationSummary>> {
    let summary = |record: demonstrations::Record| DemonstrationSummary {
        id: record.id,
        title: record.title,
        steps: record.steps.len(),
        found: record.revision > 0,
    };
    let list = blocking(move || Ok(demonstrations::list(&state.database, 100)?)).await?;
    Ok(Json(list.into_iter().map(summary).collect()))
}

/// Get the current revision of a demonstration
#[utoipa::path(get, path = "/api/demonstrations/{id}", tag = "demonstrations",
    params(("id" = i64, Path)),
    responses(NotFound, (status = 200, description = "the current revision", body = DemonstrationView),
        (status = 409, description = "the search is still running", body = ApiError)))]
pub async fn get(State(state): AppState, Path(id): Path<i64>) -> Reply<DemonstrationView> {
    blocking(move || editor::view(&state, id)).await.map(Json)
}

/// Delete a demonstration
#[utoipa::path(delete, path = "/api/demonstrations/{id}", tag = "demonstrations",
    params(("id" = i64, Path)), responses(NotFound, (status = 204, description = "deleted")))]
pub async fn remove(State(state): AppState, Path(id): Path<i64>) -> Result<StatusCode> {
    match blocking(move || Ok(demonstrations::remove(&state.database, id)?)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ApiError::not_found("demonstration")),
    }
}

/// Change a demonstration
#[utoipa::path(post, path = "/api/demonstrations/{id}/changes", tag = "demonstrations",
    params(("id" = i64, Path)), request_body = Change,
    responses(BodyErrors, (status = 200, description = "the new revision", body = DemonstrationView),
        (status = 404, description = "no such demonstration, step, clip or video", body = ApiError),
        (status = 409, description = "not possible in the current revision", body = ApiError)))]
pub async fn change(
    State(state): AppState,
    Path(id): Path<i64>,
    Json(change): Json<Change>,
) -> Reply<DemonstrationView> {
    blocking(move || editor::change(&state, id, &change)).await.map(Json)
}

/// Render the current revision of a demonstration
#[utoipa::path(post, path = "/api/demonstrations/{id}/renders", tag = "demonstrations",
    params(("id" = i64, Path)), request_body = VideoOptions,
    responses(BodyErrors, NotFound, (status = 202, description = "the render job", body = Job),
        (status = 409, description = "the search is still running", body = ApiError),
        (status = 429, description = "too many jobs are queued", body = ApiError)))]
pub async fn render(
    State(state): AppState,
    Path(id): Path<i64>,
    Json(options): Json<VideoOptions>,
) -> AcceptedReply<Job> {
    blocking(move || enqueue_render(&state, id, options)).await.map(accepted)
}

pub fn enqueue_render(state: &Server, id: i64, options: VideoOptions) -> Result<Job> {
    options.validate()?;
    music_file(state, &options)?;
    let revision = demonstrations::current(&state.database, id)?.1.number;
    state.jobs.enqueue(&Task::Render { demonstration: id, revision, options })
}

/// Export a demonstration
#[utoipa::path(get, path = "/api/demonstrations/{id}/exports/{name}", tag = "demonstrations",
    params(("id" = i64, Path),
        ("name" = String, Path, description = "the file extension of a format, as `json`, `otio` or `credits.txt`")),
    responses((status = 200, description = "the file", content_type = "*/*", body = Vec<u8>),
        (status = 404, description = "no such demonstration or format", body = ApiError),
        (status = 409, description = "the search is still running", body = ApiError),
        (status = 422, description = "all steps are gaps", body = ApiError)))]
pub async fn export(
    State(state): AppState,
    Path((id, name)): Path<(i64, String)>,
) -> Result<Response> {
    let format = Format::by_extension(&name).ok_or_else(|| ApiError::not_found("format"))?;
    let text = export_text(&state, id, format).await?;
    let name = format!("demonstration-{id}.{}", format.extension);
    Ok(attachment(format.media_type, &name, text))
}

/// A demonstration in a format.
pub async fn export_text(state: &SharedState, id: i64, format: &'static Format) -> Result<String> {
    let server = state.clone();
    let write = move || {
        let answer = demonstrations::current(&server.database, id)?.1.answer;
        let options = last_render_options(&server, id)?;
        let (demonstration, options) = prepared(&server, answer, &options, &Silent)?;
        let plan = Plan::new(&demonstration, &options, &Silent)?;
        let (video, cache) = (format!("demonstration-{id}.mp4"), server.cuts_folder());
        let export = Export {
            demonstration: &demonstration,
            plan: &plan,
            handles_ms: 0,
            video: &video,
            cache: &cache,
            progress: &Silent,
        };
        Ok(format.text(&export)?)
    };
    with_ffmpeg(state, write).await
}

/// The options of the last render, so that exports have the times of that video.
fn last_render_options(state: &Server, id: i64) -> Result<VideoOptions> {
    Ok(match state.jobs.newest(JobKind::Render, id)?.and_then(|job| job.task) {
        Some(Task::Render { options, .. }) => options,
        _ => VideoOptions::default(),
    })
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareRequest {
    /// How long the link lasts
    #[schema(minimum = 1, maximum = 365)]
    pub days: u32,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ShareLink {
    /// The path of the page, to be opened on this server without another token
    pub path: String,
    /// Milliseconds since 1970
    pub expires_ms: i64,
}

/// Make a link that shows the rendered video to whoever has it
#[utoipa::path(post, path = "/api/demonstrations/{id}/shares", tag = "demonstrations",
    params(("id" = i64, Path)), request_body = ShareRequest,
    responses(BodyErrors, NotFound, (status = 200, description = "the link", body = ShareLink),
        (status = 409, description = "there is no rendered video", body = ApiError)))]
pub async fn share(
    State(state): AppState,
    Path(id): Path<i64>,
    Json(ShareRequest { days }): Json<ShareRequest>,
) -> Reply<ShareLink> {
    let (token, expires_ms) = blocking(move || shares::create(&state, id, days)).await?;
    Ok(Json(ShareLink { path: format!("/shared/{token}"), expires_ms }))
}

/// End all links to a demonstration
#[utoipa::path(delete, path = "/api/demonstrations/{id}/shares", tag = "demonstrations",
    params(("id" = i64, Path)), responses(NotFound, (status = 204, description = "they show nothing any more")))]
pub async fn unshare(State(state): AppState, Path(id): Path<i64>) -> Result<StatusCode> {
    blocking(move || shares::revoke(&state, id)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Export the choices of all users as preference pairs
#[utoipa::path(get, path = "/api/choices.jsonl", tag = "demonstrations",
    responses((status = 200, description = "JSON lines: the preferred and the rejected clip of a step",
        content_type = "application/jsonl", body = String)))]
pub async fn choices(State(state): AppState) -> Result<Response> {
    let lines = blocking(move || Ok(demonstrations::choices(&state.database)?)).await?;
    Ok(attachment("application/jsonl", "choices.jsonl", lines))
}
