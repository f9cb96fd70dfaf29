//! Final Cut Pro 7 XML (XMEML 5), which Premiere Pro and DaVinci Resolve read. Clips count in frames of
//! their file, the sequence in frames of the result. Sound is a track per channel, linked to the picture.

use super::credits::credit_line;
use super::rate::{Rate, Timecode};
use super::timeline::{Clip, Edit, Media, Timeline};
use super::xml::{Element, element, leaf};
use super::{Export, ExportError, file_url};
use crate::media::AudioStream;
use crate::render::Canvas;

/// Of the sequence: one track each.
const CHANNELS: u32 = 2;

pub(super) fn write(export: &Export) -> Result<String, ExportError> {
    let timeline = Timeline::of(export);
    let Canvas { width, height, .. } = export.plan.canvas;
    let format = element("format").child(picture(timeline.rate, width, height));
    let video = element("video").child(format).child(track(&timeline, 0));
    let sound = element("format").child(samples(48_000));
    let audio = element("audio").child(leaf("numOutputChannels", CHANNELS)).child(sound);
    let audio = audio.children((1..=CHANNELS).map(|channel| track(&timeline, channel)));
    let sequence = element("sequence")
        .with("id", "sequence-1")
        .child(leaf("name", &timeline.title))
        .child(leaf("duration", timeline.frames()))
        .child(rate(timeline.rate))
        .child(timecode(timeline.rate, Timecode::default()))
        .child(element("media").child(video).child(audio))
        .children(timeline.edits.iter().filter_map(marker));
    let document = element("xmeml").with("version", 5).child(sequence);
    Ok(document.document("<!DOCTYPE xmeml>\n"))
}

fn rate(rate: Rate) -> Element {
    element("rate").child(leaf("timebase", rate.base)).child(flag("ntsc", rate.is_ntsc))
}

fn flag(name: &'static str, value: bool) -> Element {
    leaf(name, if value { "TRUE" } else { "FALSE" })
}

fn timecode(of: Rate, at: Timecode) -> Element {
    element("timecode")
        .child(rate(of))
        .child(leaf("string", of.timecode(at)))
        .child(leaf("frame", at.frame))
        .child(leaf("displayformat", if at.is_drop { "DF" } else { "NDF" }))
}

fn picture(of: Rate, width: u32, height: u32) -> Element {
    element("samplecharacteristics")
        .child(rate(of))
        .child(leaf("width", width))
        .child(leaf("height", height))
        .child(flag("anamorphic", false))
        .child(leaf("pixelaspectratio", "square"))
        .child(leaf("fielddominance", "none"))
}

fn samples(sample_rate: u32) -> Element {
    let characteristics = element("samplecharacteristics").child(leaf("depth", 16));
    characteristics.child(leaf("samplerate", sample_rate))
}

/// The pictures (channel 0) or a channel of the sound.
fn track(timeline: &Timeline, channel: u32) -> Element {
    let mut items = Vec::new();
    let mut faded: Option<&Edit> = None;
    for (i, edit) in timeline.edits.iter().enumerate() {
        let next = timeline.edits.get(i + 1);
        let fades =
            channel == 0 && edit.entry.overlap > 0 && next.is_some_and(|n| n.clip.is_some());
        let fades = edit.clip.as_ref().filter(|_| fades).map(|_| edit);
        if let Some(clip) = edit.clip.as_ref().filter(|clip| has_channel(timeline, clip, channel)) {
            let start = if faded.is_some() { -1 } else { edit.entry.start as i64 };
            let end = if fades.is_some() { -1 } else { edit.entry.end() as i64 };
            items.push(clip_item(timeline, (i, edit), clip, channel, [start, end]));
        }
        items.extend(fades.map(|edit| dissolve(edit, timeline.rate)));
        faded = fades;
    }
    let track = element("track").children(items);
    let track = track.child(flag("enabled", true)).child(flag("locked", false));
    if channel == 0 { track } else { track.child(leaf("outputchannelindex", channel)) }
}

fn has_channel(timeline: &Timeline, clip: &Clip, channel: u32) -> bool {
    let audio = timeline.media[clip.media].probe.audio;
    channel <= audio.map_or(0, |audio| audio.channels)
}

fn clip_id(edit: usize, channel: u32) -> String {
    format!("clip-{}-{channel}", edit + 1)
}

/// `start` and `end` are -1 at fades, as the format wants it.
fn clip_item(
    timeline: &Timeline,
    (number, edit): (usize, &Edit),
    clip: &Clip,
    channel: u32,
    [start, end]: [i64; 2],
) -> Element {
    let media = &timeline.media[clip.media];
    let speed = clip.choice.speed;
    // The format counts the frames of a clip after its change of speed.
    let retimed = |frames: u64| (frames as f64 / speed).round() as u64;
    let first = retimed(clip.first);
    let shown = if end < 0 { edit.entry.frames } else { edit.entry.frames - edit.entry.overlap };
    let played = retimed(timeline.played(clip, shown)).max(1);
    let item = element("clipitem")
        .with("id", clip_id(number, channel))
        .child(leaf("masterclipid", format!("master-{}", clip.media + 1)))
        .child(leaf("name", &media.source.title))
        .child(flag("enabled", true))
        .child(leaf("duration", retimed(media.frames)))
        .child(rate(media.rate))
        .child(leaf("start", start))
        .child(leaf("end", end))
        .child(leaf("in", first))
        .child(leaf("out", first + played))
        .child(file(timeline, number, channel, clip.media));
    let item = match channel {
        0 => item,
        _ => item.child(
            element("sourcetrack")
                .child(leaf("mediatype", "audio"))
                .child(leaf("trackindex", channel)),
        ),
    };
    let comment = element("comments").child(leaf("mastercomment1", credit_line(media.source)));
    item.children((speed != 1.0).then(|| time_remap(speed, channel)))
        .children(links(timeline, number, clip))
        .child(comment)
}

/// The file where it first appears, later only its id.
fn file(timeline: &Timeline, edit: usize, channel: u32, number: usize) -> Element {
    let media = &timeline.media[number];
    let file = element("file").with("id", format!("file-{}", number + 1));
    let uses = |edit: &Edit| edit.clip.as_ref().is_some_and(|clip| clip.media == number);
    if channel > 0 || timeline.edits[..edit].iter().any(uses) {
        return file;
    }
    let Media { source, probe, .. } = media;
    let sound = |AudioStream { channels, sample_rate }| {
        element("audio").child(samples(sample_rate)).child(leaf("channelcount", channels))
    };
    let streams = element("media")
        .child(element("video").child(picture(media.rate, probe.width, probe.height)))
        .children(probe.audio.map(sound));
    let name = source.path.file_name().unwrap_or_default().to_string_lossy();
    file.child(leaf("name", name))
        .child(leaf("pathurl", file_url("localhost", &source.path)))
        .child(rate(media.rate))
        .child(leaf("duration", media.frames))
        .child(timecode(media.rate, media.timecode))
        .child(streams)
}

/// Picture and sound of one clip, so that they are trimmed together.
fn links(timeline: &Timeline, edit: usize, clip: &Clip) -> Vec<Element> {
    let place = |channel: u32| {
        let clips = timeline.edits[..=edit].iter().filter_map(|edit| edit.clip.as_ref());
        clips.filter(|clip| has_channel(timeline, clip, channel)).count()
    };
    let link = |channel: u32| {
        element("link")
            .child(leaf("linkclipref", clip_id(edit, channel)))
            .child(leaf("mediatype", if channel == 0 { "video" } else { "audio" }))
            .child(leaf("trackindex", channel.max(1)))
            .child(leaf("clipindex", place(channel)))
    };
    (0..=CHANNELS).filter(|channel| has_channel(timeline, clip, *channel)).map(link).collect()
}

fn time_remap(speed: f64, channel: u32) -> Element {
    let parameter = |id: &str, value: String| {
        element("parameter")
            .child(leaf("parameterid", id))
            .child(leaf("name", id))
            .child(leaf("value", value))
    };
    let effect = element("effect")
        .child(leaf("name", "Time Remap"))
        .child(leaf("effectid", "timeremap"))
        .child(leaf("effectcategory", "motion"))
        .child(leaf("effecttype", "motion"))
        .child(leaf("mediatype", if channel == 0 { "video" } else { "audio" }))
        .child(parameter("variablespeed", "0".into()))
        .child(parameter("speed", (speed * 100.0).to_string()))
        .child(parameter("reverse", "FALSE".into()))
        .child(parameter("frameblending", "FALSE".into()));
    element("filter").child(effect)
}

/// The next clip fades in from the cut on.
fn dissolve(edit: &Edit, of: Rate) -> Element {
    let effect = element("effect")
        .child(leaf("name", "Cross Dissolve"))
        .child(leaf("effectid", "Cross Dissolve"))
        .child(leaf("effecttype", "transition"))
        .child(leaf("mediatype", "video"))
        .child(leaf("wipecode", 0))
        .child(leaf("wipeaccuracy", 100))
        .child(leaf("startratio", 0))
        .child(leaf("endratio", 1))
        .child(flag("reverse", false));
    element("transitionitem")
        .child(leaf("start", edit.entry.end()))
        .child(leaf("end", edit.entry.end() + edit.entry.overlap))
        .child(leaf("alignment", "start"))
        .child(rate(of))
        .child(effect)
}

fn marker(edit: &Edit) -> Option<Element> {
    let marker = edit.marker.as_ref()?;
    let start = edit.entry.start + marker.start;
    let element = element("marker").child(leaf("name", &marker.text)).child(leaf("comment", ""));
    Some(element.child(leaf("in", start)).child(leaf("out", start + marker.frames)))
}
