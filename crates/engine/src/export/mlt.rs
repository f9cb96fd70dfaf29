//! MLT XML, which Shotcut and Kdenlive read. All positions count in the result's frames from the
//! beginning of a file. Fades become cuts: the two editors write them in different ways.

use serde_json::json;

use super::credits::credit_line;
use super::timeline::{Clip, Edit, Timeline};
use super::xml::{Element, element, leaf};
use super::{Export, ExportError};
use crate::render::Canvas;

/// Of Kdenlive's documents with one timeline; it reads them still.
const KDENLIVE_VERSION: &str = "1.04";
/// Kdenlive's first numbers of clips are its own.
const FIRST_ID: usize = 4;
/// The kinds of Kdenlive's guides that are green and red, and these colours.
const STEP: (u32, &str) = (3, "#1cdc9a");
const GAP: (u32, &str) = (8, "#da4453");

pub(super) fn write(export: &Export) -> Result<String, ExportError> {
    let timeline = Timeline::of(export);
    let last = timeline.frames() - 1;
    let files = (0..timeline.media.len()).map(|i| producer(&timeline, file_id(i), i, 1.0));
    let retimed = timeline.edits.iter().enumerate().filter_map(|(i, edit)| {
        let clip = edit.clip.as_ref().filter(|clip| clip.choice.speed != 1.0)?;
        Some(producer(&timeline, retimed_id(i), clip.media, clip.choice.speed))
    });
    let background = element("producer").with("id", "black_track").with("in", 0).with("out", last);
    let background = background
        .child(property("length", timeline.frames()))
        .child(property("resource", "black"))
        .child(property("mlt_service", "color"));
    let root = element("mlt")
        .with("LC_NUMERIC", "C")
        .with("version", "7.0.0")
        .with("title", &timeline.title)
        .with("producer", "main_bin")
        .child(profile(export.plan.canvas))
        .children(files)
        .children(retimed)
        .child(bin(&timeline))
        .child(background)
        .child(track(&timeline, true))
        .child(track(&timeline, false))
        .child(tractor(&timeline));
    Ok(root.document(""))
}

fn property(name: &str, value: impl ToString) -> Element {
    leaf("property", value).with("name", name)
}

fn file_id(media: usize) -> String {
    format!("file{}", media + 1)
}

fn retimed_id(edit: usize) -> String {
    format!("retimed{}", edit + 1)
}

fn profile(Canvas { width, height, fps }: Canvas) -> Element {
    let number = |profile: Element, (name, value): (&'static str, u32)| profile.with(name, value);
    let numbers = [
        ("width", width),
        ("height", height),
        ("progressive", 1),
        ("sample_aspect_num", 1),
        ("sample_aspect_den", 1),
        ("display_aspect_num", width),
        ("display_aspect_den", height),
        ("frame_rate_num", fps),
        ("frame_rate_den", 1),
        ("colorspace", 709),
    ];
    numbers.into_iter().fold(element("profile").with("description", "stitch"), number)
}

/// A whole file at a speed.
fn producer(timeline: &Timeline, id: String, number: usize, speed: f64) -> Element {
    let media = &timeline.media[number];
    let used = timeline.edits.iter().filter_map(|edit| {
        let clip = edit.clip.as_ref().filter(|clip| clip.media == number)?;
        (clip.choice.speed == speed).then(|| first(timeline, clip) + edit.entry.frames)
    });
    let frames = media.rate.convert(media.frames, timeline.rate, 1.0 / speed);
    let frames = used.fold(frames.max(1), u64::max); // else MLT shortens the clip
    let path = std::path::absolute(&media.source.path).unwrap_or(media.source.path.clone());
    let path = path.to_string_lossy();
    let producer = element("producer").with("id", id).with("in", 0).with("out", frames - 1);
    let producer = producer.child(property("length", frames));
    let producer = if speed == 1.0 {
        producer
            .child(property("resource", path))
            .child(property("mlt_service", "avformat-novalidate"))
    } else {
        producer
            .child(property("resource", format!("{speed}:{path}")))
            .child(property("mlt_service", "timewarp"))
            .child(property("warp_speed", speed))
            .child(property("warp_resource", path))
            .child(property("warp_pitch", 1))
    };
    let credit = credit_line(media.source);
    producer
        .child(property("kdenlive:id", FIRST_ID + number))
        .child(property("kdenlive:clipname", &media.source.title))
        .child(property("kdenlive:description", &credit))
        .child(property("shotcut:caption", &media.source.title))
        .child(property("shotcut:comment", credit))
}

/// The files, for Kdenlive with its guides and with what is moved together.
fn bin(timeline: &Timeline) -> Element {
    let guide = |edit: &Edit| {
        let marker = edit.marker.as_ref()?;
        let (kind, _) = if marker.is_gap { GAP } else { STEP };
        let position = edit.entry.start + marker.start;
        Some(json!({"comment": marker.text, "pos": position, "type": kind}))
    };
    let group = |edit: &Edit| {
        edit.clip.as_ref().filter(|clip| has_audio(timeline, clip))?;
        let leaf = |track: u32| {
            let place = format!("{track}:{}", edit.entry.start);
            json!({"type": "Leaf", "leaf": "clip", "data": place})
        };
        Some(json!({"type": "AVSplit", "children": [leaf(1), leaf(0)]}))
    };
    let guides: Vec<_> = timeline.edits.iter().filter_map(guide).collect();
    let groups: Vec<_> = timeline.edits.iter().filter_map(group).collect();
    let entries = (0..timeline.media.len()).map(|i| element("entry").with("producer", file_id(i)));
    element("playlist")
        .with("id", "main_bin")
        .child(property("xml_retain", 1))
        .child(property("kdenlive:docproperties.version", KDENLIVE_VERSION))
        .child(property("kdenlive:docproperties.guides", json!(guides)))
        .child(property("kdenlive:docproperties.groups", json!(groups)))
        .children(entries)
}

fn has_audio(timeline: &Timeline, clip: &Clip) -> bool {
    timeline.media[clip.media].probe.audio.is_some()
}

fn track(timeline: &Timeline, is_audio: bool) -> Element {
    let (id, label, kind) =
        if is_audio { ("audio", "A1", "shotcut:audio") } else { ("video", "V1", "shotcut:video") };
    let track = element("playlist").with("id", id);
    let track = track.child(property("shotcut:name", label)).child(property(kind, 1));
    let track = track.children(is_audio.then(|| property("kdenlive:audio_track", 1)));
    track.children(timeline.edits.iter().enumerate().map(|(i, edit)| {
        let frames = edit.entry.end() - edit.entry.start;
        match edit.clip.as_ref().filter(|clip| !is_audio || has_audio(timeline, clip)) {
            Some(clip) => entry(timeline, i, clip, frames),
            None => element("blank").with("length", frames),
        }
    }))
}

/// Where the clip begins in its producer.
fn first(timeline: &Timeline, clip: &Clip) -> u64 {
    let rate = timeline.media[clip.media].rate;
    rate.convert(clip.first, timeline.rate, 1.0 / clip.choice.speed)
}

fn entry(timeline: &Timeline, edit: usize, clip: &Clip, frames: u64) -> Element {
    let first = first(timeline, clip);
    let producer = if clip.choice.speed == 1.0 { file_id(clip.media) } else { retimed_id(edit) };
    element("entry")
        .with("producer", producer)
        .with("in", first)
        .with("out", first + frames - 1)
        .child(property("kdenlive:id", FIRST_ID + clip.media))
}

/// The tracks above a black background, with Shotcut's markers.
fn tractor(timeline: &Timeline) -> Element {
    let marker = |(i, edit): (usize, &Edit)| {
        let marker = edit.marker.as_ref()?;
        let start = edit.entry.start + marker.start;
        let (_, colour) = if marker.is_gap { GAP } else { STEP };
        let element = element("properties").with("name", i);
        let element = element.child(property("text", &marker.text)).child(property("start", start));
        let end = start + marker.frames - 1;
        Some(element.child(property("end", end)).child(property("color", colour)))
    };
    let markers = timeline.edits.iter().enumerate().filter_map(marker);
    let mix = element("transition")
        .child(property("a_track", 0))
        .child(property("b_track", 1))
        .child(property("mlt_service", "mix"))
        .child(property("always_active", 1))
        .child(property("internal_added", 237)) // Kdenlive's mark of what it manages itself
        .child(property("sum", 1));
    element("tractor")
        .with("id", "timeline")
        .with("in", 0)
        .with("out", timeline.frames() - 1)
        .child(property("shotcut", 1))
        .child(element("properties").with("name", "shotcut:markers").children(markers))
        .child(element("track").with("producer", "black_track"))
        .child(element("track").with("producer", "audio").with("hide", "video"))
        .child(element("track").with("producer", "video").with("hide", "audio"))
        .child(mix)
}
