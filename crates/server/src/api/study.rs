//! The preference study: raters, their pairs and answers, and exports.

use std::collections::BTreeMap;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use stitch_core::format::fold;
use utoipa::ToSchema;

use super::extract::{AppState, Json, Path, Reply, attachment, blocking};
use super::library::{VideoFile, send_file};
use crate::error::{ApiError, BodyErrors, NotFound, Result};
use crate::settings::{random_bytes, random_token};
use crate::state::State as Server;
use crate::study::{self, QUESTIONS, Rater, Study, Trial, Verdict, trials};

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRater {
    /// Up to 100 characters
    pub name: String,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct RaterProgress {
    /// The rater's secret key
    pub rater: String,
    /// The number of pairs
    pub pairs: usize,
    /// The number of answered pairs
    pub answered: usize,
    /// The first pair without an answer, in the rater's order from 1
    pub next: Option<usize>,
}

/// A pair as a rater sees it, without the methods' names
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PairView {
    /// Its position in the rater's order, from 1
    pub number: usize,
    pub title: String,
    pub steps: Vec<StepTimes>,
    /// The rater's earlier verdicts, by question
    pub said: BTreeMap<String, String>,
}

/// When a step is shown on each side, in milliseconds
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StepTimes {
    pub text: String,
    pub left: Option<[u64; 2]>,
    pub right: Option<[u64; 2]>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdicts {
    /// Which shows the steps better
    pub steps: Verdict,
    /// Which leads to the goal better
    pub goal: Verdict,
    /// Which looks better
    pub quality: Verdict,
    /// Which is better overall
    pub overall: Verdict,
    /// How long the rater looked at the pair
    #[serde(default)]
    #[schema(minimum = 0, maximum = 86400)]
    pub seconds: f64,
}

pub fn open(state: &Server) -> Result<&Study> {
    let none = "there is no study here; start the server with --study FOLDER";
    state.study.as_ref().ok_or_else(|| ApiError::new(StatusCode::NOT_FOUND, none))
}

pub fn rater(state: &Server, key: &str) -> Result<Rater> {
    open(state)?.rater(key)?.ok_or_else(|| ApiError::not_found("rater"))
}

/// The trial at a position in the rater's order, from 1.
fn trial(study: &Study, rater: &Rater, number: usize) -> Result<Trial> {
    let all = trials(study.plan.pairs.len(), rater.seed);
    let found = number.checked_sub(1).and_then(|index| all.get(index));
    found.copied().ok_or_else(|| ApiError::not_found("pair"))
}

pub fn progress_of(state: &Server, rater: &Rater) -> Result<RaterProgress> {
    let study = open(state)?;
    let answered = study.answered(rater)?;
    let all = trials(study.plan.pairs.len(), rater.seed);
    let next = all.iter().position(|trial| !answered.contains(&trial.pair)).map(|index| index + 1);
    let rater = rater.key.clone();
    Ok(RaterProgress { rater, pairs: all.len(), answered: answered.len(), next })
}

pub fn pair_view(state: &Server, key: &str, number: usize) -> Result<PairView> {
    let (study, rater) = (open(state)?, rater(state, key)?);
    let trial = trial(study, &rater, number)?;
    let sample = study.plan.pairs.get(trial.pair).and_then(|p| study.plan.samples.get(p.sample));
    let sample = sample.ok_or_else(|| ApiError::not_found("pair"))?;
    let times = |left: bool, step: usize| {
        let times = study.side(trial, left)?.steps.get(step).copied().flatten();
        times.map(|(start, end)| [start, end])
    };
    let step = |(step, text): (usize, &String)| StepTimes {
        text: text.clone(),
        left: times(true, step),
        right: times(false, step),
    };
    Ok(PairView {
        number,
        title: sample.title.clone(),
        steps: sample.steps.iter().enumerate().map(step).collect(),
        said: study.verdicts(&rater, trial.pair)?,
    })
}

/// Add a rater
#[utoipa::path(post, path = "/api/study/raters", tag = "study", request_body = NewRater,
    responses(BodyErrors, NotFound, (status = 200, description = "the rater's key", body = RaterProgress)))]
pub async fn add_rater(
    State(state): AppState,
    Json(NewRater { name }): Json<NewRater>,
) -> Reply<RaterProgress> {
    let name = fold(&name);
    if name.is_empty() || name.chars().count() > 100 {
        return Err(ApiError::invalid("the name must have 1 to 100 characters"));
    }
    let add = move || {
        // SQLite's integers are signed.
        let seed = u64::from_be_bytes(random_bytes()?) >> 1;
        let rater = Rater { key: random_token()?, name, seed };
        open(&state)?.add_rater(&rater)?;
        progress_of(&state, &rater)
    };
    blocking(add).await.map(Json)
}

/// Get a rater's progress
#[utoipa::path(get, path = "/api/study/raters/{key}", tag = "study", params(("key" = String, Path)),
    responses(NotFound, (status = 200, description = "the progress", body = RaterProgress)))]
pub async fn progress(State(state): AppState, Path(key): Path<String>) -> Reply<RaterProgress> {
    blocking(move || progress_of(&state, &rater(&state, &key)?)).await.map(Json)
}

/// Get a pair
#[utoipa::path(get, path = "/api/study/raters/{key}/pairs/{number}", tag = "study",
    params(("key" = String, Path), ("number" = usize, Path)),
    responses(NotFound, (status = 200, description = "the pair", body = PairView)))]
pub async fn pair(
    State(state): AppState,
    Path((key, number)): Path<(String, usize)>,
) -> Reply<PairView> {
    blocking(move || pair_view(&state, &key, number)).await.map(Json)
}

/// Answer the questions about a pair
#[utoipa::path(post, path = "/api/study/raters/{key}/pairs/{number}", tag = "study",
    params(("key" = String, Path), ("number" = usize, Path)), request_body = Verdicts,
    responses(BodyErrors, NotFound, (status = 200, description = "the new progress", body = RaterProgress)))]
pub async fn answer(
    State(state): AppState,
    Path((key, number)): Path<(String, usize)>,
    Json(verdicts): Json<Verdicts>,
) -> Reply<RaterProgress> {
    let save = move || {
        let (study, rater) = (open(&state)?, rater(&state, &key)?);
        let trial = trial(study, &rater, number)?;
        let Verdicts { steps, goal, quality, overall, seconds } = verdicts;
        if !(0.0..=86_400.0).contains(&seconds) {
            return Err(ApiError::invalid("seconds must be from 0 to 86400"));
        }
        let names = QUESTIONS.map(|(name, _, _)| name);
        let verdicts: Vec<_> = names.into_iter().zip([steps, goal, quality, overall]).collect();
        study.answer(&rater, trial, &verdicts, seconds)?;
        progress_of(&state, &rater)
    };
    blocking(save).await.map(Json)
}

/// Get the video on one side of a pair
#[utoipa::path(get, path = "/api/study/raters/{key}/pairs/{number}/{side}", tag = "study",
    params(("key" = String, Path), ("number" = usize, Path),
        ("side" = String, Path, description = "left or right")),
    responses(VideoFile, NotFound))]
pub async fn side(
    State(state): AppState,
    Path((key, number, side)): Path<(String, usize, String)>,
    request: Request,
) -> Result<Response> {
    let find = move || {
        let study = open(&state)?;
        let trial = trial(study, &rater(&state, &key)?, number)?;
        let file = match side.as_str() {
            "left" => study.file(trial, true),
            "right" => study.file(trial, false),
            _ => None,
        };
        file.ok_or_else(|| ApiError::not_found("video"))
    };
    send_file(blocking(find).await?, request).await
}

/// Export all answers as CSV
#[utoipa::path(get, path = "/api/study/answers.csv", tag = "study",
    responses(NotFound, (status = 200, description = "one answer per line", content_type = "text/csv", body = String)))]
pub async fn csv(State(state): AppState) -> Result<Response> {
    let text = blocking(move || Ok(study::csv(&open(&state)?.answers()?))).await?;
    Ok(attachment("text/csv; charset=utf-8", "answers.csv", text))
}

/// Export all answers as battles in the format of LMArena
#[utoipa::path(get, path = "/api/study/battles.jsonl", tag = "study",
    responses(NotFound, (status = 200, description = "JSON lines", content_type = "application/jsonl", body = String)))]
pub async fn battles(State(state): AppState) -> Result<Response> {
    let text = blocking(move || Ok(study::battles(&open(&state)?.answers()?))).await?;
    Ok(attachment("application/jsonl", "battles.jsonl", text))
}
