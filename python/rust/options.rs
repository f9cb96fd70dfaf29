//! What Python passes in: procedures and options.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{Options, SourceFilter};
use stitch_engine::export::FORMATS;
use stitch_engine::files::FileError;
use stitch_engine::recipe::{self, Reading};
use stitch_engine::render::RenderOptions;
use stitch_engine::scorers;
use stitch_engine::session::Sentences;

use crate::errors::{failed, named, wrong_option};

/// A procedure: its text or address, its file, or its steps.
#[derive(FromPyObject)]
pub enum Written {
    Text(String),
    File(PathBuf),
    Steps(Vec<String>),
}

impl Written {
    pub fn read(self, title: Option<&str>, sentences: &Sentences) -> PyResult<Reading> {
        let read = |name: &str, bytes: &[u8]| {
            recipe::read_procedure(name, bytes, Some(&*sentences.encoder)).map_err(failed)
        };
        let mut reading = match self {
            Self::Text(url) if recipe::is_address(&url) => {
                let (name, bytes) = recipe::download(&url).map_err(failed)?;
                read(&name, &bytes)?
            }
            Self::Text(text) if Path::new(&text).is_file() => {
                return Err(wrong_option(format!(
                    "a str is the text of the procedure, and `{text}` is a file: give pathlib.Path({text:?})"
                )));
            }
            Self::Text(text) => read("", text.as_bytes())?,
            Self::File(file) => {
                let bytes = std::fs::read(&file).map_err(FileError::at(&file)).map_err(failed)?;
                read(&file.file_name().unwrap_or_default().to_string_lossy(), &bytes)?
            }
            Self::Steps(steps) => {
                let procedure = Procedure::new("", steps).map_err(failed)?;
                Reading { procedure, left_out: Vec::new(), language: None, recipes: 1 }
            }
        };
        if let Some(title) = title {
            let steps = reading.procedure.steps();
            reading.procedure = Procedure::new(title, steps).map_err(failed)?;
        }
        Ok(reading)
    }
}

/// How clips are chosen; lengths in seconds.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SearchOptions {
    length: Option<f64>,
    step_length: f64,
    speed_up: f64,
    only: Vec<String>,
    without: Vec<String>,
    licence: Vec<String>,
    candidates: usize,
    threshold: Option<f32>,
    gaps: String,
    pub scorer: Option<String>,
    seed: u64,
}

impl SearchOptions {
    pub fn check(&self) -> PyResult<Options> {
        if self.scorer.as_deref().is_some_and(|name| !scorers::names().contains(&name)) {
            let names = scorers::names().join(", ");
            return Err(wrong_option(format!("scorer must be one of {names}")));
        }
        let mut options = Options {
            length_ms: self.length.map(|length| milliseconds("length", length)).transpose()?,
            candidates: self.candidates,
            threshold: self.threshold,
            gaps: named("gaps", &self.gaps)?,
            sources: SourceFilter {
                allow: self.only.clone(),
                deny: self.without.clone(),
                licences: self.licence.clone(),
            },
            seed: self.seed,
            ..Options::default()
        };
        options.timeline.longest_ms = milliseconds("step_length", self.step_length)?;
        options.timeline.fastest = self.speed_up;
        options.validate().map_err(wrong_option)?;
        Ok(options)
    }
}

/// What the video looks like, and which files are written beside it; lengths in seconds.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct VideoOptions {
    size: Option<(u32, u32)>,
    aspect: String,
    captions: String,
    crossfade: f64,
    title_card: bool,
    pub formats: Vec<String>,
    handles: f64,
}

impl VideoOptions {
    /// The options of the video, and the handles of timelines in milliseconds.
    pub fn check(&self) -> PyResult<(RenderOptions, u64)> {
        let is_known = |name: &&String| FORMATS[1..].iter().any(|format| format.name == **name);
        if let Some(name) = self.formats.iter().find(|name| !is_known(name)) {
            let names: Vec<&str> = FORMATS[1..].iter().map(|format| format.name).collect();
            return Err(wrong_option(format!("formats: no `{name}`; there are {}", names.join(", "))));
        }
        let options = RenderOptions {
            size: self.size,
            aspect: named("aspect", &self.aspect)?,
            captions: named("captions", &self.captions)?,
            crossfade_ms: milliseconds("crossfade", self.crossfade)?,
            title_card: self.title_card,
            ..RenderOptions::default()
        };
        options.validate().map_err(wrong_option)?;
        Ok((options, milliseconds("handles", self.handles)?))
    }
}

fn milliseconds(option: &str, seconds: f64) -> PyResult<u64> {
    match seconds >= 0.0 {
        true => Ok((seconds * 1000.0) as u64),
        false => Err(wrong_option(format!("{option} must be a number of seconds"))),
    }
}
