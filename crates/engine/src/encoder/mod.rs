//! F_M: texts and the seconds of a video as vectors in one space.

pub mod wants;
pub mod pictures;
pub mod tower;
pub mod watch;
pub mod two_towers;
pub mod mini;
pub mod clip;
pub mod foreign;
pub mod precomputed;
pub mod narration;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stitch_core::features::{Features, FeaturesError};

pub use narration::Narration;
pub use pictures::{Picture, PictureError};
pub use precomputed::{Precomputed, PrecomputedError};
pub use tower::{ImageTower, TextTower};
pub use two_towers::TwoTowers;

use crate::footage::Footage;
use crate::media::MediaError;
use crate::models::{FetchError, WeightsError};
use crate::onnx::OnnxError;
use crate::progress::{Progress, Stopped};
use crate::sentence::SentenceError;
use crate::transcript::Sentence;

/// Which encoder made some features; features of different encoders must never meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EncoderId {
    pub name: String,
    pub dim: usize,
    /// The SHA-256 of its weights.
    pub weights: String,
}

impl fmt::Display for EncoderId {
    /// `narration (768 numbers, weights 78c0197b)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short: String = self.weights.chars().take(8).collect();
        write!(f, "{} ({} numbers, weights {short})", self.name, self.dim)
    }
}

/// A video as an encoder sees it.
#[derive(Clone, Copy, Debug)]
pub struct VideoInput<'a> {
    pub path: &'a Path,
    pub length_ms: u64,
    pub sentences: &'a [Sentence],
}

/// The longest video there can be: two days. A header that says more is a lie.
const LONGEST_MS: u64 = 48 * 3600 * 1000;

impl VideoInput<'_> {
    /// How many seconds it has; a part of a second counts as one.
    pub fn seconds(&self) -> Result<usize, EncoderError> {
        if self.length_ms > LONGEST_MS {
            return Err(EncoderError::TooLong { hours: self.length_ms / 3_600_000 });
        }
        Ok(self.length_ms.div_ceil(1000) as usize)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    #[error(transparent)]
    Weights(#[from] WeightsError),
    #[error(transparent)]
    Onnx(#[from] OnnxError),
    #[error(transparent)]
    Media(#[from] MediaError),
    #[error("the encoder made unusable numbers: {0}")]
    Features(#[from] FeaturesError),
    #[error("the video says it lasts {hours} hours; re-encode it, its header is broken")]
    TooLong { hours: u64 },
    #[error(transparent)]
    Precomputed(#[from] PrecomputedError),
    #[error(transparent)]
    Hash(#[from] FetchError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// F_M, whichever it is.
pub trait Encoder: Send + Sync {
    fn id(&self) -> &EncoderId;

    fn encode_text(&self, texts: &[&str]) -> Result<Features, EncoderError>;

    /// Rows of the sentence model in the space of the clips, where the text tower stands on that model.
    fn project_sentences(&self, _sentences: &Features) -> Result<Option<Features>, EncoderError> {
        Ok(None)
    }

    /// What is in each second of the video.
    fn encode_seconds(
        &self,
        video: &VideoInput,
        progress: &dyn Progress,
    ) -> Result<Seconds, EncoderError>;

    /// Whether its vectors of seconds are of what is seen, by it or by whoever made them.
    fn sees(&self) -> bool {
        self.image_tower().is_some()
    }

    fn image_tower(&self) -> Option<&dyn ImageTower> {
        None
    }
}

/// A video second by second.
#[derive(Clone, Debug, PartialEq)]
pub struct Seconds {
    /// One row per second; a zero row where there is nothing to go by.
    pub features: Features,
    /// Where a new shot begins, in milliseconds, as far as was seen.
    pub shots: Vec<u64>,
    pub footage: Footage,
}
