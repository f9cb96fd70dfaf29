//! The two sides of an encoder that sees: a tower for pictures and a tower for texts, into one
//! space. Whoever has these two has an [`Encoder`](super::Encoder), by [`TwoTowers`](super::TwoTowers).

use stitch_core::features::Features;

use super::EncoderError;
use super::pictures::{Picture, prepare};
use super::wants::Wants;

/// The side that sees.
pub trait ImageTower: Send + Sync {
    fn wants(&self) -> &Wants;

    fn dim(&self) -> usize;

    /// One row for every [`Wants::frames`] pictures; `pictures` are of [`Wants::bytes`] bytes each.
    /// Called from several threads at once.
    fn see(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError>;

    /// The ways in which a still picture is looked at; its vector is their mean. A second of video is seen
    /// at several moments instead.
    fn looks(&self, still: &Picture) -> Vec<Picture> {
        let Wants { width, height, .. } = *self.wants();
        vec![Picture { width, height, rgb: prepare(still, self.wants()) }]
    }

    fn see_looks(&self, looks: &[Picture]) -> Result<Features, EncoderError> {
        // A tower of clips sees a picture that stands still.
        let still = |bytes| std::iter::repeat_n(bytes, self.wants().frames);
        let bytes = looks.iter().map(|look| look.rgb.as_slice());
        let pictures: Vec<&[u8]> = bytes.flat_map(still).collect();
        if pictures.is_empty() { Ok(Features::empty(self.dim())) } else { self.see(&pictures) }
    }
}

/// The side that reads.
pub trait TextTower: Send + Sync {
    /// One row per text, in the space of the pictures.
    fn read(&self, texts: &[&str]) -> Result<Features, EncoderError>;

    /// Rows of the sentence model in the space of the pictures, where the tower stands on that model.
    fn project(&self, _sentences: &Features) -> Result<Option<Features>, EncoderError> {
        Ok(None)
    }
}
