//! The pieces of pictures and sound that a plan needs, made or found in the cache.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cache::{Cache, identity, key};
use super::cards;
use super::options::{Captions, RenderOptions};
use super::plan::{Entry, Plan, Shown};
use super::sound::{Stretch, level};
use super::{RenderError, ffmpeg_version};
use crate::demonstrate::{Choice, Demonstration};
use crate::files::write_whole;
use crate::media::cut::{Footage, Layer, Piece, RATE, encode_piece};
use crate::progress::Progress;

/// Everything that making pieces needs.
pub struct Studio<'a> {
    pub(super) demonstration: &'a Demonstration,
    pub(super) options: &'a RenderOptions,
    pub(super) plan: &'a Plan,
    pub(super) cache: &'a Cache,
    identities: BTreeMap<PathBuf, String>,
    program: String,
}

/// The pictures of a plan, in order.
pub struct Pictures {
    pub keys: Vec<(String, u64)>,
    pub encoded: usize,
    pub reused: usize,
}

/// A part of an entry.
#[derive(Clone, Copy)]
struct Part {
    entry: usize,
    from: u64,
}

/// A piece to be made: a part of one entry, perhaps fading into a part of the next.
#[derive(Clone, Copy)]
struct Order {
    part: Part,
    into: Option<Part>,
    frames: u64,
}

/// What a part looks like: the footage, the letters that belong to it, and the caption over it.
struct Look<'a> {
    footage: Footage<'a>,
    letters: Option<String>,
    caption: Option<String>,
    words: String,
}

impl Look<'_> {
    fn describe(&self) -> String {
        format!("{} {}", self.words, self.letters.as_deref().unwrap_or_default())
    }
}

impl<'a> Studio<'a> {
    pub fn new(
        demonstration: &'a Demonstration,
        options: &'a RenderOptions,
        plan: &'a Plan,
        cache: &'a Cache,
    ) -> Result<Self, RenderError> {
        let mut identities = BTreeMap::new();
        for path in plan.sources.keys() {
            identities.insert(path.clone(), identity(path)?);
        }
        let program = ffmpeg_version()?;
        Ok(Self { demonstration, options, plan, cache, identities, program })
    }

    /// Makes the pictures that are missing, some at once.
    pub fn pictures(&self, progress: &dyn Progress) -> Result<Pictures, RenderError> {
        let orders = orders(&self.plan.entries);
        progress.begin("encoding", orders.len() as u64);
        let encoded = AtomicUsize::new(0);
        let keys = in_parallel(self.options.workers(), &orders, |order| {
            let (key, made) = self.picture(order, progress)?;
            encoded.fetch_add(usize::from(made), Ordering::Relaxed);
            progress.advance(1);
            Ok((key, order.frames))
        })?;
        let encoded = encoded.into_inner();
        Ok(Pictures { reused: keys.len() - encoded, keys, encoded })
    }

    /// Makes the sounds that are missing; `None` is silence.
    pub fn sounds(&self, progress: &dyn Progress) -> Result<Vec<Option<PathBuf>>, RenderError> {
        progress.begin("levelling", self.plan.entries.len() as u64);
        in_parallel(self.options.workers(), &self.plan.entries, |entry| {
            let sound = self.sound(entry, progress)?;
            progress.advance(1);
            Ok(sound)
        })
    }

    /// The key of a piece, and whether it had to be made.
    fn picture(
        &self,
        order: &Order,
        progress: &dyn Progress,
    ) -> Result<(String, bool), RenderError> {
        progress.check()?;
        let look = self.look(order.part)?;
        let into = order.into.map(|part| self.look(part)).transpose()?;
        // While one clip fades into the next, the caption is already the next one's.
        let caption = into.as_ref().unwrap_or(&look).caption.as_deref();
        let key = self.picture_key(order, &look, into.as_ref(), caption);
        let path = self.cache.piece(&key);
        if path.exists() {
            return Ok((key, false));
        }
        let script = self.script(look.letters.as_deref())?;
        let into_script = self.script(into.as_ref().and_then(|look| look.letters.as_deref()))?;
        let caption = self.script(caption)?;
        let layer = Layer { footage: look.footage, letters: script.as_deref() };
        let into = into
            .as_ref()
            .map(|look| Layer { footage: look.footage, letters: into_script.as_deref() });
        let piece = Piece { layer, into, caption: caption.as_deref(), frames: order.frames };
        let temporary = self.cache.temporary(".mov")?;
        let (canvas, options) = (self.plan.canvas, self.options);
        let (folder, out) = (self.cache.folder(), temporary.path());
        encode_piece(&piece, canvas, options.aspect, options.quality, folder, out, progress)?;
        self.cache.keep(temporary, &path)?;
        Ok((key, true))
    }

    fn picture_key(
        &self,
        order: &Order,
        look: &Look,
        into: Option<&Look>,
        caption: Option<&str>,
    ) -> String {
        let (canvas, aspect, quality) =
            (self.plan.canvas, self.options.aspect, self.options.quality);
        let format = format!("{canvas:?} {aspect:?} {quality:?} {}", order.frames);
        let into = into.map(Look::describe).unwrap_or_default();
        key(&[&self.program, &format, &look.describe(), &into, caption.unwrap_or_default()])
    }

    /// Writes a script for libass, named by its content, and returns the name.
    fn script(&self, letters: Option<&str>) -> Result<Option<String>, RenderError> {
        let Some(letters) = letters else { return Ok(None) };
        let name = format!("{}.ass", key(&[letters]));
        let path = self.cache.folder().join(&name);
        if !path.exists() {
            write_whole(&path, letters.as_bytes())?;
        }
        Ok(Some(name))
    }

    fn look(&self, part: Part) -> Result<Look<'_>, RenderError> {
        let entry = self.plan.entries.get(part.entry).ok_or(RenderError::Nothing)?;
        let canvas = self.plan.canvas;
        let card = |letters: String| Look {
            footage: Footage::Plate { colour: cards::PLATE },
            letters: Some(letters),
            caption: None,
            words: format!("card {:06x}", cards::PLATE),
        };
        match entry.shown {
            Shown::Title => {
                let (steps, videos) = (self.demonstration.steps.len(), self.plan.sources.len());
                Ok(card(cards::title(canvas, &self.demonstration.title, steps, videos)))
            }
            Shown::Gap(step) => Ok(card(cards::gap(canvas, step + 1, self.text(step)))),
            Shown::Clip(step) => {
                let choice = self.choice(step)?;
                self.clip_look(step, choice, part.from)
            }
        }
    }

    fn clip_look<'b>(
        &'b self,
        step: usize,
        choice: &'b Choice,
        from: u64,
    ) -> Result<Look<'b>, RenderError> {
        let path = &choice.source.path;
        let probe = self.plan.source(path).ok_or(RenderError::Nothing)?;
        let from_s = from_s(choice, from, self.plan.canvas.fps);
        let burnt = self.options.captions == Captions::Burnt;
        let caption = || cards::caption(self.plan.canvas, step + 1, self.text(step));
        Ok(Look {
            footage: Footage::Video { path, probe, from_s, speed: choice.speed },
            letters: None,
            caption: burnt.then(caption),
            words: self.words(path, from_s, choice.speed),
        })
    }

    /// What tells a stretch of a source from every other.
    fn words(&self, path: &Path, from_s: f64, speed: f64) -> String {
        let identity = self.identities.get(path).map_or("", String::as_str);
        format!("{identity} {from_s:.6} {speed:.6}")
    }

    fn choice(&self, step: usize) -> Result<&Choice, RenderError> {
        let step = self.demonstration.steps.get(step);
        step.and_then(|step| step.chosen.as_ref()).ok_or(RenderError::Nothing)
    }

    fn text(&self, step: usize) -> &str {
        self.demonstration.steps.get(step).map_or("", |step| &step.text)
    }

    /// The levelled sound of an entry; none for cards and mute clips.
    fn sound(
        &self,
        entry: &Entry,
        progress: &dyn Progress,
    ) -> Result<Option<PathBuf>, RenderError> {
        let Shown::Clip(step) = entry.shown else { return Ok(None) };
        let choice = self.choice(step)?;
        let path = &choice.source.path;
        if self.plan.source(path).is_none_or(|probe| probe.audio.is_none()) {
            return Ok(None);
        }
        progress.check()?;
        let from_s = from_s(choice, 0, self.plan.canvas.fps);
        let samples = entry.frames * u64::from(RATE / self.plan.canvas.fps);
        let words = self.words(path, from_s, choice.speed);
        let place = self.cache.sound(&key(&[&self.program, &words, &samples.to_string()]));
        if !place.exists() {
            let stretch = Stretch { path, from_s, speed: choice.speed, samples };
            let mut temporary = self.cache.temporary(".s16")?;
            level(&stretch, temporary.as_file_mut(), self.cache.folder(), progress)?;
            self.cache.keep(temporary, &place)?;
        }
        Ok(Some(place))
    }
}

/// The moment of the source that frame `from` of the clip shows.
fn from_s(choice: &Choice, from: u64, fps: u32) -> f64 {
    choice.cut.start_ms as f64 / 1000.0 + from as f64 / f64::from(fps) * choice.speed
}

/// The pieces of a plan: of every entry what it does not share, and between two what they share.
fn orders(entries: &[Entry]) -> Vec<Order> {
    let mut orders = Vec::new();
    let mut head = 0;
    for (i, entry) in entries.iter().enumerate() {
        let frames = entry.frames - head - entry.overlap;
        if frames > 0 {
            orders.push(Order { part: Part { entry: i, from: head }, into: None, frames });
        }
        if entry.overlap > 0 {
            let part = Part { entry: i, from: entry.frames - entry.overlap };
            let into = Some(Part { entry: i + 1, from: 0 });
            orders.push(Order { part, into, frames: entry.overlap });
        }
        head = entry.overlap;
    }
    orders
}

/// Does the work with some threads; results in order. The first error ends the rest.
fn in_parallel<T: Sync, R: Send>(
    workers: usize,
    tasks: &[T],
    work: impl Fn(&T) -> Result<R, RenderError> + Sync,
) -> Result<Vec<R>, RenderError> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<R, RenderError>)>> = Mutex::new(Vec::new());
    let worker = || {
        while let Some((i, task)) = take(tasks, &next) {
            let result = work(task);
            if result.is_err() {
                next.store(tasks.len(), Ordering::Relaxed);
            }
            results.lock().unwrap_or_else(|e| e.into_inner()).push((i, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers.min(tasks.len()) {
            scope.spawn(worker);
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}

fn take<'t, T>(tasks: &'t [T], next: &AtomicUsize) -> Option<(usize, &'t T)> {
    let i = next.fetch_add(1, Ordering::Relaxed);
    tasks.get(i).map(|task| (i, task))
}
