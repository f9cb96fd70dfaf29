//! The HTTP API, and its OpenAPI description generated from the handlers.

pub mod extract;
pub mod library;
pub mod jobs;
pub mod procedures;
pub mod demonstrations;
pub mod study;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Description;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::state::SharedState;

#[derive(OpenApi)]
#[openapi(info(
    title = "stitch",
    description = "One video that shows every step of a written procedure."
))]
struct Interface;

/// Of requests with JSON; chosen by hand.
const MAX_BODY_BYTES: usize = 1 << 20;

/// The routes and their description.
pub fn routes() -> (Router<SharedState>, Description) {
    let recipes = OpenApiRouter::new()
        .routes(routes!(procedures::read))
        .layer(DefaultBodyLimit::max(procedures::MAX_RECIPE_MIB << 20));
    let rest = OpenApiRouter::new()
        .routes(routes!(library::list))
        .routes(routes!(library::get))
        .routes(routes!(library::file))
        .routes(routes!(library::thumbnail))
        .routes(routes!(library::search))
        .routes(routes!(jobs::index))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::get, jobs::cancel))
        .routes(routes!(jobs::events))
        .routes(routes!(jobs::video))
        .routes(routes!(demonstrations::create, demonstrations::list))
        .routes(routes!(demonstrations::get, demonstrations::remove))
        .routes(routes!(demonstrations::change))
        .routes(routes!(demonstrations::render))
        .routes(routes!(demonstrations::export))
        .routes(routes!(demonstrations::share, demonstrations::unshare))
        .routes(routes!(demonstrations::choices))
        .routes(routes!(study::add_rater))
        .routes(routes!(study::progress))
        .routes(routes!(study::pair, study::answer))
        .routes(routes!(study::side))
        .routes(routes!(study::csv))
        .routes(routes!(study::battles))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
    OpenApiRouter::with_openapi(Interface::openapi()).merge(recipes).merge(rest).split_for_parts()
}
