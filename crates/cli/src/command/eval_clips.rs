//! `stitch eval clips`: whether the clips of an index fit the actions of its videos.

use std::path::PathBuf;

use clap::Args;
use stitch_engine::library::Library;
use stitch_lab::suite::clip_spans;
use stitch_world::truth::Truth;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::table;

/// Compare the clips of the index of a made-up library with the true spans of its actions
#[derive(Args)]
pub struct ClipsArguments {
    /// The folder that `stitch world render` wrote and the library indexes
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The seed of the bootstrap samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(arguments: &ClipsArguments, setup: &Setup) -> Result<u8, Failure> {
    let truth = Truth::read(&arguments.folder.join("truth.json"))?;
    let library = Library::open(&setup.library)?;
    let report = clip_spans::compare(&library, &truth, arguments.seed)?;
    setup.print(&report, || {
        println!("{} videos, {} actions, {} clips", report.videos, report.actions, report.clips);
        table::print_estimates(&[
            ("mean IoU of an action and its best clip", &report.iou),
            ("actions with an IoU of at least 0.5", &report.half),
            ("boundaries of actions found within 1 s", &report.boundary_recall),
            ("boundaries of clips that are one of an action", &report.boundary_precision),
        ]);
    });
    Ok(0)
}
