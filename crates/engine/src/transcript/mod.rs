//! Narration: what is said in a video, sentence by sentence, from the files people have.

mod record;
pub mod text;
mod cue;
mod subrip;
mod substation;
mod whisper;
mod rolling;
mod sentences;
mod sidecar;

use std::io::Read;
use std::path::{Path, PathBuf};

pub use cue::{Cue, Line};
pub use record::{Kind, Origin, Sentence, Transcript};
pub use sidecar::{sidecar, sidecar_in};

use crate::files::FileError;

/// Why a file is no transcript.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// It could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is larger than any transcript.
    #[error(
        "{} is larger than {most} MiB, which no transcript is; give the subtitle file itself",
        path.display()
    )]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// The limit in MiB.
        most: u64,
    },
    /// It has none of the shapes that are known.
    #[error(
        "{what} is no transcript that can be read; \
         save it as SRT, VTT, ASS or the JSON of a Whisper program"
    )]
    Unknown {
        /// The file, or what else it was.
        what: String,
    },
    /// Captions, but all of them at time zero.
    #[error(
        "all {cues} captions in {what} are at time zero; export the subtitles again with their \
         times, or remove the file so that the speech is recognised instead"
    )]
    NoTimes {
        /// The file, or what else it was.
        what: String,
        /// How many captions there are.
        cues: usize,
    },
    /// A transcript with nothing said in it.
    #[error(
        "nothing is said in {what} ({dropped} captions were left out); remove it so that the \
         speech is recognised instead, or give the steps in a .steps.json file"
    )]
    Empty {
        /// The file, or what else it was.
        what: String,
        /// How many captions could not be used.
        dropped: usize,
    },
}

/// The largest file that is taken for a transcript, in MiB.
const MOST_MIB: u64 = 50;

/// Reads a transcript; its form is told by its content, so that the extension may be wrong.
pub fn read(path: &Path) -> Result<Transcript, TranscriptError> {
    let file = std::fs::File::open(path).map_err(FileError::at(path))?;
    let mut bytes = Vec::new();
    let limit = MOST_MIB << 20;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(FileError::at(path))?;
    if bytes.len() as u64 > limit {
        return Err(TranscriptError::TooLarge { path: path.into(), most: MOST_MIB });
    }
    read_text(&text::decode(&bytes), Some(path))
}

/// The transcript in a text stream of a video, which ffmpeg has turned into SRT.
pub fn from_text_stream(bytes: &[u8]) -> Result<Transcript, TranscriptError> {
    let mut transcript = read_text(&text::decode(bytes), None)?;
    transcript.origin.kind = Kind::TextStream;
    Ok(transcript)
}

/// The transcript in bytes of any form.
pub fn from_bytes(bytes: &[u8]) -> Result<Transcript, TranscriptError> {
    read_text(&text::decode(bytes), None)
}

/// The transcript made of timed captions, mended and joined into sentences.
pub fn from_cues(
    cues: Vec<Cue>,
    kind: Kind,
    language: Option<String>,
) -> Result<Transcript, TranscriptError> {
    let captions = Captions { kind, language, cues, dropped: 0 };
    captions.transcript(None)
}

/// Captions as a file has them.
struct Captions {
    kind: Kind,
    language: Option<String>,
    cues: Vec<Cue>,
    dropped: usize,
}

/// The transcript in a text that is, or is not, from a file.
fn read_text(text: &str, file: Option<&Path>) -> Result<Transcript, TranscriptError> {
    let captions = captions(text);
    captions.ok_or_else(|| TranscriptError::Unknown { what: named(file) })?.transcript(file)
}

/// The captions in a text; none if it has no known form.
fn captions(text: &str) -> Option<Captions> {
    let start = text.trim_start();
    if start.starts_with(['{', '['])
        && let Ok(json) = serde_json::from_str(start)
    {
        let whisper::Recognised { kind, language, cues, dropped } = whisper::recognised(&json)?;
        return Some(Captions { kind, language, cues, dropped });
    }
    let (kind, (cues, dropped)) = if text.contains("-->") {
        let web = start.starts_with("WEBVTT");
        (if web { Kind::WebVtt } else { Kind::SubRip }, subrip::cues(text))
    } else if text.contains("Dialogue:") {
        (Kind::SubStation, substation::cues(text))
    } else {
        return None;
    };
    Some(Captions { kind, language: header_language(start), cues, dropped })
}

/// The `Language: en` of WebVTT's header.
fn header_language(text: &str) -> Option<String> {
    let header = text.split("\n\n").next()?.lines().take(10);
    let language = header.filter_map(|line| line.strip_prefix("Language:")).next()?.trim();
    (!language.is_empty() && language.len() < 20).then(|| language.to_lowercase())
}

impl Captions {
    fn transcript(self, file: Option<&Path>) -> Result<Transcript, TranscriptError> {
        let total = self.cues.len();
        let mended = cue::mend(self.cues);
        if mended.timeless {
            return Err(TranscriptError::NoTimes { what: named(file), cues: total });
        }
        let rolls = rolling::rolls(&mended.cues);
        let cues = if rolls { rolling::unrolled(&mended.cues) } else { mended.cues };
        let sentences = sentences::sentences(&cues);
        let dropped = self.dropped + mended.dropped;
        if sentences.is_empty() {
            return Err(TranscriptError::Empty { what: named(file), dropped });
        }
        let kind = if rolls { Kind::AutoCaptions } else { self.kind };
        let origin = Origin { kind, file: file.map(Path::to_path_buf) };
        let (language, repairs) = (self.language, mended.repairs);
        Ok(Transcript { sentences, language, origin, repairs, dropped })
    }
}

fn named(file: Option<&Path>) -> String {
    file.map_or_else(|| "the text".to_string(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SRT: &str = "1\n00:00:01,000 --> 00:00:02,000\nCrème brûlée.\n";

    #[test]
    fn reads_a_file_in_any_encoding_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let utf16: Vec<u8> = SRT.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let latin = encoding_rs::WINDOWS_1252.encode(SRT).0.into_owned();
        for (name, bytes) in [("a.srt", SRT.into()), ("b.vtt", utf16), ("c.txt", latin)] {
            let path = folder.path().join(name);
            std::fs::write(&path, &bytes).unwrap();
            let transcript = read(&path).unwrap();
            assert_eq!(transcript.sentences[0].text, "Crème brûlée.", "{name}");
            assert_eq!(transcript.origin.file.as_deref(), Some(path.as_path()));
        }
    }

    #[test]
    fn says_what_is_wrong_and_what_to_do() {
        let error = |text: &str| from_bytes(text.as_bytes()).unwrap_err().to_string();
        insta::assert_snapshot!(
            [
                error("hello"),
                error(""),
                error("{\"a\": 1}"),
                error("00:00:00,000 --> 00:00:00,000\nA\n\n00:00:00,000 --> 00:00:00,000\nB\n"),
                error("00:00:01,000 --> 00:00:02,000\n[Music]\n"),
                read(Path::new("/nowhere.srt")).unwrap_err().to_string(),
            ]
            .join("\n")
        );
    }

    #[test]
    fn a_text_stream_is_named_as_such() {
        let transcript = from_text_stream(SRT.as_bytes()).unwrap();
        assert_eq!(transcript.origin, Origin { kind: Kind::TextStream, file: None });
    }

    #[test]
    fn the_language_of_a_header_is_kept() {
        let text = "WEBVTT\nLanguage: de\n\n00:01.000 --> 00:02.000\nHallo.\n";
        assert_eq!(from_bytes(text.as_bytes()).unwrap().language.as_deref(), Some("de"));
    }

    /// Text made of the pieces that subtitle files are made of.
    fn subtitle_like() -> impl Strategy<Value = String> {
        let piece = proptest::sample::select(vec![
            "00:00:01,000",
            "-->",
            " --> ",
            "\n",
            "\n\n",
            "1",
            "99:99:99.999",
            "WEBVTT",
            "<c>",
            "</c>",
            "<00:00:01.000>",
            "Dialogue:",
            "[Events]",
            "Format:",
            ",",
            "{\\an8}",
            "\\N",
            "♪",
            "&#39;",
            "&amp",
            "chop it",
            "{",
            "}",
            "[",
            "]",
            "\"start\":",
            "\"text\":",
            "(",
            ")",
            "é",
            "\u{feff}",
        ]);
        proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    fn is_sound(transcript: &Transcript) -> bool {
        let each = transcript.sentences.iter().all(|s| s.start_ms < s.end_ms && !s.text.is_empty());
        each && transcript.sentences.windows(2).all(|p| p[0].end_ms <= p[1].start_ms)
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(from_bytes(&bytes).is_ok_and(|t| is_sound(&t)) || from_bytes(&bytes).is_err());
        }

        #[test]
        fn anything_like_subtitles_gives_sound_sentences(text in subtitle_like()) {
            if let Ok(transcript) = from_bytes(text.as_bytes()) {
                prop_assert!(is_sound(&transcript), "{:?}", transcript);
            }
        }
    }
}
