//! `stitch make`: one video for a written procedure, or one for each of several.

mod maker;
mod batch;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use serde_json::json;
use stitch_core::format::{clock, count, percent};
use stitch_engine::demonstrate::{
    Choice, Confidence, Demonstration, Options, Preference, SourceFilter, Step,
};
use stitch_engine::export::{FORMATS, Format};
use stitch_engine::fill::Filler;
use stitch_engine::media::VideoEncoder;
use stitch_engine::progress::Progress;
use stitch_engine::recipe::Reading;
use stitch_engine::recipe::clauses::{self, StepParts};
use stitch_engine::render::{Aspect, Captions, Overlays, RenderOptions};
use stitch_engine::scorers::SCORERS;
use stitch_engine::summarise::chat::Chat;
use stitch_engine::understand::{Translated, in_context, translate};
use stitch_engine::voice::{self, Speaker};

use crate::failure::{Failure, GAPS};
use crate::options::{Choices, GapArguments, LanguageModelArguments, choice, milliseconds, size};
use crate::setup::{ScorerArguments, Sentences, Setup, read_procedure};
use crate::sound::SoundArguments;
use crate::table::{self, clipped};
use maker::Maker;

/// Make one video that shows every step of a procedure
#[derive(Args)]
pub struct MakeArguments {
    /// The procedure: plain lines, a list, Markdown, schema.org JSON or a recipe page, in a file or at
    /// an https:// address; - is standard input. Several get a video each
    #[arg(required = true, value_name = "PROCEDURE")]
    procedures: Vec<PathBuf>,
    /// The video to write; demo.json and the other files get the same name. For several procedures
    /// the folder of their videos
    #[arg(long, short, default_value = "demo.mp4", value_name = "FILE|FOLDER/")]
    output: PathBuf,
    /// Additional files to write
    #[arg(long, value_parser = format_names(), value_delimiter = ',', value_name = "KINDS")]
    with: Vec<String>,
    /// How much longer clips are at either end in the timelines for editors (otio, edl, fcpxml, xmeml,
    /// mlt), in seconds
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, default_value = "0")]
    handles: u64,
    /// Choose the clips and write demo.json, but no video
    #[arg(long)]
    no_video: bool,
    /// Only print the title and steps that were read, and the lines that were left out
    #[arg(long)]
    show_reading: bool,
    /// Fill gaps with a picture or clip: a command, which is told the step in $STITCH_TEXT and writes one file into
    /// the folder $STITCH_OUT, or a folder with files named by the number of the step. It is marked as generated
    #[arg(long, value_name = "COMMAND|DIR")]
    fill_gaps: Option<String>,
    /// The time that the command may take for one gap, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, default_value = "120")]
    fill_timeout: u64,
    /// Exit with code 3 if a step is a gap; a step that is shown in part is none
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    chat: LanguageModelArguments,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    video: VideoArguments,
    #[command(flatten)]
    sound: SoundArguments,
}

#[derive(Args)]
#[command(next_help_heading = "Search")]
struct SearchArguments {
    /// The maximum length of the video, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds)]
    length: Option<u64>,
    /// The maximum length of one step, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, default_value = "20")]
    step_length: u64,
    /// The maximum playback speed of a clip that is too long; with 1 it is cut instead
    #[arg(long, value_name = "TIMES", default_value_t = 1.0)]
    speed_up: f64,
    /// Use only videos with this text in their path, title or uploader; may be repeated
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// Exclude videos with this text in their path, title or uploader; may be repeated
    #[arg(long, value_name = "TEXT")]
    without: Vec<String>,
    /// Use only videos with this text in their licence; may be repeated
    #[arg(long, value_name = "TEXT")]
    licence: Vec<String>,
    /// What is preferred among clips that show a step: length=short|long, sound=spoken|silent, source=one,
    /// licence=TEXT, language=NAME; `:2` after it makes it count twice
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    prefer: Vec<Preference>,
    /// The number of candidate sequences that are compared
    #[arg(long, value_name = "N", default_value_t = 200)]
    candidates: usize,
    #[command(flatten)]
    gaps: GapArguments,
    #[command(flatten)]
    scorer: ScorerArguments,
    /// The random seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[derive(Args)]
#[command(next_help_heading = "Video")]
struct VideoArguments {
    /// Width and height of the video [default: the size of most sources]
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: Option<(u32, u32)>,
    /// How clips of another aspect ratio are fitted
    #[arg(long, value_parser = choice(&ASPECTS), default_value = "blur")]
    aspect: Aspect,
    /// What happens to subtitles and watermarks in the pictures of the sources
    #[arg(long, value_parser = choice(&OVERLAYS), default_value = "keep")]
    overlays: Overlays,
    /// How step texts are shown
    #[arg(long, value_parser = choice(&CAPTIONS), default_value = "soft")]
    captions: Captions,
    /// The length of the crossfade between clips, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, default_value = "0")]
    crossfade: u64,
    /// What encodes the video
    #[arg(long, value_name = "NAME", value_parser = choice(&VIDEO_ENCODERS), default_value = "x264")]
    encoder_video: WantedEncoder,
}

/// None is the first that works.
type WantedEncoder = Option<VideoEncoder>;

const VIDEO_ENCODERS: Choices<WantedEncoder, 6> = [
    ("x264", "The CPU", Some(VideoEncoder::X264)),
    ("auto", "The graphics hardware if it works, else x264", None),
    ("nvenc", "NVIDIA", Some(VideoEncoder::Nvenc)),
    ("qsv", "Intel Quick Sync Video", Some(VideoEncoder::Qsv)),
    ("vaapi", "Intel and AMD on Linux", Some(VideoEncoder::Vaapi)),
    ("videotoolbox", "macOS", Some(VideoEncoder::VideoToolbox)),
];

const ASPECTS: Choices<Aspect, 4> = [
    ("fit", "The whole picture between bars", Aspect::Fit),
    ("crop", "Fill the frame and crop the rest", Aspect::Crop),
    ("follow", "The same, and the crop follows hands and what they move", Aspect::Follow),
    ("blur", "The whole picture on a blurred copy of itself", Aspect::Blur),
];

const OVERLAYS: Choices<Overlays, 3> = [
    ("keep", "They are told of and stay", Overlays::Keep),
    ("crop", "Cut off with their side of the picture", Overlays::Crop),
    ("cover", "Painted over with their surroundings", Overlays::Cover),
];

const CAPTIONS: Choices<Captions, 3> = [
    ("burnt", "Drawn into the picture", Captions::Burnt),
    ("soft", "As a subtitle track", Captions::Soft),
    ("none", "Not at all", Captions::None),
];

/// All formats but the first, which is always written.
const ALL: &str = "all";

fn format_names() -> PossibleValuesParser {
    let name = |format: &Format| PossibleValue::new(format.name).help(format.about);
    let all = PossibleValue::new(ALL).help("all of these");
    PossibleValuesParser::new(FORMATS[1..].iter().map(name).chain([all]))
}

/// What is asked for of every video.
struct Request {
    options: Options,
    render_options: RenderOptions,
    speaker: Option<Speaker>,
    filler: Option<Filler>,
}

pub fn run(arguments: &MakeArguments, setup: &Setup) -> Result<u8, Failure> {
    let folder = arguments.folder()?;
    let request = arguments.request(setup)?;
    if let Some(folder) = folder {
        return batch::run(arguments, request, folder, setup);
    }
    let sentences = setup.load_sentences();
    let reading = read_procedure(&arguments.procedures[0], sentences.as_ref().ok())?;
    reading.warnings().iter().for_each(|warning| setup.progress.warn(warning));
    if arguments.show_reading {
        let chat = arguments.chat.chat(setup);
        let understood = understood(&reading, sentences.ok().as_ref(), chat.as_ref(), setup)?;
        print_reading(&reading, &understood, setup);
        return Ok(0);
    }
    let maker = Maker::new(arguments, request, sentences?, setup)?;
    setup.progress.begin("choosing clips", 0);
    let demonstration = maker.choose(&reading, &setup.progress)?;
    if let Err(failure) = maker.check(&demonstration) {
        setup.print(json!({"demonstration": demonstration}), || print_steps(&demonstration));
        return Err(failure);
    }
    let mut chosen = maker.narrate(demonstration, &setup.progress)?;
    let files = maker.write(&mut chosen, &arguments.output, &setup.progress)?;
    let demonstration = chosen.demonstration;
    let default_scorer = arguments.search.scorer.scorer.is_none();
    let left_out = &reading.left_out;
    let json = json!({"demonstration": demonstration, "files": files, "left_out": left_out});
    setup.print(json, || print(&demonstration, left_out.len(), &files, default_scorer));
    Ok(if arguments.strict && demonstration.gaps().next().is_some() { GAPS } else { 0 })
}

impl MakeArguments {
    /// The folder of the videos; none if a single video is asked for.
    fn folder(&self) -> Result<Option<&Path>, Failure> {
        let is_folder =
            self.output.is_dir() || self.output.as_os_str().as_encoded_bytes().ends_with(b"/");
        match self.procedures.len() {
            1 => Ok(Some(&*self.output).filter(|_| is_folder && !self.show_reading)),
            _ if self.show_reading => {
                Err(Failure::usage("--show-reading takes one procedure at a time"))
            }
            _ if is_folder => Ok(Some(&self.output)),
            _ => Err(Failure::usage(
                "several procedures get a video each: give the folder of the videos with a slash at its \
                 end, such as -o videos/",
            )),
        }
    }

    fn filler(&self) -> Result<Option<Filler>, Failure> {
        let limit = Duration::from_millis(self.fill_timeout);
        match self.fill_gaps.as_deref() {
            Some(command) if command.trim().is_empty() || limit.is_zero() => Err(Failure::usage(
                "--fill-gaps needs a command or a folder, and --fill-timeout some time",
            )),
            Some(folder) if Path::new(folder).is_dir() => Ok(Some(Filler::Folder(folder.into()))),
            command => Ok(command.map(|command| Filler::Command(command.into(), limit))),
        }
    }

    /// Checks the options and tries the video encoder before anything else is done.
    fn request(&self, setup: &Setup) -> Result<Request, Failure> {
        let (options, mut render_options) = (self.search.options(), self.video.options());
        render_options.soundtrack = self.sound.soundtrack();
        let speaker = self.sound.speaker()?;
        let valid = options.validate().and(render_options.validate());
        valid.map_err(|error| Failure::usage(error.to_string()))?;
        if !self.no_video && !self.show_reading {
            let (encoder, note) = VideoEncoder::choose(self.video.encoder_video);
            warn_of(note, setup);
            render_options.encoder = encoder;
        }
        Ok(Request { options, render_options, speaker, filler: self.filler()? })
    }
}

impl SearchArguments {
    fn options(&self) -> Options {
        let GapArguments { threshold, gaps } = self.gaps;
        let mut options = Options {
            candidates: self.candidates,
            length_ms: self.length,
            threshold,
            gaps,
            sources: SourceFilter {
                allow: self.only.clone(),
                deny: self.without.clone(),
                licences: self.licence.clone(),
            },
            prefer: self.prefer.clone(),
            seed: self.seed,
            ..Options::default()
        };
        options.timeline.longest_ms = self.step_length;
        options.timeline.fastest = self.speed_up;
        options
    }
}

impl VideoArguments {
    fn options(&self) -> RenderOptions {
        let Self { size, aspect, overlays, captions, crossfade: crossfade_ms, .. } = *self;
        RenderOptions { size, aspect, overlays, captions, crossfade_ms, ..RenderOptions::default() }
    }
}

/// What each step asks for, as far as that can be told without a library.
fn understood(
    Reading { procedure, .. }: &Reading,
    sentences: Option<&Sentences>,
    chat: Option<&Chat>,
    setup: &Setup,
) -> Result<Vec<Option<String>>, Failure> {
    let Some(Sentences { encoder, .. }) = sentences else {
        return Ok(vec![None; procedure.steps().len()]);
    };
    let Translated { translation, note } = translate(procedure, encoder, chat);
    warn_of(note, setup);
    if let Some(english) = translation {
        return Ok(english.steps().iter().cloned().map(Some).collect());
    }
    let text = encoder.encode(procedure.steps())?;
    Ok(in_context(procedure, &text, encoder, chat)?.steps)
}

fn print_reading(reading: &Reading, understood: &[Option<String>], setup: &Setup) {
    let Reading { procedure, left_out, language, .. } = reading;
    let (title, steps) = (procedure.title(), procedure.steps());
    // The rules know English; a foreign step is read in its translation.
    let in_english = |(step, understood): (&String, &Option<String>)| match language {
        None => clauses::parts(step),
        Some(_) => understood.as_deref().map(clauses::parts).unwrap_or_default(),
    };
    let parts: Vec<StepParts> = steps.iter().zip(understood).map(in_english).collect();
    let conditions: Vec<_> = parts.iter().map(|parts| &parts.condition).collect();
    let times: Vec<_> = parts.iter().map(|parts| &parts.times).collect();
    let json = json!({
        "title": title, "steps": steps, "understood": understood, "conditions": conditions,
        "times": times, "left_out": left_out, "language": language,
    });
    setup.print(json, || {
        println!("title: {}", if title.is_empty() { "none" } else { title });
        language.iter().for_each(|language| println!("language: {language}"));
        for (number, step) in steps.iter().enumerate() {
            println!("{:>3}  {step}", number + 1);
            let StepParts { condition, times, .. } = &parts[number];
            understood[number].iter().for_each(|text| println!("     → {text}"));
            condition.iter().for_each(|text| println!("     condition: {text}"));
            times.iter().for_each(|text| println!("     time: {text}"));
        }
        left_out.iter().for_each(|line| println!("  -  {line}"));
        println!("{}", reading_summary(steps.len(), left_out.len()));
    });
}

fn warn_of(note: Option<String>, setup: &Setup) {
    note.iter().for_each(|note| setup.progress.warn(note));
}

fn reading_summary(steps: usize, left_out: usize) -> String {
    format!("read {}, left out {}", count(steps, "step"), count(left_out, "line"))
}

fn print(demonstration: &Demonstration, left_out: usize, files: &[PathBuf], default_scorer: bool) {
    print_steps(demonstration);
    println!("\n{}", summary(demonstration));
    if left_out > 0 {
        let read = reading_summary(demonstration.steps.len(), left_out);
        println!("From the text: {read}; `--show-reading` lists them.");
    }
    if default_scorer && demonstration.scorer != SCORERS[0].name {
        let (best, used) = (SCORERS[0].name, &demonstration.scorer);
        println!("There is no {best} for the library's encoder; {used} ranked the candidates.");
    }
    demonstration.preferences.iter().for_each(|outcome| println!("{}", outcome.told()));
    demonstration.voiceover.iter().for_each(|voiceover| println!("{}", voice::summary(voiceover)));
    files.iter().for_each(|file| println!("  {}", file.display()));
}

fn print_steps(demonstration: &Demonstration) {
    let rows: Vec<_> = demonstration.steps.iter().enumerate().flat_map(step_rows).collect();
    table::print(&[">", "step", "source", ">time", ">probability"], &rows);
}

/// The rows of a step: one for each clip, or that it is a gap and which clip comes nearest, and what of it
/// nothing shows.
fn step_rows((number, step): (usize, &Step)) -> Vec<Vec<String>> {
    let time = |choice: &Choice| {
        format!("{}-{}", clock(choice.cut.start_ms, 1), clock(choice.cut.end_ms, 1))
    };
    let clip = |choice: &Choice| {
        if choice.source.generated.is_some() {
            return ["gap: filled with a generated clip".into(), String::new(), String::new()];
        }
        let mut probability = percent(choice.similarity.probability);
        if Confidence::of(Some(choice)) == Confidence::Perhaps {
            probability = format!("perhaps {probability}");
        }
        [clipped(&choice.source.title, 36), time(choice), probability]
    };
    let nearest = |choice: &Choice| {
        let title = clipped(&choice.source.title, 27);
        [format!("nearest: {title}"), time(choice), String::new()]
    };
    let note = |note: String| [note, String::new(), String::new()];
    let mut cells: Vec<[String; 3]> = step.clips().into_iter().map(clip).collect();
    if cells.is_empty() {
        cells.push(note("gap: nothing in the library shows this".into()));
        cells.extend(step.alternatives.first().map(nearest));
    }
    cells.extend(step.partly_shown().map(note));
    cells.extend(step.state_note.clone().map(note));
    let mut texts = vec![clipped(&step.text, 44)];
    texts.extend(step.understood.as_ref().map(|text| clipped(&format!("→ {text}"), 44)));
    let row = |place: usize| {
        let number = if place == 0 { (number + 1).to_string() } else { String::new() };
        let text = texts.get(place).cloned().unwrap_or_default();
        [number, text].into_iter().chain(cells.get(place).cloned().unwrap_or_default()).collect()
    };
    (0..cells.len().max(texts.len())).map(row).collect()
}

fn summary(demonstration: &Demonstration) -> String {
    let shown = demonstration.steps.len() - demonstration.gaps().count();
    let steps = demonstration.steps.iter();
    let perhaps = |step: &&Step| Confidence::of(step.chosen.as_ref()) == Confidence::Perhaps;
    let doubts = [
        (steps.clone().filter(perhaps).count(), "perhaps"),
        (steps.filter(|step| step.partly_shown().is_some()).count(), "only in part"),
    ];
    let doubts = doubts.iter().filter(|(count, _)| *count > 0);
    let doubts: Vec<String> = doubts.map(|(count, how)| format!("{count} {how}")).collect();
    let doubts =
        if doubts.is_empty() { String::new() } else { format!(" ({})", doubts.join(", ")) };
    format!(
        "{} of {} steps shown{doubts}, from {} with {}; chosen from {} by {}",
        shown,
        demonstration.steps.len(),
        count(sources(demonstration), "video"),
        count(demonstration.source_changes, "source change"),
        count(demonstration.candidates, "candidate"),
        demonstration.scorer
    )
}

/// How many videos the clips are from.
fn sources(demonstration: &Demonstration) -> usize {
    let filmed = demonstration.cuts().filter(|(_, choice)| choice.source.generated.is_none());
    let videos: BTreeSet<u32> = filmed.map(|(_, choice)| choice.source.video).collect();
    videos.len()
}
