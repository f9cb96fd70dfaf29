//! Tiny videos made by ffmpeg, and demonstrations of them.

#![allow(dead_code)] // every test binary uses some of it

use std::path::{Path, PathBuf};

use stitch_engine::demonstrate::{
    Choice, Confidence, Demonstration, Interval, Similarity, Source, Step,
};
use stitch_engine::media::Program;

/// Runs ffmpeg with these arguments and the output file at the end.
pub fn ffmpeg(arguments: &[&str], out: &Path) {
    let mut command = Program::Ffmpeg.command();
    command.args(["-v", "error", "-y"]).args(arguments);
    let mut url = std::ffi::OsString::from("file:");
    url.push(out);
    let done = command.arg(url).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// What ffmpeg prints to standard output.
pub fn ffmpeg_output(arguments: &[&str]) -> Vec<u8> {
    let mut command = Program::Ffmpeg.command();
    let done = command.args(["-v", "error"]).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

/// The loudness of some seconds as ffmpeg measures it, not we.
pub fn loudness(path: &Path, from_s: usize, seconds: usize) -> f64 {
    let (from, seconds, path) = (from_s.to_string(), seconds.to_string(), path.to_str().unwrap());
    let filter = "ebur128=framelog=verbose:metadata=1,ametadata=print:key=lavfi.r128.I:file=-";
    let input = ["-ss", &from, "-t", &seconds, "-i", path];
    let output = ["-vn", "-af", filter, "-f", "null", "/dev/null"];
    let text = String::from_utf8(ffmpeg_output(&[input, output].concat())).unwrap();
    let last = text.lines().rev().find_map(|line| line.strip_prefix("lavfi.r128.I="));
    last.unwrap().parse().unwrap()
}

/// A video of one colour, with a sine where a frequency is given.
pub fn plain(folder: &Path, name: &str, colour: &str, size: &str, seconds: &str) -> PathBuf {
    let path = folder.join(name);
    let picture = format!("color=c={colour}:s={size}:r=25:d={seconds}");
    let sound = format!("sine=frequency=440:sample_rate=44100:duration={seconds}");
    ffmpeg(
        &["-f", "lavfi", "-i", &picture, "-f", "lavfi", "-i", &sound, "-preset", "ultrafast"],
        &path,
    );
    path
}

/// A video whose header says that it is to be shown turned by a quarter.
pub fn turned(picture: &str, path: &Path) {
    let upright = path.with_file_name("upright.mp4");
    ffmpeg(&["-f", "lavfi", "-i", picture], &upright);
    let upright = upright.to_str().unwrap();
    ffmpeg(&["-i", upright, "-c", "copy", "-metadata:s:v:0", "rotate=90"], path);
}

/// A clip of a file.
pub fn choice(path: &Path, start_ms: u64, end_ms: u64) -> Choice {
    let interval = Interval { start_ms, end_ms };
    Choice {
        clip: 0,
        source: Source {
            video: 0,
            path: path.to_owned(),
            title: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            ..Source::default()
        },
        span: interval,
        cut: interval,
        speed: 1.0,
        text: "a step".into(),
        narration: String::new(),
        similarity: Similarity {
            text: Some(0.8),
            words: Some(0.5),
            clip: Some(0.3),
            probability: 0.6,
        },
        copies: Vec::new(),
    }
}

/// A demonstration of these steps.
pub fn demonstration(steps: Vec<(&str, Option<Choice>)>) -> Demonstration {
    let step = |(text, chosen): (&str, Option<Choice>)| Step {
        confidence: Confidence::of(chosen.as_ref()),
        text: text.into(),
        chosen,
        ..Step::default()
    };
    Demonstration {
        version: Demonstration::VERSION,
        title: "Tea".into(),
        language_note: None,
        steps: steps.into_iter().map(step).collect(),
        scorer: "similarity".into(),
        score: 0.5,
        probability: None,
        candidates: 10,
        source_changes: 1,
        seed: 7,
        models: Default::default(),
        preferences: Vec::new(),
        voiceover: None,
    }
}
