//! The pages, rendered here; the script only fills in what happens later.

mod layout;
mod library;
mod new;
mod demonstration;
mod study;

use axum::extract::{Path as Parts, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json as Plain, Router};
use maud::Markup;
use utoipa::openapi::OpenApi;

use crate::api::extract::{Json, Path, Query, blocking};
use crate::api::library::Wanted;
use crate::error::Problem;
use crate::finding;
use crate::jobs::Kind;
use crate::state::{Shared, State as Server};
use crate::wire::Change;
use layout::{answer, respond};

/// The pages, and the description of the interface.
pub fn routes(description: OpenApi) -> Router<Shared> {
    Router::new()
        .route("/api/openapi.json", get(move || async move { Plain(description).into_response() }))
        .route("/", get(library))
        .route("/hits", get(hits))
        .route("/new", get(new))
        .route("/demonstrations/{id}", get(demonstration))
        .route("/demonstrations/{id}/changes", post(change))
        .route("/demonstrations/{id}/rendered", get(rendered))
        .route("/study", get(study))
        .route("/study/{key}", get(study_next))
        .route("/study/{key}/{number}", get(study_pair))
        .route("/assets/{version}/{name}", get(asset))
}

/// What is under no address: told as a page, to programs as JSON.
pub async fn missing(State(state): State<Shared>, uri: Uri) -> Response {
    let problem = Problem::missing("page");
    match uri.path().starts_with("/api/") {
        true => problem.into_response(),
        false => layout::sorry(&state, &problem),
    }
}

/// A page made where it holds nobody up.
async fn made(
    state: Shared,
    make: impl FnOnce(&Server) -> Result<Markup, Problem> + Send + 'static,
) -> Response {
    let page = blocking(&state, make).await;
    answer(&state, page)
}

async fn library(State(state): State<Shared>, uri: Uri) -> Response {
    let all = uri.query() == Some("all");
    made(state, move |state| library::library(state, all)).await
}

async fn hits(State(state): State<Shared>, wanted: Query<Wanted>) -> Result<Response, Problem> {
    let found = blocking(&state, move |state| library::hits(state, &wanted.0.q)).await?;
    Ok(respond(StatusCode::OK, found))
}

async fn new(State(state): State<Shared>) -> Response {
    made(state, |state| Ok(new::new(state))).await
}

async fn demonstration(State(state): State<Shared>, id: Result<Path<i64>, Problem>) -> Response {
    made(state, |state| demonstration::demonstration(state, id?.0)).await
}

/// Makes a change, and what of the page is different then.
async fn change(
    State(state): State<Shared>,
    Path(id): Path<i64>,
    Json(change): Json<Change>,
) -> Result<Response, Problem> {
    let apply = move |state: &Server| {
        let view = finding::change(state, id, &change)?;
        demonstration::fragment(state, &view)
    };
    Ok(respond(StatusCode::OK, blocking(&state, apply).await?))
}

async fn rendered(State(state): State<Shared>, Path(id): Path<i64>) -> Result<Response, Problem> {
    let show = move |state: &Server| {
        let view = finding::view(state, id)?;
        let job = state.jobs.newest(&state.store, Kind::Render, id)?;
        let job = job.ok_or_else(|| Problem::missing("video"))?;
        Ok(demonstration::rendered(&view, &job))
    };
    Ok(respond(StatusCode::OK, blocking(&state, show).await?))
}

async fn study(State(state): State<Shared>) -> Response {
    made(state, study::welcome).await
}

async fn study_next(State(state): State<Shared>, Parts(key): Parts<String>) -> Response {
    let of = key.clone();
    match blocking(&state, move |state| study::next(state, &of)).await {
        Ok(Some(number)) => Redirect::to(&format!("/study/{key}/{number}")).into_response(),
        Ok(None) => made(state, move |state| study::done(state, &key)).await,
        Err(problem) => layout::sorry(&state, &problem),
    }
}

async fn study_pair(
    State(state): State<Shared>,
    place: Result<Path<(String, usize)>, Problem>,
) -> Response {
    made(state, |state| {
        let Path((key, number)) = place?;
        study::pair(state, &key, number)
    })
    .await
}

async fn asset(Path((version, name)): Path<(String, String)>) -> Result<Response, Problem> {
    let (kind, text) = match name.as_str() {
        "page.css" => ("text/css; charset=utf-8", layout::STYLE),
        "page.js" => ("text/javascript; charset=utf-8", layout::SCRIPT),
        "icon.svg" => ("image/svg+xml", layout::ICON),
        _ => return Err(Problem::missing("file")),
    };
    let current = version == *layout::VERSION;
    let kept = if current { "public, max-age=31536000, immutable" } else { "no-store" };
    Ok(([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, kept)], text).into_response())
}
