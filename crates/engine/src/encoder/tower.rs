//! The two towers of an encoder, one for images and one for texts, into one space.

use stitch_core::features::Features;

use super::Result;
use super::pictures::Picture;
use crate::media::frames::{Filter, Fit};

/// Which towers of a model are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towers {
    Both,
    /// For features that were computed elsewhere.
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameSpec {
    pub width: u32,
    pub height: u32,
    pub fit: Fit,
    pub filter: Filter,
    pub fps: u32,
    /// How many consecutive frames make one vector: more than one for a tower of clips, or for
    /// several towers that take turns.
    pub frames: usize,
    /// Whether these form a clip. If not, a frame that equals the one before it is not encoded again.
    pub clips: bool,
    /// How many vectors a core computes at once: a few make transformers faster.
    pub batch: usize,
    /// How many numbers a vector has.
    pub dim: usize,
}

impl FrameSpec {
    /// Of a tower that makes a vector of each frame.
    pub const fn single(
        (width, height): (u32, u32),
        fit: Fit,
        filter: Filter,
        fps: u32,
        dim: usize,
    ) -> Self {
        Self { width, height, fit, filter, fps, frames: 1, clips: false, batch: 4, dim }
    }

    /// The bytes of one frame: rows of red, green, blue.
    pub fn bytes(&self) -> usize {
        3 * self.width as usize * self.height as usize
    }

    /// The picture as the tower takes it.
    pub fn prepare(&self, picture: &Picture) -> Picture {
        match self.fit {
            Fit::Squash => picture.resized(self.width, self.height, self.filter),
            Fit::Crop => picture.cropped(self.width, self.height, self.filter),
        }
    }
}

/// What a tower makes of frames, a row each.
pub struct Seen {
    /// In the space of the texts.
    pub features: Features,
    /// What its backbone sees before its head, by [`super::appearance`]; none if it does not tell.
    pub appearance: Option<Features>,
}

impl From<Features> for Seen {
    fn from(features: Features) -> Self {
        Self { features, appearance: None }
    }
}

pub trait ImageTower: Send + Sync {
    fn spec(&self) -> &FrameSpec;

    /// One row for every [`FrameSpec::frames`] frames of [`FrameSpec::bytes`] bytes each. Called from
    /// several threads at once.
    fn encode(&self, frames: &[&[u8]]) -> Result<Seen>;

    /// The views of a still picture whose mean is its vector (test-time augmentation).
    fn views(&self, still: &Picture) -> Vec<Picture> {
        vec![self.spec().prepare(still)]
    }

    fn encode_views(&self, views: &[Picture]) -> Result<Seen> {
        // A tower of clips gets a clip in which nothing moves.
        let still = |bytes| std::iter::repeat_n(bytes, self.spec().frames);
        let frames: Vec<&[u8]> = views.iter().flat_map(|view| still(view.rgb.as_slice())).collect();
        if frames.is_empty() {
            Ok(Features::empty(self.spec().dim).into())
        } else {
            self.encode(&frames)
        }
    }
}

pub trait TextTower: Send + Sync {
    /// One row per text.
    fn encode(&self, texts: &[&str]) -> Result<Features>;

    /// Rows of the sentence model projected into this space, if the tower is a head of that model.
    fn project(&self, _sentences: &Features) -> Result<Option<Features>> {
        Ok(None)
    }
}

/// One colour of a picture.
pub fn plane(rgb: &[u8], colour: usize) -> impl Iterator<Item = &u8> {
    rgb.iter().skip(colour).step_by(3)
}
