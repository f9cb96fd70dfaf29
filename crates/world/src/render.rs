//! A library as videos: pictures, speech, subtitles, and the truth beside them.

use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;
use stitch_engine::files::{FileError, write_whole};
use stitch_engine::media::encode::{VideoFormat, VideoWriter};
use stitch_engine::media::{MediaError, speech};
use stitch_engine::progress::Progress;
use tiny_skia::Pixmap;

use super::folder::{Folder, Form, Manifest};
use super::library::{MixedProcedure, examples, mixed, scripts};
use super::narration::srt;
use super::script::Script;
use super::settings::{Settings, WorldError};
use super::sound;
use super::stage::{Place, draw};
use super::truth::Truth;

/// Pictures drawn for each second; each stands for two frames of the file.
pub const PICTURES_PER_SECOND: u32 = 12;
/// Frames a second of the files.
pub const FRAMES_PER_SECOND: u32 = 24;
/// How many procedures are offered beside the ones written by hand.
const MIXED_PROCEDURES: usize = 60;

/// What was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Videos in the library.
    pub videos: usize,
    /// Of those, the ones made now; the others were there already.
    pub made: usize,
    /// How long the library lasts.
    pub seconds: u64,
    /// Whether the videos speak.
    pub spoken: bool,
    /// How many procedures it offers to try.
    pub procedures: usize,
}

/// Makes a library in a folder, or goes on where an earlier run stopped.
pub fn render(
    out: &Path,
    settings: Settings,
    force: bool,
    progress: &dyn Progress,
) -> Result<Summary, WorldError> {
    settings.check()?;
    let spoken = can_speak(progress)?;
    let form = if spoken { Form::Spoken } else { Form::Silent };
    let folder = Folder::take(out, &Manifest::new(settings, form), force)?;
    let scripts = scripts(settings.seed, settings.videos);
    let left: Vec<&Script> =
        scripts.iter().filter(|script| !folder.join(&video_file(script)).exists()).collect();
    progress.begin("rendering", left.iter().map(|script| script.duration_ms() / 1000).sum());
    left.par_iter().try_for_each(|script| {
        let made = video(&folder, script, settings, spoken, progress);
        // whatever else a stopped run runs into, that it was stopped is what matters
        progress.check()?;
        made
    })?;
    let procedures = write_truth(&folder, settings.seed, &scripts)?;
    let seconds = scripts.iter().map(|script| script.duration_ms() / 1000).sum();
    Ok(Summary { videos: scripts.len(), made: left.len(), seconds, spoken, procedures })
}

fn video_file(script: &Script) -> String {
    format!("{}.mp4", script.name)
}

/// Whether there is a voice. Without one the library is silent, and whoever asked is told.
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

/// Makes one video. Its subtitles come first: a video that is there is whole.
fn video(
    folder: &Folder,
    script: &Script,
    settings: Settings,
    spoken: bool,
    progress: &dyn Progress,
) -> Result<(), WorldError> {
    progress.check()?;
    write_whole(&folder.join(&format!("{}.srt", script.name)), srt(&script.lines).as_bytes())?;
    write_json(&folder.join(&format!("{}.info.json", script.name)), &info(script))?;
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
pub fn pictures(
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

/// An empty picture of the library's size.
pub(super) fn canvas(settings: Settings) -> Result<Pixmap, WorldError> {
    let Settings { width, height, .. } = settings;
    Pixmap::new(width, height).ok_or(WorldError::Size { width, height })
}

/// What is known about a video, in yt-dlp's words.
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

/// Writes what the library shows and what one may ask it for; returns how many procedures that are.
/// It is written last: where it is, every video is.
fn write_truth(folder: &Folder, seed: u64, scripts: &[Script]) -> Result<usize, WorldError> {
    let truth = Truth::new(seed, scripts);
    let mut procedures = examples(&truth);
    procedures.extend(mixed(&truth, MIXED_PROCEDURES, seed));
    write_lines(&folder.join("procedures.jsonl"), &procedures)?;
    write_json(&folder.join("truth.json"), &truth)?;
    Ok(procedures.len())
}

fn write_lines(path: &Path, procedures: &[MixedProcedure]) -> Result<(), FileError> {
    let lines: Result<Vec<String>, _> = procedures.iter().map(serde_json::to_string).collect();
    let lines = lines.map_err(std::io::Error::from).map_err(FileError::at(path))?;
    write_whole(path, (lines.join("\n") + "\n").as_bytes())
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    let json = serde_json::to_vec_pretty(value).map_err(std::io::Error::from);
    write_whole(path, &json.map_err(FileError::at(path))?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use sha2::{Digest, Sha256};
    use stitch_engine::progress::Silent;

    use super::*;

    const SMALL: Settings = Settings { seed: 5, videos: 2, width: 64, height: 64 };

    fn hash(index: usize, seed: u64) -> String {
        let mut hash = Sha256::new();
        pictures(&Script::new(seed, index), SMALL, |_, picture| {
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
