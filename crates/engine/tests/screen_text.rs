//! Text on the screen as narration. Needs ONNX Runtime and the model that reads (`stitch models pull onnxruntime`,
//! `stitch models pull ppocr-v6`); without them these tests say so and pass.

#![allow(clippy::print_stderr)] // a skipped test says so

mod common;

use std::path::{Path, PathBuf};

use common::ffmpeg;
use stitch_engine::media;
use stitch_engine::progress::Silent;
use stitch_engine::screen_text::ScreenTextReader;
use stitch_engine::session::Home;

fn reader() -> Option<ScreenTextReader> {
    let store = Home::from_environment().store();
    let folder = match store.path(ScreenTextReader::MODEL) {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("skipped: {error}");
            return None;
        }
    };
    Some(ScreenTextReader::load(&folder, &store).unwrap())
}

/// A video of changing pictures that shows each text for six seconds, of the given size.
fn video(folder: &Path, texts: &[&str], size: &str) -> PathBuf {
    let font = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/fonts/Inter-Regular.ttf");
    let shown = |(i, text): (usize, &&str)| {
        let (from, to) = (6 * i, 6 * i + 6);
        let place = "fontsize=30:x=(w-tw)/2:y=h-80:fontcolor=white:borderw=2";
        format!("drawtext=fontfile={font}:text='{text}':{place}:enable='gte(t,{from})*lt(t,{to})'")
    };
    let filters: Vec<String> = texts.iter().enumerate().map(shown).collect();
    let path = folder.join("video.mp4");
    let (picture, length) = (format!("testsrc2=s={size}:r=5"), (6 * texts.len()).to_string());
    ffmpeg(&["-f", "lavfi", "-i", &picture, "-t", &length, "-vf", &filters.join(",")], &path);
    path
}

#[test]
fn texts_are_read_with_their_times() {
    let Some(reader) = reader() else { return };
    let folder = tempfile::tempdir().unwrap();
    let texts = ["Chop the onions finely", "FRY THEM UNTIL GOLDEN", "Die Äpfel schälen"];
    let path = video(folder.path(), &texts, "1280x720");
    let probe = media::probe(&path, &Silent).unwrap();
    let read = reader.read(&path, &probe, &Silent).unwrap();
    let read: Vec<(u64, u64, &str)> =
        read.iter().map(|said| (said.start_ms, said.end_ms, said.text.as_str())).collect();
    let expected = [
        (0, 6000, "Chop the onions finely."),
        (6000, 12_000, "Fry them until golden."),
        (12_000, 18_000, "Die Äpfel schälen."),
    ];
    assert_eq!(read, expected);
}

#[test]
fn a_video_without_text_says_nothing() {
    let Some(reader) = reader() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("video.mp4");
    ffmpeg(&["-f", "lavfi", "-i", "mandelbrot=s=320x568:r=5", "-t", "8"], &path);
    let probe = media::probe(&path, &Silent).unwrap();
    assert_eq!(reader.read(&path, &probe, &Silent).unwrap(), []);
}
