//! SubRip, WebVTT and chapters: the step texts at their times in the result.

use super::Format;
use crate::render::cues::{captions, chapters, srt, vtt};

pub(super) const SRT: Format = Format {
    name: "srt",
    extension: "srt",
    media_type: "text/plain; charset=utf-8",
    about: "SubRip subtitles",
    write: |export| Ok(srt(&captions(export.demonstration, export.plan))),
};

pub(super) const VTT: Format = Format {
    name: "vtt",
    extension: "vtt",
    media_type: "text/vtt; charset=utf-8",
    about: "WebVTT subtitles",
    write: |export| Ok(vtt(&captions(export.demonstration, export.plan))),
};

pub(super) const CHAPTERS: Format = Format {
    name: "chapters",
    extension: "chapters.vtt",
    media_type: "text/vtt; charset=utf-8",
    about: "WebVTT chapters, one per step",
    write: |export| Ok(vtt(&chapters(export.demonstration, export.plan))),
};
