//! Demonstrations: asked for, looked at, changed, rendered, exported.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use stitch_engine::export::{Export, Format};
use stitch_engine::progress::Silent;
use stitch_engine::render::Plan;
use utoipa::ToSchema;

use super::extract::{Json, Path, blocking};
use super::jobs::enter;
use super::procedures::ProcedureText;
use crate::demonstrations;
use crate::error::{BodyProblems, Problem};
use crate::finding;
use crate::jobs::{Job, Kind, Work};
use crate::looks::{Looks, Search};
use crate::state::{Shared, State as Server};
use crate::wire::{Change, DemonstrationView};

/// A demonstration that is asked for.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What it is to show.
    pub procedure: ProcedureText,
    /// How clips are chosen.
    #[serde(default)]
    pub search: Search,
}

/// A demonstration that was asked for, and the job that finds it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Begun {
    /// Its number.
    pub id: i64,
    /// The job.
    pub job: Job,
}

/// A demonstration in a list.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Listed {
    /// Its number.
    pub id: i64,
    /// What it makes.
    pub title: String,
    /// How many steps it has.
    pub steps: usize,
    /// Whether its clips are found.
    pub found: bool,
}

/// Ask for a demonstration
#[utoipa::path(post, path = "/api/demonstrations", tag = "demonstrations", request_body = Question,
    responses(BodyProblems, (status = 202, description = "it is being found", body = Begun),
        (status = 429, description = "too many jobs wait", body = Problem)))]
pub async fn create(
    State(state): State<Shared>,
    Json(question): Json<Question>,
) -> Result<(StatusCode, Json<Begun>), Problem> {
    let begin = move |state: &Server| {
        let procedure = question.procedure.procedure(&state.settings.limits)?;
        question.search.check()?;
        let id = demonstrations::create(&state.store, &procedure, &question.search)?;
        match enter(state, &Work::Make { demonstration: id }) {
            Ok(job) => Ok(Begun { id, job }),
            Err(problem) => {
                demonstrations::remove(&state.store, id)?;
                Err(problem)
            }
        }
    };
    Ok((StatusCode::ACCEPTED, Json(blocking(&state, begin).await?)))
}

/// The last demonstrations
#[utoipa::path(get, path = "/api/demonstrations", tag = "demonstrations",
    responses((status = 200, description = "newest first", body = [Listed])))]
pub async fn list(State(state): State<Shared>) -> Result<Json<Vec<Listed>>, Problem> {
    let find = |state: &Server| {
        let listed = |record: demonstrations::Record| Listed {
            id: record.id,
            title: record.title,
            steps: record.steps.len(),
            found: record.revision > 0,
        };
        Ok(demonstrations::list(&state.store, 100)?.into_iter().map(listed).collect())
    };
    blocking(&state, find).await.map(Json)
}

/// One demonstration
#[utoipa::path(get, path = "/api/demonstrations/{id}", tag = "demonstrations",
    params(("id" = i64, Path)),
    responses((status = 200, description = "as it stands", body = DemonstrationView),
        (status = 404, description = "there is none", body = Problem),
        (status = 409, description = "it is still being found", body = Problem)))]
pub async fn one(
    State(state): State<Shared>,
    Path(id): Path<i64>,
) -> Result<Json<DemonstrationView>, Problem> {
    blocking(&state, move |state| finding::view(state, id)).await.map(Json)
}

/// Forget a demonstration
#[utoipa::path(delete, path = "/api/demonstrations/{id}", tag = "demonstrations",
    params(("id" = i64, Path)),
    responses((status = 204, description = "it is gone"),
        (status = 404, description = "there is none", body = Problem)))]
pub async fn remove(
    State(state): State<Shared>,
    Path(id): Path<i64>,
) -> Result<StatusCode, Problem> {
    let forget = move |state: &Server| match demonstrations::remove(&state.store, id)? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::missing("demonstration")),
    };
    blocking(&state, forget).await
}

/// Change a demonstration
#[utoipa::path(post, path = "/api/demonstrations/{id}/changes", tag = "demonstrations",
    params(("id" = i64, Path)), request_body = Change,
    responses(BodyProblems, (status = 200, description = "as it stands now", body = DemonstrationView),
        (status = 404, description = "no such demonstration, step, clip or video", body = Problem),
        (status = 409, description = "not possible as things stand", body = Problem)))]
pub async fn change(
    State(state): State<Shared>,
    Path(id): Path<i64>,
    Json(change): Json<Change>,
) -> Result<Json<DemonstrationView>, Problem> {
    blocking(&state, move |state| finding::change(state, id, &change)).await.map(Json)
}

/// Make a video of a demonstration as it stands
#[utoipa::path(post, path = "/api/demonstrations/{id}/renders", tag = "demonstrations",
    params(("id" = i64, Path)), request_body = Looks,
    responses(BodyProblems, (status = 202, description = "the job that makes it", body = Job),
        (status = 404, description = "there is none", body = Problem),
        (status = 409, description = "it is still being found", body = Problem),
        (status = 429, description = "too many jobs wait", body = Problem)))]
pub async fn render(
    State(state): State<Shared>,
    Path(id): Path<i64>,
    Json(looks): Json<Looks>,
) -> Result<(StatusCode, Json<Job>), Problem> {
    let begin = move |state: &Server| {
        looks.check()?;
        let (_, revision) = finding::standing(state, id)?;
        let work = Work::Render { demonstration: id, revision: revision.number, options: looks };
        enter(state, &work)
    };
    Ok((StatusCode::ACCEPTED, Json(blocking(&state, begin).await?)))
}

/// A demonstration for another program
#[utoipa::path(get, path = "/api/demonstrations/{id}/exports/{name}", tag = "demonstrations",
    params(("id" = i64, Path),
        ("name" = String, Path, description = "the file extension of a format, as `json`, `otio` or `credits.txt`")),
    responses((status = 200, description = "the file", content_type = "*/*", body = Vec<u8>),
        (status = 404, description = "no such demonstration or format", body = Problem),
        (status = 409, description = "it is still being found", body = Problem),
        (status = 422, description = "it shows nothing", body = Problem)))]
pub async fn export(
    State(state): State<Shared>,
    Path((id, name)): Path<(i64, String)>,
) -> Result<Response, Problem> {
    let format = Format::by_extension(&name).ok_or_else(|| Problem::missing("format"))?;
    let text = blocking(&state, move |state| export_text(state, id, format)).await?;
    let disposition = format!("attachment; filename=\"demonstration-{id}.{}\"", format.extension);
    let headers = [
        (header::CONTENT_TYPE, format.media_type.to_owned()),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    Ok((headers, text).into_response())
}

fn export_text(state: &Server, id: i64, format: &Format) -> Result<String, Problem> {
    let (_, revision) = finding::standing(state, id)?;
    let looks = looks_of(state, id)?;
    let demonstration = &revision.answer;
    let plan = Plan::new(demonstration, &looks.options(), &Silent)?;
    let (video, cache) = (format!("demonstration-{id}.mp4"), state.cuts());
    let export =
        Export { demonstration, plan: &plan, video: &video, cache: &cache, progress: &Silent };
    Ok(format.text(&export)?)
}

/// How the demonstration was last rendered: its exports have the same times.
fn looks_of(state: &Server, id: i64) -> Result<Looks, Problem> {
    let job = state.jobs.newest(&state.store, Kind::Render, id)?;
    Ok(match job.and_then(|job| job.work) {
        Some(Work::Render { options, .. }) => options,
        _ => Looks::default(),
    })
}

/// What people chose, as pairs to learn from
#[utoipa::path(get, path = "/api/choices.jsonl", tag = "demonstrations",
    responses((status = 200, description = "one JSON object a line: the clip preferred and the clip \
        rejected for a step", content_type = "application/jsonl", body = String)))]
pub async fn choices(State(state): State<Shared>) -> Result<Response, Problem> {
    let lines = blocking(&state, |state| Ok(demonstrations::choices(&state.store)?)).await?;
    let headers = [
        (header::CONTENT_TYPE, "application/jsonl"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"choices.jsonl\""),
    ];
    Ok((headers, lines).into_response())
}
