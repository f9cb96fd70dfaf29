//! Narration: what is said in a video, sentence by sentence, from the files people have.

pub mod text;
mod caption;
mod subrip;
mod substation;
mod sbv;
mod whisper;
mod rolling;
mod sentences;
mod sidecar;

use std::io::Read;
use std::path::{Path, PathBuf};

pub use caption::{Caption, Sentence};
pub use sidecar::sidecar;

use crate::files::FileError;
use caption::Parsed;

/// A subtitle format: one file, and one line in [`FORMATS`].
pub struct SubtitleFormat {
    /// As messages name it.
    pub name: &'static str,
    /// In lower case.
    pub extensions: &'static [&'static str],
    pub is_automatic: bool,
    /// The captions of a text; none if it has another format.
    read: fn(&str) -> Option<Parsed>,
}

/// In order of preference where a video has several files. The content decides the format, not the
/// extension, and is tried from the last to the first.
pub const FORMATS: &[SubtitleFormat] =
    &[subrip::FORMAT, subrip::WEBVTT, substation::FORMAT, sbv::FORMAT, whisper::FORMAT];

/// Why a file is no transcript; `what` is the file, or what else the text is from.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(
        "{} is larger than {MAX_MIB} MiB, which no transcript is; give the subtitle file itself",
        path.display()
    )]
    TooLarge { path: PathBuf },
    #[error("{what} is no transcript that can be read; save it as one of: {}", format_names())]
    Unknown { what: String },
    #[error(
        "all {captions} captions in {what} are at time zero; export the subtitles again with their \
         times, or remove the file so that the speech is recognised instead"
    )]
    NoTimes { what: String, captions: usize },
    #[error(
        "nothing is said in {what} ({dropped} captions were left out); remove it so that the \
         speech is recognised instead, or give the steps in a .steps.json file"
    )]
    Empty { what: String, dropped: usize },
}

fn format_names() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}

/// The size of the largest file that is read.
const MAX_MIB: u64 = 50;

/// The sentences of a subtitle file.
pub fn read(path: &Path) -> Result<Vec<Sentence>, TranscriptError> {
    let file = std::fs::File::open(path).map_err(FileError::at(path))?;
    let mut bytes = Vec::new();
    let limit = MAX_MIB << 20;
    file.take(limit + 1).read_to_end(&mut bytes).map_err(FileError::at(path))?;
    if bytes.len() as u64 > limit {
        return Err(TranscriptError::TooLarge { path: path.into() });
    }
    read_text(&text::decode(&bytes), &path.display().to_string())
}

/// The sentences of a text in any format, such as a text stream of a video.
pub fn from_bytes(bytes: &[u8]) -> Result<Vec<Sentence>, TranscriptError> {
    read_text(&text::decode(bytes), "the text")
}

fn read_text(text: &str, what: &str) -> Result<Vec<Sentence>, TranscriptError> {
    let parsed = FORMATS.iter().rev().find_map(|format| (format.read)(text));
    let (captions, dropped) =
        parsed.ok_or_else(|| TranscriptError::Unknown { what: what.into() })?;
    let count = captions.len();
    if count > 1 && captions.iter().all(|c| c.start_ms == 0 && c.end_ms == 0) {
        return Err(TranscriptError::NoTimes { what: what.into(), captions: count });
    }
    let (sentences, unplaced) = from_captions(captions);
    if sentences.is_empty() {
        let dropped = dropped + unplaced;
        return Err(TranscriptError::Empty { what: what.into(), dropped });
    }
    Ok(sentences)
}

/// Captions joined into sentences, in order and without overlap, and how many had no usable time.
pub fn from_captions(captions: Vec<Caption>) -> (Vec<Sentence>, usize) {
    let (captions, dropped) = caption::repaired(captions);
    let rolls = rolling::rolls(&captions);
    let captions = if rolls { rolling::unrolled(&captions) } else { captions };
    (sentences::sentences(&captions), dropped)
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
            assert_eq!(read(&path).unwrap()[0].text, "Crème brûlée.", "{name}");
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
            "0:00:01.000,0:00:02.500\n",
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

    fn is_sound(sentences: &[Sentence]) -> bool {
        let each = sentences.iter().all(|s| s.start_ms < s.end_ms && !s.text.is_empty());
        each && sentences.windows(2).all(|p| p[0].end_ms <= p[1].start_ms)
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(from_bytes(&bytes).is_ok_and(|t| is_sound(&t)) || from_bytes(&bytes).is_err());
        }

        #[test]
        fn anything_like_subtitles_gives_sound_sentences(text in subtitle_like()) {
            if let Ok(sentences) = from_bytes(text.as_bytes()) {
                prop_assert!(is_sound(&sentences), "{:?}", sentences);
            }
        }
    }
}
