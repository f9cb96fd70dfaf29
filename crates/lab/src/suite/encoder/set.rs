//! A set of videos with steps and pictures in the plain format: `videos.jsonl`, and the pictures in
//! `images.tar` or in folders. What cannot be used is noted and left out.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Map, Value};
use stitch_engine::files::FileError;

use super::EncoderEvalError;
use super::tar::{Tar, TarError};

/// The longest picture file that is read.
const LONGEST_PICTURE: u64 = 256 << 20;

/// Columns that are read or known to say nothing about the pictures.
const COLUMNS: &[&str] = &[
    "video",
    "id",
    "video_id",
    "group",
    "steps",
    "text",
    "texts",
    "sentence",
    "caption",
    "image",
    "images",
    "picture",
    "pictures",
    "frame",
    "frames",
    "start",
    "end",
    "recipe_type",
    "title",
];

/// Something that could not be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Complaint {
    /// A line, a video, a step or a picture.
    pub place: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Videos with their steps, and where their pictures are.
#[derive(Debug)]
pub struct Set {
    /// The set's folder.
    pub folder: PathBuf,
    /// The videos, in the order of the file.
    pub videos: Vec<VideoSteps>,
    /// What could not be used so far.
    pub complaints: Vec<Complaint>,
    /// Columns that nobody here reads.
    pub unread: BTreeSet<String>,
    archives: Vec<Tar>,
}

/// A video's steps that have a text and name a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoSteps {
    /// Its name.
    pub id: String,
    /// The steps in order.
    pub steps: Vec<PicturedStep>,
}

/// A step with its pictures by name.
#[derive(Clone, Debug, PartialEq)]
pub struct PicturedStep {
    /// What is done.
    pub text: String,
    /// The names of its pictures, at least one.
    pub images: Vec<String>,
}

impl Set {
    /// The list's name in the folder.
    pub const FILE: &str = "videos.jsonl";

    /// Reads the list (of a folder, or the file itself) and the archives' tables of contents.
    pub fn open(path: &Path) -> Result<Self, EncoderEvalError> {
        let list = if path.is_dir() { list_in(path) } else { path.to_owned() };
        let folder = match list.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let bytes = std::fs::read(&list).map_err(FileError::at(&list))?;
        let archives = archives(&folder)?;
        let mut set = Self {
            folder,
            videos: Vec::new(),
            complaints: Vec::new(),
            unread: BTreeSet::new(),
            archives,
        };
        set.complain_of_archives();
        set.read_lines(&String::from_utf8_lossy(&bytes));
        Ok(set)
    }

    fn complain_of_archives(&mut self) {
        if self.archives.iter().any(|tar| tar.cut_short) {
            self.complain("the archive of pictures", "it is cut short; copy it again");
        }
    }

    /// Notes that something cannot be used.
    pub fn complain(&mut self, place: impl Into<String>, reason: impl ToString) {
        self.complaints.push(Complaint { place: place.into(), reason: reason.to_string() });
    }

    fn read_lines(&mut self, text: &str) {
        let mut seen = HashSet::new();
        let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
        for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            let place = format!("line {}", number + 1);
            match serde_json::from_str::<Map<String, Value>>(line) {
                Err(error) => self.complain(place, format!("not an object of JSON: {error}")),
                Ok(object) => self.read_video(&object, &place, &mut seen),
            }
        }
    }

    fn read_video(&mut self, object: &Map<String, Value>, place: &str, seen: &mut HashSet<String>) {
        self.note_columns(object);
        if !object.contains_key("steps") {
            return self.read_lone_step(object, place);
        }
        let id = name(object).unwrap_or_else(|| place.to_owned());
        if !seen.insert(id.clone()) {
            return self.complain(place, format!("the video `{id}` came before; it is left out"));
        }
        let Some(steps) = object["steps"].as_array() else {
            return self.complain(id, "`steps` is no list");
        };
        let mut video = VideoSteps { id, steps: Vec::new() };
        for (number, step) in steps.iter().enumerate() {
            let step = step.as_object().cloned().unwrap_or_default();
            self.note_columns(&step);
            match read_step(&step) {
                Ok(step) => video.steps.push(step),
                Err(reason) => {
                    self.complain(format!("{}, step {}", video.id, number + 1), reason);
                }
            }
        }
        match video.steps.is_empty() {
            true => self.complain(video.id, "it has no usable step"),
            false => self.videos.push(video),
        }
    }

    /// A line that is one step by itself, of the video it names.
    fn read_lone_step(&mut self, object: &Map<String, Value>, place: &str) {
        let step = match read_step(object) {
            Ok(step) => step,
            Err(reason) => {
                return self.complain(place, format!("neither `steps` nor a step: {reason}"));
            }
        };
        let id = name(object).unwrap_or_else(|| place.to_owned());
        match self.videos.iter_mut().rev().find(|video| video.id == id) {
            Some(video) => video.steps.push(step),
            None => self.videos.push(VideoSteps { id, steps: vec![step] }),
        }
    }

    fn note_columns(&mut self, object: &Map<String, Value>) {
        let unread = object.keys().filter(|key| !COLUMNS.contains(&key.as_str()));
        self.unread.extend(unread.cloned());
    }

    /// The bytes of a picture: of a file by its path, or of an archive's member.
    pub fn picture(&self, image: &str) -> Result<Vec<u8>, String> {
        let places = [self.folder.join(image), self.folder.join("images").join(image)];
        if let Some(path) = places.iter().find(|path| path.is_file()) {
            let length = path.metadata().map_err(|error| error.to_string())?.len();
            if length > LONGEST_PICTURE {
                return Err(format!("it has {length} bytes, more than a picture should"));
            }
            return std::fs::read(path).map_err(|error| error.to_string());
        }
        for tar in &self.archives {
            if let Some(member) = tar.find(image) {
                let bytes = tar.read(member, LONGEST_PICTURE).map_err(|error| error.to_string())?;
                return bytes.ok_or_else(|| "it is longer than a picture should be".into());
            }
        }
        Err("there is no such picture in the folder or its archives".into())
    }
}

/// `videos.jsonl`; the only list there is where that is missing.
fn list_in(folder: &Path) -> PathBuf {
    let usual = folder.join(Set::FILE);
    if usual.exists() {
        return usual;
    }
    let lists = with_extension(folder, "jsonl");
    match lists.as_slice() {
        [only] => only.clone(),
        _ => usual,
    }
}

/// `images.tar` first.
fn archives(folder: &Path) -> Result<Vec<Tar>, EncoderEvalError> {
    let mut paths = with_extension(folder, "tar");
    paths.sort_by_key(|path| (!path.ends_with("images.tar"), path.clone()));
    let open = |path: &PathBuf| match Tar::open(path) {
        Ok(tar) => Ok(tar),
        Err(TarError::File(error)) => Err(error.into()),
        Err(error) => {
            Err(EncoderEvalError::Archive { path: path.clone(), reason: error.to_string() })
        }
    };
    paths.iter().map(open).collect()
}

fn with_extension(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    paths.sort();
    paths
}

fn name(object: &Map<String, Value>) -> Option<String> {
    let value = ["video", "video_id", "id", "group"].iter().find_map(|key| object.get(*key))?;
    match value {
        Value::String(name) => Some(name.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn read_step(step: &Map<String, Value>) -> Result<PicturedStep, &'static str> {
    let texts = strings(step, &["text", "texts", "sentence", "caption"]);
    let images = strings(step, &["image", "images", "picture", "pictures", "frame", "frames"]);
    match (texts.into_iter().find(|text| !text.trim().is_empty()), images.is_empty()) {
        (None, _) => Err("it has no text"),
        (_, true) => Err("it names no picture"),
        (Some(text), false) => Ok(PicturedStep { text: text.trim().to_owned(), images }),
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
        Set::open(folder.path()).unwrap()
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
            set.complaints.iter().map(|c| format!("{}: {}", c.place, c.reason)).collect();
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
        let error = Set::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains(Set::FILE), "{error}");
    }
}
