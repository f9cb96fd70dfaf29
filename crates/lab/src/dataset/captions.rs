//! What is said in many videos whose files are not there: HowTo100M's captions and lists, and subtitle files
//! named after their videos.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use stitch_engine::files::FileError;
use stitch_engine::transcript::{self, Caption, Sentence, text::spoken};

use super::DatasetError;

/// What is said in a video; nothing if its captions cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captioned {
    pub id: String,
    pub sentences: Vec<Sentence>,
}

/// Receives the videos in turn; false ends the reading.
pub type Receive<'a> = &'a mut dyn FnMut(Captioned) -> bool;

/// Reads the videos of
/// - a `.json` file: HowTo100M's `caption.json` and `raw_caption.json`, which are read as a stream;
/// - a `.csv` file with the columns start, end and text, and video_id where it has several videos;
/// - a folder with a `.csv` or subtitle file per video, such as `ID.csv`, `ID.en.vtt`, `ID.json`.
pub fn read(path: &Path, receive: Receive<'_>) -> Result<(), DatasetError> {
    if path.is_dir() {
        for file in files(path).map_err(FileError::at(path))? {
            let go_on = match has_extension(&file, "csv") {
                true => read_table(&file, receive)?,
                // A broken file is a video of which nothing is known.
                false => receive(Captioned {
                    id: id_of(&file),
                    sentences: transcript::read(&file).unwrap_or_default(),
                }),
            };
            if !go_on {
                break;
            }
        }
        return Ok(());
    }
    match has_extension(path, "csv") {
        true => read_table(path, receive).map(drop),
        false => read_dictionary(path, receive),
    }
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// The `.csv` and subtitle files of a folder, by name.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let subtitles = transcript::FORMATS.iter().flat_map(|format| format.extensions);
    let extensions: Vec<&str> = subtitles.copied().chain(["csv"]).collect();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    files.retain(|file| extensions.iter().any(|extension| has_extension(file, extension)));
    files.sort();
    Ok(files)
}

/// The file's name up to its first dot: `ID` of `ID.en.vtt`.
fn id_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

fn sentences(captions: impl Iterator<Item = (f64, f64, String)>) -> Vec<Sentence> {
    let milliseconds = |seconds: f64| (seconds.max(0.0) * 1000.0).round() as u64;
    let captions = captions.map(|(start, end, text)| {
        Caption::plain(milliseconds(start), milliseconds(end), &spoken(&text))
    });
    transcript::from_captions(captions.collect()).0
}

/// A row of a table of captions; columns of other names are not read.
#[derive(Deserialize)]
struct Row {
    video_id: Option<String>,
    start: f64,
    end: f64,
    text: String,
}

/// The videos of a table; whether the receiver wants more. Rows that are no caption are left out.
fn read_table(path: &Path, receive: Receive<'_>) -> Result<bool, DatasetError> {
    let unusable = |reason: String| DatasetError::Captions { path: path.into(), reason };
    let mut table = csv::ReaderBuilder::new()
        .flexible(true)
        .from_path(path)
        .map_err(|error| unusable(error.to_string()))?;
    let header = table.headers().map_err(|error| unusable(error.to_string()))?;
    if ["start", "end", "text"].iter().any(|name| !header.iter().any(|found| found == *name)) {
        return Err(unusable(
            "its first line does not name the columns start, end and text".into(),
        ));
    }
    let (mut id, mut captions) = (id_of(path), Vec::new());
    for row in table.deserialize::<Row>().flatten() {
        if let Some(next) = row.video_id.filter(|next| *next != id) {
            let video = std::mem::replace(&mut id, next);
            let captions = std::mem::take(&mut captions);
            let sentences = sentences(captions.into_iter());
            if !sentences.is_empty() && !receive(Captioned { id: video, sentences }) {
                return Ok(false);
            }
        }
        captions.push((row.start, row.end, row.text));
    }
    Ok(receive(Captioned { id, sentences: sentences(captions.into_iter()) }))
}

/// `{"VIDEO": {"start": [seconds], "end": [seconds], "text": [...]}, ...}`, which has gigabytes.
fn read_dictionary(path: &Path, receive: Receive<'_>) -> Result<(), DatasetError> {
    let file = File::open(path).map_err(FileError::at(path))?;
    let mut reader = serde_json::Deserializer::from_reader(BufReader::new(file));
    let mut stopped = false;
    let mut receive = |video| {
        stopped = !receive(video);
        !stopped
    };
    match reader.deserialize_map(Dictionary(&mut receive)) {
        Err(error) if !stopped => {
            let reason = format!("it is not HowTo100M's dictionary of captions: {error}");
            Err(DatasetError::Captions { path: path.into(), reason })
        }
        _ => Ok(()),
    }
}

struct Dictionary<'a>(Receive<'a>);

impl<'de> Visitor<'de> for Dictionary<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("an object with the captions of each video")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(id) = map.next_key::<String>()? {
            let video: Value = map.next_value()?;
            let column = |name: &str| video.get(name).and_then(Value::as_array);
            let (Some(start), Some(end), Some(text)) =
                (column("start"), column("end"), column("text"))
            else {
                return Err(M::Error::custom(format!("`{id}` has no lists start, end and text")));
            };
            let captions = start.iter().zip(end).zip(text).filter_map(|((start, end), text)| {
                Some((start.as_f64()?, end.as_f64()?, text.as_str()?.to_owned()))
            });
            if !(self.0)(Captioned { id, sentences: sentences(captions) }) {
                return Err(M::Error::custom("stopped"));
            }
        }
        Ok(())
    }
}

/// What HowTo100M's lists say of its videos.
#[derive(Clone, Debug, Default)]
pub struct VideoTasks(HashMap<String, String>);

#[derive(Deserialize)]
struct Listed {
    video_id: String,
    task_id: String,
    #[serde(default)]
    category_1: String,
}

impl VideoTasks {
    /// Of `HowTo100M_v1.csv` those of a category, all where none is named; with the names of
    /// `task_ids.csv`, a number and a name a line.
    pub fn read(
        list: &Path,
        names: Option<&Path>,
        category: Option<&str>,
    ) -> Result<Self, DatasetError> {
        let names = match names {
            Some(path) => std::fs::read_to_string(path).map_err(FileError::at(path))?,
            None => String::new(),
        };
        let names: HashMap<&str, &str> =
            names.lines().filter_map(|line| line.split_once(['\t', ','])).collect();
        let unusable = |reason: String| DatasetError::Captions { path: list.into(), reason };
        let mut table =
            csv::Reader::from_path(list).map_err(|error| unusable(error.to_string()))?;
        let mut tasks = HashMap::new();
        for row in table.deserialize::<Listed>() {
            let row = row.map_err(|error| unusable(error.to_string()))?;
            if category.is_none_or(|category| row.category_1 == category) {
                let name =
                    names.get(row.task_id.as_str()).map_or(&*row.task_id, |name| name.trim());
                tasks.insert(row.video_id, name.to_owned());
            }
        }
        match (tasks.is_empty(), category) {
            (false, _) => Ok(Self(tasks)),
            (true, Some(category)) => {
                Err(unusable(format!("no video has the category `{category}`")))
            }
            (true, None) => Err(unusable("it lists no video".into())),
        }
    }

    /// The task of a video that is listed.
    pub fn task(&self, video: &str) -> Option<&str> {
        self.0.get(video).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(path: &Path) -> Result<Vec<(String, Vec<String>)>, DatasetError> {
        let mut found = Vec::new();
        read(path, &mut |video| {
            let texts = video.sentences.into_iter().map(|sentence| sentence.text).collect();
            found.push((video.id, texts));
            true
        })?;
        Ok(found)
    }

    const DICTIONARY: &str = r#"{"a": {"start": [1, 4.5], "end": [4, 7], "text": ["Chop it.", "Fry it."]},
        "b": {"start": [0], "end": [2], "text": ["Saw it."]}, "c": {"start": [], "end": [], "text": []}}"#;

    #[test]
    fn captions_are_read_from_every_layout() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            path
        };
        let dictionary = write("raw_caption.json", DICTIONARY);
        let expected = |videos: &[(&str, &[&str])]| {
            let text = |text: &&str| text.to_string();
            let video = |(id, texts): &(&str, &[&str])| {
                (id.to_string(), texts.iter().map(text).collect::<Vec<_>>())
            };
            videos.iter().map(video).collect::<Vec<_>>()
        };
        let chop: &[&str] = &["Chop it.", "Fry it."];
        let both = expected(&[("a", chop), ("b", &["Saw it."])]);
        assert_eq!(all(&dictionary).unwrap(), [&both[..], &expected(&[("c", &[])])].concat());
        let table =
            "video_id,start,end,text\na,1,4,Chop it.\na,4.5,7,Fry it.\nb,0,2,Saw it.\nb,x,,\n";
        assert_eq!(all(&write("captions.csv", table)).unwrap(), both);
        write("each/a.csv", ",start,end,text\n0,1,4,Chop it.\n1,4.5,7,Fry it.\n");
        write("each/b.en.srt", "1\n00:00:00,000 --> 00:00:02,000\nSaw it.\n");
        write("each/c.vtt", "no subtitles");
        write("each/notes.txt", "not read");
        let found = all(&folder.path().join("each")).unwrap();
        assert_eq!(found, [&both[..], &expected(&[("c", &[])])].concat());
    }

    #[test]
    fn reading_ends_when_nobody_listens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("caption.json");
        std::fs::write(&path, DICTIONARY).unwrap();
        let mut count = 0;
        read(&path, &mut |_| {
            count += 1;
            false
        })
        .unwrap();
        assert_eq!(count, 1);
    }

    #[test]
    fn what_is_no_caption_file_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let told = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            all(&path).unwrap_err().to_string()
        };
        assert!(told("a.csv", "start,text\n1,x\n").contains("start, end and text"));
        assert!(told("a.json", r#"{"a": 7}"#).contains("`a` has no lists"));
        assert!(told("b.json", r#"{"a": {"start": ["#).contains("not HowTo100M's dictionary"));
        assert!(all(&folder.path().join("none.json")).is_err());
    }

    #[test]
    fn videos_are_chosen_by_category_and_named_by_their_task() {
        let folder = tempfile::tempdir().unwrap();
        let [list, names] = ["list.csv", "names.csv"].map(|name| folder.path().join(name));
        let rows =
            "video_id,category_1,category_2,rank,task_id\na,Food,Soup,1,7\nb,Home,Wood,1,8\n";
        std::fs::write(&list, rows).unwrap();
        std::fs::write(&names, "7\tMake Soup\n").unwrap();
        let food = VideoTasks::read(&list, Some(&names), Some("Food")).unwrap();
        assert_eq!((food.task("a"), food.task("b")), (Some("Make Soup"), None));
        let all = VideoTasks::read(&list, None, None).unwrap();
        assert_eq!((all.task("a"), all.task("b")), (Some("7"), Some("8")));
        let none = VideoTasks::read(&list, None, Some("Garden")).unwrap_err().to_string();
        assert!(none.contains("no video has the category `Garden`"), "{none}");
    }
}
