//! OpenTimelineIO: a timeline that editors open, with the sources as they are on disk.
//!
//! Ranges of clips count in the source's frames, gaps and markers in the result's. Fades are
//! overlaps in the result, which OTIO keeps out of the clips' ranges: each clip but the last is
//! shorter by its overlap, and a transition stands between the two.

use serde_json::{Value, json};

use super::{Export, ExportError, Format};
use crate::demonstrate::Choice;
use crate::render::{Entry, Shown};

pub(super) const FORMAT: Format = Format {
    name: "otio",
    extension: "otio",
    media_type: "application/json",
    about: "OpenTimelineIO, for video editors",
    write,
};

fn write(export: &Export) -> Result<String, ExportError> {
    let title = &export.demonstration.title;
    let timeline = json!({
        "OTIO_SCHEMA": "Timeline.1",
        "name": title,
        "metadata": {"stitch": {"version": export.demonstration.version}},
        "global_start_time": null,
        "tracks": {
            "OTIO_SCHEMA": "Stack.1",
            "name": "tracks",
            "metadata": {},
            "source_range": null,
            "effects": [],
            "markers": [],
            "enabled": true,
            "children": [track(export, "Video"), track(export, "Audio")],
        },
    });
    Ok(serde_json::to_string_pretty(&timeline)? + "\n")
}

fn track(export: &Export, kind: &str) -> Value {
    let mut children = Vec::new();
    for entry in &export.plan.entries {
        children.push(item(export, entry, kind));
        if entry.overlap > 0 {
            children.push(transition(entry.overlap, export.plan.canvas.fps));
        }
    }
    json!({
        "OTIO_SCHEMA": "Track.1",
        "name": kind,
        "kind": kind,
        "metadata": {},
        "source_range": null,
        "effects": [],
        "markers": [],
        "enabled": true,
        "children": children,
    })
}

fn item(export: &Export, entry: &Entry, kind: &str) -> Value {
    let frames = entry.frames - entry.overlap;
    let fps = f64::from(export.plan.canvas.fps);
    let chosen = match entry.shown {
        Shown::Clip(step) => export.chosen(step),
        Shown::Title | Shown::Gap(_) => None,
    };
    let probe = chosen.and_then(|choice| export.plan.source(&choice.source.path));
    let silent = kind == "Audio" && probe.is_none_or(|probe| probe.audio.is_none());
    match (chosen, probe) {
        (Some(choice), Some(probe)) if !silent => {
            let seconds = frames as f64 / fps;
            clip(export, entry, choice, probe.fps, probe.duration_ms, seconds)
        }
        _ => gap(export, entry, frames, fps),
    }
}

fn clip(
    export: &Export,
    entry: &Entry,
    choice: &Choice,
    rate: f64,
    whole_ms: u64,
    seconds: f64,
) -> Value {
    let start = choice.cut.start_ms as f64 / 1000.0;
    let available = range(0.0, whole_ms as f64 / 1000.0, rate);
    let effects: Vec<Value> = if choice.speed == 1.0 {
        Vec::new()
    } else {
        vec![json!({
            "OTIO_SCHEMA": "LinearTimeWarp.1", "name": "speed", "effect_name": "LinearTimeWarp",
            "enabled": true, "metadata": {}, "time_scalar": choice.speed,
        })]
    };
    json!({
        "OTIO_SCHEMA": "Clip.2",
        "name": choice.source.title,
        "metadata": {"stitch": {
            "probability": choice.similarity.probability,
            "licence": choice.source.licence,
            "url": choice.source.url,
        }},
        "source_range": range(start, seconds, rate),
        "effects": effects,
        "markers": marker(export, entry, start, seconds, rate),
        "enabled": true,
        "active_media_reference_key": "DEFAULT_MEDIA",
        "media_references": {"DEFAULT_MEDIA": {
            "OTIO_SCHEMA": "ExternalReference.1",
            "name": choice.source.title,
            "metadata": {},
            "available_range": available,
            "available_image_bounds": null,
            "target_url": file_url(choice),
        }},
    })
}

fn gap(export: &Export, entry: &Entry, frames: u64, fps: f64) -> Value {
    let seconds = frames as f64 / fps;
    json!({
        "OTIO_SCHEMA": "Gap.1",
        "name": match entry.shown { Shown::Gap(_) => "no video shows this step", _ => "" },
        "metadata": {},
        "source_range": range(0.0, seconds, fps),
        "effects": [],
        "markers": marker(export, entry, 0.0, seconds, fps),
        "enabled": true,
    })
}

fn marker(export: &Export, entry: &Entry, start: f64, seconds: f64, rate: f64) -> Vec<Value> {
    let Some(step) = entry.shown.step() else { return Vec::new() };
    let colour = if matches!(entry.shown, Shown::Gap(_)) { "RED" } else { "GREEN" };
    vec![json!({
        "OTIO_SCHEMA": "Marker.2",
        "name": format!("{}. {}", step + 1, export.text(step)),
        "metadata": {},
        "color": colour,
        "comment": "",
        "marked_range": range(start, seconds, rate),
    })]
}

fn transition(overlap: u64, fps: u32) -> Value {
    let time = |frames: u64| rational(frames as f64, f64::from(fps));
    json!({
        "OTIO_SCHEMA": "Transition.1",
        "name": "fade",
        "transition_type": "SMPTE_Dissolve",
        "metadata": {},
        "in_offset": time(0),
        "out_offset": time(overlap),
    })
}

/// From a moment on for so long, in frames of the rate.
fn range(start_s: f64, seconds: f64, rate: f64) -> Value {
    json!({
        "OTIO_SCHEMA": "TimeRange.1",
        "start_time": rational((start_s * rate).round(), rate),
        "duration": rational((seconds * rate).round().max(1.0), rate),
    })
}

fn rational(value: f64, rate: f64) -> Value {
    json!({"OTIO_SCHEMA": "RationalTime.1", "value": value, "rate": rate})
}

/// The file as a URL, with everything but plain letters escaped.
fn file_url(choice: &Choice) -> String {
    let path = std::path::absolute(&choice.source.path).unwrap_or(choice.source.path.clone());
    let mut url = String::from("file://");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                url.push(char::from(*byte));
            }
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    url
}
