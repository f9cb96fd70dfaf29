//! Checks of the installed programs, for `stitch doctor`.

use serde::Serialize;

use super::{Program, VideoEncoder, sandbox};

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub what: String,
    pub well: bool,
    pub needed: bool,
    pub detail: String,
    pub mend: Option<String>,
}

/// Checks every program, and the codecs and filters of ffmpeg that are used.
pub fn examine() -> Vec<Finding> {
    let needed = [Program::Ffmpeg, Program::Ffprobe].map(|program| version(program, true));
    let optional = [Program::EspeakNg, Program::YtDlp].map(|program| version(program, false));
    let mut findings: Vec<Finding> = needed.into_iter().chain(optional).collect();
    if findings[0].well {
        findings.extend(abilities("-encoders", &["libx264", "aac", "mov_text"]));
        findings.extend(abilities("-filters", &["subtitles", "loudnorm", "xfade", "gblur"]));
        findings.push(hardware_encoder());
    }
    findings.push(sandbox());
    findings
}

/// Whether ffmpeg and ffprobe can open no other files than those that they are given.
fn sandbox() -> Finding {
    let missing = [Program::Ffmpeg, Program::Ffprobe].into_iter().find_map(sandbox::missing);
    Finding {
        what: "sandbox".into(),
        well: missing.is_none(),
        needed: false,
        detail: missing.unwrap_or("Landlock: ffmpeg opens its input and output only").into(),
        mend: Some("for videos of strangers, run stitch in a container".into()),
    }
}

fn version(program: Program, needed: bool) -> Finding {
    let answer = program.version();
    let well = answer.is_ok();
    let detail = answer.unwrap_or_else(|error| error.to_string());
    let mend = Some(program.install().to_owned());
    Finding { what: program.name().into(), well, needed, detail, mend }
}

/// Whether the graphics hardware can encode.
fn hardware_encoder() -> Finding {
    let names: Vec<&str> = VideoEncoder::working().map(VideoEncoder::name).collect();
    let well = !names.is_empty();
    let detail = match well {
        true => format!("{}: use it with `stitch make --encoder-video auto`", names.join(", ")),
        false => "none works; x264 encodes videos on the CPU".into(),
    };
    let mend =
        Some("install the driver of your graphics hardware and an ffmpeg that uses it".into());
    Finding { what: "hardware encoder".into(), well, needed: false, detail, mend }
}

/// Whether ffmpeg lists each of the names among its encoders or filters.
fn abilities(flag: &str, names: &[&str]) -> Vec<Finding> {
    let listed = Program::Ffmpeg.output(["-hide_banner", flag]).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed);
    let has = |name: &str| listed.lines().any(|line| line.split_whitespace().nth(1) == Some(name));
    let finding = |name: &&str| Finding {
        what: format!("ffmpeg {name}"),
        well: has(name),
        needed: true,
        detail: if has(name) { "there" } else { "this ffmpeg was built without it" }.into(),
        mend: Some(Program::Ffmpeg.install().into()),
    };
    names.iter().map(finding).collect()
}
