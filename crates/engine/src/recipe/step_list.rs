//! A person's own steps for a video, with times where they gave them.

use super::given::{GivenStep, StepList, clock};
use super::outline::draft;
use super::source::{RecipeError, is_json_list, readable};
use super::{json, lines};
use crate::transcript::text::fold;

/// Reads a person's own steps for a video: `{title, steps: [{text, start, end}]}` with times in
/// seconds or `mm:ss`, schema.org HowTo or Recipe with clips, or text with a step a line, each
/// with a time in front of it if wanted (`1:20 Chop the onion`, `1:20-1:45 Chop`).
pub fn read_step_list(bytes: &[u8]) -> Result<StepList, RecipeError> {
    let text = readable(bytes)?;
    let start = text.trim_start();
    let list = if start.starts_with('{') || is_json_list(start) {
        let value = serde_json::from_str(start).map_err(RecipeError::Json)?;
        json::steps(&value)?.ok_or(RecipeError::NoSteps { found: "JSON".into() })?
    } else {
        from_text(&text)?
    };
    match list.steps.iter().any(|step| !step.text.is_empty()) {
        true => Ok(list),
        false => Err(RecipeError::Empty),
    }
}

/// A step a line; a line's end is the next line's start where only starts are given.
fn from_text(text: &str) -> Result<StepList, RecipeError> {
    let timed = text.lines().filter_map(timed_line).collect::<Vec<_>>();
    if timed.is_empty() {
        let draft = draft(&lines::plain(text));
        let steps = draft.steps.iter().map(|s| GivenStep::untimed(fold(s))).collect();
        return Ok(StepList { title: draft.title, steps });
    }
    let mut steps = Vec::with_capacity(timed.len());
    for (i, step) in timed.iter().enumerate() {
        let next = timed.get(i + 1).and_then(|next| next.start_ms);
        let end_ms = step.end_ms.or(next.filter(|next| Some(*next) > step.start_ms));
        steps.push(GivenStep { end_ms, ..step.clone() }.checked(i)?);
    }
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    let title = first.filter(|line| timed_line(line).is_none()).map_or_else(String::new, fold);
    Ok(StepList { title, steps })
}

/// The step of a line that begins with its time.
fn timed_line(line: &str) -> Option<GivenStep> {
    let line = lines::item(line.trim()).map_or(line.trim(), |(_, text)| text);
    let line = line.trim_start_matches(['[', '(']);
    let end = line.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.')))?;
    let start_ms = clock(&line[..end])?;
    let rest = line[end..].trim_start();
    let after = rest.strip_prefix(['-', '–', '—']).map(str::trim_start).unwrap_or(rest);
    let stop = after.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.')));
    let end_ms = stop.and_then(|stop| clock(&after[..stop]));
    let text = if let (Some(_), Some(stop)) = (end_ms, stop) { &after[stop..] } else { after };
    let text = fold(text.trim_start_matches([']', ')', '-', '–', '—', ':', ' ', '\t']));
    let step = GivenStep { text, start_ms: Some(start_ms), end_ms, reference: None };
    (!step.text.is_empty()).then_some(step)
}
