//! Published annotations of instructional videos, each by its own reader: who shows which step where.
//!
//! What cannot be used in a file is reported and left out, and never stops a reader. Annotations can be
//! written in the plain format, to be measured on with one's own features.

pub mod tables;
mod json;
pub mod detours;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use stitch_core::clip::Span;
use stitch_engine::files::FileError;

use super::plain::{DataIssue, span_of_seconds};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnnotatedVideo {
    /// Mostly the id on YouTube.
    pub id: String,
    pub task: String,
    /// The set's own word for its field.
    pub domain: Option<String>,
    pub length_ms: Option<u64>,
    /// In the set's order.
    pub steps: Vec<AnnotatedStep>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotatedStep {
    pub text: String,
    pub span: Span,
}

/// The videos of a set, in its order, and what could not be used or is not what it should be.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    pub videos: Vec<AnnotatedVideo>,
    pub issues: Vec<DataIssue>,
    /// Task and id of each video so far.
    seen: HashSet<(String, String)>,
}

#[derive(Debug, thiserror::Error)]
pub enum AnnotationsError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: not {kind} ({reason})", path.display())]
    Format { path: PathBuf, kind: &'static str, reason: String },
    #[error("`{kind}` is no set that can be read; {known} are")]
    Unknown { kind: String, known: String },
}

impl Annotations {
    pub fn steps(&self) -> usize {
        self.videos.iter().map(|video| video.steps.len()).sum()
    }

    fn report(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.issues.push(DataIssue { place: place.into(), reason: reason.into() });
    }

    /// Adds a video with steps that is new.
    fn add(&mut self, video: AnnotatedVideo) {
        if !self.seen.insert((video.task.clone(), video.id.clone())) {
            return self.report(video.id, "it came before; it is left out");
        }
        if video.steps.is_empty() {
            return self.report(video.id, "it has no usable step");
        }
        let starts = video.steps.iter().map(|step| step.span.start());
        if !starts.is_sorted() {
            self.report(video.id.clone(), "its steps are not in the order of their times");
        }
        self.videos.push(video);
    }

    /// Adds a step from seconds, unless it is empty or beyond its video.
    fn add_step(&mut self, video: &mut AnnotatedVideo, text: &str, from: f64, to: f64) {
        let place = format!("{}, step {}", video.id, video.steps.len() + 1);
        let Some(span) = span_of_seconds(from, to) else {
            return self.report(place, format!("from {from} s to {to} s is no time"));
        };
        if video.length_ms.is_some_and(|length| span.start() >= length) {
            return self.report(place, format!("{span} is after the video's end"));
        }
        if text.trim().is_empty() {
            return self.report(place, "it has no text");
        }
        video.steps.push(AnnotatedStep { text: text.trim().to_owned(), span });
    }

    /// The videos as lines of the plain format.
    pub fn to_plain(&self) -> String {
        let line = |video: &AnnotatedVideo| {
            let seconds = |ms: u64| ms as f64 / 1000.0;
            let steps = video.steps.iter().map(|AnnotatedStep { text, span }| {
                json!({"text": text, "start": seconds(span.start()), "end": seconds(span.end())})
            });
            let mut line = json!({"video": video.id, "task": video.task});
            if let Some(length) = video.length_ms {
                line["duration"] = json!(seconds(length));
            }
            if let Some(domain) = &video.domain {
                line["domain"] = json!(domain);
            }
            line["steps"] = steps.collect();
            format!("{line}\n")
        };
        self.videos.iter().map(line).collect()
    }
}

/// The names that [`read`] knows.
pub const KINDS: [&str; 6] = ["coin", "crosstask", "hirest", "htstep", "youcook2", "niv"];

/// Reads annotations by the name of their set, one of [`KINDS`].
pub fn read(kind: &str, path: &Path) -> Result<Annotations, AnnotationsError> {
    match kind {
        "coin" => json::coin(path),
        "crosstask" => json::crosstask(path),
        "hirest" => json::hirest(path),
        "htstep" => tables::htstep(path),
        "youcook2" => json::youcook2(path),
        "niv" => tables::niv(path),
        _ => Err(AnnotationsError::Unknown { kind: kind.into(), known: KINDS.join(", ") }),
    }
}

/// The error for a file of another kind.
fn wrong(path: &Path, kind: &'static str, reason: impl ToString) -> AnnotationsError {
    AnnotationsError::Format { path: path.into(), kind, reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::plain::set::{Needs, Set};

    #[test]
    fn what_is_read_can_be_brought_in_the_plain_format() {
        let mut read = Annotations::default();
        let mut video = AnnotatedVideo {
            id: "v".into(),
            task: "Tea".into(),
            length_ms: Some(20_000),
            ..AnnotatedVideo::default()
        };
        read.add_step(&mut video, "Boil", 1.0, 5.5);
        read.add_step(&mut video, "Steep", 5.5, 9.0);
        read.add_step(&mut video, "Drink", 9.0, 9.0);
        read.add_step(&mut video, " ", 10.0, 11.0);
        read.add_step(&mut video, "Wash", 30.0, 31.0);
        read.add(video.clone());
        read.add(video);
        let said: Vec<&str> = read.issues.iter().map(|issue| issue.reason.as_str()).collect();
        let expected = [
            "from 9 s to 9 s is no time",
            "it has no text",
            "0:30.0-0:31.0 is after the video's end",
            "it came before; it is left out",
        ];
        assert_eq!(said, expected);
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(Set::FILE), read.to_plain()).unwrap();
        let set = Set::open(folder.path(), Needs::Text).unwrap();
        assert!(set.issues.is_empty() && set.unread.is_empty());
        assert_eq!(set.videos[0].steps[1].span, Span::new(5500, 9000));
        assert_eq!(set.videos[0].length_ms, Some(20_000));
    }
}
