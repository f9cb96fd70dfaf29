//! Writes the timelines for editors of a demo.json beside it, for tests/interop:
//! `timelines DEMO.json HANDLES_MS`.

use std::path::{Path, PathBuf};

use stitch_engine::export::{Export, Format, json};
use stitch_engine::progress::Silent;
use stitch_engine::render::{Plan, RenderOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().ok_or("give a demo.json")?);
    let handles_ms = arguments.next().ok_or("give the length of the handles")?.parse()?;
    let demonstration = json::read(&std::fs::read(&path)?)?;
    // Small, because the test renders the whole timeline.
    let options = RenderOptions { size: Some((128, 72)), ..RenderOptions::default() };
    let plan = Plan::new(&demonstration, &options, &Silent)?;
    let export = Export {
        demonstration: &demonstration,
        plan: &plan,
        handles_ms,
        video: "demo.mp4",
        cache: Path::new("."),
        progress: &Silent,
    };
    for extension in ["otio", "edl", "fcpxml", "xml", "mlt", "chapters.vtt"] {
        let format = Format::by_extension(extension).ok_or(extension)?;
        format.write(&export, &path.with_extension(extension))?;
    }
    Ok(())
}
