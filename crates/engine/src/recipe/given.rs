//! Steps that a person gave for a video, and the ways to write a time.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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

/// The milliseconds of `mm:ss` or `h:mm:ss`; a bare number is no clock time.
pub(super) fn clock(text: &str) -> Option<u64> {
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
