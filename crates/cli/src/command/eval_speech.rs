//! `stitch eval speech`: the errors of speech recognition, and their effect on an index.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use serde_json::json;
use stitch_engine::demonstrate::{Demonstrator, Options};
use stitch_engine::library::Library;
use stitch_engine::session::check_calibration;
use stitch_lab::suite::speech;
use stitch_lab::suite::speech_index;
use stitch_world::library::mixed;
use stitch_world::truth::Truth;

use crate::failure::Failure;
use crate::options::SpeechArguments;
use crate::setup::{ScorerArguments, Setup};
use crate::table;

/// Transcribe files that have subtitles and count the errors; with --against, compare two indexes
#[derive(Args)]
pub struct EvalSpeechArguments {
    /// A folder of media files with .srt beside them
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    speech: SpeechArguments,
    /// Instead of transcribing, compare --library, made from speech, with this library, made from
    /// subtitles, on the steps of mixed procedures
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
    /// The number of procedures with --against
    #[arg(long, default_value_t = 60)]
    procedures: usize,
    /// The seed of the procedures and of the bootstrap samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(arguments: &EvalSpeechArguments, setup: &Setup) -> Result<u8, Failure> {
    match &arguments.against {
        Some(against) => compare(arguments, against, setup),
        None => transcribe(arguments, setup),
    }
}

fn transcribe(arguments: &EvalSpeechArguments, setup: &Setup) -> Result<u8, Failure> {
    let listener = arguments.speech.load(setup)?;
    let start = Instant::now();
    let report = speech::evaluate(&listener, &arguments.folder, arguments.seed, &setup.progress)?;
    let took_s = start.elapsed().as_secs_f64();
    setup.print(json!({"speech": listener.name, "took_s": took_s, "report": report}), || {
        print!("{} files, {} words; ", report.files, report.words);
        println!("speech model {}", listener.name);
        table::print_estimates(&[
            ("word error rate", &report.word_errors),
            ("sentence starts within 0.5 s", &report.in_time),
        ]);
        let speed = report.seconds / took_s;
        println!("{:.0} s of audio in {took_s:.1} s: {speed:.1} x real time", report.seconds);
        for (right, heard, count) in report.confusions.iter().take(12) {
            println!("  {count} x `{right}` recognised as `{heard}`");
        }
    });
    Ok(0)
}

fn compare(arguments: &EvalSpeechArguments, against: &Path, setup: &Setup) -> Result<u8, Failure> {
    let truth = Truth::read(&arguments.folder.join("truth.json"))?;
    let session = setup.open(&ScorerArguments::default())?;
    let library = Library::open(against)?;
    library.check_encoder(session.encoder.id())?;
    check_calibration(&library, &setup.progress);
    let one = session.demonstrator();
    let other = Demonstrator { library: &library, ..session.demonstrator() };
    let procedures = mixed(&truth, arguments.procedures, arguments.seed);
    let found =
        speech_index::compare(&one, &other, &procedures, &Options::default(), &setup.progress)?;
    let encoder = &session.encoder.id().name;
    setup.print(json!({"encoder": encoder, "comparison": found}), || {
        print!("{} mixed procedures, {} steps; ", procedures.len(), found.steps);
        println!("encoder {encoder}");
        let clips = format!("of {} clips from subtitles, also found from speech", found.clips);
        table::print_estimates(&[
            (&clips, &found.found),
            ("steps with the same clip", &found.same),
            ("with the same clip, or two correct ones", &found.as_good),
            ("with the same clip, each step searched alone", &found.same_alone),
            ("correct, from speech", &found.right),
            ("correct, from subtitles", &found.right_of_other),
        ]);
    });
    Ok(0)
}
