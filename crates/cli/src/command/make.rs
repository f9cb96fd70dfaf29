//! `stitch make`: a written procedure in, one video out.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, ValueEnum};
use serde_json::json;
use stitch_core::format::{clock, count, percent};
use stitch_engine::demonstrate::{
    self, Choice, Demonstration, GapPolicy, Options, SourceFilter, demonstrate,
};
use stitch_engine::export::{Export, FORMATS, Format};
use stitch_engine::files::FileError;
use stitch_engine::options::OptionError;
use stitch_engine::progress::Progress;
use stitch_engine::recipe::{self, Reading};
use stitch_engine::render::{self, Aspect, Captions, Plan, RenderOptions};
use stitch_engine::scorers::SCORERS;

use crate::failure::{Failure, GAPS};
use crate::setup::{ScorerArguments, Setup};
use crate::table::{self, clipped};

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
    #[arg(long, value_parser = format_names(), value_delimiter = ',', value_name = "KINDS")]
    with: Vec<String>,
    /// Find the clips and write demo.json, but no video
    #[arg(long)]
    no_video: bool,
    /// Only print what was read as title and steps, and which lines were left out
    #[arg(long)]
    show_reading: bool,
    /// End with exit code 3 if a step is shown by nothing
    #[arg(long)]
    strict: bool,

    /// The longest the video may be, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, help_heading = "Choosing")]
    length: Option<u64>,
    /// The longest one step may be, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, default_value = "20",
        help_heading = "Choosing")]
    step_length: u64,
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
    /// When a step is called a gap
    #[arg(long, value_enum, default_value_t = GapsName::Balanced, help_heading = "Choosing")]
    gaps: GapsName,
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
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, default_value = "0",
        help_heading = "Looks")]
    crossfade: u64,
}

/// Every format but the first, which is always written.
const ALL: &str = "all";

fn format_names() -> PossibleValuesParser {
    let name = |format: &Format| PossibleValue::new(format.name).help(format.about);
    let all = PossibleValue::new(ALL).help("all of these");
    PossibleValuesParser::new(FORMATS[1..].iter().map(name).chain([all]))
}

/// Seconds as milliseconds.
fn milliseconds(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 => Ok((seconds * 1000.0) as u64),
        _ => Err("give a number of seconds".into()),
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum GapsName {
    /// Rather a gap than a wrong clip
    Strict,
    /// As calibrated
    Balanced,
    /// Always the likeliest clip
    Never,
}

impl From<GapsName> for GapPolicy {
    fn from(name: GapsName) -> Self {
        match name {
            GapsName::Strict => Self::Strict,
            GapsName::Balanced => Self::Balanced,
            GapsName::Never => Self::Never,
        }
    }
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
    parts.ok_or_else(|| "write it as 1280x720".into())
}

/// Runs the command.
pub fn run(arguments: &MakeArguments, setup: &Setup) -> Result<u8, Failure> {
    let (options, looks) = (arguments.options(), arguments.render_options());
    let wrong = |error: OptionError| Failure::from(error).with_code(2);
    options.validate().and(looks.validate()).map_err(wrong)?;
    let reading = read(&arguments.procedure)?;
    if arguments.show_reading {
        print_reading(&reading, setup);
        return Ok(0);
    }
    let opened = setup.open(&arguments.scorer)?;
    setup.progress.begin("choosing clips", 0);
    let demonstration = demonstrate(&opened.demonstrator(), &reading.procedure, &options)?;
    let gaps = demonstration.gaps().count();
    if gaps == demonstration.steps.len() {
        return Err(nothing_shown().with_code(GAPS));
    }
    let files = write(&demonstration, &looks, arguments, setup)?;
    setup.progress.finish();
    print(&demonstration, &reading, &files, &arguments.scorer, setup);
    Ok(if arguments.strict && gaps > 0 { GAPS } else { 0 })
}

fn nothing_shown() -> Failure {
    Failure::new(
        "no video of the library shows any of these steps; add videos with `stitch index`, see what \
         there is with `stitch library list`, or take the likeliest clips with `--gaps never`",
    )
}

/// The procedure in a file or on standard input.
fn read(path: &Path) -> Result<Reading, Failure> {
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
    fn options(&self) -> Options {
        let sources = SourceFilter {
            allow: self.only.clone(),
            deny: self.without.clone(),
            licences: self.licence.clone(),
        };
        let mut options = Options {
            candidates: self.candidates,
            length_ms: self.length,
            threshold: self.threshold,
            gaps: self.gaps.into(),
            sources,
            seed: self.seed,
            ..Options::default()
        };
        options.timeline.longest_ms = self.step_length;
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
            crossfade_ms: self.crossfade,
            ..RenderOptions::default()
        }
    }

    /// The first of all formats, and those asked for.
    fn formats(&self) -> impl Iterator<Item = &'static Format> {
        let wanted = |name: &str| self.with.iter().any(|with| with == name || with == ALL);
        let (always, others) = FORMATS.split_at(1);
        always.iter().chain(others.iter().filter(move |format| wanted(format.name)))
    }
}

/// Writes the video and what was asked for beside it; the files, in the order of interest.
fn write(
    demonstration: &Demonstration,
    options: &RenderOptions,
    arguments: &MakeArguments,
    setup: &Setup,
) -> Result<Vec<PathBuf>, Failure> {
    let output = &arguments.output;
    let (cache, progress) = (setup.cache.join("cuts"), &setup.progress);
    if let Some(folder) = output.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
    }
    let mut files = Vec::new();
    let plan = if arguments.no_video {
        Plan::new(demonstration, options, progress)?
    } else {
        files.push(output.clone());
        render::render(demonstration, options, output, &cache, progress)?.plan
    };
    let video = output.file_name().unwrap_or_default().to_string_lossy();
    let export = Export { demonstration, plan: &plan, video: &video, cache: &cache, progress };
    for format in arguments.formats() {
        let file = output.with_extension(format.extension);
        format.write(&export, &file)?;
        files.push(file);
    }
    Ok(files)
}

/// The title, the steps with their numbers, and the lines that are neither.
fn print_reading(Reading { procedure, left_out, .. }: &Reading, setup: &Setup) {
    let (title, steps) = (procedure.title(), procedure.steps());
    if setup.json {
        println!("{}", json!({"title": title, "steps": steps, "left_out": left_out}));
        return;
    }
    println!("title: {}", if title.is_empty() { "none" } else { title });
    steps.iter().enumerate().for_each(|(number, step)| println!("{:>3}  {step}", number + 1));
    left_out.iter().for_each(|line| println!("  -  {line}"));
    println!("{}", reading_summary(steps.len(), left_out.len()));
}

fn reading_summary(steps: usize, left_out: usize) -> String {
    format!("read {}, left out {}", count(steps, "step"), count(left_out, "line"))
}

fn print(
    demonstration: &Demonstration,
    reading: &Reading,
    files: &[PathBuf],
    scorer: &ScorerArguments,
    setup: &Setup,
) {
    if setup.json {
        let left_out = &reading.left_out;
        println!(
            "{}",
            json!({"demonstration": demonstration, "files": files, "left_out": left_out})
        );
        return;
    }
    let row = |(number, step): (usize, &demonstrate::Step)| {
        let (source, when, fit) = match &step.chosen {
            Some(choice) => (name(choice), when(choice), percent(choice.similarity.probability)),
            None => ("nothing in the library shows this".into(), String::new(), String::new()),
        };
        vec![(number + 1).to_string(), clipped(&step.text, 44), source, when, fit]
    };
    let rows: Vec<_> = demonstration.steps.iter().enumerate().map(row).collect();
    let right = [true, false, false, true, true];
    table::print(&["", "step", "shown by", "when", "likely"], &right, &rows);
    println!();
    println!("{}", summary(demonstration));
    let left_out = reading.left_out.len();
    if left_out > 0 {
        let read = reading_summary(demonstration.steps.len(), left_out);
        println!("From the text: {read}; `--show-reading` lists them.");
    }
    if scorer.scorer.is_none() && demonstration.scorer != SCORERS[0].name {
        let (best, used) = (SCORERS[0].name, &demonstration.scorer);
        println!("There is no {best} for the library's encoder; {used} ranked the candidates.");
    }
    files.iter().for_each(|file| println!("  {}", file.display()));
}

fn name(choice: &Choice) -> String {
    clipped(&choice.source.title, 36)
}

fn when(choice: &Choice) -> String {
    format!("{}-{}", clock(choice.cut.start_ms, 1), clock(choice.cut.end_ms, 1))
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
