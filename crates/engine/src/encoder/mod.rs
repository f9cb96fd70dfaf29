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
use crate::models::{FetchError, NnError};
use crate::progress::{Progress, Stopped};
use crate::sentence::SentenceError;
use crate::transcript::Sentence;

/// Which encoder made some features; features of different encoders must never meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct EncoderId {
    /// Its name.
    pub name: String,
    /// The length of its vectors.
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
    /// The file.
    pub path: &'a Path,
    /// How long it lasts.
    pub length_ms: u64,
    /// What is said in it.
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

/// Why something has no vector.
#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    /// The text side failed.
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    /// The encoder's own networks cannot be loaded or run.
    #[error(transparent)]
    Weights(#[from] NnError),
    /// The video could not be read.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// The encoder made numbers that are none.
    #[error("the encoder made unusable numbers: {0}")]
    Features(#[from] FeaturesError),
    /// The video's header cannot be true.
    #[error("the video says it lasts {hours} hours; re-encode it, its header is broken")]
    TooLong {
        /// What it says.
        hours: u64,
    },
    /// Features that came from elsewhere do not fit.
    #[error(transparent)]
    Precomputed(#[from] PrecomputedError),
    /// A file of the encoder could not be hashed.
    #[error(transparent)]
    Hash(#[from] FetchError),
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// F_M, whichever it is.
pub trait Encoder: Send + Sync {
    /// Who it is.
    fn id(&self) -> &EncoderId;

    /// One row per text.
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

    /// Its eyes, if it looks at pictures.
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
    /// What it looks like, as far as was seen.
    pub footage: Footage,
}
