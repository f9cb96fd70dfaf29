//! A video's frames, sampled evenly and resized, on a pipe; single frames as JPEG; text streams.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{ChildStdout, Command};

use serde::Deserialize;

use super::child::{Running, run, url};
use super::program::{MediaError, Program};
use crate::progress::{Progress, Silent};

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
pub struct Frames {
    running: Option<Running>,
    pipe: BufReader<ChildStdout>,
    bytes: usize,
}

impl Frames {
    pub fn open(path: &Path, sampling: &Sampling) -> Result<Self, MediaError> {
        let bytes = 3 * sampling.width as usize * sampling.height as usize;
        let (running, pipe) =
            Running::stream(command(path, sampling), bytes.clamp(1 << 16, 1 << 22))?;
        Ok(Self { running: Some(running), pipe, bytes })
    }
}

impl Iterator for Frames {
    type Item = Result<Vec<u8>, MediaError>;

    fn next(&mut self) -> Option<Self::Item> {
        let running = self.running.take()?;
        let mut rgb = vec![0; self.bytes];
        match self.pipe.read_exact(&mut rgb) {
            Ok(()) => {
                self.running = Some(running);
                Some(Ok(rgb))
            }
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                running.finish(&Silent).err().map(Err)
            }
            Err(e) => Some(Err(Program::Ffmpeg.not_started(e))),
        }
    }
}

fn command(path: &Path, sampling: &Sampling) -> Command {
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
    let mut command = Program::Ffmpeg.command();
    command.args(["-v", "error", "-nostdin", "-threads", "1"]);
    command.args(decode.arguments()).arg("-i").arg(url(path));
    // A single key frame would otherwise round to no frame at all.
    let end = if decode == Decode::Exact { "round" } else { "pass" };
    let pick = format!("fps={fps}:start_time=0:eof_action={end}");
    // The fewer are scaled: the sampled frames, or the key frames they are sampled from.
    let filters = match decode {
        Decode::Keyframes => format!("{shape},format=rgb24,{pick}"),
        Decode::Exact | Decode::Fast => format!("{pick},{shape}"),
    };
    command.args(["-map", "0:V:0", "-vf", &filters]);
    command.args(["-pix_fmt", "rgb24", "-f", "rawvideo", "-"]);
    command
}

/// The picture at `at_ms` as a JPEG of this width, for pages.
pub fn thumbnail(
    path: &Path,
    at_ms: u64,
    width: u32,
    progress: &dyn Progress,
) -> Result<Vec<u8>, MediaError> {
    let mut command = Program::Ffmpeg.command();
    let at = format!("{:.3}", at_ms as f64 / 1000.0);
    command.args(["-v", "error", "-nostdin", "-threads", "1", "-ss", &at, "-i"]).arg(url(path));
    let shape = format!(
        "scale=w={width}:h='max(2,trunc({width}/dar/2)*2)':flags=bicubic,setsar=1,format=yuvj420p"
    );
    command.args(["-map", "0:V:0", "-frames:v", "1", "-vf", &shape, "-q:v", "5"]);
    command.args(["-f", "image2pipe", "-c:v", "mjpeg", "-"]);
    let jpeg = run(Program::Ffmpeg, command, progress)?;
    if jpeg.is_empty() {
        let reason = format!("has no picture at {at} s; index it again");
        return Err(MediaError::Unusable { path: path.to_owned(), reason });
    }
    Ok(jpeg)
}

/// The text stream with this index in the file, as SRT.
pub fn text_stream(
    path: &Path,
    index: u32,
    progress: &dyn Progress,
) -> Result<Vec<u8>, MediaError> {
    let mut command = Program::Ffmpeg.command();
    command.args(["-v", "error", "-nostdin", "-i"]).arg(url(path));
    command.args(["-map", &format!("0:{index}"), "-c:s", "srt", "-f", "srt", "-"]);
    run(Program::Ffmpeg, command, progress)
}
