//! Features that were computed elsewhere, with a text encoder of the same space: large data sets and
//! large models need no pixels here.

pub mod arrays;
pub mod folder;

use std::path::PathBuf;

use stitch_core::features::Features;

use super::{Encoder, EncoderError, EncoderId, Seconds, VideoInput};
use crate::files::FileError;
use crate::footage::Footage;
use crate::models::NnError;
use crate::progress::Progress;
pub use folder::{About, Folder};

#[derive(Debug, thiserror::Error)]
pub enum PrecomputedError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
    #[error("{}: no features here; they are files such as VIDEO.npy, in {}", folder.display(),
        arrays::ENDINGS.join(", "))]
    Nothing { folder: PathBuf },
    #[error("{}: how many rows a second has is not known; say it with --feature-rate, or as \
        `rate = 1.0` in features.toml", folder.display())]
    NoRate { folder: PathBuf },
    #[error("there are no features of `{name}` in {}", folder.display())]
    NoneOf { name: String, folder: PathBuf },
    #[error("{}: rows of {found} numbers, where texts have {expected}; they are of another encoder, \
        or `key` in features.toml names the wrong array", path.display())]
    WrongDim { path: PathBuf, found: usize, expected: usize },
    #[error("{}: {rows} rows at {rate} per second are {features_s:.1} s, but the video lasts \
        {video_s:.1} s; say the right rate with --feature-rate, or make the features again",
        path.display())]
    WrongLength { path: PathBuf, rows: usize, rate: f64, features_s: f64, video_s: f64 },
    #[error("features of videos are not computed here; index with --features DIR")]
    TextsOnly,
    #[error(transparent)]
    Weights(#[from] NnError),
}

/// The features of a folder as an encoder.
pub struct Precomputed {
    id: EncoderId,
    folder: Option<Folder>,
    texts: Box<dyn Encoder>,
}

impl Precomputed {
    /// What the names of such encoders begin with; the name of the texts' encoder follows.
    pub const PREFIX: &str = "features:";

    /// Features of `folder` with an encoder of their texts. A query needs no folder.
    pub fn new(folder: Option<Folder>, texts: Box<dyn Encoder>) -> Result<Self, EncoderError> {
        let EncoderId { name, dim, weights } = texts.id().clone();
        let said = folder.as_ref().and_then(Folder::dim);
        if let Some(found) = said.filter(|said| *said != dim) {
            let path = Folder::ABOUT.into();
            return Err(PrecomputedError::WrongDim { path, found, expected: dim }.into());
        }
        let id = EncoderId { name: format!("{}{name}", Self::PREFIX), dim, weights };
        Ok(Self { id, folder, texts })
    }
}

impl Encoder for Precomputed {
    fn id(&self) -> &EncoderId {
        &self.id
    }

    fn encode_text(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        self.texts.encode_text(texts)
    }

    fn sees(&self) -> bool {
        true
    }

    fn encode_seconds(
        &self,
        video: &VideoInput,
        progress: &dyn Progress,
    ) -> Result<Seconds, EncoderError> {
        let seconds = video.seconds()?;
        progress.check()?;
        let folder = self.folder.as_ref().ok_or(PrecomputedError::TextsOnly)?;
        let name = video.path.file_stem().unwrap_or_default().to_string_lossy();
        let rows = folder.seconds_of(&name, video.length_ms, self.id.dim)?;
        debug_assert_eq!(rows.len(), seconds * self.id.dim);
        let features = Features::new(self.id.dim, rows)?;
        Ok(Seconds { features, shots: Vec::new(), footage: Footage::default() })
    }
}
