//! Reading a procedure from what people have: plain lines, Markdown, JSON-LD, a recipe page.

mod outline;
mod lines;
mod html;
mod json;
mod step_list;

use stitch_core::procedure::{Procedure, ProcedureError};

pub use step_list::{GivenStep, StepList, TimeError, read_step_list};

use crate::transcript::text;
use outline::Draft;

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

/// Reads the query from a file's bytes. The form is told by the content; the name's extension
/// decides where that is not enough.
pub fn read_procedure(name: &str, bytes: &[u8]) -> Result<Procedure, RecipeError> {
    let text = readable(bytes)?;
    let (draft, found) = match form(name, &text) {
        Form::Json => (from_json(&text)?, "JSON"),
        Form::Html => (html::page(&text), "a web page without recipe data or a list of steps"),
        Form::Markdown => (Some(outline::draft(&lines::markdown(&text))), "Markdown"),
        Form::Plain => (Some(outline::draft(&lines::plain(&text))), "text"),
    };
    let draft = draft.unwrap_or_default();
    let steps: Vec<&str> = draft.steps.iter().map(|s| s.trim()).filter(|s| has_words(s)).collect();
    match Procedure::new(&draft.title, steps) {
        Err(ProcedureError::Empty) => Err(RecipeError::NoSteps { found: found.into() }),
        other => other.map_err(RecipeError::Procedure),
    }
}

fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

fn from_json(text: &str) -> Result<Option<Draft>, RecipeError> {
    let value = serde_json::from_str(text.trim()).map_err(RecipeError::Json)?;
    let list = json::steps(&value)?;
    let steps = |list: StepList| list.steps.into_iter().map(|step| step.text).collect();
    Ok(list.map(|list| Draft { title: list.title.clone(), steps: steps(list) }))
}

/// The text in the bytes, if they are text and not too many.
fn readable(bytes: &[u8]) -> Result<String, RecipeError> {
    if bytes.len() > MOST_MIB << 20 {
        return Err(RecipeError::TooLarge { mib: bytes.len().div_ceil(1 << 20), most: MOST_MIB });
    }
    if let Some(found) = binary(bytes) {
        return Err(RecipeError::NotText { found });
    }
    let text = text::decode(bytes);
    if has_words(&text) { Ok(text) } else { Err(RecipeError::Empty) }
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

/// How a text is written.
#[derive(Debug, PartialEq, Eq)]
enum Form {
    Json,
    Html,
    Markdown,
    Plain,
}

fn form(name: &str, text: &str) -> Form {
    let extension = name.rsplit_once('.').map(|(_, e)| e.to_lowercase()).unwrap_or_default();
    let start = text.trim_start();
    let head: String = start.chars().take(2000).collect::<String>().to_lowercase();
    let tags = ["<html", "<!doctype html", "<body", "<head", "<script", "<ol", "<div", "<article"];
    if start.starts_with('{') || is_json_list(start) {
        Form::Json
    } else if head.starts_with('<') && tags.iter().any(|tag| head.contains(tag))
        || extension.starts_with("htm")
    {
        Form::Html
    } else if matches!(extension.as_str(), "md" | "markdown" | "mdown") || is_markdown(text) {
        Form::Markdown
    } else {
        Form::Plain
    }
}

/// Whether the text is a JSON list rather than `[ ] a check box` or `[0:10] a time`.
fn is_json_list(start: &str) -> bool {
    let inside = start.strip_prefix('[').map(str::trim_start);
    inside.is_some_and(|inside| inside.starts_with(['{', '"', '[', ']']))
}

/// Whether the text has marks that only Markdown has.
fn is_markdown(text: &str) -> bool {
    let heading =
        |line: &str| line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    let front = text.starts_with("---\n") && text[4..].contains("\n---");
    front || text.lines().any(heading) || text.contains("**") || text.contains("](")
}

#[cfg(test)]
mod tests;
