//! OpenTimelineIO: a timeline for video editors that refers to the source files.
//!
//! Ranges of clips count in the source's frames, gaps and markers in the result's. OTIO keeps fades out
//! of the clips' ranges: each clip but the last is shorter by its overlap, and a transition follows it.

use std::path::Path;

use serde_json::{Value, json};

use super::{Export, ExportError, url_path};
use crate::demonstrate::Choice;
use crate::media::Probe;
use crate::render::{Entry, Shown};

pub(super) fn write(export: &Export) -> Result<String, ExportError> {
    let title = &export.demonstration.title;
    let tracks = [track(export, "Video"), track(export, "Audio")];
    let timeline = json!({
        "OTIO_SCHEMA": "Timeline.1",
        "name": title,
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

fn track(export: &Export, kind: &str) -> Value {
    let mut children = Vec::new();
    for entry in &export.plan.entries {
        let seconds = (entry.frames - entry.overlap) as f64 / f64::from(export.plan.canvas.fps);
        let chosen = export.clip(entry);
        let probe = chosen.and_then(|choice| export.plan.sources.get(&choice.source.path));
        children.push(match chosen.zip(probe) {
            Some((choice, probe)) if kind == "Video" || probe.has_audio => {
                clip(export, entry, choice, probe, seconds)
            }
            _ => gap(export, entry, seconds),
        });
        if entry.overlap > 0 {
            children.push(transition(entry.overlap, export.plan.canvas.fps));
        }
    }
    item("Track.1", kind, json!({"kind": kind, "children": children}))
}

fn clip(export: &Export, entry: &Entry, choice: &Choice, probe: &Probe, seconds: f64) -> Value {
    let (source, rate) = (&choice.source, probe.fps);
    let start = choice.cut.start_ms as f64 / 1000.0;
    let speed = json!({
        "OTIO_SCHEMA": "LinearTimeWarp.1", "name": "speed", "effect_name": "LinearTimeWarp",
        "enabled": true, "metadata": {}, "time_scalar": choice.speed,
    });
    let fields = json!({
        "metadata": {"stitch": {
            "probability": choice.similarity.probability,
            "licence": source.licence,
            "url": source.url,
        }},
        "source_range": range(start, seconds, rate),
        "effects": if choice.speed == 1.0 { vec![] } else { vec![speed] },
        "markers": marker(export, entry, start, seconds, rate),
        "active_media_reference_key": "DEFAULT_MEDIA",
        "media_references": {"DEFAULT_MEDIA": {
            "OTIO_SCHEMA": "ExternalReference.1",
            "name": source.title,
            "metadata": {},
            "available_range": range(0.0, probe.duration_ms as f64 / 1000.0, rate),
            "available_image_bounds": null,
            "target_url": file_url(&source.path),
        }},
    });
    item("Clip.2", &source.title, fields)
}

fn gap(export: &Export, entry: &Entry, seconds: f64) -> Value {
    let fps = f64::from(export.plan.canvas.fps);
    let name = if let Shown::Gap(_) = entry.shown { "no video shows this step" } else { "" };
    let markers = marker(export, entry, 0.0, seconds, fps);
    item("Gap.1", name, json!({"source_range": range(0.0, seconds, fps), "markers": markers}))
}

fn marker(export: &Export, entry: &Entry, start: f64, seconds: f64, rate: f64) -> Vec<Value> {
    // One per step: on the first of its clips.
    let further = matches!(entry.shown, Shown::Clip { clip: 1.., .. });
    let Some(step) = entry.shown.step().filter(|_| !further) else { return Vec::new() };
    let colour = if matches!(entry.shown, Shown::Gap(_)) { "RED" } else { "GREEN" };
    vec![json!({
        "OTIO_SCHEMA": "Marker.2",
        "name": format!("{}. {}", step + 1, export.demonstration.text(step)),
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

/// In frames of this rate.
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

fn file_url(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or(path.to_owned());
    format!("file://{}", url_path(path.as_os_str().as_encoded_bytes()))
}
