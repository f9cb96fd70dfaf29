//! `stitch world`: the made-up library.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use stitch_engine::progress::Progress;
use stitch_lab::world::render::{Summary, render};
use stitch_lab::world::settings::{Settings, WorldError};

/// What can be done with the made-up library.
#[derive(Debug, Subcommand)]
pub enum WorldCommand {
    /// Draw and speak a library of instructional videos, with exact truth beside them
    ///
    /// Three fields of work, twelve tasks; every video has its own place, presenter, voice, wording
    /// and order of steps. The same seed gives the same frames. A run that was stopped goes on where
    /// it was; a larger library may be made from a smaller one in the same folder.
    Render(RenderArgs),
}

/// The options of `stitch world render`.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// Where the library goes: an empty folder, or one that an earlier run left
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,
    /// Another seed, other videos
    #[arg(long, default_value_t = Settings::DEFAULT.seed, value_name = "N")]
    pub seed: u64,
    /// How many videos; tasks take turns
    #[arg(long, default_value_t = Settings::DEFAULT.videos, value_name = "N")]
    pub videos: usize,
    /// Size of the pictures, both sides even
    #[arg(long, default_value = "640x360", value_name = "WxH", value_parser = parse_size)]
    pub size: (u32, u32),
    /// Replace a library that was made with other options
    #[arg(long)]
    pub force: bool,
}

impl RenderArgs {
    fn settings(&self) -> Settings {
        let (width, height) = self.size;
        Settings { seed: self.seed, videos: self.videos, width, height }
    }
}

/// `640x360` as two numbers.
fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let sides =
        text.split_once(['x', 'X']).and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    sides.ok_or_else(|| format!("{text:?} is no size; write it as 640x360"))
}

/// What a command has to say at its end.
#[derive(Debug)]
pub enum WorldReport {
    /// A library was made.
    Rendered(PathBuf, Summary),
}

/// Does it.
pub fn run(command: &WorldCommand, progress: &dyn Progress) -> Result<WorldReport, WorldError> {
    match command {
        WorldCommand::Render(args) => {
            let summary = render(&args.out, args.settings(), args.force, progress)?;
            Ok(WorldReport::Rendered(args.out.clone(), summary))
        }
    }
}
