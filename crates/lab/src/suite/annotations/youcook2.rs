//! YouCook2: segments and sentences by video.

use std::path::Path;

use serde_json::Value;

use super::{AnnotatedVideo, Annotations, AnnotationsError, json};

const KIND: &str = "annotations of YouCook2";

pub fn read(path: &Path) -> Result<Annotations, AnnotationsError> {
    let root = json::read(path, KIND)?;
    let videos = root.get("database").and_then(Value::as_object);
    let videos = videos.ok_or_else(|| json::wrong(path, KIND, "it has no `database`"))?;
    let mut read = Annotations::default();
    for (id, record) in videos {
        let mut video = AnnotatedVideo {
            id: id.clone(),
            task: record.get("recipe_type").and_then(json::name).unwrap_or_default(),
            domain: Some("cooking".into()),
            length_ms: json::length(record.get("duration")),
            ..AnnotatedVideo::default()
        };
        let segment = |step: &Value| json::pair(step.get("segment"));
        read.add_json_steps(&mut video, record.get("annotations"), "sentence", segment, "segment");
        read.add(video);
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("y.json");
        let text = r#"{"database": {"v": {"duration": 90, "subset": "validation",
            "recipe_type": 101, "annotations": [
            {"segment": [3, 9], "id": 0, "sentence": "whisk the eggs"},
            {"segment": "x", "id": 1, "sentence": "pour"}]}, "w": {"annotations": []}}}"#;
        std::fs::write(&path, text).unwrap();
        let found = read(&path).unwrap();
        assert_eq!((found.videos.len(), found.steps(), found.issues.len()), (1, 1, 2));
        assert_eq!(found.videos[0].task, "101");
        std::fs::write(&path, "[]").unwrap();
        assert!(read(&path).is_err());
    }
}
