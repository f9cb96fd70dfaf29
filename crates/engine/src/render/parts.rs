//! The video parts and the audio that a plan needs, encoded or found in the cache.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::cache::{Cache, identity, key};
use super::cues::caption_lines;
use super::follow::{self, CropShare, GreyFrames, follow};
use super::options::{Aspect, Captions, RenderOptions};
use super::overlays::cleaning;
use super::plan::{Entry, Plan, Shown};
use super::sound::{AudioCut, level};
use super::{RenderError, Result, cards};
use crate::demonstrate::{Choice, Demonstration};
use crate::files::{FileError, mark_used, persist, temporary, write_whole};
use crate::media::Program;
use crate::media::audio::{RATE, duration_ms};
use crate::media::cut::{Cleaning, Content, Layer, VideoPart, crop_shares, encode_part};
use crate::media::frames::{GreySampling, grey_frames};
use crate::progress::Progress;

/// Encodes at once: each takes about a hundred megabytes.
const MAX_ENCODES: usize = 3;

/// Encodes what is not in the cache.
pub struct Renderer<'a> {
    pub(super) demonstration: &'a Demonstration,
    pub(super) options: &'a RenderOptions,
    pub(super) plan: &'a Plan,
    pub(super) cache: &'a Cache,
    identities: BTreeMap<PathBuf, String>,
    /// Its version, part of every key: another one makes other bytes.
    ffmpeg: String,
}

/// A video part in the cache.
pub struct EncodedPart {
    pub key: String,
    pub frames: u64,
    pub is_new: bool,
}

/// An entry from one of its frames on.
#[derive(Clone, Copy)]
struct Position {
    entry: usize,
    frame: u64,
}

/// A part to be encoded: of one entry, or of two that fade into each other.
struct PlannedPart {
    positions: Vec<Position>,
    frames: u64,
}

/// What is seen at a position.
struct Scene<'a> {
    layer: Layer<'a>,
    /// The name of an ASS file.
    caption: Option<String>,
    /// Identifies the layer in the cache's keys.
    source: String,
}

impl<'a> Renderer<'a> {
    pub fn new(
        demonstration: &'a Demonstration,
        options: &'a RenderOptions,
        plan: &'a Plan,
        cache: &'a Cache,
    ) -> Result<Self> {
        let mut identities = BTreeMap::new();
        for path in plan.sources.keys() {
            identities.insert(path.clone(), identity(path)?);
        }
        let ffmpeg = Program::Ffmpeg.version()?;
        Ok(Self { demonstration, options, plan, cache, identities, ffmpeg })
    }

    /// All video parts in order, encoded in parallel where they are missing.
    pub fn pictures(&self, progress: &dyn Progress) -> Result<Vec<EncodedPart>> {
        let planned = parts(&self.plan.entries);
        progress.begin("encoding", planned.len() as u64);
        in_parallel(&planned, |part| {
            let encoded = self.part(part, progress)?;
            progress.advance(1);
            Ok(encoded)
        })
    }

    /// The levelled audio of every entry; `None` is silence.
    pub fn sounds(&self, progress: &dyn Progress) -> Result<Vec<Option<PathBuf>>> {
        progress.begin("levelling", self.plan.entries.len() as u64);
        in_parallel(&self.plan.entries, |entry| {
            let sound = self.sound(entry, progress)?;
            progress.advance(1);
            Ok(sound)
        })
    }

    fn part(&self, part: &PlannedPart, progress: &dyn Progress) -> Result<EncodedPart> {
        progress.check()?;
        let scenes = part.positions.iter().map(|position| self.scene(*position));
        let scenes = scenes.collect::<Result<Vec<_>, _>>()?;
        // While one clip fades into the next, the caption is already the next one's.
        let caption = scenes.last().and_then(|scene| scene.caption.clone());
        let (canvas, aspect, frames) = (self.plan.canvas, self.options.aspect, part.frames);
        let encoder = self.options.encoder;
        let format = format!("{canvas:?} {aspect:?} {:?} {frames}", encoder.options());
        let mut words = vec![&*self.ffmpeg, &format, caption.as_deref().unwrap_or_default()];
        words.extend(scenes.iter().map(|scene| &*scene.source));
        let key = key(&words);
        let path = self.cache.piece(&key);
        let is_new = !path.exists();
        if is_new {
            let mut layers: Vec<Layer> = scenes.into_iter().map(|scene| scene.layer).collect();
            if aspect == Aspect::Follow {
                for (layer, position) in layers.iter_mut().zip(&part.positions) {
                    layer.crop_at = self.crop_at(*position, progress)?;
                }
            }
            let video = VideoPart { layers, caption, frames, encoder };
            let folder = &self.cache.folder;
            let file = temporary(folder, ".mov").map_err(FileError::at(folder))?;
            encode_part(&video, canvas, aspect, folder, file.path(), progress)?;
            persist(file, &path)?;
        } else {
            mark_used(&path);
        }
        Ok(EncodedPart { key, frames, is_new })
    }

    /// Writes an ASS script, named by its content, and returns the name.
    fn script(&self, text: &str) -> Result<String> {
        let name = format!("{}.ass", key(&[text]));
        let path = self.cache.folder.join(&name);
        if !path.exists() {
            write_whole(&path, text.as_bytes())?;
        }
        Ok(name)
    }

    fn scene(&self, position: Position) -> Result<Scene<'_>> {
        let entry = self.plan.entries.get(position.entry).ok_or(RenderError::Nothing)?;
        let (canvas, demonstration) = (self.plan.canvas, self.demonstration);
        let card = match entry.shown {
            Shown::Clip { step, clip } => {
                return self.clip_scene(step, clip, position.frame, entry.start + position.frame);
            }
            Shown::Gap(step) => cards::gap(canvas, step + 1, &demonstration.text(step)),
            Shown::Title => {
                let (steps, videos) = (demonstration.steps.len(), self.plan.sources.len());
                cards::title(canvas, &demonstration.title, steps, videos)
            }
        };
        let (content, text) = (Content::Colour(cards::BACKGROUND), self.script(&card)?);
        let source = format!("card {:06x} {text}", cards::BACKGROUND);
        let cleaning = Cleaning::default();
        let layer = Layer { content, text: Some(text), crop_at: None, cleaning };
        Ok(Scene { layer, caption: None, source })
    }

    /// From a frame of the clip, which is frame `at` of the result.
    fn clip_scene(&self, step: usize, clip: usize, frame: u64, at: u64) -> Result<Scene<'_>> {
        let choice = self.choice(step, clip)?;
        let path = &choice.source.path;
        let probe = self.plan.sources.get(path).ok_or(RenderError::Nothing)?;
        let from_s = from_s(choice, frame, self.plan.canvas.fps);
        let caption = match self.options.captions {
            _ if choice.source.generated.is_some() => Some(self.script(&self.caption(step, at))?),
            Captions::Burnt => Some(self.script(&self.caption(step, at))?),
            Captions::Soft | Captions::None => None,
        };
        let content = Content::Video { path, probe, from_s, speed: choice.speed };
        let mut source = self.describe_cut(path, from_s, choice.speed);
        if self.options.aspect == Aspect::Follow {
            // Where the crop stands depends on the whole clip.
            source.push_str(&format!(" {:?}", choice.cut));
        }
        let cleaning = cleaning(self.options.overlays, &choice.source.overlays);
        source.push_str(&cleaning.filters(probe));
        Ok(Scene { layer: Layer { content, text: None, crop_at: None, cleaning }, caption, source })
    }

    /// Where the crop stands from a position on; none for cards, and where nothing is cropped.
    fn crop_at(&self, position: Position, progress: &dyn Progress) -> Result<Option<String>> {
        let entry = self.plan.entries.get(position.entry).ok_or(RenderError::Nothing)?;
        let Shown::Clip { step, clip } = entry.shown else { return Ok(None) };
        let choice = self.choice(step, clip)?;
        let (path, canvas) = (&choice.source.path, self.plan.canvas);
        let probe = self.plan.sources.get(path).ok_or(RenderError::Nothing)?;
        let cleaning = cleaning(self.options.overlays, &choice.source.overlays);
        let size = cleaning.size(probe);
        let Some(crop) = CropShare::of(crop_shares(size, canvas)) else { return Ok(None) };
        let side = |length: u32| (length * follow::SIDE).div_ceil(size.0.max(size.1)).max(2);
        let sampling = GreySampling {
            filters: cleaning.filters(probe),
            from_s: from_s(choice, 0, canvas.fps),
            speed: choice.speed,
            seconds: entry.frames as f64 / f64::from(canvas.fps),
            rate: follow::RATE,
            width: side(size.0),
            height: side(size.1),
        };
        let mut frames = grey_frames(path, &sampling, progress)?;
        frames.truncate((sampling.seconds * f64::from(follow::RATE)) as usize + 1);
        let (width, height) = (sampling.width as usize, sampling.height as usize);
        let path = follow(&GreyFrames { width, height, frames }, crop);
        Ok(Some(path.expression(position.frame, canvas.fps)))
    }

    /// The caption of a step, or those at the times of its words, from a frame of the result on.
    fn caption(&self, step: usize, at: u64) -> String {
        let (canvas, number) = (self.plan.canvas, step + 1);
        let spoken = self.demonstration.spoken(step).zip(self.plan.step_ms(step));
        let Some((spoken, (start_ms, _))) = spoken else {
            return cards::caption(canvas, number, &self.demonstration.text(step));
        };
        let mut lines = caption_lines(&spoken.words, start_ms);
        let from_ms = self.plan.ms(at);
        for line in &mut lines {
            line.start_ms = line.start_ms.saturating_sub(from_ms);
            line.end_ms = line.end_ms.saturating_sub(from_ms);
        }
        lines.retain(|line| line.end_ms > 0);
        cards::timed_captions(canvas, number, &lines)
    }

    fn describe_cut(&self, path: &Path, from_s: f64, speed: f64) -> String {
        let identity = self.identities.get(path).map_or("", String::as_str);
        format!("{identity} {from_s:.6} {speed:.6}")
    }

    fn choice(&self, step: usize, clip: usize) -> Result<&Choice> {
        self.demonstration.clip(step, clip).ok_or(RenderError::Nothing)
    }

    /// The levelled audio of an entry; none for cards and mute clips.
    fn sound(&self, entry: &Entry, progress: &dyn Progress) -> Result<Option<PathBuf>> {
        let Shown::Clip { step, clip } = entry.shown else { return Ok(None) };
        let choice = self.choice(step, clip)?;
        let (path, speed) = (&choice.source.path, choice.speed);
        if self.plan.sources.get(path).is_none_or(|probe| probe.audio.is_none()) {
            return Ok(None);
        }
        let from_s = from_s(choice, 0, self.plan.canvas.fps);
        let pairs = entry.frames * u64::from(RATE / self.plan.canvas.fps);
        let identity = self.describe_cut(path, from_s, speed);
        self.levelled(&AudioCut { path, from_s, speed, pairs }, &identity, progress).map(Some)
    }

    /// A whole sound file, but at most `max_pairs` of it.
    pub fn sound_file(
        &self,
        path: &Path,
        max_pairs: u64,
        progress: &dyn Progress,
    ) -> Result<PathBuf> {
        let length_ms = duration_ms(path, progress)?;
        // a header that does not say how long the sound is leaves the limit
        let pairs = if length_ms > 0 { length_ms * u64::from(RATE) / 1000 } else { max_pairs };
        let cut = AudioCut { path, from_s: 0.0, speed: 1.0, pairs: pairs.min(max_pairs) };
        self.levelled(&cut, &identity(path)?, progress)
    }

    fn levelled(&self, cut: &AudioCut, identity: &str, progress: &dyn Progress) -> Result<PathBuf> {
        progress.check()?;
        let target = self.cache.sound(&key(&[&self.ffmpeg, identity, &cut.pairs.to_string()]));
        if target.exists() {
            mark_used(&target);
        } else {
            let folder = &self.cache.folder;
            let mut file = temporary(folder, ".s16").map_err(FileError::at(folder))?;
            level(cut, file.as_file_mut(), folder, progress)?;
            persist(file, &target)?;
        }
        Ok(target)
    }
}

/// The second of the source that frame `frame` of the clip shows.
fn from_s(choice: &Choice, frame: u64, fps: u32) -> f64 {
    choice.cut.start_ms as f64 / 1000.0 + frame as f64 / f64::from(fps) * choice.speed
}

/// The parts of a plan: of every entry what it does not share, and between two what they share.
fn parts(entries: &[Entry]) -> Vec<PlannedPart> {
    let mut parts = Vec::new();
    let mut shared = 0;
    for (entry, &Entry { frames, overlap, .. }) in entries.iter().enumerate() {
        let own = frames - shared - overlap;
        if own > 0 {
            let positions = vec![Position { entry, frame: shared }];
            parts.push(PlannedPart { positions, frames: own });
        }
        if overlap > 0 {
            let end = Position { entry, frame: frames - overlap };
            let positions = vec![end, Position { entry: entry + 1, frame: 0 }];
            parts.push(PlannedPart { positions, frames: overlap });
        }
        shared = overlap;
    }
    parts
}

/// Runs the tasks on some threads; results in order. An error ends the rest.
fn in_parallel<T: Sync, R: Send>(
    tasks: &[T],
    work: impl Fn(&T) -> Result<R> + Send + Sync,
) -> Result<Vec<R>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(cores.min(MAX_ENCODES)).build()?;
    threads.install(|| tasks.par_iter().with_max_len(1).map(work).collect())
}
