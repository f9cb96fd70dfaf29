//! Checks of the installed programs, for `stitch doctor`.

use serde::Serialize;

use super::Program;

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
    }
    findings
}

fn version(program: Program, needed: bool) -> Finding {
    let answer = program.version();
    let well = answer.is_ok();
    let detail = answer.unwrap_or_else(|error| error.to_string());
    let mend = Some(program.install().to_owned());
    Finding { what: program.name().into(), well, needed, detail, mend }
}

/// Whether ffmpeg lists each of the names among its encoders or filters.
fn abilities(flag: &str, names: &[&str]) -> Vec<Finding> {
    let listed = Program::Ffmpeg.listed(flag).unwrap_or_default();
    let has = |name: &str| listed.iter().any(|listed| listed == name);
    let finding = |name: &&str| Finding {
        what: format!("ffmpeg {name}"),
        well: has(name),
        needed: true,
        detail: if has(name) { "there" } else { "this ffmpeg was built without it" }.into(),
        mend: Some(Program::Ffmpeg.install().into()),
    };
    names.iter().map(finding).collect()
}
