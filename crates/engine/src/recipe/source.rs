//! The text in a file that should be a procedure, and why there may be none.

use stitch_core::procedure::ProcedureError;

use super::given::TimeError;
use crate::transcript::text;

/// Why a file gives no procedure.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// There is nothing in it.
    #[error("there is no text in it; write the procedure one step a line")]
    Empty,
    /// It is larger than any recipe page.
    #[error("it has {mib} MiB, the most is {most} MiB; save only the recipe, as text or JSON-LD")]
    TooLarge {
        /// Its size in MiB.
        mib: usize,
        /// The most it may have.
        most: usize,
    },
    /// It is no text at all.
    #[error("this is {found}, not text; give the procedure as text, Markdown, HTML or JSON")]
    NotText {
        /// What it seems to be.
        found: &'static str,
    },
    /// It begins as JSON but is none.
    #[error("this looks like JSON but cannot be read as such ({0}); mend it or give plain lines")]
    Json(#[source] serde_json::Error),
    /// Text, but no steps in it.
    #[error(
        "{found} was found, but no steps; write one step a line, a numbered list, or a list under \
         a heading 'Method'"
    )]
    NoSteps {
        /// What there is instead.
        found: String,
    },
    /// The steps make no procedure.
    #[error("{0}; split the procedure into parts and make a demonstration of each")]
    Procedure(ProcedureError),
    /// A time that cannot be meant.
    #[error(transparent)]
    Time(#[from] TimeError),
}

/// The largest file that is read, in MiB.
const MOST_MIB: usize = 20;
pub(super) const MAX_BYTES: usize = MOST_MIB << 20;

/// The text in the bytes, if they are text and not too many.
pub fn readable(bytes: &[u8]) -> Result<String, RecipeError> {
    if bytes.len() > MAX_BYTES {
        return Err(RecipeError::TooLarge { mib: bytes.len().div_ceil(1 << 20), most: MOST_MIB });
    }
    if let Some(found) = binary(bytes) {
        return Err(RecipeError::NotText { found });
    }
    let mut text = text::decode(bytes);
    text.retain(|c| !is_direction_mark(c));
    match has_words(&text) {
        true if is_binary(&text) => Err(RecipeError::NotText { found: "a binary file" }),
        true => Ok(text),
        false => Err(RecipeError::Empty),
    }
}

/// Whether the character only says which way a line runs; before a number it would hide a list.
fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether more than one character in fifty of the first ones is a control character.
fn is_binary(text: &str) -> bool {
    let head = || text.chars().take(4096);
    let control = head().filter(|c| c.is_control() && !c.is_whitespace()).count();
    control * 50 > head().count()
}

/// What the bytes are, if that is known not to be text.
fn binary(bytes: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 8] = [
        (b"%PDF", "a PDF"),
        (b"PK\x03\x04", "a zip archive or an office document"),
        (b"\x89PNG", "a picture"),
        (b"\xff\xd8\xff", "a picture"),
        (b"GIF8", "a picture"),
        (b"\x1a\x45\xdf\xa3", "a video"),
        (b"{\\rtf", "an RTF document"),
        (b"\x1f\x8b", "a compressed file"),
    ];
    let video = bytes.get(4..8) == Some(b"ftyp");
    let known = KNOWN.iter().find(|(mark, _)| bytes.starts_with(mark)).map(|(_, what)| *what);
    known.or(video.then_some("a video"))
}

/// Whether there is anything to read in it.
pub fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// Whether the text is a JSON list rather than `[ ] a check box` or `[0:10] a time`.
pub fn is_json_list(start: &str) -> bool {
    let inside = start.strip_prefix('[').map(str::trim_start);
    inside.is_some_and(|inside| inside.starts_with(['{', '"', '[', ']']))
}
