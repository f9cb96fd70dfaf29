//! A library as single frames for training: a few pictures of every shot with their labels.

use std::path::Path;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stitch_engine::files::FileError;
use stitch_engine::progress::Progress;

use crate::drawing::{Place, draw};
use crate::folder::{Folder, Form, Manifest, WRITING};
use crate::library::scripts;
use crate::picture::png;
use crate::render::canvas;
use crate::script::{Script, Shot};
use crate::settings::{Settings, WorldError};
use crate::vocabulary::{Domain, Scene, Thing, Verb};

/// A line of frames.jsonl.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameTruth {
    /// The picture, beside frames.jsonl.
    pub file: String,
    /// The step in short words; empty if the frame shows none.
    pub text: String,
    /// None if the frame shows no step.
    pub verb: Option<Verb>,
    /// The subject first.
    pub things: Vec<Thing>,
    pub domain: Domain,
    pub video: String,
    /// Since the video's start.
    pub second: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FramesSummary {
    pub videos: usize,
    /// Videos drawn now; the others were there already.
    pub made: usize,
    /// Of all videos.
    pub frames: usize,
}

/// Frames of one shot; chosen by hand.
const MAX_PER_STEP: usize = 200;

/// Draws `per_step` frames of every shot into a folder, or goes on where an earlier run stopped.
pub fn render_frames(
    out: &Path,
    settings: Settings,
    per_step: usize,
    force: bool,
    progress: &dyn Progress,
) -> Result<FramesSummary, WorldError> {
    settings.check()?;
    if !(1..=MAX_PER_STEP).contains(&per_step) {
        return Err(WorldError::FramesPerStep { per_step });
    }
    let folder = Folder::open(out, &Manifest::new(settings, Form::Frames(per_step)), force)?;
    let scripts = scripts(settings.tasks, settings.seed, settings.videos);
    let left: Vec<&Script> =
        scripts.iter().filter(|script| !folder.join(&frames_folder(script)).exists()).collect();
    progress.begin("drawing", left.len() as u64);
    left.par_iter().try_for_each(|script| {
        video_frames(&folder, script, settings, per_step, progress)?;
        progress.advance(1);
        Ok::<(), WorldError>(())
    })?;
    let truths: Vec<FrameTruth> =
        scripts.iter().flat_map(|script| truths(script, per_step)).collect();
    folder.write_json_lines("frames.jsonl", &truths)?;
    let videos: Vec<Value> = scripts.iter().map(|script| video(script, per_step)).collect();
    folder.write_json_lines("videos.jsonl", &videos)?;
    Ok(FramesSummary { videos: scripts.len(), made: left.len(), frames: truths.len() })
}

fn frames_folder(script: &Script) -> String {
    format!("{}.frames", script.name)
}

/// Draws the frames of one video into a temporary folder, which is renamed when it is complete.
fn video_frames(
    folder: &Folder,
    script: &Script,
    settings: Settings,
    per_step: usize,
    progress: &dyn Progress,
) -> Result<(), WorldError> {
    let whole = folder.join(&frames_folder(script));
    let temporary = temporary_folder(folder).map_err(FileError::at(&whole))?;
    let place = Place::new(script.domain, script.place_seed);
    let mut canvas = canvas(settings)?;
    for (number, (shot, at)) in moments(script, per_step).enumerate() {
        progress.check()?;
        draw(&place, &shot.scene, at, at * shot.length_ms() as f32 / 1000.0, &mut canvas);
        let path = temporary.path().join(file_name(number));
        let bytes = png(&canvas, png::Compression::Fast).map_err(FileError::at(&path))?;
        std::fs::write(&path, bytes).map_err(FileError::at(&path))?;
    }
    std::fs::rename(temporary.path(), &whole).map_err(FileError::at(&whole))?;
    Ok(())
}

fn temporary_folder(folder: &Folder) -> std::io::Result<tempfile::TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(WRITING);
    #[cfg(unix)] // temporary folders are private by default, these pictures are not
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    builder.tempdir_in(folder.join("."))
}

/// The moments of a video that are drawn: every shot with its progress, 0..1.
fn moments(script: &Script, per_step: usize) -> impl Iterator<Item = (&Shot, f32)> {
    let within =
        move |shot| (0..per_step).map(move |frame| (shot, (frame as f32 + 0.5) / per_step as f32));
    script.shots.iter().flat_map(within)
}

fn file_name(number: usize) -> String {
    format!("{number:04}.png")
}

fn truths(script: &Script, per_step: usize) -> Vec<FrameTruth> {
    let truth = |(number, (shot, at)): (usize, (&Shot, f32))| {
        let (verb, things) = match &shot.scene {
            Scene::Step(action) => (Some(action.verb), action.things.clone()),
            _ => (None, Vec::new()),
        };
        FrameTruth {
            file: format!("{}/{}", frames_folder(script), file_name(number)),
            text: shot.text.clone(),
            verb,
            things,
            domain: script.domain,
            video: script.name.clone(),
            second: (shot.start_ms as f64 + f64::from(at) * shot.length_ms() as f64).round()
                / 1000.0,
        }
    };
    moments(script, per_step).enumerate().map(truth).collect()
}

/// A line of videos.jsonl, as `stitch eval --data` reads it: the steps of a video with their pictures.
fn video(script: &Script, per_step: usize) -> Value {
    let mut steps: Vec<Value> = Vec::new();
    let mut last = None;
    for ((shot, _), truth) in moments(script, per_step).zip(truths(script, per_step)) {
        let Some(verb) = truth.verb else { continue };
        if last != Some(shot.start_ms) {
            last = Some(shot.start_ms);
            let (start, end) = (shot.start_ms, shot.start_ms + shot.length_ms());
            let label = json!([verb, truth.things]).to_string();
            steps.push(json!({"text": truth.text, "label": label, "images": [],
                "start": start as f64 / 1000.0, "end": end as f64 / 1000.0}));
        }
        if let Some(images) = steps.last_mut().and_then(|step| step["images"].as_array_mut()) {
            images.push(json!(truth.file));
        }
    }
    let (name, task, title) = (&script.name, script.task, &script.title);
    json!({"video": name, "task": task, "title": title, "domain": script.domain, "steps": steps})
}

#[cfg(test)]
mod tests {
    use stitch_engine::progress::Silent;

    use super::*;

    #[test]
    fn every_line_has_its_picture_and_a_second_run_draws_nothing() {
        let out = tempfile::tempdir().unwrap();
        let settings = Settings { seed: 3, videos: 2, width: 64, height: 64, ..Settings::DEFAULT };
        let first = render_frames(out.path(), settings, 2, false, &Silent).unwrap();
        assert_eq!(first.made, 2);
        let lines = std::fs::read_to_string(out.path().join("frames.jsonl")).unwrap();
        let truths: Vec<FrameTruth> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(truths.len(), first.frames);
        assert!(truths.iter().all(|truth| out.path().join(&truth.file).exists()));
        assert!(truths.iter().any(|truth| truth.verb.is_none() && truth.text.is_empty()));
        assert!(truths.iter().any(|truth| truth.verb.is_some() && !truth.text.is_empty()));
        assert_eq!(render_frames(out.path(), settings, 2, false, &Silent).unwrap().made, 0);
    }

    #[test]
    fn no_frames_and_too_many_are_refused_before_anything_is_written() {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().join("frames");
        for per_step in [0, MAX_PER_STEP + 1] {
            let refused = render_frames(&folder, Settings::DEFAULT, per_step, false, &Silent);
            assert!(matches!(refused, Err(WorldError::FramesPerStep { .. })));
        }
        assert!(!folder.exists());
    }
}
