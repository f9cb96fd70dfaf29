//! `stitch world`: the made-up library.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;
use stitch_core::format::count;
use stitch_engine::progress::Progress;
use stitch_world::frames::{FramesSummary, render_frames};
use stitch_world::render::{Summary, render};
use stitch_world::settings::{Settings, WorldError};
use stitch_world::sheet::{SheetSummary, sheet};

/// What can be done with the made-up library.
#[derive(Debug, Subcommand)]
pub enum WorldCommand {
    /// Draw and speak a library of instructional videos, with exact truth beside them
    ///
    /// Three fields of work, twelve tasks; every video has its own place, presenter, voice, wording
    /// and order of steps. The same seed gives the same frames. A run that was stopped goes on where
    /// it was; a larger library can be made from a smaller one in the same folder.
    Render(RenderArgs),
    /// Draw a contact sheet: every task as a row of pictures, one a step
    Sheet(SheetArgs),
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
    /// How many videos; the tasks take turns
    #[arg(long, default_value_t = Settings::DEFAULT.videos, value_name = "N")]
    pub videos: usize,
    /// Size of the pictures, both sides even
    #[arg(long, default_value = "640x360", value_name = "WxH", value_parser = parse_size)]
    pub size: (u32, u32),
    /// Only single frames with what they show (frames.jsonl), for training; needs no ffmpeg
    #[arg(long)]
    pub frames_only: bool,
    /// How many frames of each step
    #[arg(long, default_value_t = 4, value_name = "N", requires = "frames_only")]
    pub frames_per_step: usize,
    /// Replace a library that was made with other options
    #[arg(long)]
    pub force: bool,
}

/// The options of `stitch world sheet`.
#[derive(Debug, Args)]
pub struct SheetArgs {
    /// The picture to write
    #[arg(long, short, value_name = "FILE.png")]
    pub out: PathBuf,
    /// The seed of the library it shows
    #[arg(long, default_value_t = Settings::DEFAULT.seed, value_name = "N")]
    pub seed: u64,
}

impl RenderArgs {
    fn settings(&self) -> Settings {
        let (width, height) = self.size;
        Settings { seed: self.seed, videos: self.videos, width, height }
    }
}

/// `640x360` as two numbers.
fn parse_size(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once(['x', 'X']);
    let sides = sides.and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    sides.ok_or_else(|| format!("{text:?} is no size; write it as 640x360"))
}

/// What a command has to say at its end: words to print, or the same as JSON.
#[derive(Debug, Serialize)]
pub struct WorldReport {
    /// Where it is.
    pub out: PathBuf,
    /// What was made.
    #[serde(flatten)]
    pub made: Made,
}

/// What was made.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Made {
    /// Videos.
    Videos(Summary),
    /// Single frames.
    Frames(FramesSummary),
    /// A contact sheet.
    Sheet(SheetSummary),
}

impl fmt::Display for WorldReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let out = self.out.display();
        match &self.made {
            Made::Videos(Summary { videos, made, seconds, procedures, .. }) => {
                let (videos, minutes) =
                    (count(*videos, "video"), count(seconds.div_ceil(60) as usize, "minute"));
                writeln!(f, "{videos}, {minutes}, {made} made now, in {out}")?;
                let procedures = count(*procedures, "procedure");
                writeln!(f, "truth.json: what they show; procedures.jsonl: {procedures} to try")?;
                write!(f, "next: stitch index {out}")
            }
            Made::Frames(FramesSummary { videos, made, frames }) => {
                let (frames, videos) = (count(*frames, "frame"), count(*videos, "video"));
                writeln!(f, "{frames} of {videos}, {made} made now, in {out}")?;
                write!(f, "frames.jsonl: what they show")
            }
            Made::Sheet(SheetSummary { tasks, panels, .. }) => {
                write!(f, "{tasks} tasks in {panels} pictures, in {out}")
            }
        }
    }
}

/// Does what was asked.
pub fn run(command: &WorldCommand, progress: &dyn Progress) -> Result<WorldReport, WorldError> {
    let (out, made) = match command {
        WorldCommand::Render(args) => (&args.out, render_either(args, progress)?),
        WorldCommand::Sheet(args) => {
            (&args.out, Made::Sheet(sheet(&args.out, args.seed, progress)?))
        }
    };
    Ok(WorldReport { out: out.clone(), made })
}

fn render_either(args: &RenderArgs, progress: &dyn Progress) -> Result<Made, WorldError> {
    let (out, settings, force) = (&args.out, args.settings(), args.force);
    if args.frames_only {
        let frames = render_frames(out, settings, args.frames_per_step, force, progress)?;
        return Ok(Made::Frames(frames));
    }
    Ok(Made::Videos(render(out, settings, force, progress)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_two_numbers() {
        assert_eq!(parse_size("640x360"), Ok((640, 360)));
        assert_eq!(parse_size("1280X720"), Ok((1280, 720)));
        for wrong in ["", "640", "640x", "x360", "-2x4", "640x360x2", "axb", "99999999999x2"] {
            assert!(parse_size(wrong).is_err_and(|error| error.contains("640x360")), "{wrong}");
        }
    }
}
