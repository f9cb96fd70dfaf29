//! Why a request has no answer: one mapping from errors to statuses.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use stitch_engine::demonstrate::DemonstrateError;
use stitch_engine::export::ExportError;
use stitch_engine::library::LibraryError;
use stitch_engine::media::MediaError;
use stitch_engine::options::OptionError;
use stitch_engine::recipe::RecipeError;
use stitch_engine::render::RenderError;
use utoipa::ToSchema;

/// What is sent instead of an answer.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Problem {
    /// What is wrong, and what to do.
    pub error: String,
    #[serde(skip)]
    #[schema(ignore)]
    status: StatusCode,
}

impl Problem {
    /// A problem with this status.
    pub fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { error: error.into(), status }
    }

    /// Nothing stands under this address.
    pub fn missing(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("there is no such {what}"))
    }

    /// The request makes no sense.
    pub fn wrong(error: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error)
    }

    /// The request made sense once; the page is behind.
    pub fn conflict(error: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, error)
    }

    /// The fault is here.
    pub fn broken(error: impl std::fmt::Display) -> Self {
        let error = error.to_string();
        tracing::error!(%error, "a request failed");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }

    /// The status it is sent with.
    pub fn status(&self) -> StatusCode {
        self.status
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}

impl From<LibraryError> for Problem {
    fn from(error: LibraryError) -> Self {
        match error {
            LibraryError::NoSuchVideo { .. } => Self::missing("video"),
            LibraryError::Empty { .. } => Self::conflict(NO_CLIPS),
            error => Self::broken(error),
        }
    }
}

/// What may be wrong with any body of JSON.
#[derive(utoipa::IntoResponses)]
#[allow(dead_code)] // only described
pub enum BodyProblems {
    /// It is no JSON.
    #[response(status = 400)]
    Malformed(Problem),
    /// It is too large.
    #[response(status = 413)]
    TooLarge(Problem),
    /// It is not sent as JSON.
    #[response(status = 415)]
    NotJson(Problem),
    /// It makes no sense.
    #[response(status = 422)]
    Nonsense(Problem),
}

/// What is said while the library has nothing to show.
pub const NO_CLIPS: &str = "the library has no clips yet; add a folder of videos first";

impl From<DemonstrateError> for Problem {
    fn from(error: DemonstrateError) -> Self {
        match error {
            DemonstrateError::Library(error) => error.into(),
            DemonstrateError::NoSource => {
                Self::wrong("no video of the library passes these source options; ask for less")
            }
            error => Self::broken(error),
        }
    }
}

impl From<OptionError> for Problem {
    fn from(error: OptionError) -> Self {
        Self::wrong(error.to_string())
    }
}

impl From<RecipeError> for Problem {
    fn from(error: RecipeError) -> Self {
        Self::wrong(error.to_string())
    }
}

impl From<RenderError> for Problem {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Nothing => Self::wrong(error.to_string()),
            error => Self::broken(error),
        }
    }
}

impl From<ExportError> for Problem {
    fn from(error: ExportError) -> Self {
        Self::broken(error)
    }
}

impl From<MediaError> for Problem {
    fn from(error: MediaError) -> Self {
        Self::broken(error)
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::broken(format!("the page's database failed ({error}); see that its disk is not full"))
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self::broken(error)
    }
}
