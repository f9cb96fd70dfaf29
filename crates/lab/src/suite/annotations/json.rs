//! Sets whose annotations are JSON: COIN, CrossTask, HiREST and YouCook2.

use std::path::Path;

use serde_json::{Map, Value};
use stitch_engine::files::FileError;

use super::{AnnotatedVideo, Annotations, AnnotationsError, tables, wrong};
use crate::suite::plain::{milliseconds, name};

type Read = Result<Annotations, AnnotationsError>;

/// Where a video's record has what is read.
struct Keys {
    /// What the file should be, in messages.
    kind: &'static str,
    length: &'static str,
    steps: &'static str,
    text: &'static str,
    /// Of a step's two times in seconds; where there is none, they are under `start` and `end`.
    span: Option<&'static str>,
}

/// COIN: an object of videos under `database` as its authors give them, or a list of objects with one
/// video each as the splits for planning do.
pub fn coin(path: &Path) -> Read {
    const KEYS: Keys = Keys {
        kind: "annotations of COIN",
        length: "duration",
        steps: "annotation",
        text: "label",
        span: Some("segment"),
    };
    let root = read_json(path, KEYS.kind)?;
    let records: Vec<(&String, &Value)> = match (&root, root.get("database")) {
        (_, Some(Value::Object(videos))) => videos.iter().collect(),
        (Value::Array(list), _) => {
            list.iter().filter_map(Value::as_object).flat_map(Map::iter).collect()
        }
        _ => return Err(wrong(path, KEYS.kind, "neither `database` nor a list")),
    };
    let mut read = Annotations::default();
    for (id, record) in records {
        read_video(id, text(record, "class"), None, record, &KEYS, &mut read);
    }
    Ok(read)
}

/// CrossTask: a list with a video of a task each, or the authors' folder.
pub fn crosstask(path: &Path) -> Read {
    const KEYS: Keys = Keys {
        kind: "annotations of CrossTask",
        length: "duration",
        steps: "steps",
        text: "step",
        span: None,
    };
    if path.is_dir() {
        return tables::crosstask(path);
    }
    let root = read_json(path, KEYS.kind)?;
    let list = root.as_array().ok_or_else(|| wrong(path, KEYS.kind, "it is no list"))?;
    let mut read = Annotations::default();
    for (number, record) in list.iter().enumerate() {
        let id = record.get("video_id").and_then(name);
        let id = id.unwrap_or_else(|| format!("record {}", number + 1));
        read_video(&id, text(record, "task"), None, record, &KEYS, &mut read);
    }
    Ok(read)
}

/// One split of HiREST: for each prompt videos with the bounds of a moment and of its steps; and the
/// categories of prompts, where they lie beside the split. Most videos have no steps; that is no issue here.
pub fn hirest(path: &Path) -> Read {
    const KEYS: Keys = Keys {
        kind: "a split of HiREST",
        length: "v_duration",
        steps: "steps",
        text: "heading",
        span: Some("absolute_bounds"),
    };
    let root = read_json(path, KEYS.kind)?;
    let prompts = root.as_object().ok_or_else(|| wrong(path, KEYS.kind, "it is no object"))?;
    let beside = path.with_file_name("categories.json");
    let categories = if beside.is_file() { read_json(&beside, KEYS.kind)? } else { Value::Null };
    let mut read = Annotations::default();
    for (prompt, videos) in prompts {
        let Some(videos) = videos.as_object() else {
            read.report(prompt.clone(), "its videos are no object");
            continue;
        };
        let domain = categories["prompt_to_cat"][prompt.as_str()].as_str();
        for (name, record) in videos {
            let steps = record.get(KEYS.steps).and_then(Value::as_array);
            if steps.is_some_and(|steps| !steps.is_empty()) {
                let id = name.strip_suffix(".mp4").unwrap_or(name);
                read_video(id, prompt, domain, record, &KEYS, &mut read);
            }
        }
    }
    Ok(read)
}

/// YouCook2: segments and sentences by video.
pub fn youcook2(path: &Path) -> Read {
    const KEYS: Keys = Keys {
        kind: "annotations of YouCook2",
        length: "duration",
        steps: "annotations",
        text: "sentence",
        span: Some("segment"),
    };
    let root = read_json(path, KEYS.kind)?;
    let videos = root.get("database").and_then(Value::as_object);
    let videos = videos.ok_or_else(|| wrong(path, KEYS.kind, "it has no `database`"))?;
    let mut read = Annotations::default();
    for (id, record) in videos {
        let task = record.get("recipe_type").and_then(name).unwrap_or_default();
        read_video(id, &task, Some("cooking"), record, &KEYS, &mut read);
    }
    Ok(read)
}

fn read_video(
    id: &str,
    task: &str,
    domain: Option<&str>,
    record: &Value,
    keys: &Keys,
    read: &mut Annotations,
) {
    if !record.is_object() {
        return read.report(id, "it is no object");
    }
    let mut video = AnnotatedVideo {
        id: id.into(),
        task: task.into(),
        domain: domain.map(str::to_owned),
        length_ms: record.get(keys.length).and_then(Value::as_f64).and_then(milliseconds),
        steps: Vec::new(),
    };
    for step in record.get(keys.steps).and_then(Value::as_array).into_iter().flatten() {
        let text = text(step, keys.text);
        let seconds = |key: &str| step.get(key)?.as_f64();
        let times = match keys.span {
            Some(key) => pair(step.get(key)),
            None => seconds("start").zip(seconds("end")),
        };
        match times {
            Some((from, to)) => read.add_step(&mut video, text, from, to),
            None => read.report(id, format!("`{text}` has no times")),
        }
    }
    read.add(video);
}

/// Empty where there is none.
fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub fn pair(value: Option<&Value>) -> Option<(f64, f64)> {
    let both = value?.as_array()?;
    Some((both.first()?.as_f64()?, both.get(1)?.as_f64()?))
}

pub fn read_json(path: &Path, kind: &'static str) -> Result<Value, AnnotationsError> {
    let bytes = std::fs::read(path).map_err(FileError::at(path))?;
    serde_json::from_slice(&bytes).map_err(|error| wrong(path, kind, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(of: fn(&Path) -> Read, text: &str) -> Read {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.json");
        std::fs::write(&path, text).unwrap();
        let categories = r#"{"prompt_to_cat": {"Make a Kite": "Crafts"}}"#;
        std::fs::write(folder.path().join("categories.json"), categories).unwrap();
        of(&path)
    }

    #[test]
    fn both_forms_of_coin_say_the_same() {
        let record = r#"{"recipe_type": 3, "class": "BoilEggs", "subset": "training",
            "duration": 60.5, "annotation": [
            {"id": "1", "segment": [2.0, 8.0], "label": "fill the pot"},
            {"id": "2", "segment": [9.0, 30.0], "label": "boil the eggs"},
            {"id": "3", "segment": [30.0], "start": 30.0, "end": 40.0,
                "label": "peel the eggs"}]}"#;
        let official = format!(r#"{{"database": {{"abc": {record}, "odd": 7}}}}"#);
        let planning = format!(r#"[{{"abc": {record}}}, {{"odd": 7}}]"#);
        for text in [official, planning] {
            let read = read_text(coin, &text).unwrap();
            assert_eq!((read.videos.len(), read.steps()), (1, 2));
            let video = &read.videos[0];
            assert_eq!((video.task.as_str(), video.length_ms), ("BoilEggs", Some(60_500)));
            let said: Vec<&str> = read.issues.iter().map(|odd| odd.reason.as_str()).collect();
            assert_eq!(said, ["`peel the eggs` has no times", "it is no object"]);
        }
        let told = read_text(coin, "{}").unwrap_err().to_string();
        assert!(told.contains("not annotations of COIN"), "{told}");
        assert!(read_text(coin, "[1, {\"x\": {}}]").unwrap().videos.is_empty());
    }

    #[test]
    fn odd_times_of_crosstask_are_told() {
        let text = r#"[{"task": "Make Tea", "video_id": "v", "steps": [
            {"step": "boil water", "start": 5, "end": 9}, {"step": "pour", "start": 9, "end": 9},
            {"step": "steep", "start": 3, "end": 4}, {"step": "sip", "times": [5, 9]}]}, 5]"#;
        let found = read_text(crosstask, text).unwrap();
        assert_eq!((found.videos.len(), found.steps()), (1, 2));
        let said: Vec<&str> = found.issues.iter().map(|odd| odd.reason.as_str()).collect();
        let expected = [
            "from 9 s to 9 s is no time",
            "`sip` has no times",
            "its steps are not in the order of their times",
            "it is no object",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn only_videos_of_hirest_with_steps_are_taken() {
        let text = r#"{"Make a Kite": {
            "a.mp4": {"v_duration": 50.0, "steps": [
                {"index": 0, "heading": "Cut the paper ", "absolute_bounds": [4, 9]},
                {"index": 1, "heading": "Tie", "absolute_bounds": [9, 4]},
                {"index": 2, "heading": "Fly", "absolute_bounds": [9, 20]}]},
            "b.mp4": {"v_duration": 9.0, "steps": []}}, "Odd": 3}"#;
        let found = read_text(hirest, text).unwrap();
        assert_eq!((found.videos.len(), found.steps(), found.issues.len()), (1, 2, 2));
        let video = &found.videos[0];
        assert_eq!((video.id.as_str(), video.domain.as_deref()), ("a", Some("Crafts")));
        assert_eq!(video.steps[0].text, "Cut the paper");
    }

    #[test]
    fn segments_of_youcook2_are_read() {
        let text = r#"{"database": {"v": {"duration": 90, "subset": "validation",
            "recipe_type": 101, "annotations": [
            {"segment": [3, 9], "id": 0, "sentence": "whisk the eggs"},
            {"segment": "x", "id": 1, "sentence": "pour"}]}, "w": {"annotations": []}}}"#;
        let found = read_text(youcook2, text).unwrap();
        assert_eq!((found.videos.len(), found.steps(), found.issues.len()), (1, 1, 2));
        assert_eq!(found.videos[0].task, "101");
        assert!(read_text(youcook2, "[]").is_err());
    }
}
