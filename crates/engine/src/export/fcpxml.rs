//! FCPXML 1.10, which Final Cut Pro and DaVinci Resolve read. Times are fractions of seconds; times
//! inside a file begin at its timecode; markers of gaps are to-do items.

use super::credits::credit_line;
use super::rate::Rate;
use super::timeline::{Clip, Edit, Marker, Media, Timeline};
use super::xml::{Element, element, leaf};
use super::{Export, ExportError, file_url};
use crate::render::Canvas;

/// The rates that a clip can say to have without being played faster or slower for it.
const CONFORMED: [(u32, bool, &str); 8] = [
    (24, true, "23.98"),
    (24, false, "24"),
    (25, false, "25"),
    (30, true, "29.97"),
    (30, false, "30"),
    (50, false, "50"),
    (60, true, "59.94"),
    (60, false, "60"),
];
/// The units of a second in which clips of another speed begin: Final Cut Pro's own.
const FINE: u64 = 720_000;

pub(super) fn write(export: &Export) -> Result<String, ExportError> {
    let timeline = Timeline::of(export);
    let Canvas { width, height, .. } = export.plan.canvas;
    let formats = timeline.media.iter().enumerate().map(|(i, Media { probe, rate, .. })| {
        format(&format_id(i), *rate, (probe.width, probe.height))
    });
    let resources = element("resources")
        .child(format("sequence-format", timeline.rate, (width, height)))
        .children(formats)
        .children(timeline.media.iter().enumerate().map(asset));
    let sequence = element("sequence")
        .with("format", "sequence-format")
        .with("duration", seconds(timeline.frames(), timeline.rate))
        .with("tcStart", "0s")
        .with("tcFormat", "NDF")
        .with("audioLayout", "stereo")
        .with("audioRate", "48k")
        .child(element("spine").children(spine(&timeline)));
    let project = element("project").with("name", &timeline.title).child(sequence);
    let event = element("event").with("name", &timeline.title).child(project);
    let document = element("fcpxml").with("version", "1.10").child(resources).child(event);
    Ok(document.document("<!DOCTYPE fcpxml>\n"))
}

fn format_id(media: usize) -> String {
    format!("format-{}", media + 1)
}

fn asset_id(media: usize) -> String {
    format!("asset-{}", media + 1)
}

fn format(id: &str, rate: Rate, (width, height): (u32, u32)) -> Element {
    element("format")
        .with("id", id)
        .with("frameDuration", seconds(1, rate))
        .with("width", width)
        .with("height", height)
}

/// The whole file, so that every clip can be made longer.
fn asset((i, media): (usize, &Media)) -> Element {
    let Media { source, probe, rate, timecode, frames } = media;
    let mut asset = element("asset")
        .with("id", asset_id(i))
        .with("name", &source.title)
        .with("start", seconds(timecode.frame, *rate))
        .with("duration", seconds(*frames, *rate))
        .with("hasVideo", 1)
        .with("format", format_id(i))
        .with("videoSources", 1);
    if let Some(audio) = probe.audio {
        asset = asset
            .with("hasAudio", 1)
            .with("audioSources", 1)
            .with("audioChannels", audio.channels)
            .with("audioRate", audio.sample_rate);
    }
    let file =
        element("media-rep").with("kind", "original-media").with("src", file_url("", &source.path));
    let said = [("uploader", &source.uploader), ("url", &source.url), ("licence", &source.licence)];
    let md = |(key, value): (&str, &Option<String>)| {
        let value = value.as_ref()?;
        Some(element("md").with("key", format!("stitch.{key}")).with("value", value))
    };
    let metadata = element("metadata").children(said.into_iter().filter_map(md));
    asset.child(file).child(metadata)
}

/// A fade lies half before and half after the cut between two clips.
fn spine(timeline: &Timeline) -> Vec<Element> {
    let mut spine = Vec::new();
    let mut half_before = 0;
    for edit in &timeline.edits {
        let half_after = edit.entry.overlap / 2;
        let (start, end) = (edit.entry.start + half_before, edit.entry.end() + half_after);
        spine.push(item(timeline, edit, half_before, end - start));
        if half_after > 0 {
            let fade = element("transition")
                .with("name", "Cross Dissolve")
                .with("offset", seconds(end - half_after, timeline.rate))
                .with("duration", seconds(2 * half_after, timeline.rate));
            spine.push(fade);
        }
        half_before = half_after;
    }
    spine
}

/// What is shown from `skipped` frames after the beginning of the edit.
fn item(timeline: &Timeline, edit: &Edit, skipped: u64, frames: u64) -> Element {
    let offset = seconds(edit.entry.start + skipped, timeline.rate);
    let duration = seconds(frames, timeline.rate);
    let markers =
        |start: Time| edit.marker.iter().map(move |m| marker(m, start, skipped, timeline.rate));
    let Some(clip) = &edit.clip else {
        let gap = element("gap").with("name", "Gap").with("offset", offset);
        let gap = gap.with("start", "0s").with("duration", duration);
        return gap.children(markers(Time { units: 0, per_second: 1 }));
    };
    let media = &timeline.media[clip.media];
    let start = start(timeline, clip, media, skipped);
    element("asset-clip")
        .with("ref", asset_id(clip.media))
        .with("offset", offset)
        .with("name", &media.source.title)
        .with("start", start.text())
        .with("duration", duration)
        .with("format", format_id(clip.media))
        .with("tcFormat", if media.timecode.is_drop { "DF" } else { "NDF" })
        .child(leaf("note", credit_line(media.source)))
        .children(conform(media.rate, timeline.rate))
        .children(time_map(clip, media))
        .children(markers(start))
}

/// Where the clip begins in the time of its file, which another speed shortens or lengthens.
fn start(timeline: &Timeline, clip: &Clip, media: &Media, skipped: u64) -> Time {
    let frames = clip.first + timeline.played(clip, skipped);
    let at = Time::of(media.timecode.after(frames).frame, media.rate);
    if clip.choice.speed == 1.0 {
        return at;
    }
    let zero = Time::of(media.timecode.frame, media.rate).fine();
    Time {
        units: zero + ((at.fine() - zero) as f64 / clip.choice.speed).round() as u64,
        per_second: FINE,
    }
}

/// Without it a clip of 29.97 frames a second would play faster at 30.
fn conform(rate: Rate, result: Rate) -> Option<Element> {
    let name =
        CONFORMED.iter().find(|(base, is_ntsc, _)| (*base, *is_ntsc) == (rate.base, rate.is_ntsc));
    let element = element("conform-rate").with("scaleEnabled", 0);
    let conformed = name.into_iter().fold(element, |e, (_, _, name)| e.with("srcFrameRate", name));
    (rate != result).then_some(conformed)
}

/// The whole file at another speed.
fn time_map(clip: &Clip, media: &Media) -> Option<Element> {
    let speed = clip.choice.speed;
    let zero = Time::of(media.timecode.frame, media.rate);
    let end = Time::of(media.timecode.after(media.frames).frame, media.rate);
    let length = (end.fine() - zero.fine()) as f64 / speed;
    let retimed = Time { units: zero.fine() + length.round() as u64, per_second: FINE };
    let point = |time: Time, value: Time| {
        element("timept")
            .with("time", time.text())
            .with("value", value.text())
            .with("interp", "linear")
    };
    let points = [point(zero, zero), point(retimed, end)];
    (speed != 1.0).then(|| element("timeMap").children(points))
}

/// In the time of its clip.
fn marker(marker: &Marker, clip: Time, skipped: u64, rate: Rate) -> Element {
    let after = Time::of(marker.start.saturating_sub(skipped), rate);
    let name = if marker.is_gap { "marker" } else { "chapter-marker" };
    let element = element(name)
        .with("start", clip.plus(after).text())
        .with("duration", seconds(1, rate))
        .with("value", &marker.text);
    if marker.is_gap { element.with("completed", 0) } else { element.with("posterOffset", "0s") }
}

/// A time in seconds as a fraction.
#[derive(Clone, Copy)]
struct Time {
    units: u64,
    per_second: u64,
}

fn seconds(frames: u64, rate: Rate) -> String {
    Time::of(frames, rate).text()
}

impl Time {
    fn of(frames: u64, rate: Rate) -> Self {
        let (above, below) = rate.fraction();
        Self { units: frames * below, per_second: above }
    }

    fn text(self) -> String {
        match self.units {
            0 => "0s".into(),
            units => format!("{units}/{}s", self.per_second),
        }
    }

    /// In units of [`FINE`].
    fn fine(self) -> u64 {
        (self.units * FINE + self.per_second / 2) / self.per_second
    }

    fn plus(self, other: Self) -> Self {
        match other {
            Self { units: 0, .. } => self,
            Self { units, per_second } if per_second == self.per_second => {
                Self { units: self.units + units, per_second }
            }
            _ => Self { units: self.fine() + other.fine(), per_second: FINE },
        }
    }
}
