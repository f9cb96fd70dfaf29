//! What is said in a video, as a record: sentences, and where they are from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Something said, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence {
    /// When it begins, in milliseconds.
    pub start_ms: u64,
    /// When it ends; after the start.
    pub end_ms: u64,
    /// The words.
    pub text: String,
}

/// What is said in a video.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transcript {
    /// In order; they do not overlap. Never empty.
    pub sentences: Vec<Sentence>,
    /// The language, where the file or its name says so.
    pub language: Option<String>,
    /// Where it is from.
    pub origin: Origin,
    /// Captions whose times had to be mended.
    pub repairs: usize,
    /// Captions that were left out because no time could be made of theirs.
    pub dropped: usize,
}

/// Where a transcript is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// In which form it was.
    pub kind: Kind,
    /// The file, if it was one of its own.
    pub file: Option<PathBuf>,
}

/// The form a transcript had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// `.srt`
    SubRip,
    /// `.vtt`
    WebVtt,
    /// Captions whose lines roll, as machines make them.
    AutoCaptions,
    /// `.ass` or `.ssa`
    SubStation,
    /// JSON of openai-whisper or WhisperX.
    Whisper,
    /// JSON of whisper.cpp.
    WhisperCpp,
    /// JSON of faster-whisper.
    FasterWhisper,
    /// A text stream inside the video.
    TextStream,
    /// Speech recognised by us.
    Speech,
}

impl std::fmt::Display for Origin {
    /// The file's name, or what else it was.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.file.as_ref().and_then(|file| file.file_name());
        match (name, self.kind) {
            (Some(name), _) => f.write_str(&name.to_string_lossy()),
            (None, Kind::Speech) => f.write_str("speech"),
            (None, _) => f.write_str("a text stream of the video"),
        }
    }
}
