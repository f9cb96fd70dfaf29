//! Extractors whose errors are `ApiError`s, and types of responses.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ApiError;
use crate::state::SharedState;

pub struct Json<T>(pub T);
pub struct Path<T>(pub T);
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let rejected = |e: JsonRejection| ApiError::new(e.status(), e.body_text());
        let found = axum::Json::from_request(request, state).await;
        found.map(|axum::Json(found)| Self(found)).map_err(rejected)
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        // An id that is not a number identifies nothing: 404, not 400.
        let rejected = |_: PathRejection| ApiError::not_found("resource");
        let found = axum::extract::Path::from_request_parts(parts, state).await;
        found.map(|axum::extract::Path(found)| Self(found)).map_err(rejected)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let rejected = |e: QueryRejection| ApiError::invalid(e.body_text());
        let found = axum::extract::Query::from_request_parts(parts, state).await;
        found.map(|axum::extract::Query(found)| Self(found)).map_err(rejected)
    }
}

/// The state of the server, as a parameter of handlers.
pub type AppState = axum::extract::State<SharedState>;
pub type Reply<T> = Result<Json<T>, ApiError>;
/// With status 202.
pub type AcceptedReply<T> = Result<(StatusCode, Json<T>), ApiError>;

pub fn accepted<T>(result: T) -> AcceptedReply<T> {
    Ok((StatusCode::ACCEPTED, Json(result)))
}

/// A text that browsers save as a file.
pub fn attachment(media_type: &'static str, name: &str, text: String) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers =
        [(header::CONTENT_TYPE, media_type.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    (headers, text).into_response()
}
