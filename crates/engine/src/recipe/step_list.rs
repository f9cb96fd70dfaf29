//! A person's own steps for a video, with times where they gave them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::outline::draft;
use super::{RecipeError, is_json_list, json, lines, readable};
use crate::transcript::text::fold;

/// The steps of a video in a person's words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepList {
    /// What is made; may be empty.
    pub title: String,
    /// In order; never empty once read.
    pub steps: Vec<GivenStep>,
}

/// One step, and where in the video it is shown if that was given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenStep {
    /// What is done.
    pub text: String,
    /// When it begins, in milliseconds.
    pub start_ms: Option<u64>,
    /// When it ends; after the start.
    pub end_ms: Option<u64>,
    /// The address of the clip that shows it, by which files match steps to clips.
    #[serde(skip)]
    pub(super) reference: Option<String>,
}

impl GivenStep {
    /// A step without times.
    pub fn untimed(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// The step, if its times make sense; `number` counts from 0.
    pub(super) fn checked(self, number: usize) -> Result<Self, TimeError> {
        match (self.start_ms, self.end_ms) {
            (Some(start), Some(end)) if end <= start => {
                Err(TimeError::Backwards { step: number + 1, start, end })
            }
            (None, Some(_)) => Err(TimeError::NoStart { step: number + 1 }),
            _ => Ok(self),
        }
    }
}

/// Times in a step list that cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// The end is not after the start.
    #[error(
        "step {step} ends at {end} ms, which is not after its start at {start} ms; correct the file"
    )]
    Backwards {
        /// Which step, from 1.
        step: usize,
        /// Its start in milliseconds.
        start: u64,
        /// Its end.
        end: u64,
    },
    /// An end alone.
    #[error("step {step} has an end but no start; give both or neither")]
    NoStart {
        /// Which step, from 1.
        step: usize,
    },
    /// Not a time.
    #[error(
        "the time {found} of step {step} is none; write seconds (92.5), \"1:32\" or \"PT1M32S\""
    )]
    Unreadable {
        /// Which step, from 1.
        step: usize,
        /// What stands there.
        found: String,
    },
}

impl TimeError {
    pub(super) fn unreadable(number: usize, value: &Value) -> Self {
        let found: String = value.to_string().chars().take(40).collect();
        Self::Unreadable { step: number + 1, found }
    }
}

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

/// The milliseconds of `mm:ss` or `h:mm:ss`; a bare number is no clock time.
fn clock(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split(':').collect();
    let right = (2..=3).contains(&parts.len()) && parts.iter().all(|part| !part.is_empty());
    let mut total = 0.0;
    for part in parts.iter().filter(|_| right) {
        total = total * 60.0 + part.parse::<f64>().ok()?;
    }
    right.then(|| milliseconds(total))?
}

/// Milliseconds of a time in JSON: seconds, `"92.5"`, `"1:32"`, `"PT1M32S"`.
pub(super) fn offset(value: &Value) -> Option<u64> {
    if let Some(seconds) = value.as_f64() {
        return milliseconds(seconds);
    }
    let text = value.as_str()?.trim();
    clock(text)
        .or_else(|| iso(text))
        .or_else(|| milliseconds(text.trim_end_matches('s').parse().ok()?))
}

fn milliseconds(seconds: f64) -> Option<u64> {
    (0.0..1e6).contains(&seconds).then(|| (seconds * 1000.0).round() as u64)
}

/// `PT1H2M3.5S`
fn iso(text: &str) -> Option<u64> {
    let mut rest = text.strip_prefix("PT")?;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let unit = match rest.as_bytes().get(end)? {
            b'H' => 3600.0,
            b'M' => 60.0,
            b'S' => 1.0,
            _ => return None,
        };
        seconds += rest[..end].parse::<f64>().ok()? * unit;
        rest = &rest[end + 1..];
    }
    milliseconds(seconds)
}
