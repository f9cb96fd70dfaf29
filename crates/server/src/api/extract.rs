//! Parts of a request, with errors told like all others, and work off the event loop.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Problem;
use crate::state::{Shared, State};

/// A body of JSON.
pub struct Json<T>(pub T);

/// Values in the path.
pub struct Path<T>(pub T);

/// Values after the question mark.
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let told = |e: JsonRejection| Problem::new(e.status(), e.body_text());
        axum::Json::from_request(request, state)
            .await
            .map(|axum::Json(found)| Self(found))
            .map_err(told)
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        // Whatever is no number is no address of anything here.
        let told = |_: PathRejection| Problem::missing("thing");
        let found = axum::extract::Path::from_request_parts(parts, state).await;
        found.map(|axum::extract::Path(found)| Self(found)).map_err(told)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let told =
            |e: QueryRejection| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, e.body_text());
        let found = axum::extract::Query::from_request_parts(parts, state).await;
        found.map(|axum::extract::Query(found)| Self(found)).map_err(told)
    }
}

/// Runs what reads disks or computes where it holds nobody up.
pub async fn blocking<T: Send + 'static>(
    state: &Shared,
    work: impl FnOnce(&State) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let state = state.clone();
    let done = tokio::task::spawn_blocking(move || work(&state)).await;
    done.unwrap_or_else(|error| Err(Problem::broken(error)))
}
