//! Procedures with their clips, one line of a JSONL file each. Clips are named by a hash of their video's
//! content and their span, so that a file stays valid when the library is built anew.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::pool::Pool;
use stitch_engine::files::{FileError, write_whole};
use stitch_engine::library::VideoRecord;

use super::DatasetError;

/// Which part of the data an example belongs to. No video is in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    Train,
    HeldOut,
}

impl Split {
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::HeldOut => "held-out",
        }
    }

    /// By a hash of the key, so that a video stays in its part when others are added or removed.
    pub fn of(key: &str, held_out_share: f64, seed: u64) -> Self {
        let digest = Sha256::digest([&seed.to_le_bytes(), key.as_bytes()].concat());
        let number = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
        let share = f64::from(number) / f64::from(u32::MAX);
        if share < held_out_share { Self::HeldOut } else { Self::Train }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    pub title: String,
    pub split: Split,
    /// What made it (`rules`, `language-model`, `temporally-sampled`, `real`).
    pub builder: String,
    pub seed: u64,
    pub steps: Vec<ExampleStep>,
    /// The videos it is made of, by content, and their licences where those are known.
    pub sources: Vec<ExampleSource>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleStep {
    pub text: String,
    /// The clip's video, by number in `sources`.
    pub source: usize,
    pub start_ms: u64,
    pub end_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleSource {
    /// A hash of its bytes.
    pub content: String,
    pub title: String,
    pub licence: Option<String>,
}

pub fn write(path: &Path, examples: &[Example]) -> Result<(), DatasetError> {
    let lines: String = examples.iter().map(|example| format!("{}\n", json!(example))).collect();
    Ok(write_whole(path, lines.as_bytes())?)
}

pub fn read(path: &Path) -> Result<Vec<Example>, DatasetError> {
    let text = std::fs::read_to_string(path).map_err(FileError::at(path))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let example = |(number, line): (usize, &str)| {
        let wrong = |reason| DatasetError::Line { path: path.into(), line: number + 1, reason };
        let example: Example =
            serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        match example.steps.iter().all(|step| step.source < example.sources.len()) {
            true => Ok(example),
            false => Err(wrong("a step names a source that is not there".into())),
        }
    };
    let examples = lines.map(example).collect::<Result<Vec<_>, _>>()?;
    if examples.is_empty() { Err(DatasetError::Empty { path: path.into() }) } else { Ok(examples) }
}

/// The clips of a library by content, start and end.
pub struct Clips(HashMap<(String, u64, u64), ClipId>);

impl Clips {
    pub fn of(pool: &Pool, videos: &[VideoRecord]) -> Self {
        let contents: HashMap<VideoId, &String> =
            videos.iter().map(|video| (VideoId(video.id), &video.content)).collect();
        let named = pool.clips().iter().enumerate().filter_map(|(row, clip)| {
            let content = contents.get(&clip.video)?.to_string();
            Some(((content, clip.span.start(), clip.span.end()), ClipId(row as u32)))
        });
        Self(named.collect())
    }

    /// The example's clips; none if one of them is not in the library any more.
    pub fn find(&self, example: &Example) -> Option<Vec<ClipId>> {
        let clip = |step: &ExampleStep| {
            let content = example.sources.get(step.source)?.content.clone();
            self.0.get(&(content, step.start_ms, step.end_ms)).copied()
        };
        example.steps.iter().map(clip).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Example {
        Example {
            title: "Tea".into(),
            split: Split::HeldOut,
            builder: "rules".into(),
            seed: 3,
            steps: vec![ExampleStep { text: "Boil".into(), source: 0, start_ms: 1, end_ms: 2 }],
            sources: vec![ExampleSource {
                content: "abc".into(),
                title: "Tea".into(),
                licence: Some("CC BY".into()),
            }],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("examples.jsonl");
        write(&path, &[example(), example()]).unwrap();
        assert_eq!(read(&path).unwrap(), [example(), example()]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("examples.jsonl");
        let good = serde_json::to_string(&example()).unwrap();
        let told = |text: String| {
            std::fs::write(&path, text).unwrap();
            read(&path).unwrap_err().to_string()
        };
        assert!(told(format!("{good}\n{{}}")).contains("line 2: missing field"));
        assert!(
            told(good.replace("\"source\":0", "\"source\":7")).contains("line 1: a step names")
        );
        assert!(told("\n\n".into()).contains("there is no example in it"));
    }
}
