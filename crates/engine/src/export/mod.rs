//! The demonstration for other programs: JSON, subtitles, OTIO, EDL, credits, a page.
//!
//! A format is one [`Format`] in a file of its own and one line in [`FORMATS`].

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
use crate::media::MediaError;
use crate::progress::Progress;
use crate::render::Plan;

/// A file format to export to.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub name: &'static str,
    /// What follows the name of the video and a dot in the name of its file.
    pub extension: &'static str,
    /// As in HTTP's `Content-Type`.
    pub media_type: &'static str,
    pub about: &'static str,
    write: fn(&Export) -> Result<String, ExportError>,
}

/// Every format; `stitch make` always writes the first.
pub static FORMATS: [Format; 8] = [
    json::FORMAT,
    subtitles::SRT,
    subtitles::VTT,
    subtitles::CHAPTERS,
    otio::FORMAT,
    edl::FORMAT,
    credits::FORMAT,
    page::FORMAT,
];

impl Format {
    pub fn by_extension(extension: &str) -> Option<&'static Self> {
        FORMATS.iter().find(|format| format.extension == extension)
    }

    pub fn text(&self, export: &Export) -> Result<String, ExportError> {
        (self.write)(export)
    }

    pub fn write(&self, export: &Export, path: &Path) -> Result<(), ExportError> {
        Ok(write_whole(path, self.text(export)?.as_bytes())?)
    }
}

/// What exports are made of.
#[derive(Clone, Copy)]
pub struct Export<'a> {
    pub demonstration: &'a Demonstration,
    pub plan: &'a Plan,
    pub video: &'a str,
    /// The folder where thumbnails are kept.
    pub cache: &'a Path,
    pub progress: &'a dyn Progress,
}

impl<'a> Export<'a> {
    fn chosen(&self, step: usize) -> Option<&'a Choice> {
        self.demonstration.steps.get(step)?.chosen.as_ref()
    }

    fn text(&self, step: usize) -> &'a str {
        self.demonstration.steps.get(step).map_or("", |step| &step.text)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(
        "the demonstration cannot be written as JSON ({0}); rename files whose names are not \
        UTF-8 and index them again"
    )]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Media(#[from] MediaError),
}
