//! The library: its videos, their steps, files and thumbnails, and search.

use std::path::PathBuf;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use stitch_core::clip::{Clip, VideoId};
use stitch_engine::demonstrate::{Place, Stock};
use stitch_engine::export::thumbnails::picture_at;
use stitch_engine::library::{VideoRecord, VideoStatus};
use stitch_engine::progress::Silent;
use stitch_engine::transcript::Sentence;
use tower::ServiceExt;
use tower_http::services::ServeFile;
use utoipa::{IntoParams, ToSchema};

use super::extract::{AppState, Json, Path, Query, Reply, blocking, with_ffmpeg};
use crate::error::{ApiError, NotFound, Result};
use crate::state::{SharedState, State as Server};
use crate::wire::ClipRef;

/// A video of the library
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct VideoView {
    pub id: u32,
    /// Its title, or its file name
    pub title: String,
    pub file: String,
    pub folder: String,
    /// `ready`, `pending`, `failed` or `duplicate`
    pub status: String,
    /// Why it failed, or the path of the file it duplicates
    pub reason: Option<String>,
    pub uploader: Option<String>,
    pub licence: Option<String>,
    pub length_ms: u64,
    pub width: u32,
    pub height: u32,
    /// The origin of its narration
    pub narration_by: Option<String>,
    /// The method that extracted its steps
    pub steps_by: Option<String>,
    pub steps: Vec<VideoStep>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct VideoStep {
    /// Empty if it was found in the frames alone
    pub text: String,
    pub start_ms: u64,
    /// Exclusive
    pub end_ms: u64,
}

impl VideoView {
    pub fn new(record: &VideoRecord, pool: Option<&Stock>) -> Self {
        let (status, reason) = match &record.status {
            VideoStatus::Ready => ("ready", None),
            VideoStatus::Pending => ("pending", None),
            VideoStatus::Failed(reason) => ("failed", Some(reason.clone())),
            VideoStatus::Duplicate(of) => ("duplicate", Some(of.clone())),
        };
        let file = record.path.file_name().unwrap_or_default();
        Self {
            id: record.id,
            title: record.video.title.clone(),
            file: file.to_string_lossy().into_owned(),
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
            steps: pool.map(|pool| steps(pool, record.id)).unwrap_or_default(),
        }
    }
}

fn steps(pool: &Stock, video: u32) -> Vec<VideoStep> {
    let step = |clip: &Clip| VideoStep {
        text: clip.text.clone(),
        start_ms: clip.span.start(),
        end_ms: clip.span.end(),
    };
    pool.pool.clips()[pool.pool.of_video(VideoId(video))].iter().map(step).collect()
}

pub fn videos(state: &Server) -> Result<Vec<VideoView>> {
    state.refresh_pool()?;
    let pool = state.pool()?;
    let records = state.resources.library.videos()?;
    Ok(records.iter().map(|record| VideoView::new(record, pool.as_deref())).collect())
}

/// List all videos with their steps
#[utoipa::path(get, path = "/api/videos", tag = "library",
    responses((status = 200, description = "all videos", body = [VideoView])))]
pub async fn list(State(state): AppState) -> Reply<Vec<VideoView>> {
    blocking(move || videos(&state)).await.map(Json)
}

/// Get a video
#[utoipa::path(get, path = "/api/videos/{id}", tag = "library", params(("id" = u32, Path)),
    responses(NotFound, (status = 200, description = "the video", body = VideoView)))]
pub async fn get(State(state): AppState, Path(id): Path<u32>) -> Reply<VideoView> {
    let view = move || {
        let record = state.resources.library.video(VideoId(id))?;
        Ok(VideoView::new(&record, state.pool()?.as_deref()))
    };
    blocking(view).await.map(Json)
}

/// The path and length of a video that is ready. Requests name videos by id only.
fn path_of(state: &Server, id: u32) -> Result<(PathBuf, u64)> {
    let record = state.resources.library.video(VideoId(id))?;
    match record.status {
        VideoStatus::Ready => Ok((record.path, record.video.length_ms)),
        _ => Err(ApiError::not_found("video that is ready")),
    }
}

/// The responses of `send_file`.
#[derive(utoipa::IntoResponses)]
#[allow(dead_code)] // only described
pub enum VideoFile {
    /// the whole file
    #[response(status = 200, content_type = "video/*")]
    Whole(Vec<u8>),
    /// the requested range
    #[response(status = 206, content_type = "video/*")]
    Range(Vec<u8>),
    /// the range is outside the file
    #[response(status = 416)]
    NoRange,
}

/// Get the file of a video
#[utoipa::path(get, path = "/api/videos/{id}/file", tag = "library", params(("id" = u32, Path)),
    responses(VideoFile, NotFound))]
pub async fn file(
    State(state): AppState,
    Path(id): Path<u32>,
    request: Request,
) -> Result<Response> {
    let (path, _) = blocking(move || path_of(&state, id)).await?;
    send_file(path, request).await
}

/// Sends a file or a range of it; browsers check whether it has changed before they use a cached copy.
pub async fn send_file(path: PathBuf, request: Request) -> Result<Response> {
    let sent = ServeFile::new(path).oneshot(request).await;
    let mut response = sent.unwrap_or_else(|never| match never {}).map(Body::new);
    if response.status() == StatusCode::NOT_FOUND {
        return Err(ApiError::not_found("file any more"));
    }
    let cache = HeaderValue::from_static("private, no-cache");
    response.headers_mut().insert(header::CACHE_CONTROL, cache);
    Ok(response)
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct ThumbnailQuery {
    /// Milliseconds of the video, rounded down to tenths of a second
    #[serde(default)]
    pub at: u64,
}

/// Get a frame of a video
#[utoipa::path(get, path = "/api/videos/{id}/picture", tag = "library",
    params(("id" = u32, Path), ThumbnailQuery),
    responses(NotFound, (status = 200, description = "the frame", content_type = "image/jpeg", body = Vec<u8>),
        (status = 422, description = "the time is not a number", body = ApiError)))]
pub async fn thumbnail(
    State(state): AppState,
    Path(id): Path<u32>,
    Query(ThumbnailQuery { at }): Query<ThumbnailQuery>,
) -> Result<Response> {
    let jpeg = frame(&state, id, at).await?;
    let headers =
        [(header::CONTENT_TYPE, "image/jpeg"), (header::CACHE_CONTROL, "private, max-age=86400")];
    Ok((headers, jpeg).into_response())
}

/// A frame of a video that is ready, as JPEG.
pub async fn frame(state: &SharedState, id: u32, at_ms: u64) -> Result<Vec<u8>> {
    let server = state.clone();
    let extract = move || {
        let (path, length_ms) = path_of(&server, id)?;
        let at = at_ms.min(length_ms.saturating_sub(100)) / 100 * 100;
        picture_at(&server.cuts_folder(), &path, at, &Silent).map_err(|error| {
            tracing::debug!(%error, "no thumbnail");
            ApiError::not_found("picture")
        })
    };
    with_ffmpeg(state, extract).await
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct SearchQuery {
    /// The text to search; its first 200 characters count
    #[serde(default)]
    pub q: String,
}

#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub struct SearchResults {
    /// Clips that show it, the most likely first
    pub shown: Vec<SearchResult>,
    /// Sentences that contain it
    pub said: Vec<SearchResult>,
}

#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct SearchResult {
    /// The clip, or the time of the sentence
    pub clip: ClipRef,
    /// The title of the video
    pub title: String,
    /// The step, or the sentence
    pub text: String,
    /// The probability that the clip shows it; none for a sentence
    pub probability: Option<f32>,
}

/// Clips and sentences found by a search, at most so many of each; chosen by hand.
const MAX_RESULTS: usize = 12;

pub fn find(state: &Server, text: &str) -> Result<SearchResults> {
    let text: String = text.trim().chars().take(200).collect();
    let Some(pool) = state.pool()?.filter(|_| !text.is_empty()) else {
        return Ok(SearchResults::default());
    };
    let result = |clip: ClipRef, text: String, probability| {
        let video = pool.videos.get(&VideoId(clip.video));
        let title = video.map_or("", |video| &video.video.title).to_owned();
        SearchResult { clip, title, text, probability }
    };
    let resources = &state.resources;
    let (library, encoder) = (&resources.library, resources.encoder.as_ref());
    let clips = pool.search(library, &text, MAX_RESULTS, encoder, &resources.sentence)?;
    let shown = clips.iter().map(|found| {
        let clip = pool.pool.clip(found.clip);
        result(Place::from(clip).into(), clip.text.clone(), Some(found.probability()))
    });
    let said = library.heard(&text, MAX_RESULTS)?.into_iter().map(|(video, sentence)| {
        let Sentence { start_ms, end_ms, text } = sentence;
        result(ClipRef { video: video.0, start_ms, end_ms }, text, None)
    });
    Ok(SearchResults { shown: shown.collect(), said: said.collect() })
}

/// Search clips and narration
#[utoipa::path(get, path = "/api/search", tag = "library", params(SearchQuery),
    responses((status = 200, description = "the results", body = SearchResults),
        (status = 422, description = "an unknown parameter", body = ApiError)))]
pub async fn search(
    State(state): AppState,
    Query(SearchQuery { q }): Query<SearchQuery>,
) -> Reply<SearchResults> {
    blocking(move || find(&state, &q)).await.map(Json)
}
