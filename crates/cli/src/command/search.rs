//! `stitch search`: where in the library is this shown?

use clap::Args;
use serde_json::json;
use stitch_core::format::percent;
use stitch_core::map::Match;
use stitch_core::pool::Pool;
use stitch_engine::demonstrate::Stock;
use stitch_engine::library::Library;
use stitch_engine::progress::Progress;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table::{self, clipped};

/// Find the clips that show something
#[derive(Args)]
pub struct SearchArguments {
    /// What should be seen, in words
    text: String,
    /// How many clips
    #[arg(long, short, default_value_t = 10)]
    number: usize,
}

/// Runs the command.
pub fn run(arguments: &SearchArguments, setup: &Setup) -> Result<u8, Failure> {
    if arguments.text.trim().is_empty() {
        return Err(Failure::new("nothing to search for; say what should be seen"));
    }
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let (library, encoder) = setup.open_library(&sentences)?;
    let stock = Stock::load(&library)?;
    let (text, number) = (arguments.text.trim(), arguments.number);
    let found = stock.search(&library, text, number, encoder.as_ref(), &sentences.encoder)?;
    setup.progress.finish();
    print(&found, &stock.pool, &library, setup)
}

fn print(found: &[Match], pool: &Pool, library: &Library, setup: &Setup) -> Result<u8, Failure> {
    let mut rows = Vec::new();
    for m in found {
        let clip = pool.clip(m.clip);
        let video = library.video(clip.video)?;
        if setup.json {
            let (start, end) = (clip.span.start(), clip.span.end());
            println!(
                "{}",
                json!({"clip": m.clip.0, "video": video.id, "path": video.path,
                    "title": video.video.title, "start_ms": start, "end_ms": end,
                    "text": clip.text, "probability": m.probability(),
                    "text_similarity": m.evidence.text, "clip_similarity": m.evidence.clip})
            );
        }
        rows.push(vec![
            percent(m.probability()),
            clip.span.to_string(),
            clipped(&clip.text, 48),
            clipped(&video.path.file_name().unwrap_or_default().to_string_lossy(), 36),
        ]);
    }
    if !setup.json {
        table::print(&["likely", "when", "what", "video"], &[true, true, false, false], &rows);
    }
    Ok(0)
}
