//! Videos without files: features from a folder, lengths and steps from a list.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::discover::found;
use super::steps::VideoStep;
use crate::encoder::precomputed::Folder;
use crate::files::{FileError, hex};
use crate::library::{Found, Video};
use crate::progress::Progress;
use crate::transcript::Sentence;

/// The videos of a list that have features.
#[derive(Debug, Default)]
pub struct VideoList {
    /// Their file is the one with their features.
    pub found: Vec<Found>,
    /// By the file with their features.
    pub videos: HashMap<PathBuf, ListedVideo>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ListedVideo {
    pub video: Video,
    pub steps: Vec<VideoStep>,
    /// Whether the times of the steps are those of spoken words, not of what is shown.
    pub spoken: bool,
    pub sentences: Vec<Sentence>,
}

/// A line of the list; times are in seconds.
#[derive(Deserialize)]
struct Line {
    #[serde(alias = "id", alias = "video_id")]
    video: String,
    #[serde(alias = "length")]
    duration: Option<f64>,
    title: Option<String>,
    url: Option<String>,
    #[serde(default)]
    spoken: bool,
    #[serde(default)]
    steps: Vec<LineStep>,
}

#[derive(Deserialize)]
struct LineStep {
    #[serde(alias = "sentence", alias = "caption")]
    text: String,
    start: Option<f64>,
    end: Option<f64>,
    #[serde(alias = "asr")]
    narration: Option<String>,
}

impl VideoList {
    /// Lines that cannot be used are reported as warnings and left out.
    pub fn read(list: &Path, folder: &Folder, progress: &dyn Progress) -> Result<Self, FileError> {
        let text = std::fs::read_to_string(list).map_err(FileError::at(list))?;
        let mut videos = Self::default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if let Err(reason) = videos.add(line, folder) {
                progress.warn(&format!("{}, line {}: {reason}", list.display(), number + 1));
            }
        }
        Ok(videos)
    }

    fn add(&mut self, text: &str, folder: &Folder) -> Result<(), String> {
        let line: Line = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let name = line.video.clone();
        let content = folder.content_of(&name).map_err(|error| error.to_string())?;
        let content = hex(&Sha256::digest(format!("{content}{text}")));
        let length_ms = match line.duration {
            Some(seconds) => milliseconds(seconds).ok_or("its duration is no time")?,
            None => folder.length_ms_of(&name).map_err(|error| error.to_string())?,
        };
        let path = folder.file_of(&name).unwrap_or(Path::new(&name));
        let path = path.canonicalize().map_err(|error| error.to_string())?;
        if self.videos.contains_key(&path) {
            return Err(format!(
                "{} holds the features of another line too; keep one file per video where there \
                 are no video files",
                path.display()
            ));
        }
        let data = path.metadata().map_err(|error| error.to_string())?;
        self.found.push(found(&path, &data, content).map_err(|error| error.to_string())?);
        self.videos.insert(path, line.video(length_ms));
        Ok(())
    }
}

impl Line {
    fn video(self, length_ms: u64) -> ListedVideo {
        let (mut steps, mut sentences) = (Vec::new(), Vec::new());
        for step in self.steps.into_iter().filter(|step| !step.text.trim().is_empty()) {
            let window = step.start.and_then(milliseconds).zip(step.end.and_then(milliseconds));
            let window = window.filter(|(start, end)| start < end);
            let said = step.narration.filter(|said| !said.trim().is_empty());
            if let (Some((start_ms, end_ms)), Some(text)) = (window, said) {
                sentences.push(Sentence { start_ms, end_ms, text });
            }
            steps.push(VideoStep { text: step.text, window });
        }
        let title = self.title.unwrap_or(self.video);
        let video = Video { title, url: self.url, length_ms, ..Video::default() };
        ListedVideo { video, steps, spoken: self.spoken, sentences }
    }
}

/// Seconds as milliseconds, if they are a time within two days.
fn milliseconds(seconds: f64) -> Option<u64> {
    (0.0..=172_800.0).contains(&seconds).then(|| (seconds * 1000.0).round() as u64)
}
