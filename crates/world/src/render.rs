//! A library as videos with speech, subtitles and the truth.

use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;
use stitch_engine::files::write_whole;
use stitch_engine::media::encode::{VideoFormat, VideoWriter};
use stitch_engine::media::{MediaError, speech};
use stitch_engine::progress::Progress;
use tiny_skia::Pixmap;

use crate::drawing::{Place, draw};
use crate::folder::{Folder, Form, Manifest};
use crate::library::{examples, mixed, scripts};
use crate::narration::srt;
use crate::script::Script;
use crate::settings::{Settings, WorldError};
use crate::sound;
use crate::truth::Truth;

/// Drawn pictures; each stands for two frames of the file.
const PICTURES_PER_SECOND: u32 = 12;
const FRAMES_PER_SECOND: u32 = 24;
/// In procedures.jsonl, besides the ones written by hand; chosen by hand.
const MIXED_PROCEDURES: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub videos: usize,
    /// Videos made now; the others were there already.
    pub made: usize,
    /// Length of all videos.
    pub seconds: u64,
    /// Whether the videos have speech.
    pub spoken: bool,
    /// Lines of procedures.jsonl.
    pub procedures: usize,
}

/// Renders a library into a folder, or goes on where an earlier run stopped.
pub fn render(
    out: &Path,
    settings: Settings,
    force: bool,
    progress: &dyn Progress,
) -> Result<Summary, WorldError> {
    settings.check()?;
    let spoken = can_speak(progress)?;
    let form = if spoken { Form::Spoken } else { Form::Silent };
    let folder = Folder::open(out, &Manifest::new(settings, form), force)?;
    let scripts = scripts(settings.tasks, settings.seed, settings.videos);
    let left: Vec<&Script> =
        scripts.iter().filter(|script| !folder.join(&video_file(script)).exists()).collect();
    progress.begin("rendering", left.iter().map(|script| script.duration_ms() / 1000).sum());
    left.par_iter().try_for_each(|script| {
        let made = video(&folder, script, settings, spoken, progress);
        // a stopped run may fail in other ways; that it was stopped is what to report
        progress.check()?;
        made
    })?;
    let procedures = write_truth(&folder, settings, &scripts)?;
    let seconds = scripts.iter().map(|script| script.duration_ms() / 1000).sum();
    Ok(Summary { videos: scripts.len(), made: left.len(), seconds, spoken, procedures })
}

fn video_file(script: &Script) -> String {
    format!("{}.mp4", script.name)
}

/// Whether espeak-ng is installed; without it the videos are silent, with a warning.
fn can_speak(progress: &dyn Progress) -> Result<bool, MediaError> {
    match speech::available() {
        Ok(()) => Ok(true),
        Err(error @ MediaError::Missing { .. }) => {
            progress
                .warn(&format!("{error}; until then the videos are silent, with subtitles only"));
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Renders one video. The video file is written last: where it exists, all is complete.
fn video(
    folder: &Folder,
    script: &Script,
    settings: Settings,
    spoken: bool,
    progress: &dyn Progress,
) -> Result<(), WorldError> {
    progress.check()?;
    write_whole(&folder.join(&format!("{}.srt", script.name)), srt(&script.lines).as_bytes())?;
    folder.write_json(&format!("{}.info.json", script.name), &info(script))?;
    let sound = if spoken { sound::track(script, progress)? } else { sound::silence(script) };
    let format = VideoFormat {
        width: settings.width,
        height: settings.height,
        pictures_per_second: PICTURES_PER_SECOND,
        frames_per_second: FRAMES_PER_SECOND,
    };
    let mut writer = VideoWriter::start(&folder.join(&video_file(script)), format, Some(&sound))?;
    pictures(script, settings, |number, picture| {
        progress.check()?;
        writer.picture(picture)?;
        progress.advance(u64::from((number + 1) % u64::from(PICTURES_PER_SECOND) == 0));
        Ok(())
    })?;
    writer.finish(progress)?;
    Ok(())
}

/// Hands every picture of a video, as RGBA bytes, to `take`.
fn pictures(
    script: &Script,
    settings: Settings,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), WorldError>,
) -> Result<(), WorldError> {
    let mut canvas = canvas(settings)?;
    let place = Place::new(script.domain, script.place_seed);
    let count = script.duration_ms() * u64::from(PICTURES_PER_SECOND) / 1000;
    let mut shots = script.shots.iter().peekable();
    for number in 0..count {
        let now = number * 1000 / u64::from(PICTURES_PER_SECOND);
        while shots.next_if(|shot| shot.end_ms <= now).is_some() {}
        let Some(shot) = shots.peek() else { break };
        let since = (now - shot.start_ms) as f32;
        draw(&place, &shot.scene, since / shot.length_ms() as f32, since / 1000.0, &mut canvas);
        take(number, canvas.data())?;
    }
    Ok(())
}

pub(super) fn canvas(settings: Settings) -> Result<Pixmap, WorldError> {
    let Settings { width, height, .. } = settings;
    Pixmap::new(width, height).ok_or(WorldError::Size { width, height })
}

/// A video's metadata, with yt-dlp's keys.
#[derive(Serialize)]
struct Info<'a> {
    id: &'a str,
    title: &'a str,
    uploader: &'a str,
    license: &'static str,
    duration: f64,
    categories: [&'static str; 1],
    tags: [&'a str; 1],
}

fn info(script: &Script) -> Info<'_> {
    Info {
        id: &script.name,
        title: &script.title,
        uploader: script.presenter,
        license: "CC0",
        duration: script.duration_ms() as f64 / 1000.0,
        categories: ["Howto & Style"],
        tags: [script.task],
    }
}

/// Writes truth.json and procedures.jsonl; returns how many procedures there are.
/// It is written last: where it is, every video is.
fn write_truth(
    folder: &Folder,
    settings: Settings,
    scripts: &[Script],
) -> Result<usize, WorldError> {
    let truth = Truth::new(settings.tasks, settings.seed, scripts);
    let mut procedures = examples(&truth);
    procedures.extend(mixed(&truth, MIXED_PROCEDURES, settings.seed));
    folder.write_json_lines("procedures.jsonl", &procedures)?;
    folder.write_json("truth.json", &truth)?;
    Ok(procedures.len())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use sha2::{Digest, Sha256};
    use stitch_engine::progress::Silent;

    use super::*;

    const SMALL: Settings =
        Settings { seed: 5, videos: 2, width: 64, height: 64, ..Settings::DEFAULT };

    fn hash(index: usize, seed: u64) -> String {
        let mut hash = Sha256::new();
        pictures(&Script::new(SMALL.tasks, seed, index), SMALL, |_, picture| {
            hash.update(picture);
            Ok(())
        })
        .unwrap();
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_frames_to_the_byte() {
        assert_eq!(hash(1, 5), hash(1, 5));
        assert_ne!(hash(1, 5), hash(1, 6));
    }

    /// Stops after so many seconds of video.
    struct StopsAfter(AtomicU64);

    impl Progress for StopsAfter {
        fn begin(&self, _stage: &str, _total: u64) {}
        fn advance(&self, units: u64) {
            let left = self.0.load(Ordering::SeqCst);
            self.0.store(left.saturating_sub(units), Ordering::SeqCst);
        }
        fn warn(&self, _message: &str) {}
        fn stopped(&self) -> bool {
            self.0.load(Ordering::SeqCst) == 0
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_stopped_run_leaves_nothing_half_written_and_goes_on() {
        let out = tempfile::tempdir().unwrap();
        let stopped = render(out.path(), SMALL, false, &StopsAfter(AtomicU64::new(3)));
        assert!(matches!(stopped, Err(WorldError::Stopped(_))));
        let left = names(out.path());
        assert!(
            !left.iter().any(|name| name.ends_with(".mp4") || name == "truth.json"),
            "{left:?}"
        );
        assert!(!left.iter().any(|name| name.starts_with(".writing-")), "{left:?}");

        let summary = render(out.path(), SMALL, false, &Silent).unwrap();
        assert_eq!((summary.videos, summary.made), (2, 2));
        let truth = Truth::read(&out.path().join("truth.json")).unwrap();
        assert_eq!(truth.videos.len(), 2);
        assert_eq!(render(out.path(), SMALL, false, &Silent).unwrap().made, 0);
    }
}
