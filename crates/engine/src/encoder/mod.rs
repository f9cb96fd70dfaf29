//! F_M: texts and the seconds of a video as vectors in one space.

pub mod pictures;
pub mod appearance;
pub mod tower;
mod shots;
pub mod precomputed;
pub mod two_towers;
pub mod mini;
mod clip;
pub mod onnx_pair;
mod onnx_layout;
pub mod narration;
mod load;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stitch_core::features::{Features, FeaturesError};

pub use load::{EncoderModels, load_folder, onnx_fallback, onnx_runtime};
pub use narration::Narration;
pub use pictures::{Picture, PictureError};
pub use precomputed::{Precomputed, PrecomputedError};
pub use tower::{FrameSpec, ImageTower, Seen, TextTower, Towers};
pub use two_towers::TwoTowers;

use crate::files::FileError;
use crate::footage::Footage;
use crate::media::MediaError;
use crate::media::probe::MAX_LENGTH_MS;
use crate::models::{ModelError, NnError};
use crate::progress::{Progress, Stopped};
use crate::sentence::SentenceError;
use crate::transcript::Sentence;

/// Which encoder made some features; features of different encoders must never be compared.
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

#[derive(Clone, Copy, Debug)]
pub struct VideoInput<'a> {
    pub path: &'a Path,
    pub length_ms: u64,
    pub sentences: &'a [Sentence],
}

impl VideoInput<'_> {
    /// Rounded up.
    pub fn seconds(&self) -> Result<usize> {
        if self.length_ms > MAX_LENGTH_MS {
            return Err(EncoderError::TooLong { hours: self.length_ms / 3_600_000 });
        }
        Ok(self.length_ms.div_ceil(1000) as usize)
    }
}

type Result<T, E = EncoderError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    #[error("the encoder `{name}` is not here; get it with `stitch models pull {name}`")]
    NotPulled { name: String },
    #[error(
        "there is no encoder `{name}`; there are `mini`, which looks at the pictures, \
        `narration`, which goes by what is said, and the folders of CLIP and SigLIP models or of \
        ONNX pairs, by path or by `owner/name` once pulled; `stitch models list` names some"
    )]
    Unknown { name: String },
    #[error("STITCH_ONNX_PROVIDER is `{given}`; it can be auto, cpu, cuda or coreml")]
    UnknownProvider { given: String },
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    #[error(transparent)]
    Weights(#[from] NnError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("ONNX Runtime, which this encoder runs on, is not here: {0}")]
    NoRuntime(ModelError),
    #[error(transparent)]
    Media(#[from] MediaError),
    #[error("the encoder made unusable numbers: {0}")]
    Features(#[from] FeaturesError),
    #[error("the video says it lasts {hours} hours; re-encode it, its header is broken")]
    TooLong { hours: u64 },
    #[error(transparent)]
    Precomputed(#[from] PrecomputedError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// F_M.
pub trait Encoder: Send + Sync {
    fn id(&self) -> &EncoderId;

    fn encode_text(&self, texts: &[&str]) -> Result<Features>;

    /// Rows of the sentence model in the space of the clips, if the text tower is a head of that model.
    fn project_sentences(&self, _sentences: &Features) -> Result<Option<Features>> {
        Ok(None)
    }

    fn encode_seconds(&self, video: &VideoInput, progress: &dyn Progress) -> Result<Seconds>;

    /// Whether its vectors of seconds are made of pictures, here or elsewhere.
    fn sees(&self) -> bool {
        self.image_tower().is_some()
    }

    fn image_tower(&self) -> Option<&dyn ImageTower> {
        None
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Seconds {
    /// One row per second; a zero row for a second without evidence.
    pub features: Features,
    /// What each second looks like, a row of [`appearance::DIM`] numbers.
    pub appearance: Features,
    /// Where shots begin, in milliseconds; empty if no frames were decoded.
    pub shots: Vec<u64>,
    pub footage: Footage,
}

impl Seconds {
    /// Of an encoder that decodes no frames here.
    pub fn without_frames(features: Features) -> Self {
        let appearance = appearance::reduced(&features);
        Self { features, appearance, shots: Vec::new(), footage: Footage::default() }
    }
}
