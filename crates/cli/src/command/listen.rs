//! `stitch listen`: transcribes a file into subtitles.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use stitch_engine::index;
use stitch_engine::media;
use stitch_engine::progress::Progress;
use stitch_engine::render::cues;
use stitch_engine::transcript::Sentence;

use crate::failure::Failure;
use crate::options::{Choices, SpeechArguments, choice};
use crate::setup::Setup;

/// Transcribe the speech in a video or audio file
#[derive(Args)]
pub struct ListenArguments {
    /// The video or audio file
    file: PathBuf,
    #[command(flatten)]
    speech: SpeechArguments,
    /// The spoken language, such as `en` or `de` [default: detected]
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// Words that may occur, such as names [default: title and uploader, or the file name]
    #[arg(long, value_name = "WORDS")]
    hint: Option<String>,
    /// The output format
    #[arg(long, value_parser = choice(&FORMATS), default_value = "srt")]
    format: Format,
}

#[derive(Clone, Copy)]
enum Format {
    Srt,
    Text,
}

const FORMATS: Choices<Format, 2> = [
    ("srt", "SubRip subtitles", Format::Srt),
    ("text", "Plain text, one sentence per line", Format::Text),
];

pub fn run(arguments: &ListenArguments, setup: &Setup) -> Result<u8, Failure> {
    let mut listener = arguments.speech.load(setup)?;
    if let Some(language) = &arguments.language {
        listener = listener.in_language(language)?;
    }
    let length_ms = media::audio::duration_ms(&arguments.file, &setup.progress)?;
    setup.progress.begin("transcribing", length_ms / 1000);
    let hint = arguments.hint.clone().unwrap_or_else(|| index::hint(&arguments.file));
    let start = Instant::now();
    let listened = listener.listen(&arguments.file, &hint, &setup.progress)?;
    let took_s = start.elapsed().as_secs_f64();
    if let Some(damage) = &listened.damage {
        setup.progress.finish();
        let message = format!("part of the audio is damaged ({damage}); the rest is used");
        setup.progress.warn(&message);
    }
    let sentences = listened.sentences.as_slice();
    let json = json!({"language": listened.language, "sentences": sentences,
        "length_ms": listened.length_ms, "speech_ms": listened.speech_ms, "took_s": took_s});
    setup.print(json, || {
        match arguments.format {
            Format::Srt => print!("{}", cues::srt(sentences)),
            Format::Text => sentences.iter().for_each(|Sentence { text, .. }| println!("{text}")),
        }
        let length_s = listened.length_ms as f64 / 1000.0;
        let speed = length_s / took_s;
        eprintln!("{length_s:.0} s of audio in {took_s:.1} s ({speed:.1} x real time)");
    });
    Ok(0)
}
