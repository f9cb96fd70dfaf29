//! The library: its videos, what they show, their bytes, and where something is shown or said.

use std::path::PathBuf;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use stitch_core::clip::VideoId;
use stitch_engine::demonstrate::Stock;
use stitch_engine::export::thumbnails::picture_at;
use stitch_engine::library::{VideoRecord, VideoStatus};
use stitch_engine::progress::Silent;
use tower::ServiceExt;
use tower_http::services::ServeFile;
use utoipa::{IntoParams, ToSchema};

use super::extract::{Json, Path, Query, blocking};
use crate::error::Problem;
use crate::state::{Shared, State as Server};
use crate::wire::ClipRef;

/// A video of the library.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct VideoView {
    /// Its number.
    pub id: u32,
    /// Its title, or its file name.
    pub title: String,
    /// Its file name.
    pub file: String,
    /// Its folder.
    pub folder: String,
    /// `ready`, `pending`, `failed` or `duplicate`.
    pub status: String,
    /// Why it failed, or of which file it is a copy.
    pub reason: Option<String>,
    /// Who published it.
    pub uploader: Option<String>,
    /// Under which licence.
    pub licence: Option<String>,
    /// How long it is.
    pub length_ms: u64,
    /// Its width.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// Where its narration came from.
    pub narration_by: Option<String>,
    /// What made its steps.
    pub steps_by: Option<String>,
    /// The steps it shows.
    pub steps: Vec<ShownStep>,
}

/// A step that a video shows.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ShownStep {
    /// In its own words; empty where pictures alone speak.
    pub text: String,
    /// Where it begins, in milliseconds.
    pub start_ms: u64,
    /// One past where it ends.
    pub end_ms: u64,
}

impl VideoView {
    /// Of a record, with its clips from the pool.
    pub fn new(record: &VideoRecord, stock: Option<&Stock>) -> Self {
        let (status, reason) = match &record.status {
            VideoStatus::Ready => ("ready", None),
            VideoStatus::Pending => ("pending", None),
            VideoStatus::Failed(why) => ("failed", Some(why.clone())),
            VideoStatus::Duplicate(of) => ("duplicate", Some(of.clone())),
        };
        let name = |part: Option<&std::ffi::OsStr>| {
            part.unwrap_or_default().to_string_lossy().into_owned()
        };
        Self {
            id: record.id,
            title: record.video.title.clone(),
            file: name(record.path.file_name()),
            folder: record.path.parent().unwrap_or(&record.path).to_string_lossy().into_owned(),
            status: status.into(),
            reason,
            uploader: record.video.uploader.clone(),
            licence: record.video.licence.clone(),
            length_ms: record.video.length_ms,
            width: record.video.width,
            height: record.video.height,
            narration_by: record.narration_by.clone(),
            steps_by: record.steps_by.clone(),
            steps: stock.map(|stock| steps(stock, record.id)).unwrap_or_default(),
        }
    }
}

fn steps(stock: &Stock, video: u32) -> Vec<ShownStep> {
    let clips = stock.pool.clips();
    let first = clips.partition_point(|clip| clip.video.0 < video);
    let of_video = clips[first..].iter().take_while(|clip| clip.video.0 == video);
    let step = |clip: &stitch_core::clip::Clip| ShownStep {
        text: clip.text.clone(),
        start_ms: clip.span.start(),
        end_ms: clip.span.end(),
    };
    of_video.map(step).collect()
}

/// Every video of the library.
pub fn videos(state: &Server) -> Result<Vec<VideoView>, Problem> {
    state.refresh_stock()?;
    let stock = state.stock()?;
    let records = state.kit.library.videos()?;
    Ok(records.iter().map(|record| VideoView::new(record, stock.as_deref())).collect())
}

/// All videos
#[utoipa::path(get, path = "/api/videos", tag = "library",
    responses((status = 200, description = "every video, with its steps", body = [VideoView])))]
pub async fn list(State(state): State<Shared>) -> Result<Json<Vec<VideoView>>, Problem> {
    blocking(&state, videos).await.map(Json)
}

/// One video
#[utoipa::path(get, path = "/api/videos/{id}", tag = "library", params(("id" = u32, Path)),
    responses((status = 200, description = "the video", body = VideoView),
        (status = 404, description = "there is none", body = Problem)))]
pub async fn one(
    State(state): State<Shared>,
    Path(id): Path<u32>,
) -> Result<Json<VideoView>, Problem> {
    let find = move |state: &Server| {
        let record = state.kit.library.video(VideoId(id))?;
        Ok(VideoView::new(&record, state.stock()?.as_deref()))
    };
    blocking(&state, find).await.map(Json)
}

/// The file of a video that is ready; a request names it by number only.
async fn path_of(state: &Shared, id: u32) -> Result<(PathBuf, u64), Problem> {
    blocking(state, move |state| {
        let record = state.kit.library.video(VideoId(id))?;
        match record.status {
            VideoStatus::Ready => Ok((record.path, record.video.length_ms)),
            _ => Err(Problem::missing("video that is ready")),
        }
    })
    .await
}

/// A video's bytes
#[utoipa::path(get, path = "/api/videos/{id}/file", tag = "library", params(("id" = u32, Path)),
    responses((status = 200, description = "all of it", content_type = "video/*", body = Vec<u8>),
        (status = 206, description = "the range asked for", content_type = "video/*", body = Vec<u8>),
        (status = 404, description = "there is none", body = Problem),
        (status = 416, description = "there is no such range")))]
pub async fn file(
    State(state): State<Shared>,
    Path(id): Path<u32>,
    request: Request,
) -> Result<Response, Problem> {
    let (path, _) = path_of(&state, id).await?;
    send_file(path, request).await
}

/// A file with ranges, kept by the browser as long as it does not change.
pub async fn send_file(path: PathBuf, request: Request) -> Result<Response, Problem> {
    let answer = ServeFile::new(path).oneshot(request).await;
    let mut response = answer.unwrap_or_else(|never| match never {}).map(Body::new);
    if response.status() == axum::http::StatusCode::NOT_FOUND {
        return Err(Problem::missing("file any more"));
    }
    let kept = HeaderValue::from_static("private, no-cache");
    response.headers_mut().insert(header::CACHE_CONTROL, kept);
    Ok(response)
}

/// When a picture is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// In milliseconds of the video; rounded down to a tenth of a second.
    #[serde(default)]
    pub at: u64,
}

/// A picture out of a video
#[utoipa::path(get, path = "/api/videos/{id}/picture", tag = "library",
    params(("id" = u32, Path), Moment),
    responses((status = 200, description = "the picture", content_type = "image/jpeg", body = Vec<u8>),
        (status = 404, description = "there is none", body = Problem),
        (status = 422, description = "no time", body = Problem)))]
pub async fn picture(
    State(state): State<Shared>,
    Path(id): Path<u32>,
    Query(Moment { at }): Query<Moment>,
) -> Result<Response, Problem> {
    let (path, length) = path_of(&state, id).await?;
    let at = at.min(length.saturating_sub(100)) / 100 * 100;
    let permit = state.pictures.acquire().await.map_err(Problem::broken)?;
    let taken = blocking(&state, move |state| {
        picture_at(&state.cuts(), &path, at, &Silent).map_err(|error| {
            tracing::debug!(%error, "no picture");
            Problem::missing("picture")
        })
    });
    let jpeg = taken.await?;
    drop(permit);
    let kept =
        [(header::CONTENT_TYPE, "image/jpeg"), (header::CACHE_CONTROL, "private, max-age=86400")];
    Ok((kept, jpeg).into_response())
}

/// What is looked for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// In words, up to 200 letters.
    #[serde(default)]
    pub q: String,
}

/// Where something is shown or said.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct Hits {
    /// Clips that show it, most likely first.
    pub shown: Vec<Hit>,
    /// Sentences that say it.
    pub said: Vec<Hit>,
}

/// One place.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Hit {
    /// The clip, or where the sentence is said.
    pub clip: ClipRef,
    /// The video's title.
    pub title: String,
    /// The step, or the sentence.
    pub text: String,
    /// How likely the clip shows it; none for a sentence.
    pub probability: Option<f32>,
}

/// How many of each are found.
const MOST_HITS: usize = 12;

/// Where something is shown or said.
pub fn find(state: &Server, wanted: &str) -> Result<Hits, Problem> {
    let wanted: String = wanted.trim().chars().take(200).collect();
    let Some(stock) = state.stock()?.filter(|_| !wanted.is_empty()) else {
        return Ok(Hits::default());
    };
    let title = |id: VideoId| stock.videos.get(&id).map_or("", |v| &v.video.title).to_owned();
    let kit = &state.kit;
    let (eyes, ears) = (kit.encoder.as_ref(), &kit.sentence);
    let found = stock.search(&kit.library, &wanted, MOST_HITS, eyes, ears)?;
    let shown = found.iter().map(|found| {
        let clip = stock.pool.clip(found.clip);
        Hit {
            clip: stitch_engine::demonstrate::Place::from(clip).into(),
            title: title(clip.video),
            text: clip.text.clone(),
            probability: Some(found.probability()),
        }
    });
    let said =
        state.kit.library.heard(&wanted, MOST_HITS)?.into_iter().map(|(video, sentence)| Hit {
            clip: ClipRef { video: video.0, start_ms: sentence.start_ms, end_ms: sentence.end_ms },
            title: title(video),
            text: sentence.text,
            probability: None,
        });
    Ok(Hits { shown: shown.collect(), said: said.collect() })
}

/// Where something is shown or said
#[utoipa::path(get, path = "/api/search", tag = "library", params(Wanted),
    responses((status = 200, description = "the places", body = Hits),
        (status = 422, description = "not understood", body = Problem)))]
pub async fn search(
    State(state): State<Shared>,
    Query(Wanted { q }): Query<Wanted>,
) -> Result<Json<Hits>, Problem> {
    blocking(&state, move |state| find(state, &q)).await.map(Json)
}
