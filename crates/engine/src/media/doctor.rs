//! Checks of the installed programs, for `stitch doctor`.

use serde::Serialize;

use super::{Program, sandbox};

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
    let mut findings: Vec<Finding> =
        [(Program::Ffmpeg, true), (Program::Ffprobe, true), (Program::EspeakNg, false)]
            .map(|(program, needed)| version(program, needed))
            .into();
    if findings[0].well {
        findings.extend(abilities("-encoders", &["libx264", "aac", "mov_text"]));
        findings.extend(abilities("-filters", &["subtitles", "loudnorm", "xfade", "gblur"]));
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
    let flag = if program == Program::EspeakNg { "--version" } else { "-version" };
    let answer = program.output([flag]);
    let detail = match &answer {
        Ok(text) => first_line(text),
        Err(error) => error.to_string(),
    };
    let mend = Some(program.install().to_owned());
    Finding { what: program.name().into(), well: answer.is_ok(), needed, detail, mend }
}

fn first_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().next().unwrap_or_default().trim().to_owned()
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
