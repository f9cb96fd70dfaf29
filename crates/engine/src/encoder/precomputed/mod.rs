//! Features that were computed elsewhere, with a text encoder of the same space: large data sets and
//! large models need no pixels here.

pub mod arrays;
pub mod folder;

use std::path::{Path, PathBuf};

use stitch_core::features::Features;

use super::{Encoder, EncoderError, EncoderId, Seconds, VideoInput};
use crate::files::FileError;
use crate::models::NnError;
use crate::progress::Progress;
pub use folder::{About, Folder};

type Result<T, E = PrecomputedError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum PrecomputedError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Weights(#[from] NnError),
    #[error("{}: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
    #[error("{}: how many rows a second has is not known; say it with --feature-rate, or as \
        `rate = 1.0` in features.toml", folder.display())]
    NoRate { folder: PathBuf },
    #[error("there are no features of `{name}` in {}", folder.display())]
    NoneOf { name: String, folder: PathBuf },
    #[error("features of videos are not computed here; index with --features DIR")]
    TextsOnly,
}

fn unusable(path: &Path, reason: impl ToString) -> PrecomputedError {
    PrecomputedError::Unusable { path: path.into(), reason: reason.to_string() }
}

/// Checks the length of a row against that of the texts' vectors.
fn check_dim(path: &Path, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let reason = format!(
        "rows of {found} numbers, where texts have {expected}; they are of another encoder, or \
         `key` in features.toml names the wrong array"
    );
    Err(unusable(path, reason))
}

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
        if let Some(said) = folder.as_ref().and_then(|folder| folder.dim) {
            check_dim(Path::new(Folder::ABOUT), said, dim)?;
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

    fn project_sentences(&self, sentences: &Features) -> Result<Option<Features>, EncoderError> {
        self.texts.project_sentences(sentences)
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
        Ok(Seconds::without_frames(features))
    }
}
