//! `stitch listen`: what is said in a file, as subtitles.

use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde_json::json;
use stitch_engine::index;
use stitch_engine::listen::{Listened, Listener};
use stitch_engine::media;
use stitch_engine::progress::Progress;
use stitch_engine::render::cues;
use stitch_engine::transcript::Sentence;

use crate::failure::Failure;
use crate::setup::Setup;

/// Write down what is said in a video or a sound file
#[derive(Args)]
pub struct ListenArguments {
    /// The file
    file: PathBuf,
    /// The speech model, by name or folder
    #[arg(long, env = "STITCH_SPEECH", value_name = "MODEL", default_value = Listener::MODEL)]
    speech: String,
    /// The language that is spoken, as `en` or `de` [default: detected]
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// Words that may be said, such as names [default: the title and its owner, or the file's name]
    #[arg(long, value_name = "WORDS")]
    hint: Option<String>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t = Format::Srt)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Subtitles
    Srt,
    /// A sentence a line
    Text,
}

/// Runs the command.
pub fn run(arguments: &ListenArguments, setup: &Setup) -> Result<u8, Failure> {
    setup.progress.begin("loading the speech model", 0);
    let listener = setup.listener(&arguments.speech)?;
    let listener = match &arguments.language {
        Some(language) => listener.in_language(language)?,
        None => listener,
    };
    let length_ms = media::audio::duration_ms(&arguments.file, &setup.progress)?;
    setup.progress.begin("listening", length_ms / 1000);
    let hint = arguments.hint.clone().unwrap_or_else(|| index::hint(&arguments.file));
    let start = Instant::now();
    let listened = listener.listen(&arguments.file, &hint, &setup.progress)?;
    setup.progress.finish();
    if let Some(damage) = &listened.damage {
        let told = format!("part of the sound is damaged ({damage}); what can be decoded is used");
        setup.progress.warn(&told);
    }
    print(&listened, start.elapsed().as_secs_f64(), arguments, setup);
    Ok(0)
}

fn print(listened: &Listened, took_s: f64, arguments: &ListenArguments, setup: &Setup) {
    let sentences = listened.sentences.as_slice();
    if setup.json {
        let language = listened.language.as_ref();
        println!(
            "{}",
            json!({"language": language, "sentences": sentences, "length_ms": listened.length_ms,
                "speech_ms": listened.speech_ms, "took_s": took_s})
        );
        return;
    }
    match arguments.format {
        Format::Srt => print!("{}", cues::srt(sentences)),
        Format::Text => sentences.iter().for_each(|Sentence { text, .. }| println!("{text}")),
    }
    let length_s = listened.length_ms as f64 / 1000.0;
    eprintln!("{length_s:.0} s of sound in {took_s:.1} s ({:.1} x real time)", length_s / took_s);
}
