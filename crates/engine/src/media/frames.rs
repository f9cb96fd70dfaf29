//! A video's frames, sampled evenly and resized, on a pipe; single frames as JPEG; text streams.

use std::path::Path;

use serde::Deserialize;

use super::Result;
use super::probe::unusable;
use super::task::{Running, Task};
use crate::progress::Progress;

/// How much of the video is decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decode {
    /// Every frame, so that the samples are exact.
    #[default]
    Exact,
    /// Without frames that no other refers to, and without deblocking: about 1.6 times as fast.
    Fast,
    /// Key frames only: about 15 times as fast, for a first look at a large library.
    Keyframes,
}

impl Decode {
    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Exact => &[],
            Self::Fast => &["-skip_frame", "noref", "-skip_loop_filter", "all"],
            Self::Keyframes => &["-skip_frame", "nokey"],
        }
    }
}

/// How a picture gets another aspect ratio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// Scaled until it covers the size, and its middle cut out.
    #[default]
    Crop,
    /// Stretched.
    Squash,
}

/// The resampling filter, widened by the reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    #[default]
    Bicubic,
    Bilinear,
}

/// Which frames are decoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Frames per second.
    pub fps: f64,
    pub width: u32,
    pub height: u32,
    pub fit: Fit,
    pub filter: Filter,
    pub decode: Decode,
}

/// The frames of a video from one ffmpeg process: rows of red, green, blue bytes; frame `i` is shown at
/// `i / fps` seconds. Dropping it ends the process.
pub struct Frames<'a> {
    running: Option<Running>,
    bytes: usize,
    progress: &'a dyn Progress,
}

impl<'a> Frames<'a> {
    pub fn open(path: &Path, sampling: &Sampling, progress: &'a dyn Progress) -> Result<Self> {
        let bytes = 3 * sampling.width as usize * sampling.height as usize;
        Ok(Self { running: Some(task(path, sampling).start()?), bytes, progress })
    }
}

impl Iterator for Frames<'_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut rgb = vec![0; self.bytes];
        match self.running.as_mut()?.fill(&mut rgb, self.progress) {
            Ok(count) if count == self.bytes => Some(Ok(rgb)),
            Ok(_) => self.running.take()?.finish(self.progress).err().map(Err),
            Err(error) => {
                self.running = None;
                Some(Err(error))
            }
        }
    }
}

fn task(path: &Path, sampling: &Sampling) -> Task {
    let Sampling { fps, width, height, fit, filter, decode } = *sampling;
    let flags = match filter {
        Filter::Bicubic => "bicubic",
        Filter::Bilinear => "bilinear",
    };
    let shape = match fit {
        Fit::Crop => format!(
            "scale=w='if(gt(dar,{width}/{height}),ceil({height}*dar),{width})'\
             :h='if(gt(dar,{width}/{height}),{height},ceil({width}/dar))':flags={flags},\
             crop={width}:{height}"
        ),
        Fit::Squash => format!("scale={width}:{height}:flags={flags}"),
    };
    // A single key frame would otherwise round to no frame at all.
    let end = if decode == Decode::Exact { "round" } else { "pass" };
    let pick = format!("fps={fps}:start_time=0:eof_action={end}");
    // The fewer are scaled: the sampled frames, or the key frames they are sampled from.
    let filters = match decode {
        Decode::Keyframes => format!("{shape},format=rgb24,{pick}"),
        Decode::Exact | Decode::Fast => format!("{pick},{shape}"),
    };
    let task = Task::ffmpeg().args(["-threads", "1"]).args(decode.arguments()).input(path);
    let task = task.args(["-map", "0:V:0", "-vf", &filters]);
    task.args(["-pix_fmt", "rgb24", "-f", "rawvideo", "-"])
}

pub const THUMBNAIL_WIDTH_PX: u32 = 320;

/// The picture at `at_ms` as a JPEG of this width, for pages.
pub fn thumbnail(path: &Path, at_ms: u64, width: u32, progress: &dyn Progress) -> Result<Vec<u8>> {
    let at = format!("{:.3}", at_ms as f64 / 1000.0);
    let shape = format!(
        "scale=w={width}:h='max(2,trunc({width}/dar/2)*2)':flags=bicubic,setsar=1,format=yuvj420p"
    );
    let task = Task::ffmpeg().args(["-threads", "1", "-ss", &at]).input(path);
    let task = task.args(["-map", "0:V:0", "-frames:v", "1", "-vf", &shape, "-q:v", "5"]);
    let jpeg = task.args(["-f", "image2pipe", "-c:v", "mjpeg", "-"]).run(progress)?;
    match jpeg.is_empty() {
        true => Err(unusable(path, format!("has no picture at {at} s; index it again"))),
        false => Ok(jpeg),
    }
}

/// Which grey frames of a stretch of a video are decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct GreySampling {
    /// Filters that come first, each with its comma.
    pub filters: String,
    pub from_s: f64,
    /// At this many times the speed.
    pub speed: f64,
    pub seconds: f64,
    /// Frames a second of these.
    pub rate: u32,
    pub width: u32,
    pub height: u32,
}

/// Small grey frames, stretched to the size: rows of bytes.
pub fn grey_frames(
    path: &Path,
    sampling: &GreySampling,
    progress: &dyn Progress,
) -> Result<Vec<Vec<u8>>> {
    let GreySampling { ref filters, from_s, speed, seconds, rate, width, height } = *sampling;
    let read = format!("{:.6}", seconds * speed);
    let filters = format!(
        "setpts=PTS/{speed:.6},fps={rate}:start_time=0:round=near,{filters}\
         scale={width}:{height}:flags=area"
    );
    let task = Task::ffmpeg().args(["-threads", "1", "-ss", &format!("{from_s:.6}"), "-t", &read]);
    let task = task.input(path).args(["-map", "0:V:0", "-vf", &filters]);
    let bytes = task.args(["-pix_fmt", "gray", "-f", "rawvideo", "-"]).run(progress)?;
    Ok(bytes.chunks_exact(width as usize * height as usize).map(<[u8]>::to_vec).collect())
}

/// The text stream with this index in the file, as SRT.
pub fn text_stream(path: &Path, index: u32, progress: &dyn Progress) -> Result<Vec<u8>> {
    let stream = format!("0:{index}");
    let task = Task::ffmpeg().input(path).args(["-map", &stream, "-c:s", "srt", "-f", "srt"]);
    // Every text at once, as a sign of life.
    task.args(["-flush_packets", "1", "-"]).run(progress)
}
