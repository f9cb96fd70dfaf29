//! CrossTask: steps of videos of named tasks. Read from one JSON list (a video of a task each), or from
//! the authors' folder: `tasks_primary.txt` and `annotations/TASK_VIDEO.csv`.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Map, Value};
use stitch_engine::files::FileError;

use super::{AnnotatedVideo, Annotations, AnnotationsError, json, tables};

const KIND: &str = "annotations of CrossTask";

/// Reads a file of JSON, or the authors' folder.
pub fn read(path: &Path) -> Result<Annotations, AnnotationsError> {
    if path.is_dir() {
        return read_folder(path);
    }
    let root = json::read(path, KIND)?;
    let list = root.as_array().ok_or_else(|| json::wrong(path, KIND, "it is no list"))?;
    let mut read = Annotations::default();
    for (number, record) in list.iter().enumerate() {
        match record.as_object() {
            Some(record) => read_video(record, &mut read),
            None => read.report(format!("record {}", number + 1), "it is no object"),
        }
    }
    Ok(read)
}

fn read_video(record: &Map<String, Value>, read: &mut Annotations) {
    let mut video = AnnotatedVideo {
        id: json::text(record, "video_id").unwrap_or_default().into(),
        task: json::text(record, "task").unwrap_or_default().into(),
        length_ms: json::length(record.get("duration")),
        ..AnnotatedVideo::default()
    };
    let times = |step: &Value| step.get("start")?.as_f64().zip(step.get("end")?.as_f64());
    read.add_json_steps(&mut video, record.get("steps"), "step", times, "times");
    read.add(video);
}

/// What a task is called, and its steps by number.
type Tasks = HashMap<String, (String, Vec<String>)>;

fn read_folder(folder: &Path) -> Result<Annotations, AnnotationsError> {
    let list = folder.join("tasks_primary.txt");
    let text = std::fs::read_to_string(&list).map_err(FileError::at(&list))?;
    let tasks = tasks(&text);
    let mut read = Annotations::default();
    for path in tables::csv_files(&folder.join("annotations"))? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let known = name.split_once('_').and_then(|(task, id)| Some((tasks.get(task)?, id)));
        let Some(((task, steps), id)) = known else {
            read.report(name, "its name is not TASK_VIDEO with a task of tasks_primary.txt");
            continue;
        };
        let text = std::fs::read_to_string(&path).map_err(FileError::at(&path))?;
        let mut video =
            AnnotatedVideo { id: id.into(), task: task.clone(), ..AnnotatedVideo::default() };
        read_rows(&text, steps, &mut video, &mut read);
        read.add(video);
    }
    Ok(read)
}

fn read_rows(text: &str, steps: &[String], video: &mut AnnotatedVideo, read: &mut Annotations) {
    for row in tables::rows(text) {
        let number = |at: usize| tables::value(&row, at).parse::<f64>().ok();
        let step = number(0).and_then(|number| steps.get((number as usize).wrapping_sub(1)));
        match (step, number(1), number(2)) {
            (Some(step), Some(from), Some(to)) => read.add_step(video, step, from, to),
            _ => read.report(video.id.clone(), format!("`{}` is no step", tables::line(&row))),
        }
    }
}

/// Blocks of five lines: number, name, address, count, steps.
fn tasks(text: &str) -> Tasks {
    let mut tasks = Tasks::new();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    for block in lines.chunks(5) {
        if let [number, name, _, _, steps] = block {
            let steps = steps.split(',').map(|step| step.trim().to_owned()).collect();
            tasks.insert((*number).to_owned(), ((*name).to_owned(), steps));
        }
    }
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_odd_times_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("crosstask.json");
        let text = r#"[{"task": "Make Tea", "video_id": "v", "steps": [
            {"step": "boil water", "start": 5, "end": 9}, {"step": "pour", "start": 9, "end": 9},
            {"step": "steep", "start": 3, "end": 4}]}, 5]"#;
        std::fs::write(&file, text).unwrap();
        let found = read(&file).unwrap();
        assert_eq!((found.videos.len(), found.steps()), (1, 2));
        let said: Vec<&str> = found.issues.iter().map(|odd| odd.reason.as_str()).collect();
        let expected = [
            "from 9 s to 9 s is no time",
            "its steps are not in the order of their times",
            "it is no object",
        ];
        assert_eq!(said, expected);
        let tasks = "7\nMake Tea\nhttps://example.org\n2\nboil water,steep\n\n";
        std::fs::write(folder.path().join("tasks_primary.txt"), tasks).unwrap();
        std::fs::create_dir(folder.path().join("annotations")).unwrap();
        let rows = "1,2.5,4.0\n2,5,9\n3,10,11\n";
        std::fs::write(folder.path().join("annotations/7_a_b.csv"), rows).unwrap();
        std::fs::write(folder.path().join("annotations/8_x.csv"), "").unwrap();
        let found = read(folder.path()).unwrap();
        assert_eq!((found.videos[0].id.as_str(), found.steps(), found.issues.len()), ("a_b", 2, 2));
    }
}
