//! The streams of a media file, and whether it is complete.

use std::io::Read;
use std::path::Path;

use serde_json::Value;
use stitch_core::format::timecode;

use super::Result;
use super::program::MediaError;
use super::task::Task;
use crate::progress::Progress;

/// The properties of a usable video file.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// How long it lasts, in milliseconds.
    pub duration_ms: u64,
    /// Width as shown: rotation and pixel shape applied.
    pub width: u32,
    pub height: u32,
    /// Frames per second, on average.
    pub fps: f64,
    /// How its colours are coded, as ffmpeg calls it (`bt709`), where the file says.
    pub colours: Option<String>,
    /// The first usable one.
    pub audio: Option<AudioStream>,
    /// Of the first frame, as the file says it: `01:00:00:00`, with `;` before drop frames.
    pub timecode: Option<String>,
    /// Indexes of the subtitle streams that are text, not pictures.
    pub text_streams: Vec<u32>,
}

/// How the samples of an audio stream are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioStream {
    pub channels: u32,
    /// Samples per second.
    pub sample_rate: u32,
}

/// Codecs whose subtitles are text.
const TEXT_CODECS: [&str; 7] = ["subrip", "srt", "ass", "ssa", "mov_text", "webvtt", "text"];
/// Two days; a header that says more is broken.
pub const MAX_LENGTH_MS: u64 = 48 * 3600 * 1000;
/// A file whose data ends so much (or a twentieth) before the end in its header is cut off.
const MAX_MISSING_S: f64 = 3.0;

/// As [`describe`], and checks that the first picture decodes and the end is there.
pub fn probe(path: &Path, progress: &dyn Progress) -> Result<Probe> {
    check_file(path)?;
    let described = || {
        let probe = describe(path, progress)?;
        let end = end_is_there(path, probe.duration_ms as f64 / 1000.0, progress);
        Ok::<_, MediaError>((probe, end))
    };
    let (described, first) = rayon::join(described, || first_picture(path, progress));
    let (probe, end) = described?;
    first.and(end).map(|()| probe)
}

/// What the headers say, which is enough for a file that was probed before.
pub fn describe(path: &Path, progress: &dyn Progress) -> Result<Probe> {
    check_file(path)?;
    let task = Task::ffprobe().args(["-of", "json", "-show_format", "-show_streams"]);
    let json = task.input(path).run(progress).map_err(|error| unreadable(path, error))?;
    let mut probe = read_report(path, &json)?;
    if probe.duration_ms == 0 {
        probe.duration_ms = measure_duration(path, progress)?;
    }
    let hours = probe.duration_ms / 3_600_000;
    match probe.duration_ms {
        0 => Err(unusable(path, "the video lasts 0 seconds; leave it out of the library")),
        1..=MAX_LENGTH_MS => Ok(probe),
        _ => Err(unusable(
            path,
            format!("the video says it lasts {hours} hours; re-encode it, its header is broken"),
        )),
    }
}

/// An error for what is no regular file, or empty.
fn check_file(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path).map_err(crate::files::FileError::at(path))?;
    if metadata.is_dir() {
        return Err(unusable(path, "is a folder, not a video; give the videos inside it"));
    }
    if !metadata.is_file() {
        return Err(unusable(path, "is a device or pipe, not a file; copy it to a file first"));
    }
    if metadata.len() == 0 {
        return Err(unusable(path, "the file is empty; get it again"));
    }
    Ok(())
}

pub(super) fn unusable(path: &Path, reason: impl Into<String>) -> MediaError {
    MediaError::Unusable { path: path.to_owned(), reason: reason.into() }
}

/// Explains why ffmpeg or ffprobe could not read a file.
pub(super) fn unreadable(path: &Path, error: MediaError) -> MediaError {
    let MediaError::Failed { message, .. } = error else { return error };
    if message.contains("Format not on whitelist") {
        return unusable(
            path,
            "is a playlist, a text, a single picture or a rare format; convert a video or sound to MP4, leave \
             out anything else",
        );
    }
    if message.contains("moov atom not found") && begins_as_mp4(path) {
        return unusable(path, "the file is cut off before its index; get it again");
    }
    if message.contains("End of file") {
        return unusable(path, "has a header but no data; get the file again");
    }
    let last = message.lines().last().unwrap_or_default();
    let said = last.rsplit(": ").next().unwrap_or(last);
    unusable(path, format!("is no media file that ffmpeg can read ({said}); leave it out"))
}

/// Whether the file begins like MP4 and QuickTime files: ffmpeg trusts the extension.
fn begins_as_mp4(path: &Path) -> bool {
    let mut start = [0; 8];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    let kinds = ["ftyp", "mdat", "moov", "free", "skip", "wide"];
    read.is_ok() && kinds.iter().any(|kind| start.ends_with(kind.as_bytes()))
}

fn first_picture(path: &Path, progress: &dyn Progress) -> Result<()> {
    let task = Task::ffmpeg().args(["-threads", "1"]).input(path);
    let task = task.args(["-map", "0:V:0", "-frames:v", "1", "-progress", "-"]);
    match task.args(["-f", "null", "/dev/null"]).run(progress) {
        Err(MediaError::Failed { message, .. }) => {
            let last = message.lines().last().unwrap_or_default();
            Err(unusable(path, format!("no picture can be decoded ({last}); get it again")))
        }
        Ok(report) if last_value(&report, "frame").unwrap_or(0) == 0 => {
            let reason = "has a header but no picture that can be decoded; get the file again";
            Err(unusable(path, reason))
        }
        other => other.map(drop),
    }
}

/// Checks that there are packets near the end that the header claims, without decoding.
fn end_is_there(path: &Path, claimed_s: f64, progress: &dyn Progress) -> Result<()> {
    let last = last_packet_s(path, (claimed_s - 1.0).max(0.0), progress)?;
    if last + MAX_MISSING_S.max(claimed_s / 20.0) >= claimed_s {
        return Ok(());
    }
    let reason = format!(
        "says it lasts {} but its data ends at {}; it was cut off, get it again",
        timecode((claimed_s * 1000.0) as u64),
        timecode((last * 1000.0) as u64)
    );
    Err(unusable(path, reason))
}

/// The time of the last picture at or after the key frame before `from_s`.
fn last_packet_s(path: &Path, from_s: f64, progress: &dyn Progress) -> Result<f64> {
    let packets = ["-select_streams", "V:0", "-show_entries", "packet=pts_time,dts_time"];
    let from = format!("{from_s:.3}%");
    let task = Task::ffprobe().args(packets).args(["-of", "csv=p=0", "-read_intervals", &from]);
    let csv = match task.input(path).run(progress) {
        // A seek beyond the data is an error for some containers: then nothing is there.
        Err(MediaError::Failed { .. }) => Vec::new(),
        other => other?,
    };
    let text = String::from_utf8_lossy(&csv);
    // AVI has decoding times only; the other column is then no number.
    let times = text.split([',', '\n']).filter_map(|time| time.trim().parse::<f64>().ok());
    Ok(times.fold(0.0, f64::max))
}

/// The duration in milliseconds by reading every packet, if the header does not say it.
fn measure_duration(path: &Path, progress: &dyn Progress) -> Result<u64> {
    let task = Task::ffmpeg().input(path).args(["-map", "0:V:0", "-c", "copy", "-progress", "-"]);
    let report = task.args(["-f", "null", "/dev/null"]).run(progress);
    let report = report.map_err(|error| unreadable(path, error))?;
    Ok(last_value(&report, "out_time_us").unwrap_or(0).max(0) as u64 / 1000)
}

/// The last number that ffmpeg's `-progress` reported under this name.
pub(super) fn last_value(report: &[u8], name: &str) -> Option<i64> {
    let report = String::from_utf8_lossy(report);
    let mut pairs = report.lines().rev().filter_map(|line| line.split_once('='));
    pairs.find_map(|(key, value)| value.trim().parse().ok().filter(|_| key == name))
}

/// What ffprobe's report, in JSON, says of a usable video; an error for any other file.
pub fn read_report(path: &Path, json: &[u8]) -> Result<Probe> {
    let report: Value = serde_json::from_slice(json)
        .map_err(|e| unusable(path, format!("ffprobe's report cannot be read: {e}")))?;
    let streams = report["streams"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(video) = streams.iter().find(|stream| is_video(stream)) else {
        let sound = streams.iter().any(|stream| stream["codec_type"] == "audio");
        let what = if sound { "has sound but no video" } else { "has no video" };
        return Err(unusable(path, format!("{what} stream; leave it out of the library")));
    };
    let (width, height) = shown_size(video)
        .ok_or_else(|| unusable(path, "has a picture of no size; get it again"))?;
    let said = [&video["duration"], &report["format"]["duration"]];
    let seconds = said.into_iter().filter_map(number).find(|s| s.is_finite() && *s > 0.0);
    let colours = video["color_space"].as_str().filter(|name| *name != "unknown");
    let texts = streams.iter().filter(|stream| is_text(stream));
    Ok(Probe {
        duration_ms: (seconds.unwrap_or(0.0) * 1000.0).round() as u64,
        width,
        height,
        fps: fps(video),
        colours: colours.map(str::to_owned),
        audio: streams.iter().find_map(audio_stream),
        timecode: timecode_tag(streams, &report["format"]),
        text_streams: texts
            .filter_map(|stream| stream["index"].as_u64()?.try_into().ok())
            .collect(),
    })
}

/// Covers and thumbnails are no videos.
fn is_video(stream: &Value) -> bool {
    let is = |name: &str| stream["disposition"][name] == 1;
    stream["codec_type"] == "video" && !is("attached_pic") && !is("timed_thumbnails")
}

fn audio_stream(stream: &Value) -> Option<AudioStream> {
    let above_0 = |name: &str| number(&stream[name]).map(|n| n as u32).filter(|n| *n > 0);
    let is_audio = stream["codec_type"] == "audio";
    let (channels, sample_rate) = above_0("channels").zip(above_0("sample_rate"))?;
    is_audio.then_some(AudioStream { channels, sample_rate })
}

/// QuickTime files have it in a stream, others in the header.
fn timecode_tag(streams: &[Value], format: &Value) -> Option<String> {
    let mut tagged = streams.iter().chain([format]);
    tagged.find_map(|part| part["tags"]["timecode"].as_str()).map(str::to_owned)
}

fn is_text(stream: &Value) -> bool {
    stream["codec_type"] == "subtitle"
        && TEXT_CODECS.iter().any(|codec| stream["codec_name"] == *codec)
}

/// Width and height after the pixel shape and the rotation.
fn shown_size(stream: &Value) -> Option<(u32, u32)> {
    let side = |name: &str| u32::try_from(stream[name].as_u64()?).ok().filter(|side| *side > 0);
    let (width, height) = (side("width")?, side("height")?);
    let shape = ratio(&stream["sample_aspect_ratio"], ':').filter(|s| (0.1..10.0).contains(s));
    let width = (f64::from(width) * shape.unwrap_or(1.0)).round().max(1.0) as u32;
    Some(if is_quarter_turned(stream) { (height, width) } else { (width, height) })
}

fn is_quarter_turned(stream: &Value) -> bool {
    let mut sides = stream["side_data_list"].as_array().into_iter().flatten();
    let degrees = sides.find_map(|side| number(&side["rotation"]));
    let degrees = degrees.or_else(|| number(&stream["tags"]["rotate"]));
    (degrees.unwrap_or(0.0) / 90.0).round() as i64 % 2 != 0
}

fn fps(stream: &Value) -> f64 {
    let rates = [&stream["avg_frame_rate"], &stream["r_frame_rate"]];
    let mut rates = rates.into_iter().filter_map(|rate| ratio(rate, '/'));
    rates.find(|fps| (0.05..=1000.0).contains(fps)).unwrap_or(25.0)
}

/// ffprobe writes some numbers as text.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// `a/b` or `a:b` as a number.
fn ratio(value: &Value, between: char) -> Option<f64> {
    let (above, below) = value.as_str()?.split_once(between)?;
    let (above, below): (f64, f64) = (above.parse().ok()?, below.parse().ok()?);
    (below != 0.0).then(|| above / below)
}
