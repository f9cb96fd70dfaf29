//! The list of a set in the plain format: `videos.jsonl`, a video with its steps on each line, and the
//! pictures in `images.tar` or in folders. What cannot be used is reported and left out.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use stitch_core::clip::Span;
use stitch_engine::files::FileError;

use super::tar::TarIndex;
use super::{DataIssue, SetError, milliseconds, name, span_of_seconds};
use crate::suite::with_extension;

const MAX_PICTURE_BYTES: u64 = 256 << 20;

// Columns that are read, the first that is present counts.
const ID_KEYS: &[&str] = &["video", "video_id", "id", "group"];
const TASK_KEYS: &[&str] = &["task", "recipe_type", "class", "activity"];
const LENGTH_KEYS: &[&str] = &["duration", "length"];
const TEXT_KEYS: &[&str] = &["text", "texts", "sentence", "caption"];
const IMAGE_KEYS: &[&str] = &["image", "images", "picture", "pictures", "frame", "frames"];
const NARRATION_KEYS: &[&str] = &["narration", "asr"];
const OTHER_KEYS: &[&str] =
    &["steps", "start", "end", "segment", "label", "title", "domain", "spoken"];
const COLUMNS: [&[&str]; 7] =
    [ID_KEYS, TASK_KEYS, LENGTH_KEYS, TEXT_KEYS, IMAGE_KEYS, NARRATION_KEYS, OTHER_KEYS];

/// What a step must have beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// At least one picture.
    Pictures,
    /// Nothing: pictures may come from the set or features from elsewhere.
    Text,
}

/// Videos with their steps, and where their pictures are.
#[derive(Debug)]
pub struct Set {
    pub folder: PathBuf,
    /// In the order of the file.
    pub videos: Vec<VideoSteps>,
    pub issues: Vec<DataIssue>,
    /// Columns of the list that are not read.
    pub unread: BTreeSet<String>,
    archives: Vec<TarIndex>,
    needs: Needs,
}

/// A video's usable steps and what its line says of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VideoSteps {
    pub id: String,
    pub title: Option<String>,
    /// What it makes: videos that make the same have the same task.
    pub task: Option<String>,
    /// Cooking, woodworking and so on.
    pub domain: Option<String>,
    pub length_ms: Option<u64>,
    /// How many steps its line lists, usable or not.
    pub listed: usize,
    /// The usable steps in order.
    pub steps: Vec<PlainStep>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlainStep {
    /// Its place among the listed steps of its video, from 0.
    pub number: usize,
    pub text: String,
    /// Names of its pictures.
    pub images: Vec<String>,
    pub span: Option<Span>,
    pub narration: Option<String>,
    /// What the step is called in every video that shows it.
    pub label: Option<String>,
}

/// A procedure of clips of several videos; a line of `mixed.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixedLine {
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub builder: String,
    pub steps: Vec<MixedLineStep>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixedLineStep {
    #[serde(default)]
    pub text: String,
    pub video: String,
    /// Its number among the video's steps, from 0.
    pub step: usize,
}

impl Set {
    /// The list's name in the folder.
    pub const FILE: &str = "videos.jsonl";

    /// The name of the list of procedures made of several videos' clips.
    pub const MIXED: &str = "mixed.jsonl";

    /// Reads the list (of a folder, or the file itself) and the archives' tables of contents.
    pub fn open(path: &Path, needs: Needs) -> Result<Self, SetError> {
        let list = if path.is_dir() { list_in(path) } else { path.to_owned() };
        let folder = match list.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let bytes = std::fs::read(&list).map_err(FileError::at(&list))?;
        let archives = archives(&folder)?;
        let (videos, issues, unread) = Default::default();
        let mut set = Self { folder, videos, issues, unread, archives, needs };
        if set.archives.iter().any(|tar| tar.truncated) {
            set.report("the archive of pictures", "it is cut short; copy it again");
        }
        set.read_lines(&String::from_utf8_lossy(&bytes));
        Ok(set)
    }

    /// Notes that something cannot be used.
    pub fn report(&mut self, place: impl Into<String>, reason: impl ToString) {
        self.issues.push(DataIssue { place: place.into(), reason: reason.to_string() });
    }

    fn read_lines(&mut self, text: &str) {
        let mut seen = HashSet::new();
        let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let place = format!("line {}", number + 1);
            match serde_json::from_str::<Map<String, Value>>(line) {
                Err(error) => self.report(place, format!("not an object of JSON: {error}")),
                Ok(object) => self.read_video(&object, &place, &mut seen),
            }
        }
    }

    fn read_video(&mut self, object: &Map<String, Value>, place: &str, seen: &mut HashSet<String>) {
        self.note_columns(object);
        if !object.contains_key("steps") {
            return self.read_lone_step(object, place);
        }
        let id = word(object, ID_KEYS).unwrap_or_else(|| place.to_owned());
        if !seen.insert(id.clone()) {
            return self.report(place, format!("the video `{id}` came before; it is left out"));
        }
        let Some(steps) = object["steps"].as_array() else {
            return self.report(id, "`steps` is no list");
        };
        let mut video = read_facts(object, id);
        video.listed = steps.len();
        for (number, step) in steps.iter().enumerate() {
            let step = step.as_object().cloned().unwrap_or_default();
            self.note_columns(&step);
            match read_step(&step, number, video.length_ms, self.needs) {
                Ok(step) => video.steps.push(step),
                Err(reason) => self.report(format!("{}, step {}", video.id, number + 1), reason),
            }
        }
        match video.steps.is_empty() {
            true => self.report(video.id, "it has no usable step"),
            false => self.videos.push(video),
        }
    }

    /// A line that is one step by itself, of the video it names.
    fn read_lone_step(&mut self, object: &Map<String, Value>, place: &str) {
        let step = match read_step(object, 0, None, self.needs) {
            Ok(step) => step,
            Err(reason) => {
                return self.report(place, format!("neither `steps` nor a step: {reason}"));
            }
        };
        let id = word(object, ID_KEYS).unwrap_or_else(|| place.to_owned());
        let known = self.videos.iter().rposition(|video| video.id == id);
        let at = known.unwrap_or_else(|| {
            self.videos.push(read_facts(object, id));
            self.videos.len() - 1
        });
        let video = &mut self.videos[at];
        video.steps.push(PlainStep { number: video.listed, ..step });
        video.listed += 1;
    }

    fn note_columns(&mut self, object: &Map<String, Value>) {
        let unread =
            object.keys().filter(|key| !COLUMNS.iter().any(|keys| keys.contains(&key.as_str())));
        self.unread.extend(unread.cloned());
    }

    /// The bytes of a picture: of a file by its path, or of an archive's member.
    pub fn picture(&self, image: &str) -> Result<Vec<u8>, String> {
        let text = |error: std::io::Error| error.to_string();
        let places = [self.folder.join(image), self.folder.join("images").join(image)];
        if let Some(path) = places.iter().find(|path| path.is_file()) {
            let length = path.metadata().map_err(text)?.len();
            if length > MAX_PICTURE_BYTES {
                return Err(format!("it has {length} bytes, more than a picture should"));
            }
            return std::fs::read(path).map_err(text);
        }
        let member = self.archives.iter().find_map(|tar| Some((tar, tar.find(image)?)));
        let (tar, member) =
            member.ok_or("there is no such picture in the folder or its archives")?;
        let bytes = tar.read(member, MAX_PICTURE_BYTES).map_err(text)?;
        bytes.ok_or_else(|| "it is longer than a picture should be".into())
    }
}

/// `videos.jsonl`; the only list there is where that is missing.
fn list_in(folder: &Path) -> PathBuf {
    let usual = folder.join(Set::FILE);
    match with_extension(folder, "jsonl").unwrap_or_default().as_slice() {
        [only] if !usual.exists() => only.clone(),
        _ => usual,
    }
}

/// `images.tar` first.
fn archives(folder: &Path) -> Result<Vec<TarIndex>, SetError> {
    let mut paths = with_extension(folder, "tar").unwrap_or_default();
    paths.sort_by_key(|path| (!path.ends_with("images.tar"), path.clone()));
    paths.iter().map(|path| TarIndex::open(path)).collect()
}

/// The word or number under the first of these names that is there.
fn word(object: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    let word = name(keys.iter().find_map(|key| object.get(*key))?);
    word.filter(|word| !word.trim().is_empty())
}

fn read_facts(object: &Map<String, Value>, id: String) -> VideoSteps {
    let seconds = LENGTH_KEYS.iter().find_map(|key| object.get(*key)?.as_f64());
    VideoSteps {
        id,
        title: word(object, &["title"]),
        task: word(object, TASK_KEYS),
        domain: word(object, &["domain"]),
        length_ms: seconds.and_then(milliseconds),
        ..VideoSteps::default()
    }
}

fn read_step(
    step: &Map<String, Value>,
    number: usize,
    length_ms: Option<u64>,
    needs: Needs,
) -> Result<PlainStep, String> {
    let texts = strings(step, TEXT_KEYS);
    let images = strings(step, IMAGE_KEYS);
    let text = texts.into_iter().find(|text| !text.trim().is_empty());
    let text = text.ok_or("it has no text")?.trim().to_owned();
    if images.is_empty() && needs == Needs::Pictures {
        return Err("it names no picture".into());
    }
    // Without procedures the span of a step does not matter.
    let span = if needs == Needs::Text { read_span(step, length_ms)? } else { None };
    let narration = strings(step, NARRATION_KEYS).join(" ");
    let narration = Some(narration).filter(|said| !said.trim().is_empty());
    let label = strings(step, &["label"]).into_iter().find(|label| !label.trim().is_empty());
    Ok(PlainStep { number, text, images, span, narration, label })
}

/// From `start` and `end`, or a `segment` of two numbers, in seconds.
fn read_span(step: &Map<String, Value>, length_ms: Option<u64>) -> Result<Option<Span>, String> {
    let segment = step.get("segment").and_then(Value::as_array);
    let of = |key: &str, at: usize| step.get(key).or_else(|| segment?.get(at));
    let (Some(start), Some(end)) = (of("start", 0), of("end", 1)) else { return Ok(None) };
    let (Some(from), Some(to)) = (start.as_f64(), end.as_f64()) else {
        return Err(format!("its span is from {start} to {end}, which are no seconds"));
    };
    let span = span_of_seconds(from, to);
    let span = span.ok_or_else(|| format!("its span, from {from} s to {to} s, is empty"))?;
    match length_ms {
        // Tolerates lengths that were rounded to a second.
        Some(length) if span.end() > length + 1000 => {
            Err(format!("its span ends at {to} s, the video at {:.1} s", length as f64 / 1000.0))
        }
        _ => Ok(Some(span)),
    }
}

/// The strings under the first of these names that holds any, be it one or a list.
fn strings(object: &Map<String, Value>, keys: &[&str]) -> Vec<String> {
    let of = |key: &&str| match object.get(*key) {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(many)) => {
            many.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    keys.iter().map(of).find(|found| !found.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(lines: &str) -> Set {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(Set::FILE), lines).unwrap();
        Set::open(folder.path(), Needs::Pictures).unwrap()
    }

    #[test]
    fn spans_narration_and_tasks_are_read_where_procedures_are_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let lines = r#"{"video": "v", "recipe_type": "101", "duration": 30, "domain": "cooking", "steps": [
            {"text": "chop", "start": 1, "end": 5.5, "narration": "now we chop"},
            {"text": "fry", "segment": [7, 9]}, {"text": "serve", "start": 28, "end": 99},
            {"text": "eat", "start": 3, "end": 3}, {"text": "rest", "start": "x", "end": 3},
            {"text": "wash up"}]}"#;
        let line = lines.replace('\n', " ");
        std::fs::write(folder.path().join(Set::FILE), line).unwrap();
        let set = Set::open(folder.path(), Needs::Text).unwrap();
        let video = &set.videos[0];
        assert_eq!(
            (video.task.as_deref(), video.domain.as_deref()),
            (Some("101"), Some("cooking"))
        );
        assert_eq!((video.length_ms, video.listed), (Some(30_000), 6));
        let found: Vec<_> = video.steps.iter().map(|step| (step.number, step.span)).collect();
        assert_eq!(found, [(0, Span::new(1000, 5500)), (1, Span::new(7000, 9000)), (5, None)]);
        assert_eq!(video.steps[0].narration.as_deref(), Some("now we chop"));
        let said: Vec<&str> = set.issues.iter().map(|c| c.reason.as_str()).collect();
        let expected = [
            "its span ends at 99 s, the video at 30.0 s",
            "its span, from 3 s to 3 s, is empty",
            "its span is from \"x\" to 3, which are no seconds",
        ];
        assert_eq!(said, expected);
        assert!(set.unread.is_empty());
    }

    #[test]
    fn lines_of_many_kinds_are_read_and_the_rest_is_told() {
        let set = opened(
            r#"{"video": "v", "steps": [{"text": "chop", "image": "v/0.png", "start": 1}]}

{"video": "v", "steps": []}
{"id": 7, "steps": [{"text": ["", "fry"], "images": ["a", "b"]}, {"text": " ", "image": "c"}]}
{"video": "w", "steps": [{"text": "stir"}], "mood": "happy"}
{"video": "x", "steps": 3}
not json
{"image": "g/0.png", "text": ["sand", "later"], "group": "g"}
{"image": "g/1.png", "text": "paint", "group": "g"}
{"nothing": true}"#,
        );
        let found: Vec<(&str, usize)> =
            set.videos.iter().map(|video| (video.id.as_str(), video.steps.len())).collect();
        assert_eq!(found, [("v", 1), ("7", 1), ("g", 2)]);
        assert_eq!(set.videos[1].steps[0].images, ["a", "b"]);
        let said: Vec<String> =
            set.issues.iter().map(|c| format!("{}: {}", c.place, c.reason)).collect();
        let expected = [
            "line 3: the video `v` came before; it is left out",
            "7, step 2: it has no text",
            "w, step 1: it names no picture",
            "w: it has no usable step",
            "x: `steps` is no list",
            "line 7: not an object of JSON: expected ident at line 1 column 2",
            "line 10: neither `steps` nor a step: it has no text",
        ];
        assert_eq!(said, expected);
        assert_eq!(set.unread.iter().collect::<Vec<_>>(), ["mood", "nothing"]);
    }

    #[test]
    fn a_missing_list_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Set::open(folder.path(), Needs::Text).unwrap_err().to_string();
        assert!(error.contains(Set::FILE), "{error}");
    }
}
