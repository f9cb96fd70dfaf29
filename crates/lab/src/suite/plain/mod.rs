//! Sets in the plain format: `videos.jsonl` with videos and their steps, and pictures or features beside
//! it, so that anyone can bring a set of their own.

pub mod tar;
pub mod set;
pub mod pictures;
pub mod features;
pub mod load;

use std::io;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;
use stitch_core::clip::Span;
use stitch_core::pool::PoolError;
use stitch_engine::encoder::EncoderError;
use stitch_engine::encoder::precomputed::PrecomputedError;
use stitch_engine::files::FileError;
use stitch_engine::progress::Stopped;
use stitch_engine::sentence::SentenceError;

use set::Set;

/// Something in a set that could not be used, or only in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DataIssue {
    /// A line, a video, a step or a picture.
    pub place: String,
    pub reason: String,
}

#[derive(Debug, thiserror::Error)]
pub enum SetError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: not a tar archive ({reason}); unpack it and give the folder instead", path.display())]
    Archive { path: PathBuf, reason: io::Error },
    #[error("{}: no step with a text and a readable picture; {} wants lines such as \
        {{\"video\": \"v1\", \"steps\": [{{\"text\": \"chop\", \"image\": \"v1/0.webp\"}}]}} and the \
        pictures in images.tar or a folder{}", path.display(), Set::FILE, listed(issues))]
    NoPictures { path: PathBuf, issues: Vec<DataIssue> },
    #[error("{}: no video with two steps that have a text and a readable picture or a row of \
        features; {} wants lines such as {{\"video\": \"v1\", \"recipe_type\": \"101\", \"steps\": \
        [{{\"text\": \"chop\", \"start\": 3, \"end\": 9, \"image\": \"v1/0.webp\"}}]}}, and the \
        pictures in images.tar or a folder{}", path.display(), Set::FILE, listed(issues))]
    NoProcedures { path: PathBuf, issues: Vec<DataIssue> },
    #[error("no video of the set is of the domain `{wanted}`; there are: {there}")]
    NoDomain { wanted: String, there: String },
    #[error(
        "the encoder `{name}` does not look at pictures; name one that does with --encoder{or}"
    )]
    NoImageTower {
        name: String,
        /// What else the user can do.
        or: &'static str,
    },
    #[error(transparent)]
    Precomputed(#[from] PrecomputedError),
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The first three issues as lines under an error message.
fn listed(issues: &[DataIssue]) -> String {
    issues.iter().take(3).map(|issue| format!("\n  {}: {}", issue.place, issue.reason)).collect()
}

/// The longest video that is believed, in seconds: two days.
const MAX_VIDEO_S: f64 = 172_800.0;

/// Seconds of a video in milliseconds; none for what cannot be a time in one.
pub fn milliseconds(seconds: f64) -> Option<u64> {
    (0.0..=MAX_VIDEO_S).contains(&seconds).then(|| (seconds * 1000.0).round() as u64)
}

/// None where it is empty or cannot be in a video.
pub fn span_of_seconds(from: f64, to: f64) -> Option<Span> {
    Span::new(milliseconds(from)?, milliseconds(to)?)
}

/// A name that may be written as a number.
pub fn name(value: &Value) -> Option<String> {
    match value {
        Value::String(name) => Some(name.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
