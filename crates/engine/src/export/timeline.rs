//! The result as editors hold it: ranges of whole files, one after the other.

use stitch_core::format::one_line;

use super::Export;
use super::credits::credits;
use super::rate::{Rate, Timecode};
use crate::demonstrate::{Choice, Source};
use crate::media::Probe;
use crate::render::{Entry, Shown};

pub(super) struct Timeline<'a> {
    /// Of the demonstration, or `stitch`.
    pub title: String,
    /// Of the result.
    pub rate: Rate,
    /// In the order in which they appear.
    pub media: Vec<Media<'a>>,
    pub edits: Vec<Edit<'a>>,
}

/// A file that clips are from.
pub(super) struct Media<'a> {
    pub source: &'a Source,
    pub probe: &'a Probe,
    pub rate: Rate,
    /// Of its first frame.
    pub timecode: Timecode,
    /// How many it has, at `rate`.
    pub frames: u64,
}

pub(super) struct Edit<'a> {
    /// With the handles.
    pub entry: Entry,
    /// None for cards.
    pub clip: Option<Clip<'a>>,
    pub marker: Option<Marker>,
}

pub(super) struct Clip<'a> {
    pub choice: &'a Choice,
    /// Its number in [`Timeline::media`].
    pub media: usize,
    /// The frame of the file that it begins with, from 0.
    pub first: u64,
}

/// The beginning of a step.
pub(super) struct Marker {
    /// In frames of the result after the beginning of the edit: where the handle ends.
    pub start: u64,
    pub frames: u64,
    /// The step with its number.
    pub text: String,
    pub is_gap: bool,
}

impl<'a> Timeline<'a> {
    pub fn of(export: &Export<'a>) -> Self {
        let title = one_line(&export.demonstration.title);
        let mut timeline = Self {
            title: if title.is_empty() { "stitch".into() } else { title },
            rate: Rate::whole(export.plan.canvas.fps),
            media: media(export),
            edits: Vec::with_capacity(export.plan.entries.len()),
        };
        for entry in &export.plan.entries {
            let start = timeline.frames();
            let edit = timeline.edit(export, Entry { start, ..*entry });
            timeline.edits.push(edit);
        }
        for edit in &timeline.edits {
            let Some(clip) = &edit.clip else { continue };
            let end = clip.first + timeline.played(clip, edit.entry.frames);
            let media = &mut timeline.media[clip.media];
            media.frames = media.frames.max(end); // durations of headers are rounded
        }
        timeline
    }

    pub fn frames(&self) -> u64 {
        self.edits.last().map_or(0, |edit| edit.entry.end())
    }

    /// How many frames of the file this many frames of the result show.
    pub fn played(&self, clip: &Clip, frames: u64) -> u64 {
        self.rate.convert(frames, self.media[clip.media].rate, clip.choice.speed)
    }

    /// An entry with its handles: as much as was asked for and the file has on either side of the cut.
    fn edit(&self, export: &Export<'a>, mut entry: Entry) -> Edit<'a> {
        let (cut_frames, mut before) = (entry.frames - entry.overlap, 0);
        let clip = export.clip(&entry).and_then(|choice| {
            let media = self.media.iter().position(|m| m.source.path == choice.source.path)?;
            let Media { probe, rate, .. } = &self.media[media];
            let handle = |has_ms: u64| {
                let ms = export.handles_ms.min(has_ms) as f64;
                (ms / 1000.0 / choice.speed * self.rate.fps()) as u64
            };
            before = handle(choice.cut.start_ms);
            entry.frames += before + handle(probe.duration_ms.saturating_sub(choice.cut.end_ms));
            let skipped = self.rate.convert(before, *rate, choice.speed);
            let first = rate.frame(choice.cut.start_ms).saturating_sub(skipped);
            Some(Clip { choice, media, first })
        });
        let marker = marker(export, &entry, before, cut_frames);
        Edit { entry, clip, marker }
    }
}

/// One per step: on the first of its clips.
fn marker(export: &Export, entry: &Entry, start: u64, frames: u64) -> Option<Marker> {
    if let Shown::Clip { clip: 1.., .. } = entry.shown {
        return None;
    }
    let step = entry.shown.step()?;
    let is_gap = matches!(entry.shown, Shown::Gap(_));
    let note = if is_gap { " (nothing shows this step)" } else { "" };
    let text = format!("{}. {}{note}", step + 1, one_line(&export.demonstration.text(step)));
    Some(Marker { start, frames, text, is_gap })
}

fn media<'a>(export: &Export<'a>) -> Vec<Media<'a>> {
    let media = |source: &'a Source| {
        let probe = export.plan.sources.get(&source.path)?;
        let rate = Rate::of(probe.fps);
        let timecode = probe.timecode.as_deref().and_then(|text| rate.read(text));
        let frames = rate.frame(probe.duration_ms);
        Some(Media { source, probe, rate, timecode: timecode.unwrap_or_default(), frames })
    };
    credits(export).into_iter().filter_map(|credit| media(credit.source)).collect()
}
