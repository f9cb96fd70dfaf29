//! The frames an image tower takes.

use crate::media::frames::{Filter, Fit};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameSpec {
    pub width: u32,
    pub height: u32,
    pub fit: Fit,
    pub filter: Filter,
    /// Frames sampled per second of video.
    pub fps: u32,
    /// How many consecutive frames make one vector: more than one for a tower of clips, or for
    /// several towers that take turns.
    pub frames: usize,
    /// Whether these form a clip. If not, a frame that equals the one before it is not encoded again.
    pub clips: bool,
    /// How many vectors a core computes at once: a few make transformers faster.
    pub batch: usize,
}

impl FrameSpec {
    /// Of a tower that makes a vector of each frame.
    pub const fn single((width, height): (u32, u32), fit: Fit, filter: Filter, fps: u32) -> Self {
        Self { width, height, fit, filter, fps, frames: 1, clips: false, batch: 4 }
    }

    /// The bytes of one frame: rows of red, green, blue.
    pub fn bytes(&self) -> usize {
        3 * self.width as usize * self.height as usize
    }
}
