//! Reading a procedure out of whatever was pasted or dropped.

use axum::body::Bytes;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use stitch_core::procedure::Procedure;
use stitch_engine::recipe;
use utoipa::{IntoParams, ToSchema};

use super::extract::{Json, Query, blocking};
use crate::error::Problem;
use crate::settings::Limits;
use crate::state::Shared;

/// A procedure as it is sent and received.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcedureText {
    /// What it makes; may be empty.
    #[serde(default)]
    pub title: String,
    /// Its steps.
    #[schema(min_items = 1)]
    pub steps: Vec<String>,
}

impl ProcedureText {
    /// The procedure, within the limits.
    pub fn procedure(&self, limits: &Limits) -> Result<Procedure, Problem> {
        let letters = |text: &String| text.chars().count();
        let longest = self.steps.iter().chain([&self.title]).map(letters).max().unwrap_or(0);
        if longest > limits.letters {
            let most = limits.letters;
            return Err(Problem::wrong(format!("a step may have {most} letters; shorten it")));
        }
        let procedure = Procedure::new(&self.title, &self.steps)
            .map_err(|error| Problem::wrong(format!("{error}; write one step a line")))?;
        match procedure.steps().len() {
            steps if steps > limits.steps => Err(Problem::wrong(format!(
                "the procedure has {steps} steps, the most here is {}; split it into parts",
                limits.steps
            ))),
            _ => Ok(procedure),
        }
    }
}

/// What the text is called.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The name of the file, which may tell its form.
    #[serde(default)]
    pub name: String,
}

/// The steps in a text, Markdown, JSON or a recipe page
#[utoipa::path(post, path = "/api/procedures/read", tag = "demonstrations", params(Named),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, description = "its title and steps", body = ProcedureText),
        (status = 413, description = "too large", body = Problem),
        (status = 422, description = "no steps in it", body = Problem)))]
pub async fn read(
    State(state): State<Shared>,
    Query(Named { name }): Query<Named>,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<Json<ProcedureText>, Problem> {
    let bytes = body.map_err(|rejected| match rejected.status().as_u16() {
        413 => {
            let most = state.settings.limits.recipe >> 20;
            let why = format!("it is larger than {most} MiB; save only the recipe, as text");
            Problem::new(rejected.status(), why)
        }
        _ => Problem::new(rejected.status(), rejected.body_text()),
    })?;
    let parse = move |_: &crate::state::State| {
        let found = recipe::read_procedure(&name, &bytes)?.procedure;
        Ok(ProcedureText { title: found.title().into(), steps: found.steps().to_vec() })
    };
    blocking(&state, parse).await.map(Json)
}
