//! Reading a procedure from what people have: plain lines, Markdown, JSON-LD, a recipe page.

mod given;
mod source;
mod download;
mod markup;
mod outline;
mod lines;
mod labels;
mod json;
mod html;
mod step_list;
pub mod clauses;
pub mod references;

use stitch_core::procedure::{Procedure, ProcedureError};

pub use download::{DownloadError, download, is_address};
pub use given::{GivenStep, StepList, TimeError};
pub use labels::{Label, Labeller};
pub use source::RecipeError;
pub use step_list::read_step_list;

use outline::Draft;
use source::{has_words, is_json_list, readable};

/// A procedure, and what of its text is no part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub procedure: Procedure,
    /// Lines of a plain text or Markdown that are neither title nor step, in their order.
    pub left_out: Vec<String>,
    /// The name of the steps' language, where it is surely not English.
    pub language: Option<&'static str>,
    /// How many recipes a plain text or Markdown seems to hold; the steps of all are read, in their order.
    pub recipes: usize,
}

impl Reading {
    /// What of the text may not be as the user means it, and what to do about it.
    pub fn warnings(&self) -> Vec<String> {
        let several = format!(
            "the text seems to hold {} recipes; the steps of all are read as one procedure: keep only the \
             recipe you want",
            self.recipes
        );
        (self.recipes > 1).then_some(several).into_iter().collect()
    }
}

/// Reads the query from a file's bytes. The form is told by the content; the name's extension
/// decides where that is not enough. English text and Markdown are read by the labeller's labels, and by
/// rules where there is none or it has no answer.
pub fn read_procedure(
    name: &str,
    bytes: &[u8],
    labeller: Option<&dyn Labeller>,
) -> Result<Reading, RecipeError> {
    let text = readable(bytes)?;
    let form = form(name, &text);
    let blocks = match form {
        Form::Json | Form::Html => Vec::new(),
        Form::Markdown => lines::markdown(&text),
        Form::Plain => lines::plain(&text),
    };
    let (draft, found) = match form {
        Form::Json => (from_json(&text)?, "JSON"),
        Form::Html => (html::page(&text), "a web page without recipe data or a list of steps"),
        Form::Markdown => (Some(outline::draft(&blocks)), "Markdown"),
        Form::Plain => (Some(outline::draft(&blocks)), "text"),
    };
    let by_lines = matches!(form, Form::Markdown | Form::Plain);
    let mut draft = draft.unwrap_or_default();
    let language = foreign_language(&draft.steps.join(" "));
    if let Some(labeller) = labeller.filter(|_| by_lines && language.is_none()) {
        let lines = match form {
            Form::Markdown => lines::markdown_lines(&text),
            _ => text.lines().map(str::to_owned).collect(),
        };
        if let Some(labelled) = labels::draft(&lines, labeller) {
            draft = labelled.with_title_of(draft);
        }
    }
    let steps: Vec<&str> = draft.steps.iter().map(|s| s.trim()).filter(|s| has_words(s)).collect();
    let procedure = match Procedure::new(&draft.title, steps) {
        Err(ProcedureError::Empty) => return Err(RecipeError::NoSteps { found: found.into() }),
        other => other.map_err(RecipeError::Procedure)?,
    };
    let left_out = if by_lines { left_out(&text, &procedure) } else { Vec::new() };
    Ok(Reading { procedure, left_out, language, recipes: outline::recipes(&blocks) })
}

/// The language's name in English, where it is surely another one.
pub fn foreign_language(text: &str) -> Option<&'static str> {
    language(text).filter(|name| *name != whatlang::Lang::Eng.eng_name())
}

/// The language's name in English, where it can be told. The beginning of a long text decides.
pub fn language(text: &str) -> Option<&'static str> {
    const MAX_BYTES: usize = 50_000;
    let text = &text[..text.floor_char_boundary(MAX_BYTES)];
    let found = whatlang::detect(text)?;
    found.is_reliable().then(|| found.lang().eng_name())
}

/// At most so many lines are looked at for what was left out, and so many letters of each line and step: beyond,
/// nobody reads the list.
const MAX_TOLD_LINES: usize = 2000;
const MAX_TOLD_LETTERS: usize = 2000;

/// The lines of which nothing is in the procedure.
fn left_out(text: &str, procedure: &Procedure) -> Vec<String> {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).take(MAX_TOLD_LETTERS).collect()
    };
    let parts = procedure.steps().iter().map(String::as_str).chain([procedure.title()]);
    let parts: Vec<String> = parts.map(letters).filter(|part| !part.is_empty()).collect();
    let is_used = |line: &str| parts.iter().any(|part| part.contains(line) || line.contains(part));
    let lines = text.lines().map(str::trim).filter(|line| has_words(line)).take(MAX_TOLD_LINES);
    lines.filter(|line| !is_used(&letters(line))).map(str::to_owned).collect()
}

fn from_json(text: &str) -> Result<Option<Draft>, RecipeError> {
    let value = serde_json::from_str(text.trim()).map_err(RecipeError::Json)?;
    let list = json::steps(&value)?;
    let steps = |list: StepList| list.steps.into_iter().map(|step| step.text).collect();
    Ok(list.map(|list| Draft { title: list.title.clone(), steps: steps(list) }))
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Whether the text has marks that only Markdown has.
fn is_markdown(text: &str) -> bool {
    let heading =
        |line: &str| line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    let front = text.starts_with("---\n") && text[4..].contains("\n---");
    front || text.lines().any(heading) || text.contains("**") || text.contains("](")
}

#[cfg(test)]
mod tests;
