//! CMX 3600 edit decision lists, which every editor reads. Non-drop timecodes at the result's rate;
//! a cut with another speed has an M2 line; cards are black (BL).

use std::collections::BTreeMap;
use std::path::Path;

use stitch_core::format::{self, one_line};

use super::credits::{Credit, credits};
use super::{Export, ExportError};
use crate::demonstrate::Choice;
use crate::render::Entry;

/// Records begin at one hour, as is the custom.
const FIRST_HOUR: u64 = 3600;

pub(super) fn write(export: &Export) -> Result<String, ExportError> {
    let reels = reels(export);
    let title = one_line(&export.demonstration.title);
    let title = if title.is_empty() { "stitch".into() } else { title };
    let mut list = format!("TITLE: {title}\nFCM: NON-DROP FRAME\n\n");
    let mut before: Option<&Entry> = None;
    for (i, entry) in export.plan.entries.iter().enumerate() {
        let faded = before.filter(|before| before.overlap > 0);
        if let Some(before) = faded {
            list.push_str(&line(export, &reels, i + 1, before, Edge::FadesOut));
        }
        let edge = faded.map_or(Edge::Cut, |before| Edge::FadesIn(before.overlap));
        list.push_str(&line(export, &reels, i + 1, entry, edge));
        list.push_str(&names(export, faded, entry));
        list.push_str(&comments(export, entry));
        before = Some(entry);
    }
    Ok(list)
}

/// How an entry follows the one before. A dissolve is two lines: the end of what fades out, with no
/// length, and what fades in.
#[derive(Clone, Copy)]
enum Edge {
    Cut,
    FadesIn(u64),
    FadesOut,
}

/// The line of one entry, and a second one where its speed is not 1.
fn line(
    export: &Export,
    reels: &BTreeMap<&Path, String>,
    number: usize,
    entry: &Entry,
    edge: Edge,
) -> String {
    let fps = u64::from(export.plan.canvas.fps);
    let choice = export.clip(entry);
    let reel = choice.and_then(|choice| reels.get(choice.source.path.as_path()));
    let reel = reel.map_or("BL", String::as_str);
    let speed = choice.map_or(1.0, |choice| choice.speed);
    let start = choice.map_or(0, |choice| (choice.cut.start_ms * fps + 500) / 1000);
    let played = (((entry.end() - entry.start) as f64 * speed).round() as u64).max(1);
    let first = FIRST_HOUR * fps;
    let (from, to) = (first + entry.start, first + entry.end());
    let (mark, times) = match edge {
        Edge::Cut => ("C       ".to_owned(), [start, start + played, from, to]),
        Edge::FadesIn(frames) => (format!("D    {frames:03}"), [start, start + played, from, to]),
        Edge::FadesOut => ("C       ".to_owned(), [start + played, start + played, to, to]),
    };
    let times = times.map(|frame| timecode(frame, fps)).join(" ");
    let channels = channels(export, choice);
    let mut lines = format!("{number:03}  {reel:<8} {channels:<5} {mark} {times}\n");
    if speed != 1.0 && !matches!(edge, Edge::FadesOut) {
        let rate = fps as f64 * speed;
        let at = timecode(start, fps);
        lines.push_str(&format!("M2   {reel:<8} {rate:05.1}                {at}\n"));
    }
    lines
}

fn channels(export: &Export, choice: Option<&Choice>) -> &'static str {
    let probe = choice.and_then(|choice| export.plan.sources.get(&choice.source.path));
    if probe.is_some_and(|probe| probe.has_audio) { "B" } else { "V" }
}

/// The files of an event: of a cut the one it is from; of a dissolve what fades out and what fades in.
fn names(export: &Export, faded: Option<&Entry>, entry: &Entry) -> String {
    let named = |word: &str, entry: &Entry| {
        let choice = export.clip(entry);
        choice.map_or(String::new(), |choice| {
            let name = choice.source.path.file_name().unwrap_or_default().to_string_lossy();
            format!("* {word} CLIP NAME: {}\n", one_line(&name))
        })
    };
    match faded {
        None => named("FROM", entry),
        Some(before) => named("FROM", before) + &named("TO", entry),
    }
}

fn comments(export: &Export, entry: &Entry) -> String {
    let mut lines = String::new();
    let choice = export.clip(entry);
    if let Some(choice) = choice {
        let path = choice.source.path.to_string_lossy();
        lines.push_str(&format!("* SOURCE FILE: {}\n", one_line(&path)));
    }
    if let Some(step) = entry.shown.step() {
        let gap = if choice.is_none() { " (nothing shows this step)" } else { "" };
        let text = one_line(export.demonstration.text(step));
        lines.push_str(&format!("* COMMENT: STEP {}: {text}{gap}\n", step + 1));
    }
    lines.push('\n');
    lines
}

/// A reel name per file: up to five letters and digits of its name, and a number.
fn reels<'a>(export: &Export<'a>) -> BTreeMap<&'a Path, String> {
    let reel = |(i, Credit { source, .. }): (usize, Credit<'a>)| {
        let stem = source.path.file_stem().unwrap_or_default().to_string_lossy().to_uppercase();
        let letters: String = stem.chars().filter(char::is_ascii_alphanumeric).take(5).collect();
        (source.path.as_path(), format!("{letters}{:03}", i + 1))
    };
    credits(export).into_iter().enumerate().map(reel).collect()
}

/// `hh:mm:ss:ff`
fn timecode(frame: u64, fps: u64) -> String {
    format!("{}:{:02}", format::timecode(frame / fps * 1000), frame % fps)
}
