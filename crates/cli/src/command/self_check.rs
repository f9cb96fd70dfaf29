//! `stitch self-check`: makes a demonstration of made-up videos on this machine, in a temporary folder.

use std::path::Path;
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use stitch_core::format::{clock, count};
use stitch_engine::demonstrate::{Demonstration, GapPolicy, Options, demonstrate};
use stitch_engine::encoder::mini;
use stitch_engine::export::{Export, FORMATS};
use stitch_engine::index::Indexer;
use stitch_engine::library::Library;
use stitch_engine::media::{self, Decode};
use stitch_engine::recipe;
use stitch_engine::render::{self, Plan, RenderOptions};
use stitch_world::settings::Settings;
use stitch_world::truth::{Truth, VideoTruth};

use super::doctor;
use crate::failure::Failure;
use crate::setup::{ScorerArguments, Session, Setup};
use crate::table;

/// One video of each domain, small, so that all takes a minute.
const WORLD: Settings = Settings { videos: 3, width: 160, height: 90, ..Settings::DEFAULT };
/// A file is longer than its pictures by what pads its sound.
const MAX_PADDING_MS: u64 = 100;

/// Check with made-up videos that everything works on this machine
#[derive(Args)]
pub struct SelfCheckArguments {
    /// The encoder of frames to check: mini, narration, or a model
    #[arg(long, env = "STITCH_ENCODER", default_value = mini::NAME, value_name = "NAME")]
    encoder: String,
}

/// A check that was made.
#[derive(Serialize)]
struct Check {
    check: &'static str,
    passed: bool,
    seconds: f64,
    detail: String,
}

pub fn run(arguments: &SelfCheckArguments, setup: &Setup) -> Result<u8, Failure> {
    let folder = tempfile::tempdir()?;
    let mut checks = Checks::default();
    let result = checks.make_all(folder.path(), &arguments.encoder, setup);
    setup.print_all(&checks.0, || {
        let result = |passed: bool| if passed { "ok" } else { "failed" };
        let row = |Check { check, passed, seconds, detail }: &Check| {
            vec![(*check).into(), result(*passed).into(), format!("{seconds:.1}"), detail.clone()]
        };
        let rows: Vec<_> = checks.0.iter().map(row).collect();
        table::print(&["check", "result", ">seconds", "what was found"], &rows);
    });
    result.map(|()| 0)
}

#[derive(Default)]
struct Checks(Vec<Check>);

impl Checks {
    /// Each check needs what the ones before it made: the first that fails is the last.
    fn make_all(&mut self, folder: &Path, encoder: &str, setup: &Setup) -> Result<(), Failure> {
        let videos = folder.join("videos");
        self.make("programs and models", || doctor::check(setup))?;
        let truth = self.make("draw videos", || draw(&videos, setup))?;
        let sentences = self.make("load the sentence model", || {
            Ok((setup.load_sentences()?, setup.home.sentence_model.clone()))
        })?;
        let encoder = self.make("load the encoder", || {
            Ok((setup.load_encoder(encoder, &sentences, Decode::Exact)?, encoder.to_owned()))
        })?;
        let library = Library::open_or_create(&folder.join("library"), encoder.id())?;
        let scorer = setup.load_scorer(&ScorerArguments::default(), encoder.as_ref())?;
        let session = Session { library, encoder, sentences, scorer, chat: None };
        self.make("index", || index(&session, &videos, setup))?;
        let demonstration = self.make("choose clips", || choose(&session, &truth))?;
        let video = folder.join("demo.mp4");
        let plan = self.make("render", || render(&demonstration, &video, setup))?;
        self.make("export", || export(&demonstration, &plan, &video, setup))
    }

    fn make<T>(
        &mut self,
        name: &'static str,
        check: impl FnOnce() -> Result<(T, String), Failure>,
    ) -> Result<T, Failure> {
        let started = Instant::now();
        let made = check();
        let detail = match &made {
            Ok((_, found)) => found.clone(),
            Err(failure) => table::clipped(failure.message(), 80),
        };
        let seconds = started.elapsed().as_secs_f64();
        self.0.push(Check { check: name, passed: made.is_ok(), seconds, detail });
        made.map(|(value, _)| value)
    }
}

/// Returns what the first video shows.
fn draw(videos: &Path, setup: &Setup) -> Result<(VideoTruth, String), Failure> {
    let drawn = stitch_world::render::render(videos, WORLD, false, &setup.progress)?;
    let mut truth = Truth::read(&videos.join("truth.json"))?;
    let sound = if drawn.spoken { "spoken" } else { "silent" };
    let length = clock(drawn.seconds * 1000, 0);
    Ok((
        truth.videos.swap_remove(0),
        format!("{}, {length}, {sound}", count(drawn.videos, "video")),
    ))
}

fn index(session: &Session, videos: &Path, setup: &Setup) -> Result<((), String), Failure> {
    session.library.fix_sentence_model(&session.sentences.weights)?;
    let indexer = Indexer {
        encoder: session.encoder.as_ref(),
        sentence: &session.sentences.encoder,
        chat: None,
        speech: None,
        screen_text: None,
        list: None,
        from: None,
    };
    let report = indexer.run(&session.library, &[videos.to_owned()], &setup.progress)?;
    match report.failed.first() {
        Some((path, reason)) => Err(Failure::new(format!("{}: {reason}", path.display()))),
        None => Ok(((), count(report.clips, "clip"))),
    }
}

/// Asks for the steps of one of the videos.
fn choose(session: &Session, truth: &VideoTruth) -> Result<(Demonstration, String), Failure> {
    let texts: Vec<&str> = truth.steps.iter().map(|step| step.text.as_str()).collect();
    let reading = recipe::read_procedure("steps.txt", texts.join("\n").as_bytes(), None)?;
    let options = Options { gaps: GapPolicy::Never, ..Options::default() };
    let demonstration = demonstrate(&session.demonstrator(), &reading.procedure, &options)?;
    let chosen = demonstration.steps.iter().filter_map(|step| step.chosen.as_ref());
    let right = chosen.filter(|choice| choice.source.path.ends_with(&truth.file)).count();
    let steps = count(demonstration.steps.len(), "step");
    Ok((demonstration, format!("{steps}, {right} of them from the video they were taken from")))
}

fn render(
    demonstration: &Demonstration,
    video: &Path,
    setup: &Setup,
) -> Result<(Plan, String), Failure> {
    let cache = video.with_file_name("cuts");
    let size = Some((WORLD.width, WORLD.height));
    let options = RenderOptions { size, ..RenderOptions::default() };
    let plan = render::render(demonstration, &options, video, &cache, &setup.progress)?.plan;
    let made = media::describe(video, &setup.progress)?;
    let (wanted_ms, made_ms) = (plan.ms(plan.frames()), made.duration_ms);
    if made_ms.abs_diff(wanted_ms) > MAX_PADDING_MS || made.audio.is_none() {
        let lengths = format!("{}, not {}", clock(made_ms, 1), clock(wanted_ms, 1));
        return Err(Failure::new(format!("ffmpeg wrote a video of {lengths}; try another ffmpeg")));
    }
    Ok((plan, format!("{}x{}, {}", made.width, made.height, clock(made_ms, 0))))
}

fn export(
    demonstration: &Demonstration,
    plan: &Plan,
    video: &Path,
    setup: &Setup,
) -> Result<((), String), Failure> {
    let cache = video.with_file_name("thumbnails");
    let progress = &setup.progress;
    let export =
        Export { demonstration, plan, handles_ms: 0, video: "demo.mp4", cache: &cache, progress };
    for format in FORMATS {
        format.write(&export, &video.with_extension(format.extension))?;
    }
    Ok(((), count(FORMATS.len(), "file")))
}
