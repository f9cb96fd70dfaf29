//! COIN: steps by video, as its authors give them (COIN.json: an object of videos under `database`) and
//! as the splits for planning do (a list of objects with one video each).

use std::path::Path;

use serde_json::{Map, Value};

use super::{AnnotatedVideo, Annotations, AnnotationsError, json};

const KIND: &str = "annotations of COIN";

pub fn read(path: &Path) -> Result<Annotations, AnnotationsError> {
    let root = json::read(path, KIND)?;
    let records: Vec<(&String, &Value)> = match (&root, root.get("database")) {
        (_, Some(Value::Object(videos))) => videos.iter().collect(),
        (Value::Array(list), _) => {
            list.iter().filter_map(Value::as_object).flat_map(Map::iter).collect()
        }
        _ => return Err(json::wrong(path, KIND, "neither `database` nor a list")),
    };
    let mut read = Annotations::default();
    for (id, record) in records {
        match record.as_object() {
            Some(record) => read_video(id, record, &mut read),
            None => read.report(id.clone(), "it is no object"),
        }
    }
    Ok(read)
}

fn read_video(id: &str, record: &Map<String, Value>, read: &mut Annotations) {
    let mut video = AnnotatedVideo {
        id: id.into(),
        task: json::text(record, "class").unwrap_or_default().into(),
        length_ms: json::length(record.get("duration")),
        ..AnnotatedVideo::default()
    };
    let segment = |step: &Value| json::pair(step.get("segment"));
    read.add_json_steps(&mut video, record.get("annotation"), "label", segment, "segment");
    read.add(video);
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"recipe_type": 3, "class": "BoilEggs", "subset": "training",
        "duration": 60.5, "annotation": [
        {"id": "1", "segment": [2.0, 8.0], "label": "fill the pot"},
        {"id": "2", "segment": [9.0, 30.0], "label": "boil the eggs"},
        {"id": "3", "segment": [30.0], "label": "peel the eggs"}]}"#;

    fn read_text(text: &str) -> Result<Annotations, AnnotationsError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("coin.json");
        std::fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn both_forms_say_the_same() {
        let official = format!(r#"{{"database": {{"abc": {RECORD}, "odd": 7}}}}"#);
        let planning = format!(r#"[{{"abc": {RECORD}}}, {{"odd": 7}}]"#);
        for text in [official, planning] {
            let read = read_text(&text).unwrap();
            assert_eq!((read.videos.len(), read.steps()), (1, 2));
            let video = &read.videos[0];
            assert_eq!((video.task.as_str(), video.length_ms), ("BoilEggs", Some(60_500)));
            assert_eq!(read.issues.len(), 2, "{:?}", read.issues);
        }
        let told = read_text("{}").unwrap_err().to_string();
        assert!(told.contains("not annotations of COIN"), "{told}");
        assert!(read_text("[1, {\"x\": {}}]").unwrap().videos.is_empty());
    }
}
