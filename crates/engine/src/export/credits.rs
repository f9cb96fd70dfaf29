//! Credits of the source videos.

use stitch_core::format::one_line;

use super::{Export, ExportError};
use crate::demonstrate::{Choice, Source};

/// A source and the steps it shows, from 1.
pub struct Credit<'a> {
    pub source: &'a Source,
    pub steps: Vec<usize>,
}

/// One credit per source, in the order in which they appear.
pub fn credits<'a>(export: &Export<'a>) -> Vec<Credit<'a>> {
    let mut credits: Vec<Credit> = Vec::new();
    for (i, Choice { source, .. }) in export.demonstration.cuts() {
        match credits.iter_mut().find(|credit| credit.source.path == source.path) {
            Some(credit) if credit.steps.contains(&(i + 1)) => {}
            Some(credit) => credit.steps.push(i + 1),
            None => credits.push(Credit { source, steps: vec![i + 1] }),
        }
    }
    credits
}

/// The steps as words: `step 3`, `steps 1, 2, 7`.
pub fn steps(credit: &Credit) -> String {
    let numbers: Vec<String> = credit.steps.iter().map(usize::to_string).collect();
    let word = if numbers.len() == 1 { "step" } else { "steps" };
    format!("{word} {}", numbers.join(", "))
}

/// Who made the source and under which licence, on one line.
pub(super) fn credit_line(source: &Source) -> String {
    let by = source.uploader.as_ref().map_or(String::new(), |uploader| format!(" by {uploader}"));
    let url = source.url.as_ref().map_or(String::new(), |url| format!(", {url}"));
    let licence = source.licence.as_deref().unwrap_or("not stated");
    one_line(&format!("{}{by}{url}, licence: {licence}", source.title))
}

pub(super) fn write(export: &Export) -> Result<String, ExportError> {
    let title = &export.demonstration.title;
    let mut text =
        if title.is_empty() { "Sources\n".into() } else { format!("{title}: sources\n") };
    for credit in credits(export) {
        let source = credit.source;
        text.push_str(&format!("\n{} ({})\n", one_line(&source.title), steps(&credit)));
        if let Some(uploader) = &source.uploader {
            text.push_str(&format!("  by {}\n", one_line(uploader)));
        }
        if let Some(url) = &source.url {
            text.push_str(&format!("  {}\n", one_line(url)));
        }
        let licence = one_line(source.licence.as_deref().unwrap_or("not stated"));
        text.push_str(&format!("  licence: {licence}\n"));
        text.push_str(&format!("  file: {}\n", one_line(&source.path.to_string_lossy())));
    }
    Ok(text)
}
