//! The demonstration as a video file.
//!
//! Every clip is encoded alone to one format and cached by content, so that a swapped clip costs one
//! encode and a killed run resumes. The parts are then joined without encoding them again, beside one
//! continuous audio track, so that sound and pictures cannot drift apart.

pub mod options;
pub mod plan;
pub mod follow;
pub mod cues;
pub mod loudness;
pub mod sound;
pub mod mix;
pub mod text;
pub mod cards;
pub mod cache;
pub mod overlays;
pub mod parts;

use std::path::{Path, PathBuf};

pub use options::{Aspect, Canvas, Captions, Overlays, RenderOptions, Soundtrack, SourceSound};
pub use plan::{Entry, Plan, Shown};

use crate::demonstrate::Demonstration;
use crate::files::{FileError, UNFINISHED, persist, temporary};
use crate::media::MediaError;
use crate::media::audio::RATE;
use crate::media::join::join;
use crate::progress::{Progress, Stopped};
use cache::Cache;
use mix::Mix;
use parts::{EncodedPart, Renderer};

/// How long a step is shown before the narrator begins to speak.
pub const LEAD_MS: u64 = 200;

type Result<T, E = RenderError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    #[error("the demonstration shows nothing; allow cards for gaps, or index more videos")]
    Nothing,
    #[error("the cut for step {step} is empty; make the demonstration again")]
    EmptyCut { step: usize },
    #[error("the cut for step {step} plays at {speed} times the speed; 0.1 to 16 can be made")]
    Speed { step: usize, speed: f64 },
    #[error("threads could not be started: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    #[error(transparent)]
    Media(#[from] MediaError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

#[derive(Clone, Debug)]
pub struct RenderReport {
    /// Exports take their times from here.
    pub plan: Plan,
    pub encoded: usize,
    pub reused: usize,
}

/// Renders the demonstration to an MP4 file at `out`, keeping encoded parts in `cache`.
pub fn render(
    demonstration: &Demonstration,
    options: &RenderOptions,
    out: &Path,
    cache: &Path,
    progress: &dyn Progress,
) -> Result<RenderReport> {
    let plan = Plan::new(demonstration, options, progress)?;
    let cache = Cache::open(cache)?;
    let renderer = Renderer::new(demonstration, options, &plan, &cache)?;
    let mix = mix(&renderer, progress)?;
    let parts = renderer.pictures(progress)?;
    let sounds = renderer.sounds(progress)?;
    progress.begin("joining", 1);
    assemble(&renderer, &parts, &sounds, mix.as_ref(), out, progress)?;
    progress.advance(1);
    let encoded = parts.iter().filter(|part| part.is_new).count();
    Ok(RenderReport { encoded, reused: parts.len() - encoded, plan })
}

/// What is heard beside or instead of the clips' own sound, where there is such a thing.
fn mix(renderer: &Renderer, progress: &dyn Progress) -> Result<Option<Mix>> {
    let (soundtrack, plan) = (&renderer.options.soundtrack, renderer.plan);
    if soundtrack.is_plain() {
        return Ok(None);
    }
    let per_frame = u64::from(RATE / plan.canvas.fps);
    let total = plan.frames() * per_frame;
    let mut voice = Vec::new();
    for (step, path) in soundtrack.voice.iter().enumerate() {
        if let Some((path, (start_ms, _))) = path.as_ref().zip(plan.step_ms(step)) {
            let start = (start_ms + LEAD_MS) * u64::from(RATE) / 1000;
            let sound = renderer.sound_file(path, total.saturating_sub(start), progress)?;
            voice.push((start, sound));
        }
    }
    let music = soundtrack.music.as_ref();
    let music = music.map(|path| renderer.sound_file(path, total, progress)).transpose()?;
    Ok(Some(Mix { source: soundtrack.source, voice, music }))
}

/// Joins the parts with audio, captions and chapters.
fn assemble(
    renderer: &Renderer,
    parts: &[EncodedPart],
    sounds: &[Option<PathBuf>],
    mix: Option<&Mix>,
    out: &Path,
    progress: &dyn Progress,
) -> Result<()> {
    let (cache, plan) = (renderer.cache, renderer.plan);
    let folder = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(&cache.folder)
        .map_err(FileError::at(&cache.folder))?;
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).map_err(FileError::at(path))
    };
    write("pieces.txt", &list(parts, plan.canvas.fps))?;
    let chapters = cues::chapters(renderer.demonstration, plan);
    write("metadata.txt", &cues::metadata(&renderer.demonstration.title, &chapters))?;
    let soft = renderer.options.captions == Captions::Soft;
    if soft {
        write("captions.srt", &cues::srt(&cues::captions(renderer.demonstration, plan)))?;
    }
    let track = folder.path().join("sound.s16");
    let mut file = std::fs::File::create(&track).map_err(FileError::at(&track))?;
    sound::assemble(plan, sounds, &mut file)?;
    if let Some(mix) = mix {
        mix.apply(&track, folder.path())?;
    }
    let file = temporary(&cache.folder, ".mp4").map_err(FileError::at(&cache.folder))?;
    join(folder.path(), &cache.folder.join("pieces"), soft, file.path(), progress)?;
    Ok(persist(file, out)?)
}

/// The list for the concat demuxer. The names are keys, relative to the list; the durations are
/// exact, because what containers say is rounded.
fn list(parts: &[EncodedPart], fps: u32) -> String {
    let mut list = String::from("ffconcat version 1.0\n");
    for EncodedPart { key, frames, .. } in parts {
        let seconds = *frames as f64 / f64::from(fps);
        list.push_str(&format!("file '../pieces/{key}.mov'\nduration {seconds:.6}\n"));
    }
    list
}
