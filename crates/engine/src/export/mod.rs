//! The demonstration for other programs: JSON, subtitles, OTIO, EDL, credits, a page.
//!
//! Every format is one function from an [`Export`] to text; [`write`] picks it and writes the file.

pub mod json;
pub mod subtitles;
pub mod otio;
pub mod edl;
pub mod credits;
pub mod thumbnails;
pub mod page;

use std::path::Path;

use crate::demonstrate::{Choice, Demonstration};
use crate::files::{FileError, write_whole};
use crate::render::Plan;
use thumbnails::Thumbnails;

/// A format to export to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// The demonstration itself.
    Json,
    /// SubRip subtitles.
    Srt,
    /// WebVTT subtitles.
    Vtt,
    /// OpenTimelineIO, for video editors.
    Otio,
    /// A CMX 3600 edit decision list, for video editors.
    Edl,
    /// Who made the sources, as text.
    Credits,
    /// One page with everything.
    Html,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Json, Self::Srt, Self::Vtt, Self::Otio, Self::Edl, Self::Credits, Self::Html];

    /// The ending of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Srt => "srt",
            Self::Vtt => "vtt",
            Self::Otio => "otio",
            Self::Edl => "edl",
            Self::Credits => "credits.txt",
            Self::Html => "html",
        }
    }

    /// The format with this ending.
    pub fn from_ending(ending: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.ending() == ending)
    }
}

/// What exports are made of.
#[derive(Clone, Copy)]
pub struct Export<'a> {
    /// The demonstration.
    pub demonstration: &'a Demonstration,
    /// When what is shown in the result.
    pub plan: &'a Plan,
    /// The name of the video file beside the export.
    pub video: &'a str,
    /// Pictures for the page.
    pub thumbnails: &'a Thumbnails,
}

impl<'a> Export<'a> {
    /// The clip chosen for a step.
    fn chosen(&self, step: usize) -> Option<&'a Choice> {
        self.demonstration.steps.get(step)?.chosen.as_ref()
    }

    /// The text of a step.
    fn text(&self, step: usize) -> &'a str {
        self.demonstration.steps.get(step).map_or("", |step| &step.text)
    }
}

/// Why there is no export.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The demonstration cannot be written as JSON.
    #[error(
        "the demonstration cannot be written as JSON ({0}); rename files whose names are not \
        UTF-8 and index them again"
    )]
    Json(#[from] serde_json::Error),
    /// The file could not be written.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The export as text.
pub fn text(format: Format, export: &Export) -> Result<String, ExportError> {
    Ok(match format {
        Format::Json => json::write(export.demonstration)?,
        Format::Srt => subtitles::srt(export),
        Format::Vtt => subtitles::vtt(export),
        Format::Otio => otio::write(export)?,
        Format::Edl => edl::write(export),
        Format::Credits => credits::write(export),
        Format::Html => page::write(export),
    })
}

/// Writes the export to a file.
pub fn write(format: Format, export: &Export, path: &Path) -> Result<(), ExportError> {
    Ok(write_whole(path, text(format, export)?.as_bytes())?)
}
