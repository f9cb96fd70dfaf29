//! OpenTimelineIO: a timeline for video editors that refers to the source files.
//!
//! Clips begin at a frame of the source, counted from its timecode; their lengths are in the result's
//! frames, so that nothing drifts. OTIO keeps fades out of the clips' ranges: each clip but the last is
//! shorter by its overlap, and a transition follows it.

use serde_json::{Value, json};

use super::rate::Rate;
use super::timeline::{Clip, Edit, Media, Timeline};
use super::{Export, ExportError, file_url};
use crate::render::Shown;

pub(super) fn write(export: &Export) -> Result<String, ExportError> {
    let timeline = Timeline::of(export);
    let tracks = [track(&timeline, "Video"), track(&timeline, "Audio")];
    let timeline = json!({
        "OTIO_SCHEMA": "Timeline.1",
        "name": export.demonstration.title,
        "metadata": {"stitch": {"version": export.demonstration.version}},
        "global_start_time": null,
        "tracks": item("Stack.1", "tracks", json!({"children": tracks})),
    });
    Ok(serde_json::to_string_pretty(&timeline)? + "\n")
}

/// An object with the fields of all items of a timeline; `fields` replace them and are added.
fn item(schema: &str, name: &str, fields: Value) -> Value {
    let mut item = json!({
        "OTIO_SCHEMA": schema,
        "name": name,
        "metadata": {},
        "source_range": null,
        "effects": [],
        "markers": [],
        "enabled": true,
    });
    if let (Some(item), Value::Object(fields)) = (item.as_object_mut(), fields) {
        item.extend(fields);
    }
    item
}

fn track(timeline: &Timeline, kind: &str) -> Value {
    let mut children = Vec::new();
    for edit in &timeline.edits {
        let has_kind =
            |clip: &&Clip| kind == "Video" || timeline.media[clip.media].probe.audio.is_some();
        children.push(match edit.clip.as_ref().filter(has_kind) {
            Some(clip) => clip_item(timeline, edit, clip),
            None => gap(timeline, edit),
        });
        if edit.entry.overlap > 0 {
            children.push(transition(edit.entry.overlap, timeline.rate));
        }
    }
    item("Track.1", kind, json!({"kind": kind, "children": children}))
}

fn clip_item(timeline: &Timeline, edit: &Edit, clip: &Clip) -> Value {
    let (choice, Media { source, rate, timecode, frames, .. }) =
        (clip.choice, &timeline.media[clip.media]);
    let speed = json!({
        "OTIO_SCHEMA": "LinearTimeWarp.1", "name": "speed", "effect_name": "LinearTimeWarp",
        "enabled": true, "metadata": {}, "time_scalar": choice.speed,
    });
    let start = rational(timecode.after(clip.first).frame, *rate);
    let fields = json!({
        "metadata": {"stitch": {
            "probability": choice.similarity.probability,
            "licence": source.licence,
            "url": source.url,
        }},
        "source_range": range(&start, &length(timeline, edit)),
        "effects": if choice.speed == 1.0 { vec![] } else { vec![speed] },
        "markers": Vec::from_iter(marker(timeline, edit, |after| {
            rational(timecode.after(clip.first + timeline.played(clip, after)).frame, *rate)
        })),
        "active_media_reference_key": "DEFAULT_MEDIA",
        "media_references": {"DEFAULT_MEDIA": {
            "OTIO_SCHEMA": "ExternalReference.1",
            "name": source.title,
            "metadata": {},
            "available_range": range(&rational(timecode.frame, *rate), &rational(*frames, *rate)),
            "available_image_bounds": null,
            "target_url": file_url("", &source.path),
        }},
    });
    item("Clip.2", &source.title, fields)
}

fn gap(timeline: &Timeline, edit: &Edit) -> Value {
    let is_gap = matches!(edit.entry.shown, Shown::Gap(_));
    let name = if is_gap { "no video shows this step" } else { "" };
    let range = range(&rational(0, timeline.rate), &length(timeline, edit));
    let markers = Vec::from_iter(marker(timeline, edit, |after| rational(after, timeline.rate)));
    item("Gap.1", name, json!({"source_range": range, "markers": markers}))
}

/// `at` tells the time in the item that is so many frames of the result after its beginning.
fn marker(timeline: &Timeline, edit: &Edit, at: impl Fn(u64) -> Value) -> Option<Value> {
    let marker = edit.marker.as_ref()?;
    Some(json!({
        "OTIO_SCHEMA": "Marker.2",
        "name": marker.text,
        "metadata": {},
        "color": if marker.is_gap { "RED" } else { "GREEN" },
        "comment": "",
        "marked_range": range(&at(marker.start), &rational(marker.frames, timeline.rate)),
    }))
}

fn length(timeline: &Timeline, edit: &Edit) -> Value {
    rational(edit.entry.frames - edit.entry.overlap, timeline.rate)
}

fn transition(overlap: u64, rate: Rate) -> Value {
    json!({
        "OTIO_SCHEMA": "Transition.1",
        "name": "fade",
        "transition_type": "SMPTE_Dissolve",
        "metadata": {},
        "in_offset": rational(0, rate),
        "out_offset": rational(overlap, rate),
    })
}

fn range(start: &Value, duration: &Value) -> Value {
    json!({"OTIO_SCHEMA": "TimeRange.1", "start_time": start, "duration": duration})
}

fn rational(frames: u64, rate: Rate) -> Value {
    json!({"OTIO_SCHEMA": "RationalTime.1", "value": frames as f64, "rate": rate.fps()})
}
