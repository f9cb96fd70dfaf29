//! The two towers of an encoder, one for images and one for texts, into one space.

use stitch_core::features::Features;

use super::EncoderError;
use super::pictures::{Picture, prepare};
use super::spec::FrameSpec;

/// Which towers of a model are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towers {
    Both,
    /// For features that were computed elsewhere.
    Text,
}

pub trait ImageTower: Send + Sync {
    fn spec(&self) -> &FrameSpec;

    fn dim(&self) -> usize;

    /// One row for every [`FrameSpec::frames`] frames of [`FrameSpec::bytes`] bytes each. Called from
    /// several threads at once.
    fn encode(&self, frames: &[&[u8]]) -> Result<Features, EncoderError>;

    /// The views of a still picture whose mean is its vector (test-time augmentation).
    fn views(&self, still: &Picture) -> Vec<Picture> {
        let FrameSpec { width, height, .. } = *self.spec();
        vec![Picture { width, height, rgb: prepare(still, self.spec()) }]
    }

    /// One row per view.
    fn encode_views(&self, views: &[Picture]) -> Result<Features, EncoderError> {
        // A tower of clips gets a clip in which nothing moves.
        let still = |bytes| std::iter::repeat_n(bytes, self.spec().frames);
        let frames: Vec<&[u8]> = views.iter().flat_map(|view| still(view.rgb.as_slice())).collect();
        if frames.is_empty() { Ok(Features::empty(self.dim())) } else { self.encode(&frames) }
    }
}

pub trait TextTower: Send + Sync {
    /// One row per text.
    fn encode(&self, texts: &[&str]) -> Result<Features, EncoderError>;

    /// Rows of the sentence model projected into this space, if the tower is a head of that model.
    fn project(&self, _sentences: &Features) -> Result<Option<Features>, EncoderError> {
        Ok(None)
    }
}
