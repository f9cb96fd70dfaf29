//! `stitch make`: a written procedure in, one video out.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{self, Choice, Demonstration, Options, SourceFilter, demonstrate};
use stitch_engine::export::thumbnails::Thumbnails;
use stitch_engine::export::{self, Export, Format};
use stitch_engine::files::FileError;
use stitch_engine::progress::Progress;
use stitch_engine::recipe;
use stitch_engine::render::{self, Aspect, Captions, Plan, RenderOptions};

use crate::failure::{Failure, GAPS};
use crate::setup::{ScorerArguments, Setup};
use crate::table::{self, clipped, clock, count};

/// Make one video that shows every step of a procedure
#[derive(Args)]
pub struct MakeArguments {
    /// The procedure: plain lines, a list, Markdown, schema.org JSON, a recipe page; - is standard
    /// input
    procedure: PathBuf,
    /// The video to write; demo.json and the other files stand beside it under the same name
    #[arg(long, short, default_value = "demo.mp4", value_name = "FILE")]
    output: PathBuf,
    /// What else to write
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS")]
    with: Vec<Extra>,
    /// Find the clips and write demo.json, but no video
    #[arg(long)]
    no_video: bool,
    /// End with exit code 3 if a step is shown by nothing
    #[arg(long)]
    strict: bool,

    /// The longest the video may be, in seconds
    #[arg(long, value_name = "SECONDS", help_heading = "Choosing")]
    length: Option<f64>,
    /// The longest one step may be, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 20.0, help_heading = "Choosing")]
    step_length: f64,
    /// How much faster a clip may play to fit its length; 1 cuts it off instead
    #[arg(long, value_name = "TIMES", default_value_t = 1.0, help_heading = "Choosing")]
    speed_up: f64,
    /// Use only videos with this in their path, title or uploader; may be given again
    #[arg(long, value_name = "TEXT", help_heading = "Choosing")]
    only: Vec<String>,
    /// Use no videos with this in their path, title or uploader; may be given again
    #[arg(long, value_name = "TEXT", help_heading = "Choosing")]
    without: Vec<String>,
    /// Use only videos with this in their licence; may be given again
    #[arg(long, value_name = "TEXT", help_heading = "Choosing")]
    licence: Vec<String>,
    /// How many candidate sequences are compared
    #[arg(long, value_name = "N", default_value_t = 200, help_heading = "Choosing")]
    candidates: usize,
    /// How likely a clip must show its step, from 0 to 1, or the step is called a gap [default: as
    /// measured for the library's encoder]
    #[arg(long, value_name = "PROBABILITY", help_heading = "Choosing")]
    threshold: Option<f32>,
    #[command(flatten)]
    scorer: ScorerArguments,
    /// The seed of everything random
    #[arg(long, default_value_t = 0, help_heading = "Choosing")]
    seed: u64,

    /// Width and height of the video [default: as most of its sources]
    #[arg(long, value_name = "WxH", value_parser = size, help_heading = "Looks")]
    size: Option<(u32, u32)>,
    /// How clips of another shape are fitted
    #[arg(long, value_enum, default_value_t = AspectName::Blur, help_heading = "Looks")]
    aspect: AspectName,
    /// Step texts as captions
    #[arg(long, value_enum, default_value_t = CaptionsName::Soft, help_heading = "Looks")]
    captions: CaptionsName,
    /// Seconds over which one clip fades into the next
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, help_heading = "Looks")]
    crossfade: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Extra {
    Html,
    Srt,
    Vtt,
    Otio,
    Edl,
    Credits,
    All,
}

#[derive(Clone, Copy, ValueEnum)]
enum AspectName {
    /// Whole picture, bars beside it
    Fit,
    /// Fill the frame, cut off what does not fit
    Crop,
    /// Whole picture on a blurred copy of itself
    Blur,
}

#[derive(Clone, Copy, ValueEnum)]
enum CaptionsName {
    /// Drawn into the picture
    Burnt,
    /// A text track the player can show or hide
    Soft,
    /// None
    None,
}

/// `640x360` as numbers.
fn size(text: &str) -> Result<(u32, u32), String> {
    let parts =
        text.split_once(['x', 'X']).and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    match parts {
        Some((w @ 64..=7680, h @ 64..=4320)) if w % 2 == 0 && h % 2 == 0 => Ok((w, h)),
        Some(_) => Err("width and height must be even, from 64x64 to 7680x4320".into()),
        None => Err("write it as 1280x720".into()),
    }
}

/// Runs the command.
pub fn run(arguments: &MakeArguments, setup: &Setup) -> Result<u8, Failure> {
    arguments.check()?;
    let procedure = read(&arguments.procedure)?;
    let opened = setup.open(&arguments.scorer)?;
    setup.progress.begin("choosing clips", 0);
    let demonstration = demonstrate(&opened.demonstrator(), &procedure, &arguments.options())?;
    let gaps = demonstration.gaps().count();
    if gaps == demonstration.steps.len() {
        return Err(nothing_shown().with_code(GAPS));
    }
    let files = write(&demonstration, arguments, setup)?;
    setup.progress.finish();
    print(&demonstration, &files, &arguments.scorer, setup);
    Ok(if arguments.strict && gaps > 0 { GAPS } else { 0 })
}

fn nothing_shown() -> Failure {
    Failure::new(
        "no video of the library shows any of these steps; add videos with `stitch index`, see what \
         there is with `stitch library list`, or lower `--threshold`",
    )
}

/// The procedure in a file or on standard input.
fn read(path: &Path) -> Result<Procedure, Failure> {
    let (name, bytes) = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(FileError::at("standard input"))?;
        (String::new(), bytes)
    } else {
        let bytes = std::fs::read(path).map_err(FileError::at(path))?;
        (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), bytes)
    };
    Ok(recipe::read_procedure(&name, &bytes)?)
}

impl MakeArguments {
    /// Refuses numbers that make no sense before any work is done.
    fn check(&self) -> Result<(), Failure> {
        let wrong = |what: &str| Err(Failure::new(what).with_code(2));
        match self {
            Self { length: Some(length), .. } if !(1.0..=86_400.0).contains(length) => {
                wrong("--length must be from 1 to 86400 seconds")
            }
            Self { step_length, .. } if !(1.0..=86_400.0).contains(step_length) => {
                wrong("--step-length must be from 1 to 86400 seconds")
            }
            Self { speed_up, .. } if !(1.0..=8.0).contains(speed_up) => {
                wrong("--speed-up must be from 1 to 8")
            }
            Self { crossfade, .. } if !(0.0..=3.0).contains(crossfade) => {
                wrong("--crossfade must be from 0 to 3 seconds")
            }
            Self { threshold: Some(threshold), .. } if !(0.0..=1.0).contains(threshold) => {
                wrong("--threshold must be from 0 to 1")
            }
            Self { candidates, .. } if !(1..=10_000).contains(candidates) => {
                wrong("--candidates must be from 1 to 10000")
            }
            _ => Ok(()),
        }
    }

    fn options(&self) -> Options {
        let sources = SourceFilter {
            allow: self.only.clone(),
            deny: self.without.clone(),
            licences: self.licence.clone(),
        };
        let mut options = Options {
            candidates: self.candidates,
            length_ms: self.length.map(|seconds| (seconds * 1000.0) as u64),
            sources,
            seed: self.seed,
            ..Options::default()
        };
        options.threshold = self.threshold;
        options.timeline.longest_ms = (self.step_length * 1000.0) as u64;
        options.timeline.fastest = self.speed_up;
        options
    }

    fn render_options(&self) -> RenderOptions {
        RenderOptions {
            size: self.size,
            aspect: match self.aspect {
                AspectName::Fit => Aspect::Fit,
                AspectName::Crop => Aspect::Crop,
                AspectName::Blur => Aspect::Blur,
            },
            captions: match self.captions {
                CaptionsName::Burnt => Captions::Burnt,
                CaptionsName::Soft => Captions::Soft,
                CaptionsName::None => Captions::None,
            },
            crossfade_ms: (self.crossfade * 1000.0) as u64,
            ..RenderOptions::default()
        }
    }

    fn formats(&self) -> Vec<Format> {
        let all = self.with.contains(&Extra::All);
        let wanted = |extra: Extra| all || self.with.contains(&extra);
        let table = [
            (Extra::Srt, Format::Srt),
            (Extra::Vtt, Format::Vtt),
            (Extra::Otio, Format::Otio),
            (Extra::Edl, Format::Edl),
            (Extra::Credits, Format::Credits),
            (Extra::Html, Format::Html),
        ];
        table.into_iter().filter(|(extra, _)| wanted(*extra)).map(|(_, format)| format).collect()
    }
}

/// Writes the video and what was asked for beside it; the files, in the order of interest.
fn write(
    demonstration: &Demonstration,
    arguments: &MakeArguments,
    setup: &Setup,
) -> Result<Vec<PathBuf>, Failure> {
    let (output, options) = (&arguments.output, arguments.render_options());
    let (cache, progress) = (setup.cache.join("cuts"), &setup.progress);
    if let Some(folder) = output.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
    }
    let mut files = Vec::new();
    let plan = if arguments.no_video {
        Plan::new(demonstration, &options, progress)?
    } else {
        files.push(output.clone());
        render::render(demonstration, &options, output, &cache, progress)?.plan
    };
    let formats = arguments.formats();
    let thumbnails = match formats.contains(&Format::Html) {
        true => Thumbnails::gather(demonstration, &cache, progress)?,
        false => Thumbnails::default(),
    };
    let video = output.file_name().unwrap_or_default().to_string_lossy();
    let export = Export { demonstration, plan: &plan, video: &video, thumbnails: &thumbnails };
    for format in std::iter::once(Format::Json).chain(formats) {
        let file = output.with_extension(format.ending());
        export::write(format, &export, &file)?;
        files.push(file);
    }
    Ok(files)
}

fn print(
    demonstration: &Demonstration,
    files: &[PathBuf],
    scorer: &ScorerArguments,
    setup: &Setup,
) {
    if setup.json {
        println!("{}", json!({"demonstration": demonstration, "files": files}));
        return;
    }
    let row = |(number, step): (usize, &demonstrate::Step)| {
        let (source, when, fit) = match &step.chosen {
            Some(choice) => {
                (name(choice), when(choice), table::percent(choice.similarity.probability))
            }
            None => ("nothing in the library shows this".into(), String::new(), String::new()),
        };
        vec![(number + 1).to_string(), clipped(&step.text, 44), source, when, fit]
    };
    let rows: Vec<_> = demonstration.steps.iter().enumerate().map(row).collect();
    let right = [true, false, false, true, true];
    table::print(&["", "step", "shown by", "when", "likely"], &right, &rows);
    println!();
    println!("{}", summary(demonstration));
    if let (None, "average-similarity") = (&scorer.scorer, demonstration.scorer.as_str()) {
        println!("There is no evaluator for the library's encoder, so average similarity decided.");
    }
    files.iter().for_each(|file| println!("  {}", file.display()));
}

fn name(choice: &Choice) -> String {
    clipped(&choice.source.title, 36)
}

fn when(choice: &Choice) -> String {
    format!("{}-{}", clock(choice.cut.start_ms), clock(choice.cut.end_ms))
}

fn summary(demonstration: &Demonstration) -> String {
    let shown: Vec<_> = demonstration.steps.iter().filter_map(|s| s.chosen.as_ref()).collect();
    let mut sources: Vec<u32> = shown.iter().map(|choice| choice.source.video).collect();
    sources.sort_unstable();
    sources.dedup();
    format!(
        "{} of {} steps shown, from {} with {} of source; chosen from {} by {}",
        shown.len(),
        demonstration.steps.len(),
        count(sources.len(), "video"),
        count(demonstration.source_changes, "change"),
        count(demonstration.candidates, "candidate"),
        demonstration.scorer
    )
}
