//! Errors: of requests, each with its HTTP status, and of opening the server or a study.

use std::path::PathBuf;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stitch_core::procedure::ProcedureError;
use stitch_engine::demonstrate::DemonstrateError;
use stitch_engine::demonstrate::prefer::PreferenceError;
use stitch_engine::export::ExportError;
use stitch_engine::files::FileError;
use stitch_engine::index::IndexError;
use stitch_engine::library::LibraryError;
use stitch_engine::media::MediaError;
use stitch_engine::options::OptionError;
use stitch_engine::recipe::RecipeError;
use stitch_engine::render::RenderError;
use stitch_engine::voice::VoiceError;
use utoipa::ToSchema;

/// Why the server or a study cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "{} cannot be used ({source}); check that its disk is not full; make a copy first \
         before you repair or move it",
        file.display()
    )]
    Database { file: PathBuf, source: rusqlite::Error },
    #[error(
        "{} has format {found}, this program reads {expected}: a newer stitch wrote it; update this one",
        file.display()
    )]
    NewerVersion { file: PathBuf, found: i64, expected: i64 },
    #[error(
        "process {pid} serves {} already; open its page (agents: its address with /mcp), or stop it first",
        folder.display()
    )]
    Served { folder: PathBuf, pid: String },
    #[error("{} is not a study ({reason}); create one with `stitch study new`", file.display())]
    Study { file: PathBuf, reason: String },
    #[error(
        "{} holds a study already, whose answers would count for this one; choose another folder, or keep \
         its answers aside with --force",
        folder.display()
    )]
    OldStudy { folder: PathBuf },
    #[error(
        "standard input is no client of the Model Context Protocol ({0}); let an agent program start \
         `stitch mcp`, or use `stitch serve`"
    )]
    NoAgent(Box<rmcp::service::ServerInitializeError>),
    #[error("the server failed: {0}")]
    Network(#[from] std::io::Error),
}

pub type Result<T, E = ApiError> = std::result::Result<T, E>;

/// The error response of a request
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ApiError {
    /// What is wrong, and what to do
    pub error: String,
    #[serde(skip)]
    #[schema(ignore)]
    pub status: StatusCode,
}

impl ApiError {
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { error: error.into(), status }
    }

    /// 404.
    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no such {what}"))
    }

    /// 422: the request is well-formed, but its values are not allowed.
    pub fn invalid(error: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error)
    }

    /// 409: not possible in the current state.
    pub fn conflict(error: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, error)
    }

    /// 500, which is also logged.
    pub fn internal(error: impl std::fmt::Display) -> Self {
        let error = error.to_string();
        tracing::error!(%error, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}

/// Error responses of every request with a JSON body.
#[derive(utoipa::IntoResponses)]
#[allow(dead_code)] // only described
pub enum BodyErrors {
    /// the body is not JSON
    #[response(status = 400)]
    Malformed(ApiError),
    /// the body is too large
    #[response(status = 413)]
    TooLarge(ApiError),
    /// the content type is not JSON
    #[response(status = 415)]
    NotJson(ApiError),
    /// the values are not allowed
    #[response(status = 422)]
    Invalid(ApiError),
}

/// The error response of every request that names something.
#[derive(utoipa::IntoResponses)]
#[allow(dead_code)] // only described
pub enum NotFound {
    /// there is none
    #[response(status = 404)]
    NotFound(ApiError),
}

/// The error of queries to an empty library.
pub const NO_CLIPS: &str = "the library has no clips yet; add a folder of videos first";

impl From<LibraryError> for ApiError {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::NoSuchVideo { .. } => Self::not_found("video"),
            LibraryError::Empty { .. } => Self::conflict(NO_CLIPS),
            error => Self::internal(error),
        }
    }
}

impl From<DemonstrateError> for ApiError {
    fn from(error: DemonstrateError) -> Self {
        match error {
            DemonstrateError::Library(error) => error.into(),
            DemonstrateError::NoSource => {
                Self::invalid("no video in the library passes these source filters; relax them")
            }
            error => Self::internal(error),
        }
    }
}

impl From<RenderError> for ApiError {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Nothing => Self::invalid(error.to_string()),
            RenderError::Stopped(_) | RenderError::Media(MediaError::Stopped(_)) => {
                Self::conflict(error.to_string())
            }
            error => Self::internal(error),
        }
    }
}

impl From<rusqlite::Error> for ApiError {
    fn from(error: rusqlite::Error) -> Self {
        Self::internal(format!("the database failed ({error}); check that its disk is not full"))
    }
}

macro_rules! status_of {
    ($status:ident: $($error:ty),*) => {
        $(impl From<$error> for ApiError {
            fn from(error: $error) -> Self {
                Self::$status(error.to_string())
            }
        })*
    };
}

status_of!(invalid: IndexError, OptionError, PreferenceError, ProcedureError, RecipeError, VoiceError);
status_of!(internal: ExportError, FileError, std::io::Error);

#[cfg(test)]
mod tests {
    use stitch_engine::progress::Stopped;

    use super::*;

    #[test]
    fn a_render_that_was_cancelled_is_no_failure_of_the_server() {
        for stopped in [RenderError::from(Stopped), MediaError::from(Stopped).into()] {
            assert_eq!(ApiError::from(stopped).status, StatusCode::CONFLICT);
        }
    }
}
