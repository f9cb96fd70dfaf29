//! The pages, rendered on the server; the script adds what happens afterwards.

mod layout;
mod library;
mod new;
mod demonstration;
mod compare;
mod batch;
mod shared;
mod study;

use axum::extract::{Path as Parts, Request, State};
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Json as Plain, Router};
use maud::Markup;
use stitch_engine::files::mark_used;
use utoipa::openapi::OpenApi;

use crate::api::extract::{AppState, Json, Path, Query, blocking};
use crate::api::library::{SearchQuery, send_file};
use crate::editor;
use crate::error::{ApiError, Result};
use crate::guard::Access;
use crate::jobs::JobKind;
use crate::shares;
use crate::state::{SharedState, State as Server};
use crate::wire::Change;
use compare::Versions;
use layout::{error_page, respond};

/// What the visitor of a page may use, as a parameter of handlers.
type Visitor = Extension<Access>;

/// The pages, and the API's description.
pub fn routes(description: OpenApi) -> Router<SharedState> {
    Router::new()
        .route("/api/openapi.json", get(move || async move { Plain(description).into_response() }))
        .route("/health", get(|| async { "ok\n" }))
        .route("/", get(library))
        .route("/hits", get(search_results))
        .route("/new", get(new))
        .route("/batch", get(batch))
        .route("/demonstrations/{id}", get(demonstration))
        .route("/demonstrations/{id}/compare", get(compare))
        .route("/demonstrations/{id}/changes", post(change))
        .route("/demonstrations/{id}/rendered", get(rendered))
        .route("/shared/{token}", get(shared))
        .route("/shared/{token}/video", get(shared_video))
        .route("/study", get(study))
        .route("/study/{key}", get(study_next))
        .route("/study/{key}/{number}", get(study_pair))
        .route("/assets/{version}/{name}", get(asset))
}

/// The response of unknown paths: JSON under /api/, else a page.
pub async fn not_found(State(state): AppState, Extension(access): Visitor, uri: Uri) -> Response {
    let error = ApiError::not_found("page");
    match uri.path().starts_with("/api/") {
        true => error.into_response(),
        false => error_page(&state, access, &error),
    }
}

/// A page, or the error as one.
async fn page(
    state: SharedState,
    access: Access,
    make: impl FnOnce(&Server) -> Result<Markup> + Send + 'static,
) -> Response {
    let server = state.clone();
    match blocking(move || make(&server)).await {
        Ok(page) => respond(StatusCode::OK, page),
        Err(error) => error_page(&state, access, &error),
    }
}

/// A part of a page, which the script inserts.
async fn fragment(make: impl FnOnce() -> Result<Markup> + Send + 'static) -> Result<Response> {
    Ok(respond(StatusCode::OK, blocking(make).await?))
}

async fn library(State(state): AppState, Extension(access): Visitor, uri: Uri) -> Response {
    page(state, access, move |state| library::library(state, uri.query() == Some("all"))).await
}

async fn search_results(
    State(state): AppState,
    Query(SearchQuery { q }): Query<SearchQuery>,
) -> Result<Response> {
    fragment(move || library::search_results(&state, &q)).await
}

async fn new(State(state): AppState) -> Response {
    respond(StatusCode::OK, new::new(&state))
}

async fn demonstration(
    State(state): AppState,
    Extension(access): Visitor,
    id: Result<Path<i64>>,
) -> Response {
    page(state, access, |state| demonstration::demonstration(state, id?.0)).await
}

async fn batch(State(state): AppState, Extension(access): Visitor) -> Response {
    page(state, access, batch::batch).await
}

async fn compare(
    State(state): AppState,
    Extension(access): Visitor,
    id: Result<Path<i64>>,
    versions: Result<Query<Versions>>,
) -> Response {
    page(state, access, |state| compare::compare(state, id?.0, versions?.0)).await
}

async fn shared(
    State(state): AppState,
    Extension(access): Visitor,
    Parts(token): Parts<String>,
) -> Response {
    page(state, access, move |state| shared::shared(state, &token)).await
}

async fn shared_video(
    State(state): AppState,
    Parts(token): Parts<String>,
    request: Request,
) -> Result<Response> {
    let find = move || {
        let file = state.render_file(shares::open(&state, &token)?.job);
        mark_used(&file);
        Ok(file)
    };
    send_file(blocking(find).await?, request).await
}

async fn change(
    State(state): AppState,
    Path(id): Path<i64>,
    Json(change): Json<Change>,
) -> Result<Response> {
    let apply = move || demonstration::fragment(&state, &editor::change(&state, id, &change)?);
    fragment(apply).await
}

async fn rendered(State(state): AppState, Path(id): Path<i64>) -> Result<Response> {
    let rendered = move || {
        let view = editor::view(&state, id)?;
        let job = state.jobs.newest(JobKind::Render, id)?;
        Ok(demonstration::rendered(&view, &job.ok_or_else(|| ApiError::not_found("video"))?))
    };
    fragment(rendered).await
}

async fn study(State(state): AppState, Extension(access): Visitor) -> Response {
    page(state, access, move |state| study::introduction(state, access)).await
}

async fn study_next(
    State(state): AppState,
    Extension(access): Visitor,
    Parts(key): Parts<String>,
) -> Response {
    let (server, rater) = (state.clone(), key.clone());
    match blocking(move || study::next(&server, &rater)).await {
        Ok(Some(number)) => Redirect::to(&format!("/study/{key}/{number}")).into_response(),
        Ok(None) => page(state, access, move |state| study::done(state, access, &key)).await,
        Err(error) => error_page(&state, access, &error),
    }
}

async fn study_pair(
    State(state): AppState,
    Extension(access): Visitor,
    trial: Result<Path<(String, usize)>>,
) -> Response {
    let pair = move |state: &Server| {
        let Path((key, number)) = trial?;
        study::pair(state, access, &key, number)
    };
    page(state, access, pair).await
}

async fn asset(Path((version, name)): Path<(String, String)>) -> Result<Response> {
    let (media_type, text) = match name.as_str() {
        "page.css" => ("text/css; charset=utf-8", layout::STYLE),
        "page.js" => ("text/javascript; charset=utf-8", layout::SCRIPT),
        "icon.svg" => ("image/svg+xml", layout::ICON),
        _ => return Err(ApiError::not_found("file")),
    };
    let current = version == *layout::VERSION;
    let cache = if current { "public, max-age=31536000, immutable" } else { "no-store" };
    Ok(([(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, cache)], text).into_response())
}
