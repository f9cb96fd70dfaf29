//! A procedure with the clips that show it, as one line of a JSONL file. Clips are named by their
//! video's content and their span, so that a file outlives the numbers of a library.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::pool::Pool;
use stitch_engine::files::{FileError, write_whole};

/// Which part of the data an example belongs to. No video is in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// To learn from.
    Train,
    /// To measure by.
    HeldOut,
}

/// A procedure and what shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// What it makes.
    pub title: String,
    /// Its part of the data.
    pub split: Split,
    /// What made it (`rules`, `language-model`, `temporally-sampled`, `real`).
    pub builder: String,
    /// The seed it was made with.
    pub seed: u64,
    /// Its steps in order.
    pub steps: Vec<ExampleStep>,
    /// The videos it is made of, by content, and their licences where those are known.
    pub sources: Vec<ExampleSource>,
}

/// One step with its clip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleStep {
    /// What is done.
    pub text: String,
    /// The clip's video, by number in `sources`.
    pub source: usize,
    /// Where the clip begins, in milliseconds.
    pub start_ms: u64,
    /// Where it ends.
    pub end_ms: u64,
}

/// A video that an example takes clips from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExampleSource {
    /// What identifies its bytes.
    pub content: String,
    /// Its title.
    pub title: String,
    /// Its licence.
    pub licence: Option<String>,
}

/// Why a file of examples cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExamplesError {
    /// It cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line is no example.
    #[error("{}: line {line}: {reason}; make it again with `stitch dataset mix`", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// There is nothing in it.
    #[error("{}: there is no example in it; make some with `stitch dataset mix`", path.display())]
    Empty {
        /// Which file.
        path: PathBuf,
    },
}

/// Writes examples, a line each.
pub fn write(path: &Path, examples: &[Example]) -> Result<(), ExamplesError> {
    let mut lines = Vec::new();
    for (number, example) in examples.iter().enumerate() {
        serde_json::to_writer(&mut lines, example).map_err(|error| ExamplesError::Line {
            path: path.into(),
            line: number + 1,
            reason: error.to_string(),
        })?;
        lines.push(b'\n');
    }
    Ok(write_whole(path, &lines)?)
}

/// Reads examples.
pub fn read(path: &Path) -> Result<Vec<Example>, ExamplesError> {
    let text = std::fs::read_to_string(path).map_err(FileError::at(path))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let example = |(number, line): (usize, &str)| {
        let wrong = |reason| ExamplesError::Line { path: path.into(), line: number + 1, reason };
        let example: Example =
            serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        match example.steps.iter().all(|step| step.source < example.sources.len()) {
            true => Ok(example),
            false => Err(wrong("a step names a source that is not there".into())),
        }
    };
    let examples = lines.map(example).collect::<Result<Vec<_>, _>>()?;
    if examples.is_empty() { Err(ExamplesError::Empty { path: path.into() }) } else { Ok(examples) }
}

/// The clips of a library by what examples call them.
pub struct Clips(HashMap<(String, u64, u64), ClipId>);

impl Clips {
    /// Of this pool, whose videos have these contents.
    pub fn of(pool: &Pool, contents: &HashMap<VideoId, String>) -> Self {
        let named = pool.clips().iter().enumerate().filter_map(|(row, clip)| {
            let content = contents.get(&clip.video)?.clone();
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
