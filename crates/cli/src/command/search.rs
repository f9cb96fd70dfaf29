//! `stitch search`: the clips of the library that show something.

use clap::Args;
use serde_json::json;
use stitch_core::format::percent;
use stitch_engine::demonstrate::Stock;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table::{self, clipped};

/// Find the clips that show something
#[derive(Args)]
pub struct SearchArguments {
    /// What the clips should show, in words
    text: String,
    /// The maximum number of clips
    #[arg(long, short, default_value_t = 10)]
    number: usize,
}

pub fn run(arguments: &SearchArguments, setup: &Setup) -> Result<u8, Failure> {
    let text = arguments.text.trim();
    if text.is_empty() {
        return Err(Failure::new("the text is empty; describe what the clips should show"));
    }
    let sentences = setup.load_sentences()?;
    let (library, encoder) = setup.open_library(&sentences)?;
    let pool = Stock::load(&library)?;
    let found =
        pool.search(&library, text, arguments.number, encoder.as_ref(), &sentences.encoder)?;
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for found in found {
        let clip = pool.pool.clip(found.clip);
        let video = library.video(clip.video)?;
        lines.push(json!({
            "clip": found.clip.0, "video": video.id, "path": video.path,
            "title": video.video.title, "start_ms": clip.span.start(), "end_ms": clip.span.end(),
            "text": clip.text, "probability": found.probability(),
            "text_similarity": found.evidence.text, "clip_similarity": found.evidence.clip,
        }));
        rows.push(vec![
            percent(found.probability()),
            clip.span.to_string(),
            clipped(&clip.text, 48),
            clipped(&video.path.file_name().unwrap_or_default().to_string_lossy(), 36),
        ]);
    }
    let header = [">probability", ">time", "step", "video"];
    setup.print_all(&lines, || table::print(&header, &rows));
    Ok(0)
}
