//! WebVTT, read as SubRip is.

use super::{SubtitleFormat, subrip};

pub const FORMAT: SubtitleFormat =
    SubtitleFormat { name: "VTT", extensions: &["vtt"], ..subrip::FORMAT };
