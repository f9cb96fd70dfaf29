//! The demonstration for other programs: JSON, subtitles, timelines for editors, credits, a page.
//!
//! A format is a function in a file of its own and one line in [`FORMATS`].

pub mod json;
pub mod credits;
mod rate;
mod timeline;
mod xml;
pub mod otio;
pub mod edl;
pub mod fcpxml;
pub mod xmeml;
pub mod mlt;
pub mod thumbnails;
pub mod page;

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use crate::demonstrate::{Choice, Demonstration};
use crate::files::{FileError, create_folder, write_whole};
use crate::media::MediaError;
use crate::progress::Progress;
use crate::render::cues::{captions, chapters, srt, vtt};
use crate::render::{self, Entry, Plan, RenderError, RenderOptions, Shown};
use crate::transcript::Sentence;

/// A file format to export to.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub name: &'static str,
    /// What follows the name of the video and a dot in the name of its file.
    pub extension: &'static str,
    /// As in HTTP's `Content-Type`.
    pub media_type: &'static str,
    pub about: &'static str,
    write: Write,
}

type Write = fn(&Export) -> Result<String, ExportError>;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";
const VTT: &str = "text/vtt; charset=utf-8";
const XML: &str = "application/xml; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// Every format; `stitch make` always writes the first.
pub static FORMATS: &[Format] = &[
    format("json", "json", JSON, "the demonstration itself", json::write),
    format("srt", "srt", TEXT, "SubRip subtitles", |export| Ok(srt(&export.captions()))),
    format("vtt", "vtt", VTT, "WebVTT subtitles", |export| Ok(vtt(&export.captions()))),
    format("chapters", "chapters.vtt", VTT, "WebVTT chapters, one per step", |export| {
        Ok(vtt(&chapters(export.demonstration, export.plan)))
    }),
    format("otio", "otio", JSON, "OpenTimelineIO, for video editors", otio::write),
    format("edl", "edl", TEXT, "a CMX 3600 edit decision list, for video editors", edl::write),
    format("fcpxml", "fcpxml", XML, "for Final Cut Pro and DaVinci Resolve", fcpxml::write),
    format("xmeml", "xml", XML, "Final Cut Pro 7 XML, for Premiere Pro and Resolve", xmeml::write),
    format("mlt", "mlt", XML, "for Shotcut and Kdenlive", mlt::write),
    format(
        "credits",
        "credits.txt",
        TEXT,
        "who made the sources, under which licences",
        credits::write,
    ),
    format(
        "html",
        "html",
        HTML,
        "one page with video, steps, sources and alternatives",
        page::write,
    ),
];

const fn format(
    name: &'static str,
    extension: &'static str,
    media_type: &'static str,
    about: &'static str,
    write: Write,
) -> Format {
    Format { name, extension, media_type, about, write }
}

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

/// The bytes percent-encoded for the path of a URL.
fn url_path(bytes: &[u8]) -> String {
    const ESCAPED: &AsciiSet =
        &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    percent_encode(bytes, ESCAPED).to_string()
}

/// An absolute path as a URL; `host` is empty or `localhost`.
fn file_url(host: &str, path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or(path.to_owned());
    format!("file://{host}{}", url_path(path.as_os_str().as_encoded_bytes()))
}

#[derive(Clone, Copy)]
pub struct Export<'a> {
    pub demonstration: &'a Demonstration,
    pub plan: &'a Plan,
    /// How much longer clips are at either end in timelines for editors, where the source has it.
    pub handles_ms: u64,
    pub video: &'a str,
    /// The folder where thumbnails are kept.
    pub cache: &'a Path,
    pub progress: &'a dyn Progress,
}

impl<'a> Export<'a> {
    fn captions(&self) -> Vec<Sentence> {
        captions(self.demonstration, self.plan)
    }

    /// The clip of an entry; none for cards.
    fn clip(&self, entry: &Entry) -> Option<&'a Choice> {
        match entry.shown {
            Shown::Clip { step, clip } => self.demonstration.clip(step, clip),
            Shown::Title | Shown::Gap(_) => None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(
        "the demonstration cannot be written as JSON ({0}); rename files whose names are not \
        UTF-8 and index them again"
    )]
    Json(#[from] serde_json::Error),
    #[error("this is no demonstration ({0}); give the demo.json that `stitch make` wrote")]
    NoDemonstration(serde_json::Error),
    #[error(
        "this demonstration has format {found}, this stitch reads {expected}; make it again, or \
        use the stitch that wrote it"
    )]
    Version { found: u32, expected: u32 },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Media(#[from] MediaError),
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// The video of a demonstration and the files beside it.
pub struct Files<'a> {
    pub demonstration: &'a Demonstration,
    pub options: &'a RenderOptions,
    /// Whether the video itself is rendered.
    pub video: bool,
    /// Which formats are written besides the first of [`FORMATS`].
    pub wanted: &'a (dyn Fn(&str) -> bool + Sync),
    pub handles_ms: u64,
    /// The cache of encoded cuts.
    pub cuts: &'a Path,
}

impl Files<'_> {
    /// Writes the video to `output` and the other files beside it; returns their paths.
    pub fn write(
        &self,
        output: &Path,
        progress: &dyn Progress,
    ) -> Result<Vec<PathBuf>, ExportError> {
        if let Some(folder) = output.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            create_folder(folder)?;
        }
        let Self { demonstration, options, cuts: cache, .. } = *self;
        let mut files = Vec::new();
        let plan = if self.video {
            files.push(output.to_owned());
            render::render(demonstration, options, output, cache, progress)?.plan
        } else {
            Plan::new(demonstration, options, progress)?
        };
        let video = &output.file_name().unwrap_or_default().to_string_lossy();
        let handles_ms = self.handles_ms;
        let export = Export { demonstration, plan: &plan, handles_ms, video, cache, progress };
        let (always, others) = FORMATS.split_at(1);
        let others = others.iter().filter(|format| (self.wanted)(format.name));
        for format in always.iter().chain(others) {
            let file = output.with_extension(format.extension);
            format.write(&export, &file)?;
            files.push(file);
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_escaped_in_urls() {
        assert_eq!(url_path(b"a b\"#?%.mp4"), "a%20b%22%23%3F%25.mp4");
        assert_eq!(url_path(b"/a-b_c.~d"), "/a-b_c.~d");
    }
}
