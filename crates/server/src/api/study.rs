//! The preference study: raters, their pairs, what they say, and all of it for other programs.

use std::collections::BTreeMap;

use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use rand::TryRng;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Json, Path, blocking};
use super::library::send_file;
use crate::error::{BodyProblems, Problem};
use crate::state::{Shared, State as Server};
use crate::study::{self, QUESTIONS, Rater, Study, Turn, Verdict, turns};

/// Somebody who wants to rate.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Newcomer {
    /// What they call themselves, up to 100 letters.
    pub name: String,
}

/// How far a rater is.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Standing {
    /// The rater's key; it opens their page and nobody else's.
    pub rater: String,
    /// How many pairs there are.
    pub pairs: usize,
    /// How many are answered.
    pub answered: usize,
    /// The first pair without an answer, in the rater's order from 1.
    pub next: Option<usize>,
}

/// A pair as a rater sees it: nothing tells the methods.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PairView {
    /// Its place in the rater's order, from 1.
    pub number: usize,
    /// What the procedure makes.
    pub title: String,
    /// Its steps.
    pub steps: Vec<StepTimes>,
    /// What the rater has said of it, by question.
    pub said: BTreeMap<String, String>,
}

/// When a step is shown on either side, in milliseconds.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct StepTimes {
    /// The step.
    pub text: String,
    /// Its time on the left.
    pub left: Option<[u64; 2]>,
    /// Its time on the right.
    pub right: Option<[u64; 2]>,
}

/// What a rater says of a pair.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdicts {
    /// Which shows the steps better.
    pub steps: Verdict,
    /// Which leads to the goal better.
    pub goal: Verdict,
    /// Which looks better.
    pub quality: Verdict,
    /// Which is better, all in all.
    pub overall: Verdict,
    /// How long the rater looked, in seconds.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 86400)]
    pub seconds: f64,
}

/// The study, where there is one.
pub fn open(state: &Server) -> Result<&Study, Problem> {
    let none = "there is no study here; start the server with --study FOLDER";
    state.study.as_ref().ok_or_else(|| Problem::new(axum::http::StatusCode::NOT_FOUND, none))
}

/// A rater by key.
pub fn rater(state: &Server, key: &str) -> Result<Rater, Problem> {
    open(state)?.rater(key)?.ok_or_else(|| Problem::missing("rater"))
}

/// The pair at a place in the rater's order, from 1.
pub fn turn(state: &Server, rater: &Rater, number: usize) -> Result<Turn, Problem> {
    let all = turns(open(state)?.plan.pairs.len(), rater.seed);
    let at = number.checked_sub(1).and_then(|at| all.get(at));
    at.copied().ok_or_else(|| Problem::missing("pair"))
}

/// How far a rater is.
pub fn standing(state: &Server, rater: &Rater) -> Result<Standing, Problem> {
    let study = open(state)?;
    let answered = study.answered(rater)?;
    let all = turns(study.plan.pairs.len(), rater.seed);
    let next = all.iter().position(|turn| !answered.contains(&turn.pair)).map(|at| at + 1);
    let rater = rater.key.clone();
    Ok(Standing { rater, pairs: all.len(), answered: answered.len(), next })
}

/// A pair as a rater sees it.
pub fn pair_view(state: &Server, key: &str, number: usize) -> Result<PairView, Problem> {
    let (study, rater) = (open(state)?, rater(state, key)?);
    let turn = turn(state, &rater, number)?;
    let sample = study.plan.pairs.get(turn.pair).and_then(|p| study.plan.samples.get(p.sample));
    let sample = sample.ok_or_else(|| Problem::missing("pair"))?;
    let times = |left: bool, step: usize| {
        let times = study.side(turn, left)?.steps.get(step).copied().flatten();
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
        said: study.verdicts(&rater, turn.pair)?,
    })
}

/// Begin to rate
#[utoipa::path(post, path = "/api/study/raters", tag = "study", request_body = Newcomer,
    responses(BodyProblems, (status = 200, description = "the rater's key", body = Standing),
        (status = 404, description = "there is no study", body = Problem)))]
pub async fn admit(
    State(state): State<Shared>,
    Json(Newcomer { name }): Json<Newcomer>,
) -> Result<Json<Standing>, Problem> {
    let enter = move |state: &Server| {
        let study = open(state)?;
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.is_empty() || name.chars().count() > 100 {
            return Err(Problem::wrong("a name of up to 100 letters tells raters apart"));
        }
        let mut bytes = [0u8; 24];
        rand::rngs::SysRng.try_fill_bytes(&mut bytes).map_err(Problem::broken)?;
        let (key, seed) = bytes.split_at(16);
        let seed = seed.iter().fold(0u64, |seed, byte| seed << 8 | u64::from(*byte)) >> 1;
        let rater = study.admit(&name, &stitch_engine::files::hex(key), seed)?;
        standing(state, &rater)
    };
    blocking(&state, enter).await.map(Json)
}

/// How far a rater is
#[utoipa::path(get, path = "/api/study/raters/{key}", tag = "study", params(("key" = String, Path)),
    responses((status = 200, description = "how far", body = Standing),
        (status = 404, description = "no such rater or study", body = Problem)))]
pub async fn progress(
    State(state): State<Shared>,
    Path(key): Path<String>,
) -> Result<Json<Standing>, Problem> {
    blocking(&state, move |state| standing(state, &rater(state, &key)?)).await.map(Json)
}

/// A pair
#[utoipa::path(get, path = "/api/study/raters/{key}/pairs/{number}", tag = "study",
    params(("key" = String, Path), ("number" = usize, Path)),
    responses((status = 200, description = "the pair", body = PairView),
        (status = 404, description = "no such pair, rater or study", body = Problem)))]
pub async fn pair(
    State(state): State<Shared>,
    Path((key, number)): Path<(String, usize)>,
) -> Result<Json<PairView>, Problem> {
    blocking(&state, move |state| pair_view(state, &key, number)).await.map(Json)
}

/// Say something of a pair
#[utoipa::path(post, path = "/api/study/raters/{key}/pairs/{number}", tag = "study",
    params(("key" = String, Path), ("number" = usize, Path)), request_body = Verdicts,
    responses(BodyProblems, (status = 200, description = "how far the rater is then", body = Standing),
        (status = 404, description = "no such pair, rater or study", body = Problem)))]
pub async fn answer(
    State(state): State<Shared>,
    Path((key, number)): Path<(String, usize)>,
    Json(said): Json<Verdicts>,
) -> Result<Json<Standing>, Problem> {
    let keep = move |state: &Server| {
        let (study, rater) = (open(state)?, rater(state, &key)?);
        let turn = turn(state, &rater, number)?;
        if !(0.0..=86_400.0).contains(&said.seconds) {
            return Err(Problem::wrong("seconds must be from 0 to 86400"));
        }
        let names = QUESTIONS.map(|(name, _, _)| name);
        let verdicts = [said.steps, said.goal, said.quality, said.overall];
        let verdicts: Vec<_> = names.into_iter().zip(verdicts).collect();
        study.answer(&rater, turn, &verdicts, said.seconds)?;
        standing(state, &rater)
    };
    blocking(&state, keep).await.map(Json)
}

/// One side of a pair
#[utoipa::path(get, path = "/api/study/raters/{key}/pairs/{number}/{side}", tag = "study",
    params(("key" = String, Path), ("number" = usize, Path),
        ("side" = String, Path, description = "left or right")),
    responses((status = 200, description = "all of it", content_type = "video/mp4", body = Vec<u8>),
        (status = 206, description = "the range asked for", content_type = "video/mp4", body = Vec<u8>),
        (status = 404, description = "no such pair, rater or study", body = Problem),
        (status = 416, description = "there is no such range")))]
pub async fn side(
    State(state): State<Shared>,
    Path((key, number, side)): Path<(String, usize, String)>,
    request: Request,
) -> Result<Response, Problem> {
    let find = move |state: &Server| {
        let rater = rater(state, &key)?;
        let turn = turn(state, &rater, number)?;
        let video = match side.as_str() {
            "left" => open(state)?.video(turn, true),
            "right" => open(state)?.video(turn, false),
            _ => None,
        };
        video.ok_or_else(|| Problem::missing("video"))
    };
    send_file(blocking(&state, find).await?, request).await
}

/// Every answer as CSV
#[utoipa::path(get, path = "/api/study/answers.csv", tag = "study",
    responses((status = 200, description = "one answer a line", content_type = "text/csv",
            body = String),
        (status = 404, description = "there is no study", body = Problem)))]
pub async fn csv(State(state): State<Shared>) -> Result<Response, Problem> {
    download(&state, study::csv, "text/csv; charset=utf-8", "answers.csv").await
}

/// Every answer as a battle, as LMArena keeps them
#[utoipa::path(get, path = "/api/study/battles.jsonl", tag = "study",
    responses((status = 200, description = "one JSON object a line",
            content_type = "application/jsonl", body = String),
        (status = 404, description = "there is no study", body = Problem)))]
pub async fn battles(State(state): State<Shared>) -> Result<Response, Problem> {
    download(&state, study::battles, "application/jsonl", "battles.jsonl").await
}

async fn download(
    state: &Shared,
    write: fn(&[study::Answer]) -> String,
    kind: &'static str,
    name: &str,
) -> Result<Response, Problem> {
    let text = blocking(state, move |state| Ok(write(&open(state)?.answers()?))).await?;
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers =
        [(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, disposition)];
    Ok((headers, text).into_response())
}
