//! Options of the rendered video.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::media::VideoEncoder;
pub use crate::media::cut::{Aspect, Canvas};
use crate::options::{OptionError, seconds, within};

/// How the step texts are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Captions {
    /// Drawn into the picture, with the step's number.
    Burnt,
    /// A text track that the player switches on and off.
    #[default]
    Soft,
    None,
}

/// The clips' own sound beside a narrator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceSound {
    /// Quieter while the narrator speaks.
    #[default]
    Duck,
    Off,
    Full,
}

/// What happens to subtitles and watermarks in the pictures of the sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overlays {
    #[default]
    Keep,
    /// Cut off with the side of the picture that they are at; covered where more than a third would be lost.
    Crop,
    /// Painted over with their surroundings.
    Cover,
}

/// What is heard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Soundtrack {
    pub source: SourceSound,
    /// The sound file of each step's sentence; empty without a narrator.
    pub voice: Vec<Option<PathBuf>>,
    /// Played under everything, from its beginning, as often as needed.
    pub music: Option<PathBuf>,
}

impl Soundtrack {
    /// Whether the clips' own sound is all that is heard.
    pub fn is_plain(&self) -> bool {
        self.source != SourceSound::Off && self.voice.is_empty() && self.music.is_none()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct RenderOptions {
    /// Width and height; none takes the most common of the sources, at most 1280x720.
    pub size: Option<(u32, u32)>,
    /// Frames per second; none takes the most common of the sources, at most 30. The nearest of
    /// 24, 25, 30, 50 and 60 is used.
    pub fps: Option<u32>,
    pub aspect: Aspect,
    pub overlays: Overlays,
    pub captions: Captions,
    /// How long one clip fades into the next, in milliseconds; 0 cuts.
    pub crossfade_ms: u64,
    /// Whether a step that nothing shows gets a card that says so.
    pub gap_cards: bool,
    pub title_card: bool,
    pub soundtrack: Soundtrack,
    pub encoder: VideoEncoder,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            size: None,
            fps: None,
            aspect: Aspect::Fit,
            overlays: Overlays::Keep,
            captions: Captions::Soft,
            crossfade_ms: 0,
            gap_cards: true,
            title_card: false,
            soundtrack: Soundtrack::default(),
            encoder: VideoEncoder::X264,
        }
    }
}

impl RenderOptions {
    /// An error for the first value that is out of range.
    pub fn validate(&self) -> Result<(), OptionError> {
        let even = |(width, height): (u32, u32)| {
            width % 2 == 0
                && height % 2 == 0
                && (64..=7680).contains(&width)
                && (64..=4320).contains(&height)
        };
        if !self.size.is_none_or(even) {
            let allowed = "even, from 64x64 to 7680x4320".into();
            return Err(OptionError { option: "width and height", allowed });
        }
        if let Some(music) = self.soundtrack.music.as_ref().filter(|music| !music.is_file()) {
            let allowed = format!("a sound file; there is no file `{}`", music.display());
            return Err(OptionError { option: "music", allowed });
        }
        within("crossfade", seconds(self.crossfade_ms), [0.0, 3.0], " seconds")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_is_an_error_that_names_the_option() {
        let size =
            |width, height| RenderOptions { size: Some((width, height)), ..Default::default() };
        assert_eq!(RenderOptions::default().validate(), Ok(()));
        assert_eq!(size(1280, 720).validate(), Ok(()));
        for wrong in [size(101, 77), size(62, 64), size(64, 4322)] {
            let error = wrong.validate().unwrap_err().to_string();
            assert_eq!(error, "width and height must be even, from 64x64 to 7680x4320");
        }
        let slow = RenderOptions { crossfade_ms: 3001, ..RenderOptions::default() };
        let error = slow.validate().unwrap_err().to_string();
        assert_eq!(error, "crossfade must be from 0 to 3 seconds");
    }
}
