//! Features that were computed elsewhere, with a text tower of the same space: large sets and large
//! models need no pixels here.

pub mod arrays;
pub mod folder;

use stitch_core::features::Features;

use super::{Encoder, EncoderError, EncoderId, Seconds, TextTower, VideoInput};
use crate::footage::Footage;
use crate::progress::Progress;
pub use folder::{About, Folder, PrecomputedError};

/// The features of a folder as an encoder.
pub struct Precomputed {
    id: EncoderId,
    folder: Option<Folder>,
    text: Box<dyn TextTower>,
}

impl Precomputed {
    /// What the names of such encoders begin with; the text tower's name follows.
    pub const PREFIX: &str = "features:";

    /// Features of `folder` whose texts are read by the tower that is called `reader` and has these
    /// weights. Without a folder it reads texts only, which is all that a query needs.
    pub fn new(
        folder: Option<Folder>,
        reader: &str,
        (text, dim, weights): (Box<dyn TextTower>, usize, String),
    ) -> Result<Self, EncoderError> {
        let said = folder.as_ref().and_then(Folder::dim);
        if let Some(found) = said.filter(|said| *said != dim) {
            let path = Folder::ABOUT.into();
            return Err(PrecomputedError::WrongDim { path, found, expected: dim }.into());
        }
        let id = EncoderId { name: format!("{}{reader}", Self::PREFIX), dim, weights };
        Ok(Self { id, folder, text })
    }
}

impl Encoder for Precomputed {
    fn id(&self) -> &EncoderId {
        &self.id
    }

    fn encode_text(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        self.text.read(texts)
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

/// The texts of any encoder as a text tower.
pub struct TextsOf(pub Box<dyn Encoder>);

impl TextTower for TextsOf {
    fn read(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        self.0.encode_text(texts)
    }
}
