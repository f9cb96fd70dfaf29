//! Parses a procedure from a text or file.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stitch_core::procedure::Procedure;
use stitch_engine::recipe::{self, Labeller};
use stitch_engine::understand::language_hint;
use utoipa::{IntoParams, ToSchema};

use super::extract::{AppState, Json, Query, Reply, blocking};
use crate::error::{ApiError, Result};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcedureText {
    /// May be empty
    #[serde(default)]
    pub title: String,
    #[schema(min_items = 1)]
    pub steps: Vec<String>,
}

/// Limits of a procedure; chosen by hand.
const MAX_STEPS: usize = 200;
const MAX_STEP_CHARS: usize = 2000;
/// Of a text, file or recipe page.
pub const MAX_RECIPE_MIB: usize = 20;

impl ProcedureText {
    pub fn procedure(&self) -> Result<Procedure> {
        let chars = |text: &String| text.chars().count();
        if self.steps.iter().chain([&self.title]).any(|text| chars(text) > MAX_STEP_CHARS) {
            let error = format!("a step has at most {MAX_STEP_CHARS} characters; shorten it");
            return Err(ApiError::invalid(error));
        }
        let procedure = Procedure::new(&self.title, &self.steps)
            .map_err(|error| ApiError::invalid(format!("{error}; write one step per line")))?;
        match procedure.steps().len() {
            steps if steps > MAX_STEPS => Err(ApiError::invalid(format!(
                "the procedure has {steps} steps, at most {MAX_STEPS} are allowed; split it into parts"
            ))),
            _ => Ok(procedure),
        }
    }
}

/// What was read in a text
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ReadProcedure {
    /// May be empty
    pub title: String,
    pub steps: Vec<String>,
    /// Lines that are neither title nor step, in order; only for text and Markdown
    pub left_out: Vec<String>,
    /// What may be misunderstood, such as a language that is not English
    pub warnings: Vec<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct FileName {
    /// The name of the file; its extension may determine the format
    #[serde(default)]
    pub name: String,
}

/// Parse a procedure from text, Markdown, JSON or a recipe page
#[utoipa::path(post, path = "/api/procedures/read", tag = "demonstrations", params(FileName),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, description = "its title and steps, and what was left out", body = ReadProcedure),
        (status = 413, description = "too large", body = ApiError),
        (status = 422, description = "it has no steps", body = ApiError)))]
pub async fn read(
    State(state): AppState,
    Query(FileName { name }): Query<FileName>,
    body: Result<Bytes, BytesRejection>,
) -> Reply<ReadProcedure> {
    let bytes = body.map_err(|rejected| match rejected.status() {
        status @ StatusCode::PAYLOAD_TOO_LARGE => {
            let error = "save only the recipe, as text";
            ApiError::new(status, format!("it is larger than {MAX_RECIPE_MIB} MiB; {error}"))
        }
        status => ApiError::new(status, rejected.body_text()),
    })?;
    let read = move || {
        let sentence = state.resources.sentence.as_ref();
        let labeller: &dyn Labeller = sentence;
        let found = recipe::read_procedure(&name, &bytes, Some(labeller))?;
        let mut warnings = found.warnings();
        if state.resources.chat.is_none() {
            warnings.extend(language_hint(&found.procedure, sentence));
        }
        Ok(ReadProcedure {
            title: found.procedure.title().into(),
            steps: found.procedure.steps().to_vec(),
            left_out: found.left_out,
            warnings,
        })
    };
    blocking(read).await.map(Json)
}
