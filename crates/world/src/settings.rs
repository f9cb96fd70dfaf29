//! What a library is made from, and everything that can go wrong while it is made.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stitch_engine::files::FileError;
use stitch_engine::media::MediaError;
use stitch_engine::progress::Stopped;

/// What decides a library, to the last pixel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Another seed, other videos.
    pub seed: u64,
    /// How many.
    pub videos: usize,
    /// Of the pictures, in pixels.
    pub width: u32,
    /// Of the pictures, in pixels.
    pub height: u32,
}

impl Settings {
    /// The library that is meant when nothing is said.
    pub const DEFAULT: Self = Self { seed: 1, videos: 24, width: 640, height: 360 };
    /// Seeds are kept where every JSON reader can hold them.
    pub const LARGEST_SEED: u64 = (1 << 53) - 1;
    /// The most videos in one library.
    pub const MOST_VIDEOS: usize = 1_000_000;
    /// The shortest side of a picture.
    pub const SHORTEST_SIDE: u32 = 64;
    /// The longest side of a picture.
    pub const LONGEST_SIDE: u32 = 3840;

    /// Whether a library can be made from these.
    pub fn check(&self) -> Result<(), WorldError> {
        if self.seed > Self::LARGEST_SEED {
            return Err(WorldError::Seed { seed: self.seed });
        }
        if self.videos == 0 || self.videos > Self::MOST_VIDEOS {
            return Err(WorldError::Videos { videos: self.videos });
        }
        let fits = |side: u32| {
            side.is_multiple_of(2) && (Self::SHORTEST_SIDE..=Self::LONGEST_SIDE).contains(&side)
        };
        let Self { width, height, .. } = *self;
        if fits(width) && fits(height) { Ok(()) } else { Err(WorldError::Size { width, height }) }
    }
}

/// Why a library cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The seed is too large.
    #[error("the seed {seed} is too large; take one from 0 to {}", Settings::LARGEST_SEED)]
    Seed {
        /// The one given.
        seed: u64,
    },
    /// None or too many videos.
    #[error("a library of {videos} videos cannot be made; ask for 1 to {}", Settings::MOST_VIDEOS)]
    Videos {
        /// How many were asked for.
        videos: usize,
    },
    /// No or too many frames of each shot.
    #[error("{per_step} frames of each step cannot be drawn; ask for 1 to 200")]
    FramesPerStep {
        /// How many were asked for.
        per_step: usize,
    },
    /// Pictures of a size that cannot be encoded.
    #[error(
        "pictures of {width}x{height} cannot be made; take even numbers from {} to {}, such as \
        640x360",
        Settings::SHORTEST_SIDE,
        Settings::LONGEST_SIDE
    )]
    Size {
        /// In pixels.
        width: u32,
        /// In pixels.
        height: u32,
    },
    /// The folder is none.
    #[error("{} is a file; choose a folder that is empty or not there yet", path.display())]
    NotAFolder {
        /// The file.
        path: PathBuf,
    },
    /// There is something else in the folder.
    #[error("{} holds other files; choose a folder that is empty or not there yet", folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
    },
    /// There is another library in the folder.
    #[error("{} holds a library made differently ({was}; asked for: {asked}); choose another folder, \
        or replace it with --force", folder.display())]
    Different {
        /// The folder.
        folder: PathBuf,
        /// What is there.
        was: String,
        /// What was asked for.
        asked: String,
    },
    /// Somebody else is at it.
    #[error("another stitch is working in {}; wait for it or choose another folder", folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// A font could not be used.
    #[error("the built-in typeface cannot be read; this build is broken, install it again")]
    Typeface,
    /// Encoding or speaking failed.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The work was asked to stop.
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
