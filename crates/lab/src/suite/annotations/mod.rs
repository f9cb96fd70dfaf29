//! Published annotations of instructional videos, each by its own reader: who shows which step where.
//!
//! What is odd in a file is told and left out, and never stops a reader. Read annotations can be written
//! in the plain format, to be measured on with one's own features.

pub mod csv;
mod json;
pub mod coin;
pub mod crosstask;
pub mod hirest;
pub mod htstep;
pub mod youcook2;
pub mod niv;
pub mod detours;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use stitch_core::clip::Span;
use stitch_engine::files::FileError;

use super::plain::set::Complaint;

/// A video and its steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnnotatedVideo {
    /// Its name, mostly YouTube's.
    pub id: String,
    /// What it makes.
    pub task: String,
    /// The part of the data it belongs to, as the set calls it.
    pub split: Option<String>,
    /// The set's own word for its field.
    pub domain: Option<String>,
    /// How long it lasts, where that is known.
    pub length_ms: Option<u64>,
    /// Its steps, in the set's order.
    pub steps: Vec<AnnotatedStep>,
}

/// A step, and where it is where that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotatedStep {
    /// What is done.
    pub text: String,
    /// When.
    pub span: Option<Span>,
}

/// What a set holds, and what in it is odd.
#[derive(Clone, Debug, Default)]
pub struct Annotations {
    /// The videos, in the set's order.
    pub videos: Vec<AnnotatedVideo>,
    /// What could not be used, or is not what it should be.
    pub odd: Vec<Complaint>,
}

/// Why a set cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum AnnotationsError {
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file is of another kind.
    #[error("{}: not {kind} ({reason})", path.display())]
    Format {
        /// Which file.
        path: PathBuf,
        /// What it should be.
        kind: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no reader of that name.
    #[error("`{kind}` is no set that can be read; {known} are")]
    Unknown {
        /// What was asked for.
        kind: String,
        /// What there is.
        known: String,
    },
}

impl Annotations {
    /// How many steps there are.
    pub fn steps(&self) -> usize {
        self.videos.iter().map(|video| video.steps.len()).sum()
    }

    /// Notes that something is odd.
    pub fn complain(&mut self, place: impl Into<String>, reason: impl Into<String>) {
        self.odd.push(Complaint { place: place.into(), reason: reason.into() });
    }

    /// Notes what is odd about a video as a whole, and keeps it unless it came before.
    fn take(&mut self, video: AnnotatedVideo, seen: &mut HashSet<String>) {
        if !seen.insert(format!("{}\n{}", video.task, video.id)) {
            return self.complain(video.id, "it came before; it is left out");
        }
        if video.steps.is_empty() {
            return self.complain(video.id, "it has no usable step");
        }
        let starts: Vec<u64> =
            video.steps.iter().filter_map(|step| Some(step.span?.start())).collect();
        if !starts.is_sorted() {
            self.complain(video.id.clone(), "its steps are not in the order of their times");
        }
        self.videos.push(video);
    }

    /// Adds a step from seconds; one that is empty, or beyond its video, is told and left out.
    fn add_step(&mut self, video: &mut AnnotatedVideo, text: &str, from: f64, to: f64) {
        let place = format!("{}, step {}", video.id, video.steps.len() + 1);
        let ms = |seconds: f64| {
            (0.0..=172_800.0).contains(&seconds).then(|| (seconds * 1000.0).round() as u64)
        };
        let span = ms(from).zip(ms(to)).and_then(|(from, to)| Span::new(from, to));
        let Some(span) = span else {
            return self.complain(place, format!("from {from} s to {to} s is no time"));
        };
        if video.length_ms.is_some_and(|length| span.start() >= length) {
            return self.complain(place, format!("{span} is after the video's end"));
        }
        if text.trim().is_empty() {
            return self.complain(place, "it has no text");
        }
        video.steps.push(AnnotatedStep { text: text.trim().to_owned(), span: Some(span) });
    }

    /// The videos as lines of the plain format.
    pub fn to_plain(&self) -> String {
        let line = |video: &AnnotatedVideo| {
            let steps = video.steps.iter().map(|step| {
                let seconds = |ms: u64| ms as f64 / 1000.0;
                match step.span {
                    Some(span) => json!({"text": step.text, "start": seconds(span.start()),
                        "end": seconds(span.end())}),
                    None => json!({"text": step.text}),
                }
            });
            let mut line = json!({"video": video.id, "task": video.task});
            if let Some(length) = video.length_ms {
                line["duration"] = json!(length as f64 / 1000.0);
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
        "coin" => coin::read(path),
        "crosstask" => crosstask::read(path),
        "hirest" => hirest::read(path),
        "htstep" => htstep::read(path),
        "youcook2" => youcook2::read(path),
        "niv" => niv::read(path),
        _ => Err(AnnotationsError::Unknown { kind: kind.into(), known: KINDS.join(", ") }),
    }
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
        let mut seen = HashSet::new();
        read.take(video.clone(), &mut seen);
        read.take(video, &mut seen);
        let said: Vec<&str> = read.odd.iter().map(|odd| odd.reason.as_str()).collect();
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
        assert!(set.complaints.is_empty() && set.unread.is_empty());
        assert_eq!(set.videos[0].steps[1].span, Span::new(5500, 9000));
        assert_eq!(set.videos[0].length_ms, Some(20_000));
    }
}
