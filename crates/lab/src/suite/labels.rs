//! Labelled procedures: texts as people write them, with what rightly shows each step.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use stitch_world::truth::Truth;
use stitch_world::vocabulary::{Kind, Verb};

use super::MeasureError;
use super::made_up::{file_name, same_place};
use super::reading::read_set;

/// A text with its truth; one line of a set.
#[derive(Clone, Debug, Deserialize)]
pub struct NaturalProcedure {
    pub id: String,
    /// Figures are also given by domain.
    pub domain: Option<String>,
    /// The whole text as pasted.
    pub text: String,
    pub steps: Vec<NaturalStep>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "StepLabel")]
pub struct NaturalStep {
    /// Its text inside the whole.
    pub line: String,
    pub shown_by: ShownBy,
    /// Whether it needs earlier steps or the title to be understood.
    pub context: bool,
}

/// What rightly shows a step; empty where nothing in the library does.
#[derive(Clone, Debug)]
pub enum ShownBy {
    /// Actions of a made-up library.
    Actions(Vec<(Verb, Kind)>),
    Clips(Vec<LabelledClip>),
}

/// A span of a user's own video.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelledClip {
    /// The file's name, or as much of the end of its path as tells it from others.
    pub video: String,
    pub start_s: f64,
    pub end_s: f64,
}

/// A step as it stands in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepLabel {
    line: String,
    accept: Option<Vec<(Verb, Kind)>>,
    clips: Option<Vec<LabelledClip>>,
    #[serde(default)]
    context: bool,
}

impl TryFrom<StepLabel> for NaturalStep {
    type Error = &'static str;

    fn try_from(label: StepLabel) -> Result<Self, Self::Error> {
        let shown_by = match (label.accept, label.clips) {
            (Some(actions), None) => ShownBy::Actions(actions),
            (None, Some(clips)) => ShownBy::Clips(clips),
            _ => return Err("a step has either `accept` or `clips`, empty if nothing shows it"),
        };
        match &shown_by {
            ShownBy::Clips(clips) if !clips.iter().all(LabelledClip::is_sound) => {
                Err("a clip needs the name of its video, and must end after it starts")
            }
            _ => Ok(Self { line: label.line, shown_by, context: label.context }),
        }
    }
}

impl LabelledClip {
    fn is_sound(&self) -> bool {
        let (start_ms, end_ms) = self.span_ms();
        !self.video.is_empty() && self.start_s >= 0.0 && start_ms < end_ms
    }

    fn span_ms(&self) -> (u64, u64) {
        let ms = |seconds: f64| (seconds * 1000.0).round() as u64;
        (ms(self.start_s), ms(self.end_s))
    }

    fn is_of(&self, video: &Path) -> bool {
        video.ends_with(&self.video)
    }
}

impl ShownBy {
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Actions(actions) => actions.is_empty(),
            Self::Clips(clips) => clips.is_empty(),
        }
    }

    /// Whether a clip shows the step: half of the shorter of its span and a right one is common.
    pub(crate) fn includes(
        &self,
        video: &Path,
        span_ms: (u64, u64),
        world: Option<&Truth>,
    ) -> bool {
        match self {
            Self::Clips(clips) => {
                clips.iter().any(|clip| clip.is_of(video) && same_place(clip.span_ms(), span_ms))
            }
            Self::Actions(actions) => {
                let videos = world.into_iter().flat_map(|world| &world.videos);
                let file = file_name(video);
                let own = videos.filter(|video| video.file == file);
                own.flat_map(|video| &video.steps).any(|step| {
                    let subject = step.things.first();
                    same_place((step.start_ms, step.end_ms), span_ms)
                        && subject.is_some_and(|thing| actions.contains(&(step.verb, thing.kind)))
                })
            }
        }
    }
}

/// Reads one file, or every `.jsonl` file of a folder in the order of names.
pub fn read(path: &Path) -> Result<Vec<NaturalProcedure>, MeasureError> {
    let procedures: Vec<NaturalProcedure> = read_set(path)?;
    let mut ids = BTreeSet::new();
    let twice = procedures.iter().map(|procedure| &procedure.id).find(|id| !ids.insert(*id));
    match twice.cloned() {
        Some(id) => Err(MeasureError::IdTwice(id)),
        None => Ok(procedures),
    }
}

/// An error for the first label that this library and world say nothing about, so that every answer would be
/// judged wrong, or whose video is one of several.
pub(super) fn check(
    procedures: &[NaturalProcedure],
    videos: &[&Path],
    world: Option<&Truth>,
) -> Result<(), MeasureError> {
    for procedure in procedures {
        let id = || procedure.id.clone();
        for step in &procedure.steps {
            match &step.shown_by {
                ShownBy::Actions(actions) if !actions.is_empty() && world.is_none() => {
                    return Err(MeasureError::NoWorld(id()));
                }
                ShownBy::Actions(_) => {}
                ShownBy::Clips(clips) => {
                    for clip in clips {
                        let (id, video) = (id(), clip.video.clone());
                        match videos.iter().filter(|video| clip.is_of(video)).count() {
                            0 => return Err(MeasureError::NoSuchVideo { id, video }),
                            1 => {}
                            _ => return Err(MeasureError::AmbiguousVideo { id, video }),
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_set_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(read(folder.path()), Err(MeasureError::EmptySet(_))));
        assert!(matches!(read(&folder.path().join("none")), Err(MeasureError::Set { .. })));
        let file = folder.path().join("a.jsonl");
        std::fs::write(&file, "\n{}\n").unwrap();
        assert!(matches!(read(&file), Err(MeasureError::SetLine { line: 2, .. })));
        let twice = "{\"id\": \"p\", \"text\": \"Chop.\", \"steps\": []}\n".repeat(2);
        std::fs::write(&file, twice).unwrap();
        assert!(matches!(read(&file), Err(MeasureError::IdTwice(id)) if id == "p"));
    }

    fn step(fields: &str) -> Result<NaturalStep, serde_json::Error> {
        serde_json::from_str(&format!("{{\"line\": \"Chop.\", {fields}}}"))
    }

    #[test]
    fn a_step_says_in_one_way_what_shows_it() {
        assert!(step("\"clips\": []").unwrap().shown_by.is_empty());
        assert!(!step("\"accept\": [[\"chop\", \"onion\"]]").unwrap().shown_by.is_empty());
        let clip = |fields: &str| step(&format!("\"clips\": [{{{fields}}}]"));
        assert!(clip("\"video\": \"a.mp4\", \"start_s\": 1, \"end_s\": 2.5").is_ok());
        for wrong in [
            step("\"context\": true"),
            step("\"accept\": [], \"clips\": []"),
            step("\"clip\": []"),
            clip("\"video\": \"a.mp4\", \"start_s\": 2, \"end_s\": 2"),
            clip("\"video\": \"a.mp4\", \"start_s\": -1, \"end_s\": 2"),
            clip("\"video\": \"\", \"start_s\": 1, \"end_s\": 2"),
            clip("\"video\": \"a.mp4\", \"start\": 1, \"end\": 2"),
        ] {
            assert!(wrong.is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_clip_is_right_where_half_of_the_shorter_span_is_common() {
        let label = "\"clips\": [{\"video\": \"in/a.mp4\", \"start_s\": 10, \"end_s\": 14}]";
        let shown_by = step(label).unwrap().shown_by;
        let is_right = |video: &str, span| shown_by.includes(Path::new(video), span, None);
        assert!(is_right("/in/a.mp4", (12_000, 16_000)));
        assert!(!is_right("/in/a.mp4", (12_001, 16_001)));
        assert!(is_right("/in/a.mp4", (0, 60_000)), "the label is inside it");
        assert!(!is_right("/out/a.mp4", (10_000, 14_000)));
        assert!(!is_right("/in/aa.mp4", (10_000, 14_000)));
    }

    #[test]
    fn labels_that_nothing_can_meet_are_refused() {
        let of = |label: &str| {
            let procedure = NaturalProcedure {
                id: "p".into(),
                domain: None,
                text: String::new(),
                steps: vec![step(label).unwrap()],
            };
            let videos = ["/videos/a.mp4", "/videos/in/c.mp4", "/videos/out/c.mp4"];
            check(&[procedure], &videos.map(Path::new), None)
        };
        let clip = |video: &str| {
            of(&format!("\"clips\": [{{\"video\": \"{video}\", \"start_s\": 1, \"end_s\": 2}}]"))
        };
        assert!(of("\"accept\": []").is_ok() && clip("a.mp4").is_ok());
        assert!(matches!(of("\"accept\": [[\"chop\", \"onion\"]]"), Err(MeasureError::NoWorld(_))));
        assert!(matches!(clip("b.mp4"), Err(MeasureError::NoSuchVideo { .. })));
        assert!(clip("in/c.mp4").is_ok() && clip("out/c.mp4").is_ok());
        let said = clip("c.mp4").unwrap_err().to_string();
        assert!(said.contains("several videos `c.mp4`; give more of the end"), "{said}");
    }
}
