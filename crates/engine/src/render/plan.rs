//! The timeline of the result in frames, from which chapters, captions and all exports take their
//! times.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::options::{Canvas, RenderOptions};
use super::{RenderError, Result};
use crate::demonstrate::{Choice, Demonstration};
use crate::media::{self, Probe};
use crate::progress::Progress;

/// Chosen by hand.
const CARD_MS: u64 = 3000;
/// The frame rates of results: in each a frame is a whole number of audio samples.
const FRAME_RATES: [u32; 5] = [24, 25, 30, 50, 60];
/// Limits of the size unless the user sets it: short side and long side.
const MAX_SIZE: (u32, u32) = (720, 1280);
const MIN_SHORT_SIDE: u32 = 360;
/// For a demonstration without clips.
const DEFAULT_CANVAS: Canvas = Canvas { width: 1280, height: 720, fps: 30 };

/// What an entry of the timeline shows, and for which step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    Title,
    /// A clip by its number among those of the step, from 0.
    Clip {
        step: usize,
        clip: usize,
    },
    Gap(usize),
}

impl Shown {
    pub fn step(self) -> Option<usize> {
        match self {
            Self::Title => None,
            Self::Clip { step, .. } | Self::Gap(step) => Some(step),
        }
    }
}

/// An entry of the timeline, in frames of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub shown: Shown,
    pub start: u64,
    /// Includes those that fade.
    pub frames: u64,
    /// How many frames at its end are shared with the next entry.
    pub overlap: u64,
}

impl Entry {
    /// The frame from which the next entry is the current one.
    pub fn end(&self) -> u64 {
        self.start + self.frames - self.overlap
    }
}

/// The timeline of a result, and the probed sources it needs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub canvas: Canvas,
    /// What is shown, in order; each begins where the one before ends, less the overlap.
    pub entries: Vec<Entry>,
    pub sources: BTreeMap<PathBuf, Probe>,
}

impl Plan {
    pub fn new(
        demonstration: &Demonstration,
        options: &RenderOptions,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let sources = probe_sources(demonstration, progress)?;
        Self::with_sources(demonstration, options, sources)
    }

    /// As [`Self::new`], for sources already probed.
    pub fn with_sources(
        demonstration: &Demonstration,
        options: &RenderOptions,
        sources: BTreeMap<PathBuf, Probe>,
    ) -> Result<Self> {
        let canvas = canvas(demonstration, options, &sources);
        let mut entries = Vec::new();
        if options.title_card && !demonstration.title.trim().is_empty() {
            entries.push((Shown::Title, ms_to_frames(CARD_MS, canvas.fps)));
        }
        for (i, step) in demonstration.steps.iter().enumerate() {
            let loops = demonstration.spoken(i).map_or(0, |spoken| spoken.loops);
            for _ in 0..=loops {
                for (clip, choice) in step.clips().into_iter().enumerate() {
                    entries.push((Shown::Clip { step: i, clip }, frames(i, choice, canvas.fps)?));
                }
            }
            if step.chosen.is_none() && options.gap_cards {
                entries.push((Shown::Gap(i), ms_to_frames(CARD_MS, canvas.fps)));
            }
        }
        if entries.is_empty() {
            return Err(RenderError::Nothing);
        }
        let fade = ms_to_frames(options.crossfade_ms, canvas.fps);
        Ok(Self { canvas, entries: place(&entries, fade), sources })
    }

    pub fn frames(&self) -> u64 {
        self.entries.last().map_or(0, Entry::end)
    }

    /// The time of a frame of the result, in milliseconds.
    pub fn ms(&self, frame: u64) -> u64 {
        let fps = u64::from(self.canvas.fps);
        (frame * 1000 + fps / 2) / fps
    }

    /// The entries of each step, and those that belong to none.
    pub fn by_step(&self) -> impl Iterator<Item = &[Entry]> {
        self.entries.chunk_by(|a, b| a.shown.step() == b.shown.step())
    }

    /// Where entries that follow one another are in the result, in milliseconds.
    pub fn entries_ms(&self, entries: &[Entry]) -> Option<(u64, u64)> {
        let (first, last) = entries.first().zip(entries.last())?;
        Some((self.ms(first.start), self.ms(last.end())))
    }

    /// Where a step is in the result, in milliseconds.
    pub fn step_ms(&self, step: usize) -> Option<(u64, u64)> {
        let of_step = |entries: &&[Entry]| entries[0].shown.step() == Some(step);
        self.entries_ms(self.by_step().find(of_step)?)
    }
}

fn probe_sources(
    demonstration: &Demonstration,
    progress: &dyn Progress,
) -> Result<BTreeMap<PathBuf, Probe>> {
    let mut sources = BTreeMap::new();
    for (_, choice) in demonstration.cuts() {
        if !sources.contains_key(&choice.source.path) {
            let probe = media::describe(&choice.source.path, progress)?;
            sources.insert(choice.source.path.clone(), probe);
        }
    }
    Ok(sources)
}

/// Puts the entries one after the other. A fade takes at most a third of either neighbour.
fn place(entries: &[(Shown, u64)], fade: u64) -> Vec<Entry> {
    let mut placed: Vec<Entry> = Vec::with_capacity(entries.len());
    for (i, &(shown, frames)) in entries.iter().enumerate() {
        let next = entries.get(i + 1).map_or(0, |(_, next)| *next);
        let overlap = fade.min(frames / 3).min(next / 3);
        let start = placed.last().map_or(0, Entry::end);
        placed.push(Entry { shown, start, frames, overlap });
    }
    placed
}

fn ms_to_frames(ms: u64, fps: u32) -> u64 {
    (ms.saturating_mul(u64::from(fps)) + 500) / 1000
}

fn frames(step: usize, choice: &Choice, fps: u32) -> Result<u64> {
    if !(0.1..=16.0).contains(&choice.speed) {
        return Err(RenderError::Speed { step: step + 1, speed: choice.speed });
    }
    let frames = choice.cut.length_ms() as f64 * f64::from(fps) / 1000.0 / choice.speed;
    match frames.round() as u64 {
        0 => Err(RenderError::EmptyCut { step: step + 1 }),
        frames => Ok(frames),
    }
}

/// The size and rate of the result: what the user set, or the aspect ratio and rate of most of its
/// time, as large as the largest source of that aspect ratio.
fn canvas(
    demonstration: &Demonstration,
    options: &RenderOptions,
    sources: &BTreeMap<PathBuf, Probe>,
) -> Canvas {
    let mut shapes: BTreeMap<i64, u64> = BTreeMap::new();
    let mut largest: BTreeMap<i64, (u32, u32)> = BTreeMap::new();
    let mut rates: BTreeMap<u32, u64> = BTreeMap::new();
    for (_, choice) in demonstration.cuts() {
        let Some(probe) = sources.get(&choice.source.path) else { continue };
        let time = choice.cut.length_ms();
        let size = within_limits(probe.width, probe.height);
        *shapes.entry(shape(size)).or_default() += time;
        let best = largest.entry(shape(size)).or_default();
        *best = size.max(*best);
        *rates.entry(moderate_rate(probe.fps)).or_default() += time;
    }
    let (width, height) = match options.size {
        Some((width, height)) => (width, height),
        None => {
            let size = most(&shapes).and_then(|shape| largest.get(&shape).copied());
            size.unwrap_or((DEFAULT_CANVAS.width, DEFAULT_CANVAS.height))
        }
    };
    let fps = options.fps.map(f64::from).map(nearest_rate);
    let fps = fps.or_else(|| most(&rates)).unwrap_or(DEFAULT_CANVAS.fps);
    Canvas { width: even(width), height: even(height), fps }
}

/// The key with most time; of equals the largest.
fn most<K: Copy + Ord>(times: &BTreeMap<K, u64>) -> Option<K> {
    times.iter().max_by_key(|(key, time)| (**time, **key)).map(|(key, _)| *key)
}

/// The aspect ratio in logarithmic steps of about 5 %.
fn shape((width, height): (u32, u32)) -> i64 {
    ((f64::from(width) / f64::from(height)).ln() * 20.0).round() as i64
}

fn even(length: u32) -> u32 {
    (length.clamp(16, 8192) / 2) * 2
}

/// The nearest of [`FRAME_RATES`].
fn nearest_rate(fps: f64) -> u32 {
    let far = |rate: u32| (f64::from(rate) - fps).abs();
    FRAME_RATES.into_iter().min_by(|a, b| far(*a).total_cmp(&far(*b))).unwrap_or(DEFAULT_CANVAS.fps)
}

/// As [`nearest_rate`], halved above 30.
fn moderate_rate(fps: f64) -> u32 {
    match nearest_rate(fps) {
        rate @ (50 | 60) => rate / 2,
        rate => rate,
    }
}

/// The size scaled to lie within the limits.
fn within_limits(width: u32, height: u32) -> (u32, u32) {
    let (short, long) = (width.min(height).max(1), width.max(height).max(1));
    let down =
        (f64::from(MAX_SIZE.0) / f64::from(short)).min(f64::from(MAX_SIZE.1) / f64::from(long));
    let up = f64::from(MIN_SHORT_SIDE) / f64::from(short);
    let factor = down.min(up.max(1.0));
    let scaled = |length: u32| even((f64::from(length) * factor).round() as u32 + 1);
    (scaled(width), scaled(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_follow_each_other_less_the_overlap() {
        let clip = |step| Shown::Clip { step, clip: 0 };
        let entries = [(clip(0), 90), (Shown::Gap(1), 30), (clip(2), 60)];
        let ends = |fade| place(&entries, fade).iter().map(Entry::end).collect::<Vec<_>>();
        assert_eq!(ends(0), [90, 120, 180]);
        assert_eq!(ends(15), [80, 100, 160], "a fade takes at most a third of a neighbour");
    }

    #[test]
    fn sizes_stay_between_the_limits_and_rates_are_calm() {
        let sizes = [
            ((1920, 1080), (1280, 720)),
            ((1280, 720), (1280, 720)),
            ((320, 240), (480, 360)),
            ((360, 640), (360, 640)),
            ((720, 1280), (720, 1280)),
            ((1080, 1920), (720, 1280)),
            ((3440, 1440), (1280, 536)),
            ((1, 8000), (16, 1280)),
        ];
        for ((width, height), result) in sizes {
            assert_eq!(within_limits(width, height), result, "{width}x{height}");
        }
        let rates = [(15.0, 24), (23.976, 24), (25.0, 25), (29.97, 30), (59.94, 30), (50.0, 25)];
        for (fps, result) in rates {
            assert_eq!(moderate_rate(fps), result, "{fps}");
        }
    }
}
