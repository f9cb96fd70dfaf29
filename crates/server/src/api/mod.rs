//! The HTTP interface, and its description out of the same code.

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

use crate::settings::Limits;
use crate::state::Shared;

#[derive(OpenApi)]
#[openapi(info(
    title = "stitch",
    description = "One video that shows every step of a written procedure."
))]
struct Interface;

/// The routes and what they are described as.
pub fn routes(limits: &Limits) -> (Router<Shared>, Description) {
    let recipes = OpenApiRouter::new()
        .routes(routes!(procedures::read))
        .layer(DefaultBodyLimit::max(limits.recipe));
    let rest = OpenApiRouter::new()
        .routes(routes!(library::list))
        .routes(routes!(library::one))
        .routes(routes!(library::file))
        .routes(routes!(library::picture))
        .routes(routes!(library::search))
        .routes(routes!(jobs::index))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::one, jobs::cancel))
        .routes(routes!(jobs::events))
        .routes(routes!(jobs::video))
        .routes(routes!(demonstrations::create, demonstrations::list))
        .routes(routes!(demonstrations::one, demonstrations::remove))
        .routes(routes!(demonstrations::change))
        .routes(routes!(demonstrations::render))
        .routes(routes!(demonstrations::export))
        .routes(routes!(demonstrations::choices))
        .routes(routes!(study::admit))
        .routes(routes!(study::progress))
        .routes(routes!(study::pair, study::answer))
        .routes(routes!(study::side))
        .routes(routes!(study::csv))
        .routes(routes!(study::battles))
        .layer(DefaultBodyLimit::max(limits.body));
    OpenApiRouter::with_openapi(Interface::openapi()).merge(recipes).merge(rest).split_for_parts()
}
