//! `stitch make`: one video for a written procedure.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use serde_json::json;
use stitch_core::format::{clock, count, percent};
use stitch_engine::demonstrate::{Choice, Demonstration, Options, SourceFilter, Step, demonstrate};
use stitch_engine::export::{Export, FORMATS, Format};
use stitch_engine::files::FileError;
use stitch_engine::progress::Progress;
use stitch_engine::recipe::Reading;
use stitch_engine::recipe::clauses::{self, StepParts};
use stitch_engine::render::{self, Aspect, Captions, Plan, RenderOptions};
use stitch_engine::scorers::SCORERS;
use stitch_engine::summarise::chat::Chat;
use stitch_engine::understand::{Translated, in_context, translate};
use stitch_engine::voice;

use crate::failure::{Failure, GAPS};
use crate::options::{Choices, GapArguments, LanguageModelArguments, choice, milliseconds, size};
use crate::setup::{ScorerArguments, Sentences, Session, Setup, read_procedure};
use crate::sound::SoundArguments;
use crate::table::{self, clipped};

/// Make one video that shows every step of a procedure
#[derive(Args)]
pub struct MakeArguments {
    /// The procedure: plain lines, a list, Markdown, schema.org JSON or a recipe page; - is standard
    /// input
    procedure: PathBuf,
    /// The video to write; demo.json and the other files get the same name
    #[arg(long, short, default_value = "demo.mp4", value_name = "FILE")]
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
    /// How step texts are shown
    #[arg(long, value_parser = choice(&CAPTIONS), default_value = "soft")]
    captions: Captions,
    /// The length of the crossfade between clips, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = milliseconds, default_value = "0")]
    crossfade: u64,
}

const ASPECTS: Choices<Aspect, 3> = [
    ("fit", "The whole picture between bars", Aspect::Fit),
    ("crop", "Fill the frame and crop the rest", Aspect::Crop),
    ("blur", "The whole picture on a blurred copy of itself", Aspect::Blur),
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

pub fn run(arguments: &MakeArguments, setup: &Setup) -> Result<u8, Failure> {
    let (options, mut render_options) = (arguments.search.options(), arguments.video.options());
    render_options.soundtrack = arguments.sound.soundtrack();
    let speaker = arguments.sound.speaker()?;
    let valid = options.validate().and(render_options.validate());
    valid.map_err(|error| Failure::usage(error.to_string()))?;
    let sentences = setup.load_sentences();
    let reading = read_procedure(&arguments.procedure, sentences.as_ref().ok())?;
    let chat = arguments.chat.chat(setup);
    reading.warnings().iter().for_each(|warning| setup.progress.warn(warning));
    if arguments.show_reading {
        let understood = understood(&reading, sentences.ok().as_ref(), chat.as_ref(), setup)?;
        print_reading(&reading, &understood, setup);
        return Ok(0);
    }
    let session = Session { chat, ..setup.open_with(sentences?, &arguments.search.scorer)? };
    setup.progress.begin("choosing clips", 0);
    let mut demonstration = demonstrate(&session.demonstrator(), &reading.procedure, &options)?;
    warn_of(demonstration.language_note.clone(), setup);
    let gaps = demonstration.gaps().count();
    if gaps == demonstration.steps.len() {
        let message = "no video in the library shows any of these steps; add videos with `stitch \
            index`, list them with `stitch library list`, or use the most likely clips with `--gaps \
            never`";
        return Err(Failure::new(message).with_code(GAPS));
    }
    if let Some(speaker) = &speaker {
        let fade_ms = render_options.crossfade_ms;
        render_options.soundtrack.voice = arguments.sound.narrate(
            speaker,
            &mut demonstration,
            &session.library,
            fade_ms,
            setup,
        )?;
    }
    let files = write(&demonstration, &render_options, arguments, setup)?;
    let default_scorer = arguments.search.scorer.scorer.is_none();
    let left_out = &reading.left_out;
    let json = json!({"demonstration": demonstration, "files": files, "left_out": left_out});
    setup.print(json, || print(&demonstration, left_out.len(), &files, default_scorer));
    Ok(if arguments.strict && gaps > 0 { GAPS } else { 0 })
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
        let Self { size, aspect, captions, crossfade: crossfade_ms } = *self;
        RenderOptions { size, aspect, captions, crossfade_ms, ..RenderOptions::default() }
    }
}

/// Writes the video and the other files; returns their paths.
fn write(
    demonstration: &Demonstration,
    options: &RenderOptions,
    arguments: &MakeArguments,
    setup: &Setup,
) -> Result<Vec<PathBuf>, Failure> {
    let output = &arguments.output;
    let (cache, progress) = (setup.cuts_folder(), &setup.progress);
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
    let export = Export {
        demonstration,
        plan: &plan,
        handles_ms: arguments.handles,
        video: &video,
        cache: &cache,
        progress,
    };
    let wanted = |name: &str| arguments.with.iter().any(|with| with == name || with == ALL);
    let (always, others) = FORMATS.split_at(1);
    for format in always.iter().chain(others.iter().filter(|format| wanted(format.name))) {
        let file = output.with_extension(format.extension);
        format.write(&export, &file)?;
        files.push(file);
    }
    Ok(files)
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

fn warn_of(language_note: Option<String>, setup: &Setup) {
    language_note.iter().for_each(|note| setup.progress.warn(note));
}

fn reading_summary(steps: usize, left_out: usize) -> String {
    format!("read {}, left out {}", count(steps, "step"), count(left_out, "line"))
}

fn print(demonstration: &Demonstration, left_out: usize, files: &[PathBuf], default_scorer: bool) {
    let rows: Vec<_> = demonstration.steps.iter().enumerate().flat_map(step_rows).collect();
    table::print(&[">", "step", "source", ">time", ">probability"], &rows);
    println!("\n{}", summary(demonstration));
    if left_out > 0 {
        let read = reading_summary(demonstration.steps.len(), left_out);
        println!("From the text: {read}; `--show-reading` lists them.");
    }
    if default_scorer && demonstration.scorer != SCORERS[0].name {
        let (best, used) = (SCORERS[0].name, &demonstration.scorer);
        println!("There is no {best} for the library's encoder; {used} ranked the candidates.");
    }
    demonstration.voiceover.iter().for_each(|voiceover| println!("{}", voice::summary(voiceover)));
    files.iter().for_each(|file| println!("  {}", file.display()));
}

/// The rows of a step: one for each clip, or that it is a gap, and what of it nothing shows.
fn step_rows((number, step): (usize, &Step)) -> Vec<Vec<String>> {
    let clip = |choice: &Choice| {
        let time = format!("{}-{}", clock(choice.cut.start_ms, 1), clock(choice.cut.end_ms, 1));
        [clipped(&choice.source.title, 36), time, percent(choice.similarity.probability)]
    };
    let note = |note: String| [note, String::new(), String::new()];
    let mut cells: Vec<[String; 3]> = step.clips().into_iter().map(clip).collect();
    if cells.is_empty() {
        cells.push(note("gap: nothing in the library shows this".into()));
    }
    cells.extend(step.partly_shown().map(note));
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
    let in_part = demonstration.steps.iter().filter(|step| step.partly_shown().is_some()).count();
    let in_part = if in_part > 0 { format!(" ({in_part} only in part)") } else { String::new() };
    let mut sources: Vec<u32> =
        demonstration.cuts().map(|(_, choice)| choice.source.video).collect();
    sources.sort_unstable();
    sources.dedup();
    format!(
        "{} of {} steps shown{in_part}, from {} with {}; chosen from {} by {}",
        shown,
        demonstration.steps.len(),
        count(sources.len(), "video"),
        count(demonstration.source_changes, "source change"),
        count(demonstration.candidates, "candidate"),
        demonstration.scorer
    )
}
