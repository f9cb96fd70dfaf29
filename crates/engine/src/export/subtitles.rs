//! SubRip, WebVTT and chapters: the step texts at their times in the result.

use super::{Export, ExportError, Format};
use crate::render::cues;

pub(super) const SRT: Format = Format {
    name: "srt",
    extension: "srt",
    media_type: "text/plain; charset=utf-8",
    about: "SubRip subtitles",
    write: srt,
};

pub(super) const VTT: Format = Format {
    name: "vtt",
    extension: "vtt",
    media_type: "text/vtt; charset=utf-8",
    about: "WebVTT subtitles",
    write: vtt,
};

pub(super) const CHAPTERS: Format = Format {
    name: "chapters",
    extension: "chapters.vtt",
    media_type: "text/vtt; charset=utf-8",
    about: "WebVTT chapters, one per step",
    write: chapters,
};

fn srt(export: &Export) -> Result<String, ExportError> {
    Ok(cues::srt(&cues::captions(export.demonstration, export.plan)))
}

fn vtt(export: &Export) -> Result<String, ExportError> {
    Ok(cues::vtt(&cues::captions(export.demonstration, export.plan)))
}

fn chapters(export: &Export) -> Result<String, ExportError> {
    Ok(cues::vtt(&cues::chapters(export.demonstration, export.plan)))
}
