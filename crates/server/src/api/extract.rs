//! Extractors whose errors are `ApiError`s, and types of responses.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{ApiError, Result};
use crate::state::{SharedState, State};

pub struct Json<T>(pub T);
pub struct Path<T>(pub T);
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let found = axum::Json::from_request(request, state).await;
        found.map(|found| Self(found.0)).map_err(|e| ApiError::new(e.status(), e.body_text()))
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

macro_rules! from_parts {
    ($name:ident, $rejected:expr) => {
        impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for $name<T> {
            type Rejection = ApiError;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self> {
                let found = axum::extract::$name::from_request_parts(parts, state).await;
                found.map(|found| Self(found.0)).map_err($rejected)
            }
        }
    };
}

// An id that is not a number identifies nothing: 404, not 400.
from_parts!(Path, |_| ApiError::not_found("resource"));
from_parts!(Query, |error| ApiError::invalid(error.body_text()));

/// Runs work that reads files, queries SQLite or computes on a thread that may block. Never around a
/// response that streams or a body that is read: those would hold the thread for as long as the client likes.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(ApiError::internal)?
}

/// As [`blocking`], for work that runs ffmpeg: a few at a time. The permit is held until the work ends,
/// also when the client has gone; a client that goes while it waits leaves the queue.
pub async fn with_ffmpeg<T: Send + 'static>(
    state: &State,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let permit = state.ffmpeg.clone().acquire_owned().await.map_err(ApiError::internal)?;
    let work = move || {
        let _permit = permit;
        work()
    };
    blocking(work).await
}

/// The state of the server, as a parameter of handlers.
pub type AppState = axum::extract::State<SharedState>;
pub type Reply<T> = Result<Json<T>>;
/// With status 202.
pub type AcceptedReply<T> = Result<(StatusCode, Json<T>)>;

pub fn accepted<T>(result: T) -> (StatusCode, Json<T>) {
    (StatusCode::ACCEPTED, Json(result))
}

/// A text that browsers save as a file.
pub fn attachment(media_type: &'static str, name: &str, text: String) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers =
        [(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    (headers, text).into_response()
}
