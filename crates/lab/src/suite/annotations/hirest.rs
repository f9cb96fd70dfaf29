//! HiREST: for each prompt videos with the bounds of a moment and of its steps; and the categories of
//! prompts, where they lie beside the splits.

use std::path::Path;

use serde_json::Value;

use super::{AnnotatedVideo, Annotations, AnnotationsError, json};

const KIND: &str = "a split of HiREST";

/// Reads one split. Most videos have no steps; that is no issue here.
pub fn read(path: &Path) -> Result<Annotations, AnnotationsError> {
    let root = json::read(path, KIND)?;
    let prompts = root.as_object().ok_or_else(|| json::wrong(path, KIND, "it is no object"))?;
    let beside = path.with_file_name("categories.json");
    let categories = if beside.is_file() { json::read(&beside, KIND)? } else { Value::Null };
    let mut read = Annotations::default();
    for (prompt, videos) in prompts {
        let Some(videos) = videos.as_object() else {
            read.report(prompt.clone(), "its videos are no object");
            continue;
        };
        let domain = categories["prompt_to_cat"][prompt.as_str()].as_str();
        for (name, record) in videos {
            let steps = record.get("steps");
            if steps.and_then(Value::as_array).is_none_or(Vec::is_empty) {
                continue;
            }
            let mut video = AnnotatedVideo {
                id: name.strip_suffix(".mp4").unwrap_or(name).into(),
                task: prompt.clone(),
                domain: domain.map(str::to_owned),
                length_ms: json::length(record.get("v_duration")),
                ..AnnotatedVideo::default()
            };
            let bounds = |step: &Value| json::pair(step.get("absolute_bounds"));
            read.add_json_steps(&mut video, steps, "heading", bounds, "bounds");
            read.add(video);
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_videos_with_steps_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("split.json");
        let text = r#"{"Make a Kite": {
            "a.mp4": {"v_duration": 50.0, "steps": [
                {"index": 0, "heading": "Cut the paper ", "absolute_bounds": [4, 9]},
                {"index": 1, "heading": "Tie", "absolute_bounds": [9, 4]},
                {"index": 2, "heading": "Fly", "absolute_bounds": [9, 20]}]},
            "b.mp4": {"v_duration": 9.0, "steps": []}}, "Odd": 3}"#;
        std::fs::write(&path, text).unwrap();
        let categories = r#"{"prompt_to_cat": {"Make a Kite": "Crafts"}}"#;
        std::fs::write(folder.path().join("categories.json"), categories).unwrap();
        let found = read(&path).unwrap();
        assert_eq!((found.videos.len(), found.steps(), found.issues.len()), (1, 2, 2));
        let video = &found.videos[0];
        assert_eq!((video.id.as_str(), video.domain.as_deref()), ("a", Some("Crafts")));
        assert_eq!(video.steps[0].text, "Cut the paper");
    }
}
