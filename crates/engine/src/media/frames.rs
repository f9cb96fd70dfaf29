//! A video's pictures, sampled evenly and resized, on a pipe; and single pictures as JPEG.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{ChildStdout, Command};

use super::child::{Running, run, url};
use super::program::{MediaError, Program};
use crate::progress::{Progress, Silent};

/// How much of the video is decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decode {
    /// Every frame, so that the samples are the true ones.
    #[default]
    Exact,
    /// Frames nobody refers to and the deblocking are left out: about 1.6 times as fast.
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

/// Which pictures are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Pictures per second.
    pub fps: f64,
    pub width: u32,
    pub height: u32,
    /// Whether the middle is cut out to keep the shape; otherwise the picture is stretched.
    pub crop: bool,
    /// Whether pictures are resampled by triangles; otherwise by cubics, which are sharper.
    pub smooth: bool,
    pub decode: Decode,
}

/// One sampled picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its number; picture `i` is what is shown at `i / fps` seconds.
    pub index: u64,
    /// Rows of red, green, blue, one byte each.
    pub rgb: Vec<u8>,
}

/// The pictures of a video, one process for all. Dropping it ends the process.
pub struct Frames {
    running: Option<Running>,
    pipe: BufReader<ChildStdout>,
    bytes: usize,
    next: u64,
}

impl Frames {
    pub fn open(path: &Path, sampling: &Sampling) -> Result<Self, MediaError> {
        let mut running = Running::start(Program::Ffmpeg, command(path, sampling))?;
        let bytes = 3 * sampling.width as usize * sampling.height as usize;
        let stdout = running.stdout().ok_or_else(|| {
            Program::Ffmpeg.not_started(io::Error::from(io::ErrorKind::BrokenPipe))
        })?;
        let pipe = BufReader::with_capacity(bytes.clamp(1 << 16, 1 << 22), stdout);
        Ok(Self { running: Some(running), pipe, bytes, next: 0 })
    }

    /// The next picture; none at the end.
    fn read(&mut self) -> Result<Option<Frame>, MediaError> {
        let mut rgb = vec![0; self.bytes];
        match self.pipe.read_exact(&mut rgb) {
            Ok(()) => {
                self.next += 1;
                Ok(Some(Frame { index: self.next - 1, rgb }))
            }
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                self.running.take().map_or(Ok(None), |r| r.finish(&Silent).map(|()| None))
            }
            Err(e) => Err(Program::Ffmpeg.not_started(e)),
        }
    }
}

impl Iterator for Frames {
    type Item = Result<Frame, MediaError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.running.as_ref()?;
        let read = self.read();
        if read.is_err() {
            self.running = None;
        }
        read.transpose()
    }
}

fn command(path: &Path, sampling: &Sampling) -> Command {
    let Sampling { fps, width, height, crop, smooth, decode } = *sampling;
    let flags = if smooth { "bilinear" } else { "bicubic" };
    let shape = match crop {
        true => format!(
            "scale=w='if(gt(dar,{width}/{height}),ceil({height}*dar),{width})'\
             :h='if(gt(dar,{width}/{height}),{height},ceil({width}/dar))':flags={flags},\
             crop={width}:{height}"
        ),
        false => format!("scale={width}:{height}:flags={flags}"),
    };
    let mut command = Program::Ffmpeg.command();
    command.args(["-v", "error", "-nostdin", "-threads", "1"]);
    command.args(decode.arguments()).arg("-i").arg(url(path));
    // A lone key frame would otherwise round to no picture at all.
    let end = if decode == Decode::Exact { "round" } else { "pass" };
    let pick = format!("fps={fps}:start_time=0:eof_action={end}");
    // What is rarer is scaled: the pictures that are picked, or the key frames they are picked from.
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

/// The text stream with this number in the file, as SRT.
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
