//! What a library is made from, and everything that can go wrong while it is made.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stitch_engine::files::FileError;
use stitch_engine::media::MediaError;
use stitch_engine::progress::Stopped;

use crate::catalogue::TaskSet;

/// What decides a library, to the last pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    #[serde(default)]
    pub tasks: TaskSet,
    pub seed: u64,
    pub videos: usize,
    /// Of the pictures, in pixels.
    pub width: u32,
    pub height: u32,
}

impl Settings {
    pub const DEFAULT: Self =
        Self { tasks: TaskSet::Demonstration, seed: 1, videos: 24, width: 640, height: 360 };
    /// The largest integer that every JSON reader holds exactly.
    pub const MAX_SEED: u64 = (1 << 53) - 1;
    pub const MAX_VIDEOS: usize = 1_000_000;
    /// Of a picture, in pixels.
    pub const MIN_SIDE: u32 = 64;
    pub const MAX_SIDE: u32 = 3840;

    pub fn check(&self) -> Result<(), WorldError> {
        let Self { seed, videos, width, height, .. } = *self;
        if seed > Self::MAX_SEED {
            return Err(WorldError::Seed { seed });
        }
        if videos == 0 || videos > Self::MAX_VIDEOS {
            return Err(WorldError::Videos { videos });
        }
        let fits =
            |side: u32| side.is_multiple_of(2) && (Self::MIN_SIDE..=Self::MAX_SIDE).contains(&side);
        if fits(width) && fits(height) { Ok(()) } else { Err(WorldError::Size { width, height }) }
    }
}

/// Why a library cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    #[error("the seed {seed} is too large; take one from 0 to {}", Settings::MAX_SEED)]
    Seed { seed: u64 },
    #[error("a library of {videos} videos cannot be made; ask for 1 to {}", Settings::MAX_VIDEOS)]
    Videos { videos: usize },
    #[error("{per_step} frames of each step cannot be drawn; ask for 1 to 200")]
    FramesPerStep { per_step: usize },
    #[error(
        "pictures of {width}x{height} cannot be made; take even numbers from {} to {}, such as \
        640x360",
        Settings::MIN_SIDE,
        Settings::MAX_SIDE
    )]
    Size { width: u32, height: u32 },
    #[error("{} is a file; choose a folder that is empty or not there yet", path.display())]
    NotAFolder { path: PathBuf },
    #[error("{} holds other files; choose a folder that is empty or not there yet", folder.display())]
    Foreign { folder: PathBuf },
    #[error("{} holds a library made differently ({was}; asked for: {asked}); choose another folder, \
        or replace it with --force", folder.display())]
    Different { folder: PathBuf, was: String, asked: String },
    #[error("another stitch is working in {}; wait for it or choose another folder", folder.display())]
    Busy { folder: PathBuf },
    #[error(transparent)]
    Media(#[from] MediaError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_made_is_refused_with_the_way_out() {
        let of = |change: fn(&mut Settings)| {
            let mut settings = Settings::DEFAULT;
            change(&mut settings);
            settings.check().map_err(|error| error.to_string())
        };
        assert_eq!(of(|_| ()), Ok(()));
        assert!(of(|s| s.seed = u64::MAX).unwrap_err().contains("from 0 to 9007199254740991"));
        assert!(of(|s| s.videos = 0).unwrap_err().contains("ask for 1 to"));
        assert!(of(|s| s.width = 641).unwrap_err().contains("641x360"));
        assert!(of(|s| s.height = 0).unwrap_err().contains("such as 640x360"));
        assert!(of(|s| s.width = 1 << 30).is_err());
    }
}
