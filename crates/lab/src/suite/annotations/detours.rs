//! Detours: while watching one video at some time, a question, and the window of another video that
//! answers it. Each is a procedure (VD): what the first video has shown by then, and the other from the
//! answer on.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::{Map, Value, json};
use stitch_core::clip::Span;

use super::json::{pair, read_json};
use super::{AnnotatedVideo, Annotations, AnnotationsError, wrong};
use crate::suite::plain::set::{MixedLine, MixedLineStep};
use crate::suite::plain::{DataIssue, milliseconds, name, span_of_seconds};

const KIND: &str = "a list of detours";

#[derive(Clone, Debug, PartialEq)]
pub struct Detour {
    /// The video that is watched.
    pub from: String,
    /// Until when, in milliseconds.
    pub time_ms: u64,
    pub question: String,
    /// The video that answers.
    pub to: String,
    pub window: Span,
}

/// The detours of a file, in its order, and what could not be used.
#[derive(Clone, Debug, Default)]
pub struct Detours {
    pub detours: Vec<Detour>,
    pub issues: Vec<DataIssue>,
}

/// Reads COIN-Detours (video1, video1_startends, video2, video2_startends, conversations) or the form of
/// VidDetours (source and target video, time, query, window), in a list or under `annotations`.
pub fn read(path: &Path) -> Result<Detours, AnnotationsError> {
    let root = read_json(path, KIND)?;
    let list = root.as_array().or_else(|| root.get("annotations")?.as_array());
    let list = list.ok_or_else(|| wrong(path, KIND, "it is no list"))?;
    let mut read = Detours::default();
    for (number, record) in list.iter().enumerate() {
        match record.as_object().ok_or("it is no object").and_then(read_detour) {
            Ok(detour) => read.detours.push(detour),
            Err(reason) => {
                let place = record.get("id").and_then(name);
                let place = place.unwrap_or_else(|| format!("record {}", number + 1));
                read.issues.push(DataIssue { place, reason: reason.into() });
            }
        }
    }
    Ok(read)
}

fn read_detour(record: &Map<String, Value>) -> Result<Detour, &'static str> {
    let first = |keys: &[&str]| keys.iter().find_map(|key| record.get(*key));
    let id = |keys: &[&str]| first(keys).and_then(name);
    let from = id(&["video1", "source_video", "src_video", "source_video_id"]);
    let to = id(&["video2", "target_video", "tgt_video", "target_video_id"]);
    let time = first(&["video1_startends", "time", "detour_time", "source_time"]);
    // A time, or the end of what was watched.
    let time = time.and_then(|time| time.as_f64().or_else(|| Some(pair(Some(time))?.1)));
    let window = first(&["video2_startends", "window", "target_window", "detour_window"]);
    let (start, end) = pair(window).ok_or("it has no window")?;
    Ok(Detour {
        from: from.ok_or("it does not say which video is watched")?,
        time_ms: time.and_then(milliseconds).ok_or("it does not say until when")?,
        question: question(record).ok_or("it asks nothing")?,
        to: to.ok_or("it does not say which video answers")?,
        window: span_of_seconds(start, end).ok_or("its window is empty")?,
    })
}

fn question(record: &Map<String, Value>) -> Option<String> {
    let plain = ["question", "query", "text"].iter().find_map(|key| record.get(*key)?.as_str());
    let spoken = || {
        let turns = record.get("conversations")?.as_array()?;
        let human = turns.iter().find(|turn| turn["from"] == "human")?;
        human["value"].as_str()
    };
    let text = plain.or_else(spoken)?.replace("<video1>", "").replace("<video2>", "");
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The procedures of detours between annotated videos, and how many gave none, by reason.
pub fn procedures(
    detours: &[Detour],
    annotations: &Annotations,
) -> (Vec<MixedLine>, BTreeMap<&'static str, usize>) {
    let videos: HashMap<&str, &AnnotatedVideo> =
        annotations.videos.iter().map(|video| (video.id.as_str(), video)).collect();
    let (mut made, mut lost) = (Vec::new(), BTreeMap::new());
    for detour in detours {
        match procedure(detour, &videos) {
            Ok(procedure) => made.push(procedure),
            Err(reason) => *lost.entry(reason).or_default() += 1,
        }
    }
    (made, lost)
}

fn procedure(
    detour: &Detour,
    videos: &HashMap<&str, &AnnotatedVideo>,
) -> Result<MixedLine, &'static str> {
    let find = |id: &String| videos.get(id.as_str()).copied().ok_or("a video is not annotated");
    let (from, to) = (find(&detour.from)?, find(&detour.to)?);
    let before = (0..from.steps.len()).filter(|at| from.steps[*at].span.start() < detour.time_ms);
    let overlap = |at: usize| to.steps[at].span.intersection_over_union(detour.window);
    let answer = (0..to.steps.len())
        .filter(|at| overlap(*at) > 0.0)
        .max_by(|a, b| overlap(*a).total_cmp(&overlap(*b)).then(b.cmp(a)));
    let answer = answer.ok_or("no step of the other video is in the window")?;
    let step = |from: &AnnotatedVideo, step: usize| {
        let (text, video) = (from.steps[step].text.clone(), from.id.clone());
        MixedLineStep { text, video, step }
    };
    let mut steps: Vec<_> = before.map(|at| step(from, at)).collect();
    if steps.is_empty() {
        return Err("nothing was shown before the question");
    }
    steps.extend((answer..to.steps.len()).map(|at| step(to, at)));
    Ok(MixedLine { title: detour.question.clone(), builder: "detours".into(), steps })
}

/// The lines of `mixed.jsonl`.
pub fn to_plain(procedures: &[MixedLine]) -> String {
    procedures.iter().map(|procedure| format!("{}\n", json!(procedure))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::annotations::AnnotatedStep;

    fn video(id: &str, steps: &[(&str, u64, u64)]) -> AnnotatedVideo {
        let step = |(text, from, to): &(&str, u64, u64)| AnnotatedStep {
            text: (*text).into(),
            span: Span::new(from * 1000, to * 1000).unwrap(),
        };
        let steps = steps.iter().map(step).collect();
        AnnotatedVideo { id: id.into(), steps, ..AnnotatedVideo::default() }
    }

    #[test]
    fn both_forms_are_read_and_become_procedures() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.json");
        let text = r#"[{"id": "1", "video1": "a", "video2": "b", "video1_startends": 12.0,
            "video2_startends": [20.0, 30.0], "conversations": [
            {"from": "human", "value": "<video1>\nCan I use honey instead?\n"}]},
            {"source_video": "a", "time": 1, "target_video": "b", "window": [22, 24],
             "query": "What first?"},
            {"id": "odd", "video1": "a"}, 4]"#;
        std::fs::write(&path, text).unwrap();
        let found = read(&path).unwrap();
        assert_eq!((found.detours.len(), found.issues.len()), (2, 2));
        assert_eq!(found.detours[0].question, "Can I use honey instead?");
        let annotations = Annotations {
            videos: vec![
                video("a", &[("boil", 2, 8), ("pour", 9, 14), ("sugar", 15, 20)]),
                video("b", &[("boil", 1, 9), ("honey", 22, 29), ("drink", 30, 40)]),
            ],
            ..Annotations::default()
        };
        let (made, lost) = procedures(&found.detours, &annotations);
        let steps: Vec<_> =
            made[0].steps.iter().map(|s| (s.text.as_str(), s.video.as_str(), s.step)).collect();
        assert_eq!(
            steps,
            [("boil", "a", 0), ("pour", "a", 1), ("honey", "b", 1), ("drink", "b", 2)]
        );
        assert_eq!(lost, BTreeMap::from([("nothing was shown before the question", 1)]));
        assert!(to_plain(&made).contains(r#"{"text":"honey","video":"b","step":1}"#));
    }
}
