//! The step texts at their times in the result.

use super::Export;
use crate::render::cues;

/// SubRip.
pub fn srt(export: &Export) -> String {
    cues::srt(&cues::captions(export.demonstration, export.plan))
}

/// WebVTT.
pub fn vtt(export: &Export) -> String {
    cues::vtt(&cues::captions(export.demonstration, export.plan))
}
