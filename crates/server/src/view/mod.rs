//! The pages, rendered on the server; the script adds what happens afterwards.

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

use crate::api::extract::{AppState, Json, Path, Query};
use crate::api::library::SearchQuery;
use crate::editor;
use crate::error::ApiError;
use crate::jobs::JobKind;
use crate::state::{SharedState, State as Server};
use crate::wire::Change;
use layout::{error_page, respond};

/// The pages, and the API's description.
pub fn routes(description: OpenApi) -> Router<SharedState> {
    Router::new()
        .route("/api/openapi.json", get(move || async move { Plain(description).into_response() }))
        .route("/", get(library))
        .route("/hits", get(search_results))
        .route("/new", get(new))
        .route("/demonstrations/{id}", get(demonstration))
        .route("/demonstrations/{id}/changes", post(change))
        .route("/demonstrations/{id}/rendered", get(rendered))
        .route("/study", get(study))
        .route("/study/{key}", get(study_next))
        .route("/study/{key}/{number}", get(study_pair))
        .route("/assets/{version}/{name}", get(asset))
}

/// The response of unknown paths: JSON under /api/, else a page.
pub async fn not_found(State(state): AppState, uri: Uri) -> Response {
    let error = ApiError::not_found("page");
    match uri.path().starts_with("/api/") {
        true => error.into_response(),
        false => error_page(&state, &error),
    }
}

/// A page, or the error as one.
fn page(state: &Server, page: Result<Markup, ApiError>) -> Response {
    match page {
        Ok(page) => respond(StatusCode::OK, page),
        Err(error) => error_page(state, &error),
    }
}

/// A part of a page, which the script inserts.
type Fragment = Result<Response, ApiError>;

async fn library(State(state): AppState, uri: Uri) -> Response {
    page(&state, library::library(&state, uri.query() == Some("all")))
}

async fn search_results(State(state): AppState, query: Query<SearchQuery>) -> Fragment {
    Ok(respond(StatusCode::OK, library::search_results(&state, &query.0.q)?))
}

async fn new(State(state): AppState) -> Response {
    respond(StatusCode::OK, new::new(&state))
}

async fn demonstration(State(state): AppState, id: Result<Path<i64>, ApiError>) -> Response {
    page(&state, id.and_then(|Path(id)| demonstration::demonstration(&state, id)))
}

async fn change(
    State(state): AppState,
    Path(id): Path<i64>,
    Json(change): Json<Change>,
) -> Fragment {
    let view = editor::change(&state, id, &change)?;
    Ok(respond(StatusCode::OK, demonstration::fragment(&state, &view)?))
}

async fn rendered(State(state): AppState, Path(id): Path<i64>) -> Fragment {
    let view = editor::view(&state, id)?;
    let job = state.jobs.newest(JobKind::Render, id)?;
    let job = job.ok_or_else(|| ApiError::not_found("video"))?;
    Ok(respond(StatusCode::OK, demonstration::rendered(&view, &job)))
}

async fn study(State(state): AppState) -> Response {
    page(&state, study::introduction(&state))
}

async fn study_next(State(state): AppState, Parts(key): Parts<String>) -> Response {
    match study::next(&state, &key) {
        Ok(Some(number)) => Redirect::to(&format!("/study/{key}/{number}")).into_response(),
        Ok(None) => page(&state, study::done(&state, &key)),
        Err(error) => error_page(&state, &error),
    }
}

async fn study_pair(
    State(state): AppState,
    trial: Result<Path<(String, usize)>, ApiError>,
) -> Response {
    page(&state, trial.and_then(|Path((key, number))| study::pair(&state, &key, number)))
}

async fn asset(Path((version, name)): Path<(String, String)>) -> Result<Response, ApiError> {
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
