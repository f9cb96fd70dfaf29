//! The pages, rendered here; the script only fills in what happens later.

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::get;
use utoipa::openapi::OpenApi;

use crate::state::Shared;

/// The pages, and the description of the interface.
pub fn routes(description: OpenApi) -> Router<Shared> {
    Router::new().route(
        "/api/openapi.json",
        get(move || async move { axum::Json(description).into_response() }),
    )
}
