//! `stitch eval speech`: how well speech is recognised, and whether an index made from it serves.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use stitch_engine::demonstrate::{Demonstrator, Options};
use stitch_engine::library::Library;
use stitch_engine::listen::Listener;
use stitch_engine::progress::Progress;
use stitch_lab::suite::metrics::Estimate;
use stitch_lab::suite::speech::{self, SpeechOptions};
use stitch_lab::suite::speech_index;
use stitch_world::library::mixed;
use stitch_world::truth::Truth;

use crate::failure::Failure;
use crate::setup::{ScorerArguments, Setup};
use crate::table;

/// Listen to files with subtitles beside them and count the errors; with --against compare two indexes
#[derive(Args)]
pub struct SpeechArguments {
    /// A folder of media files with .srt beside them
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The speech model, by name or folder
    #[arg(long, env = "STITCH_SPEECH", value_name = "MODEL", default_value = Listener::MODEL)]
    speech: String,
    /// Do not tell the model what the files are called, which indexing does
    #[arg(long)]
    no_titles: bool,
    /// A library made from the subtitles: instead of listening, tell in how many steps of mixed
    /// procedures it gives the same clip as --library, which is made from speech
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// How many procedures to ask then
    #[arg(long, default_value_t = 60)]
    procedures: usize,
    /// The seed of the procedures, and of the intervals
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the command.
pub fn run(arguments: &SpeechArguments, setup: &Setup) -> Result<u8, Failure> {
    match &arguments.against {
        Some(against) => compare(arguments, against, setup),
        None => listen(arguments, setup),
    }
}

fn listen(arguments: &SpeechArguments, setup: &Setup) -> Result<u8, Failure> {
    setup.progress.begin("loading the speech model", 0);
    let listener = setup.listener(&arguments.speech)?;
    let start = Instant::now();
    let options = SpeechOptions { titles: !arguments.no_titles, seed: arguments.seed };
    let report = speech::evaluate(&listener, &arguments.folder, &options, &setup.progress)?;
    let took_s = start.elapsed().as_secs_f64();
    setup.progress.finish();
    if setup.json {
        println!("{}", json!({"speech": listener.name(), "took_s": took_s, "report": report}));
        return Ok(0);
    }
    println!("{} files, {} words; speech model {}", report.files, report.words, listener.name());
    let rows = [
        row("word error rate", &report.word_errors),
        row("sentences begun within 0.5 s", &report.in_time),
    ];
    table::print(&["", "value", "95 % interval"], &[false, true, true], &rows);
    let times = report.seconds / took_s;
    println!("{:.0} s of sound in {took_s:.1} s: {times:.1} x real time", report.seconds);
    for (right, heard, count) in report.confusions.iter().take(12) {
        println!("  {count} x `{right}` heard as `{heard}`");
    }
    Ok(0)
}

fn row(what: &str, e: &Estimate) -> Vec<String> {
    vec![what.into(), format!("{:.3}", e.value), format!("{:.3}-{:.3}", e.low, e.high)]
}

fn compare(
    arguments: &SpeechArguments,
    against: &std::path::Path,
    setup: &Setup,
) -> Result<u8, Failure> {
    let truth = Truth::read(&arguments.folder.join("truth.json"))?;
    setup.progress.begin("loading models", 0);
    let sentences = setup.sentence()?;
    let (library, encoder) = setup.open_library(&sentences)?;
    let scorer = setup.scorer(&ScorerArguments::default(), encoder.as_ref(), &sentences)?;
    let other = Library::open(against)?;
    other.check_encoder(encoder.id())?;
    let with = |library| Demonstrator {
        library,
        encoder: encoder.as_ref(),
        sentence: &sentences.encoder,
        sentence_weights: &sentences.weights,
        scorer: scorer.as_ref(),
    };
    let procedures = mixed(&truth, arguments.procedures, arguments.seed);
    let options = Options::default();
    let (one, other) = (with(&library), with(&other));
    let found = speech_index::compare(&one, &other, &procedures, &options, &setup.progress)?;
    setup.progress.finish();
    let (steps, encoder) = (found.steps, &encoder.id().name);
    if setup.json {
        println!("{}", json!({"encoder": encoder, "comparison": found}));
        return Ok(0);
    }
    println!("{} mixed procedures, {steps} steps; encoder {encoder}", procedures.len());
    let has = format!("of {} clips of the other, speech has too", found.clips);
    let rows = [
        row(&has, &found.found),
        row("steps with the same clip", &found.same),
        row("with the same, or both right", &found.as_good),
        row("with the same, each step asked for alone", &found.same_alone),
        row("right, from speech", &found.right),
        row("right, from the other", &found.right_of_other),
    ];
    table::print(&["", "value", "95 % interval"], &[false, true, true], &rows);
    Ok(0)
}
