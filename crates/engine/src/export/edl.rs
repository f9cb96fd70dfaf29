//! CMX 3600 edit decision lists, which every editor reads. Non-drop timecodes at the result's rate;
//! a cut with another speed has an M2 line; cards are black (BL).

use stitch_core::format::one_line;

use super::rate::{Rate, Timecode};
use super::timeline::{Clip, Edit, Media, Timeline};
use super::{Export, ExportError};

/// Records begin at one hour, as is the custom.
const FIRST_HOUR: u64 = 3600;

pub(super) fn write(export: &Export) -> Result<String, ExportError> {
    let timeline = Timeline::of(export);
    let mut list = format!("TITLE: {}\nFCM: NON-DROP FRAME\n\n", timeline.title);
    let mut before: Option<&Edit> = None;
    for (i, edit) in timeline.edits.iter().enumerate() {
        let faded = before.filter(|before| before.entry.overlap > 0);
        if let Some(before) = faded {
            list.push_str(&line(&timeline, i + 1, before, Edge::FadesOut));
        }
        let edge = faded.map_or(Edge::Cut, |before| Edge::FadesIn(before.entry.overlap));
        list.push_str(&line(&timeline, i + 1, edit, edge));
        list.push_str(&names(faded, edit));
        list.push_str(&comments(export, edit));
        before = Some(edit);
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
fn line(timeline: &Timeline, number: usize, edit: &Edit, edge: Edge) -> String {
    let (rate, entry, clip) = (timeline.rate, &edit.entry, edit.clip.as_ref());
    let base = u64::from(rate.base);
    let reel = clip.map_or("BL".into(), |clip| reel(timeline, clip.media));
    let speed = clip.map_or(1.0, |clip| clip.choice.speed);
    let start = clip.map_or(0, |clip| source_frame(&timeline.media[clip.media], clip.first, rate));
    let played = (((entry.end() - entry.start) as f64 * speed).round() as u64).max(1);
    let first = FIRST_HOUR * base;
    let (from, to) = (first + entry.start, first + entry.end());
    let (mark, times) = match edge {
        Edge::Cut => ("C       ".to_owned(), [start, start + played, from, to]),
        Edge::FadesIn(frames) => (format!("D    {frames:03}"), [start, start + played, from, to]),
        Edge::FadesOut => ("C       ".to_owned(), [start + played, start + played, to, to]),
    };
    let timecode = |frame: u64| rate.timecode(Timecode { frame, is_drop: false });
    let times = times.map(timecode).join(" ");
    let channels = channels(timeline, clip);
    let mut lines = format!("{number:03}  {reel:<8} {channels:<5} {mark} {times}\n");
    if speed != 1.0 && !matches!(edge, Edge::FadesOut) {
        let (fps, at) = (rate.fps() * speed, timecode(start));
        lines.push_str(&format!("M2   {reel:<8} {fps:05.1}                {at}\n"));
    }
    lines
}

/// The timecode of the file's frame `first`, counted at the result's rate.
fn source_frame(media: &Media, first: u64, rate: Rate) -> u64 {
    let text = media.rate.timecode(media.timecode.after(first)).replace(';', ":");
    let base = Rate::whole(media.rate.base);
    base.read(&text).map_or(0, |timecode| base.convert(timecode.frame, rate, 1.0))
}

fn channels(timeline: &Timeline, clip: Option<&Clip>) -> &'static str {
    let has_audio = |clip: &Clip| timeline.media[clip.media].probe.audio.is_some();
    if clip.is_some_and(has_audio) { "B" } else { "V" }
}

/// The files of an event: of a cut the one it is from; of a dissolve what fades out and what fades in.
fn names(faded: Option<&Edit>, edit: &Edit) -> String {
    let named = |word: &str, edit: &Edit| {
        edit.clip.as_ref().map_or(String::new(), |clip| {
            let name = clip.choice.source.path.file_name().unwrap_or_default().to_string_lossy();
            format!("* {word} CLIP NAME: {}\n", one_line(&name))
        })
    };
    match faded {
        None => named("FROM", edit),
        Some(before) => named("FROM", before) + &named("TO", edit),
    }
}

fn comments(export: &Export, edit: &Edit) -> String {
    let mut lines = String::new();
    if let Some(clip) = &edit.clip {
        let path = clip.choice.source.path.to_string_lossy();
        lines.push_str(&format!("* SOURCE FILE: {}\n", one_line(&path)));
    }
    if let Some(step) = edit.entry.shown.step() {
        let gap = if edit.clip.is_none() { " (nothing shows this step)" } else { "" };
        let text = one_line(&export.demonstration.text(step));
        lines.push_str(&format!("* COMMENT: STEP {}: {text}{gap}\n", step + 1));
    }
    lines.push('\n');
    lines
}

/// The name of a file as a reel: up to five letters and digits, and a number.
fn reel(timeline: &Timeline, media: usize) -> String {
    let path = &timeline.media[media].source.path;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_uppercase();
    let letters: String = stem.chars().filter(char::is_ascii_alphanumeric).take(5).collect();
    format!("{letters}{:03}", media + 1)
}
