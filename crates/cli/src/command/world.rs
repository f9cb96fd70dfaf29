//! `stitch world`: renders the made-up library.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};
use stitch_core::format::count;
use stitch_world::catalogue::TaskSet;
use stitch_world::frames::{FramesSummary, render_frames};
use stitch_world::render::{Summary, render};
use stitch_world::settings::Settings;
use stitch_world::sheet::{SheetSummary, sheet};

use crate::failure::Failure;
use crate::options::{Choices, choice, size};
use crate::setup::Setup;

#[derive(Subcommand)]
pub enum WorldCommand {
    /// Render a library of made-up instructional videos with their ground truth
    ///
    /// Three domains, several tasks each; every video has its own scene, presenter, voice, wording and order
    /// of steps. The same seed gives the same frames. An interrupted run continues where it stopped; a smaller
    /// library in the same folder is extended.
    Render(RenderArguments),
    /// Render a contact sheet: one row per task, one picture per step
    Sheet(SheetArguments),
}

const TASKS: Choices<TaskSet, 4> = [
    ("demonstration", "The twelve tasks of the examples", TaskSet::Demonstration),
    ("training", "Tasks to learn from", TaskSet::Training),
    ("development", "Tasks to choose settings on", TaskSet::Development),
    ("test", "Tasks to measure on, once", TaskSet::Test),
];

#[derive(Args)]
pub struct RenderArguments {
    /// The folder of the library: empty, or left by an earlier run
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
    /// The tasks that are shown; sets share no task, wording, presenter, voice or place
    #[arg(long, default_value = "demonstration", value_name = "SET", value_parser = choice(&TASKS))]
    tasks: TaskSet,
    /// The random seed; another seed gives other videos
    #[arg(long, default_value_t = Settings::DEFAULT.seed, value_name = "N")]
    seed: u64,
    /// The number of videos, distributed evenly over the tasks
    #[arg(long, default_value_t = Settings::DEFAULT.videos, value_name = "N")]
    videos: usize,
    /// The size of the frames, both sides even
    #[arg(long, default_value = "640x360", value_name = "WxH", value_parser = size)]
    size: (u32, u32),
    /// Render only single frames with their ground truth (frames.jsonl), for training; needs no ffmpeg
    #[arg(long)]
    frames_only: bool,
    /// The number of frames per step
    #[arg(long, default_value_t = 4, value_name = "N", requires = "frames_only")]
    frames_per_step: usize,
    /// Replace a library that was made with other options
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
pub struct SheetArguments {
    /// The picture to write
    #[arg(long, short, value_name = "FILE.png")]
    out: PathBuf,
    /// The tasks that are shown
    #[arg(long, default_value = "demonstration", value_name = "SET", value_parser = choice(&TASKS))]
    tasks: TaskSet,
    /// The seed of the library
    #[arg(long, default_value_t = Settings::DEFAULT.seed, value_name = "N")]
    seed: u64,
}

pub fn run(command: &WorldCommand, setup: &Setup) -> Result<u8, Failure> {
    match command {
        WorldCommand::Render(arguments) if arguments.frames_only => frames(arguments, setup)?,
        WorldCommand::Render(arguments) => videos(arguments, setup)?,
        WorldCommand::Sheet(SheetArguments { out, tasks, seed }) => {
            let summary = sheet(out, *tasks, *seed, &setup.progress)?;
            let SheetSummary { tasks, panels, .. } = &summary;
            let text = format!("{tasks} tasks in {panels} pictures, in {}", out.display());
            setup.print(with_out(out, &summary), || println!("{text}"));
        }
    }
    Ok(0)
}

impl RenderArguments {
    fn settings(&self) -> Settings {
        let (width, height) = self.size;
        Settings { tasks: self.tasks, seed: self.seed, videos: self.videos, width, height }
    }
}

fn videos(arguments: &RenderArguments, setup: &Setup) -> Result<(), Failure> {
    let summary = render(&arguments.out, arguments.settings(), arguments.force, &setup.progress)?;
    setup.print(with_out(&arguments.out, &summary), || {
        let Summary { videos, made, seconds, procedures, .. } = summary;
        let (videos, out) = (count(videos, "video"), arguments.out.display());
        let minutes = count(seconds.div_ceil(60) as usize, "minute");
        println!("{videos}, {minutes}, {made} rendered now, in {out}");
        let procedures = count(procedures, "procedure");
        println!("truth.json: the ground truth; procedures.jsonl: {procedures} to try");
        println!("next: stitch index {out}");
    });
    Ok(())
}

fn frames(arguments: &RenderArguments, setup: &Setup) -> Result<(), Failure> {
    let RenderArguments { out, frames_per_step, force, .. } = arguments;
    let settings = arguments.settings();
    let summary = render_frames(out, settings, *frames_per_step, *force, &setup.progress)?;
    setup.print(with_out(out, &summary), || {
        let FramesSummary { videos, made, frames } = summary;
        let (frames, videos) = (count(frames, "frame"), count(videos, "video"));
        println!("{frames} of {videos}, {made} rendered now, in {}", out.display());
        println!("frames.jsonl: the ground truth");
    });
    Ok(())
}

/// A summary as JSON with its folder or file first.
fn with_out(out: &PathBuf, summary: &impl Serialize) -> Value {
    let mut json = json!({"out": out});
    if let (Some(fields), Value::Object(more)) = (json.as_object_mut(), json!(summary)) {
        fields.extend(more);
    }
    json
}
