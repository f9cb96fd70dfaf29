//! The streams of a media file, and whether it is complete.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use stitch_core::format::timecode;

use super::child::{run, url};
use super::program::{MediaError, Program};
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
    pub has_audio: bool,
    /// Indexes of the subtitle streams that are text, not pictures.
    pub text_streams: Vec<u32>,
}

/// Codecs whose subtitles are text.
const TEXT_CODECS: [&str; 7] = ["subrip", "srt", "ass", "ssa", "mov_text", "webvtt", "text"];
/// Formats that ffmpeg reads but that are no videos: terminal text, single pictures.
const NOT_VIDEO: [&str; 4] = ["tty", "image2", "_pipe", "bin"];
/// A file whose data ends so much (or a twentieth) before the end in its header is cut off.
const MAX_MISSING_S: f64 = 3.0;

/// As [`describe`], and checks that the first picture decodes and the end is there.
pub fn probe(path: &Path, progress: &dyn Progress) -> Result<Probe, MediaError> {
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
pub fn describe(path: &Path, progress: &dyn Progress) -> Result<Probe, MediaError> {
    check_file(path)?;
    let mut command = Program::Ffprobe.command();
    command.args(["-v", "error", "-of", "json", "-show_format", "-show_streams"]).arg(url(path));
    let json = match run(Program::Ffprobe, command, progress) {
        Err(MediaError::Failed { message, .. }) => return Err(unreadable(path, &message)),
        other => other?,
    };
    let report: Report = serde_json::from_slice(&json)
        .map_err(|e| unusable(path, format!("ffprobe's report cannot be read: {e}")))?;
    let mut probe = report.probe(path)?;
    if probe.duration_ms == 0 {
        probe.duration_ms = measure_duration(path, progress)?;
    }
    match probe.duration_ms {
        0 => Err(unusable(path, "the video lasts 0 seconds; leave it out of the library")),
        _ => Ok(probe),
    }
}

/// An error for what is no regular file, or empty.
fn check_file(path: &Path) -> Result<(), MediaError> {
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

fn unusable(path: &Path, reason: impl Into<String>) -> MediaError {
    MediaError::Unusable { path: path.to_owned(), reason: reason.into() }
}

/// Explains why ffprobe could not read a file.
fn unreadable(path: &Path, message: &str) -> MediaError {
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

fn first_picture(path: &Path, progress: &dyn Progress) -> Result<(), MediaError> {
    let mut command = Program::Ffmpeg.command();
    command.args(["-v", "error", "-threads", "1", "-i"]).arg(url(path));
    command.args(["-map", "0:V:0", "-frames:v", "1", "-progress", "-", "-f", "null", "/dev/null"]);
    let report = match run(Program::Ffmpeg, command, progress) {
        Err(MediaError::Failed { message, .. }) => {
            let last = message.lines().last().unwrap_or_default().to_owned();
            return Err(unusable(
                path,
                format!("no picture can be decoded ({last}); get it again"),
            ));
        }
        other => other?,
    };
    match last_value(&String::from_utf8_lossy(&report), "frame") {
        Some(0) | None => Err(unusable(
            path,
            "has a header but no picture that can be decoded; get the file again",
        )),
        Some(_) => Ok(()),
    }
}

/// Checks that there are packets near the end that the header claims, without decoding.
fn end_is_there(path: &Path, claimed_s: f64, progress: &dyn Progress) -> Result<(), MediaError> {
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
fn last_packet_s(path: &Path, from_s: f64, progress: &dyn Progress) -> Result<f64, MediaError> {
    let mut command = Program::Ffprobe.command();
    command.args([
        "-v",
        "error",
        "-select_streams",
        "V:0",
        "-show_entries",
        "packet=pts_time,dts_time",
    ]);
    command.args(["-of", "csv=p=0", "-read_intervals", &format!("{from_s:.3}%")]).arg(url(path));
    let csv = match run(Program::Ffprobe, command, progress) {
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
fn measure_duration(path: &Path, progress: &dyn Progress) -> Result<u64, MediaError> {
    let mut command = Program::Ffmpeg.command();
    command.args(["-v", "error", "-i"]).arg(url(path));
    command.args(["-map", "0:V:0", "-c", "copy", "-progress", "-", "-f", "null", "/dev/null"]);
    let report = match run(Program::Ffmpeg, command, progress) {
        Err(MediaError::Failed { message, .. }) => return Err(unreadable(path, &message)),
        other => other?,
    };
    let last = last_value(&String::from_utf8_lossy(&report), "out_time_us");
    Ok(last.unwrap_or(0).max(0) as u64 / 1000)
}

/// The last number that ffmpeg's `-progress` reported under this name.
pub(super) fn last_value(report: &str, name: &str) -> Option<i64> {
    let mut pairs = report.lines().rev().filter_map(|line| line.split_once('='));
    pairs.find_map(|(key, value)| value.trim().parse().ok().filter(|_| key == name))
}

/// The fields of ffprobe's report that are needed.
#[derive(Deserialize)]
struct Report {
    #[serde(default)]
    streams: Vec<Stream>,
    format: Format,
}

#[derive(Deserialize)]
struct Format {
    #[serde(default)]
    format_name: String,
    duration: Option<String>,
}

#[derive(Deserialize)]
struct Stream {
    index: u32,
    #[serde(default)]
    codec_name: String,
    #[serde(default)]
    codec_type: String,
    width: Option<u32>,
    height: Option<u32>,
    sample_aspect_ratio: Option<String>,
    color_space: Option<String>,
    r_frame_rate: Option<String>,
    avg_frame_rate: Option<String>,
    channels: Option<u32>,
    sample_rate: Option<String>,
    duration: Option<String>,
    #[serde(default)]
    disposition: Disposition,
    #[serde(default)]
    side_data_list: Vec<SideData>,
    #[serde(default)]
    tags: Tags,
}

#[derive(Default, Deserialize)]
struct Disposition {
    #[serde(default)]
    attached_pic: u8,
    #[serde(default)]
    timed_thumbnails: u8,
}

#[derive(Deserialize)]
struct SideData {
    rotation: Option<f64>,
}

#[derive(Default, Deserialize)]
struct Tags {
    rotate: Option<String>,
}

impl Report {
    fn probe(&self, path: &Path) -> Result<Probe, MediaError> {
        let format = &self.format.format_name;
        if NOT_VIDEO.iter().any(|name| format.split(',').any(|part| part.ends_with(name))) {
            return Err(unusable(path, "is a text or a single picture, no video; leave it out"));
        }
        let Some(video) = self.streams.iter().find(|stream| stream.is_video()) else {
            return Err(unusable(path, self.why_no_video()));
        };
        let (width, height) = video
            .shown_size()
            .ok_or_else(|| unusable(path, "has a picture of no size; get it again"))?;
        let texts = self.streams.iter().filter(|stream| stream.is_text());
        Ok(Probe {
            duration_ms: self.duration_ms(video),
            width,
            height,
            fps: video.fps(),
            colours: video.color_space.clone().filter(|name| name != "unknown"),
            has_audio: self.streams.iter().any(Stream::is_audio),
            text_streams: texts.map(|stream| stream.index).collect(),
        })
    }

    fn why_no_video(&self) -> String {
        let sound = self.streams.iter().any(|stream| stream.codec_type == "audio");
        let what = if sound { "has sound but no video" } else { "has no video" };
        format!("{what} stream; leave it out of the library")
    }

    fn duration_ms(&self, video: &Stream) -> u64 {
        let said = [&video.duration, &self.format.duration];
        let mut seconds = said.into_iter().flatten().filter_map(|text| text.parse::<f64>().ok());
        let first = seconds.find(|s| s.is_finite() && *s > 0.0);
        (first.unwrap_or(0.0) * 1000.0).round() as u64
    }
}

impl Stream {
    fn is_video(&self) -> bool {
        let picture = self.disposition.attached_pic + self.disposition.timed_thumbnails > 0;
        self.codec_type == "video" && !picture
    }

    /// Width and height after the pixel shape and the rotation.
    fn shown_size(&self) -> Option<(u32, u32)> {
        let (width, height) = (self.width.filter(|w| *w > 0)?, self.height.filter(|h| *h > 0)?);
        let shape = self.sample_aspect_ratio.as_deref().and_then(|text| ratio(text, ':'));
        let width = (f64::from(width) * shape.filter(|s| (0.1..10.0).contains(s)).unwrap_or(1.0))
            .round()
            .max(1.0) as u32;
        Some(if self.quarter_turned() { (height, width) } else { (width, height) })
    }

    fn quarter_turned(&self) -> bool {
        let side = self.side_data_list.iter().find_map(|side| side.rotation);
        let tag = || self.tags.rotate.as_ref().and_then(|text| text.parse().ok());
        let degrees: f64 = side.or_else(tag).unwrap_or(0.0);
        (degrees / 90.0).round() as i64 % 2 != 0
    }

    fn fps(&self) -> f64 {
        let rates = [&self.avg_frame_rate, &self.r_frame_rate].into_iter().flatten();
        let mut rates = rates.filter_map(|text| ratio(text, '/'));
        rates.find(|fps| (0.05..=1000.0).contains(fps)).unwrap_or(25.0)
    }

    fn is_audio(&self) -> bool {
        let rate: Option<u32> = self.sample_rate.as_ref().and_then(|rate| rate.parse().ok());
        self.codec_type == "audio" && self.channels.is_some_and(|n| n > 0) && rate > Some(0)
    }

    fn is_text(&self) -> bool {
        self.codec_type == "subtitle" && TEXT_CODECS.contains(&&*self.codec_name)
    }
}

/// `a/b` or `a:b` as a number.
fn ratio(text: &str, between: char) -> Option<f64> {
    let (above, below) = text.split_once(between)?;
    let (above, below): (f64, f64) = (above.parse().ok()?, below.parse().ok()?);
    (below != 0.0).then(|| above / below)
}
