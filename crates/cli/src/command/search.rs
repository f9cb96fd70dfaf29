//! `stitch search`: the clips of the library that show something.

use clap::Args;
use stitch_core::clip::ClipId;
use stitch_core::format::percent;
use stitch_engine::demonstrate::Stock;
use stitch_engine::session::FoundClip;

use crate::failure::Failure;
use crate::setup::{ScorerArguments, Setup};
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
    let session = setup.open(&ScorerArguments::default())?;
    let stock = Stock::load(&session.library)?;
    let found = session.search(&stock, &arguments.text, arguments.number)?;
    let row = |found: &FoundClip| {
        let span = stock.pool.clip(ClipId(found.clip)).span;
        vec![
            percent(found.probability),
            span.to_string(),
            clipped(&found.text, 48),
            clipped(&found.path.file_name().unwrap_or_default().to_string_lossy(), 36),
        ]
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    let header = [">probability", ">time", "step", "video"];
    setup.print_all(&found, || table::print(&header, &rows));
    Ok(0)
}
