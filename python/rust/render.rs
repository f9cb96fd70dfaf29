//! Demonstrations: read from files, rendered, written in other formats; and single frames.

use std::path::PathBuf;

use pyo3::prelude::*;
use stitch_engine::export::{Files, json, thumbnails};
use stitch_engine::files::{FileError, write_whole};
use stitch_engine::progress::Silent;
use stitch_engine::session::Home;

use crate::errors::failed;
use crate::options::VideoOptions;
use crate::work::run;

/// A demonstration from the file that `stitch make` wrote, as JSON.
#[pyfunction]
pub fn read_demonstration(file: PathBuf) -> PyResult<String> {
    let bytes = std::fs::read(&file).map_err(FileError::at(&file)).map_err(failed)?;
    let demonstration = json::read(&bytes).map_err(failed)?;
    serde_json::to_string(&demonstration).map_err(failed)
}

/// Writes a demonstration, given as JSON, to a file.
#[pyfunction]
pub fn write_demonstration(demonstration: String, file: PathBuf) -> PyResult<()> {
    let demonstration = json::read(demonstration.as_bytes()).map_err(failed)?;
    let text = json::text(&demonstration).map_err(failed)?;
    write_whole(&file, text.as_bytes()).map_err(failed)
}

/// Renders a demonstration, given as JSON, to `out`; returns this and the files beside it.
#[pyfunction]
pub fn render(
    py: Python<'_>,
    demonstration: String,
    out: PathBuf,
    options: VideoOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<PathBuf>> {
    let demonstration = json::read(demonstration.as_bytes()).map_err(failed)?;
    let (rendering, handles_ms) = options.check()?;
    let files = Files {
        demonstration: &demonstration,
        options: &rendering,
        video: true,
        wanted: &|name| options.formats.iter().any(|format| format == name),
        handles_ms,
        cuts: &Home::from_environment().cuts_folder(),
    };
    run(py, progress, |progress| files.write(&out, progress).map_err(failed))
}

/// The frame of a video at a time, as JPEG.
#[pyfunction]
pub fn thumbnail(py: Python<'_>, video: PathBuf, at_ms: u64) -> PyResult<Vec<u8>> {
    let cuts = Home::from_environment().cuts_folder();
    py.detach(|| thumbnails::picture_at(&cuts, &video, at_ms, &Silent)).map_err(failed)
}
