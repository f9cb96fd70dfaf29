//! One stretch of a video as pictures of a common format, and its sound as samples.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{ChildStdout, Command};

use super::child::{Running, run, url};
use super::probe::{Probe, last_value};
use super::program::{MediaError, Program};
use crate::progress::Progress;

/// Samples per second of all sound here.
pub const RATE: u32 = 48_000;

/// The common format of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// Width in pixels, even.
    pub width: u32,
    /// Height in pixels, even.
    pub height: u32,
    /// Frames per second; divides [`RATE`], so that a frame is a whole number of samples.
    pub fps: u32,
}

/// What happens to a picture whose shape is not the canvas's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aspect {
    #[default]
    Fit,
    Crop,
    Blur,
}

/// What is to be seen.
#[derive(Clone, Copy, Debug)]
pub enum Footage<'a> {
    Video {
        path: &'a Path,
        probe: &'a Probe,
        /// The moment, in seconds.
        from_s: f64,
        speed: f64,
    },
    /// A plate of one colour (`0xRRGGBB`) for letters to stand on.
    Plate { colour: u32 },
}

/// Footage with letters on it.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    pub footage: Footage<'a>,
    /// The name of an ASS file in the working folder that belongs to it.
    pub letters: Option<&'a str>,
}

/// How pictures are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quality {
    /// x264's preset.
    pub preset: &'static str,
    /// x264's constant rate factor; lower is better.
    pub crf: u8,
}

impl Default for Quality {
    fn default() -> Self {
        Self { preset: "veryfast", crf: 21 }
    }
}

/// What a piece is made of: one layer, or two that fade into each other over the whole piece.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    pub layer: Layer<'a>,
    pub into: Option<Layer<'a>>,
    /// The name of an ASS file in the working folder that is drawn over all of it.
    pub caption: Option<&'a str>,
    pub frames: u64,
}

/// Encodes a piece to `out` (a `.mov` without sound) with exactly the frames asked for. `folder`
/// holds the ASS files and a folder `fonts`; names inside it need no quoting in filters.
pub fn encode_piece(
    piece: &Piece,
    canvas: Canvas,
    aspect: Aspect,
    quality: Quality,
    folder: &Path,
    out: &Path,
    progress: &dyn Progress,
) -> Result<(), MediaError> {
    let layers: Vec<Layer> = [Some(piece.layer), piece.into].into_iter().flatten().collect();
    let mut command = Program::Ffmpeg.command();
    command.current_dir(folder).args(["-v", "error", "-nostdin", "-y", "-filter_threads", "1"]);
    for layer in &layers {
        input(&mut command, layer, piece.frames, canvas);
    }
    command.args(["-filter_complex", &graph(&layers, piece, canvas, aspect)]);
    command.args(["-map", "[out]", "-frames:v", &piece.frames.to_string()]);
    compression(&mut command, canvas, quality);
    command.args(["-progress", "-", "-f", "mov"]).arg(url(out));
    let report = run(Program::Ffmpeg, command, progress)?;
    check_frames(piece, last_value(&String::from_utf8_lossy(&report), "frame"))
}

/// A piece that came out shorter than asked is not to be used.
fn check_frames(piece: &Piece, made: Option<i64>) -> Result<(), MediaError> {
    let made = made.unwrap_or(0).max(0) as u64;
    match piece.layer.footage {
        _ if made == piece.frames => Ok(()),
        Footage::Video { path, from_s, .. } => Err(MediaError::Unusable {
            path: path.to_owned(),
            reason: format!("has no picture at {from_s:.1} s; index it again and make a new cut"),
        }),
        Footage::Plate { .. } => Err(MediaError::Failed {
            program: Program::Ffmpeg,
            message: format!("{made} of {} frames of a card were made", piece.frames),
        }),
    }
}

fn input(command: &mut Command, layer: &Layer, frames: u64, canvas: Canvas) {
    let seconds = frames as f64 / f64::from(canvas.fps);
    match layer.footage {
        Footage::Video { path, from_s, speed, .. } => {
            // A little more than needed, so that the last frame has a successor.
            let read = format!("{:.6}", seconds * speed + 0.25);
            command.args(["-threads", "1", "-ss", &format!("{from_s:.6}"), "-t", &read, "-i"]);
            command.arg(url(path));
        }
        Footage::Plate { colour } => {
            let Canvas { width, height, fps } = canvas;
            let plate = format!("color=c=0x{colour:06X}:s={width}x{height}:r={fps}");
            command.args(["-f", "lavfi", "-i", &plate]);
        }
    }
}

fn graph(layers: &[Layer], piece: &Piece, canvas: Canvas, aspect: Aspect) -> String {
    let chain = |(i, layer): (usize, &Layer)| chain(i, layer, piece.frames, canvas, aspect);
    let chains: Vec<String> = layers.iter().enumerate().map(chain).collect();
    let seconds = piece.frames as f64 / f64::from(canvas.fps);
    let faded = match layers.len() {
        1 => "[l0]".to_owned(),
        _ => format!("[l0][l1]xfade=transition=fade:duration={seconds:.6}:offset=0,"),
    };
    format!("{};{faded}{}format=yuv420p[out]", chains.join(";"), drawn(piece.caption))
}

/// The filter that draws an ASS file, with its comma.
fn drawn(letters: Option<&str>) -> String {
    letters.map_or_else(String::new, |name| format!("ass=filename={name}:fontsdir=fonts,"))
}

/// From input `i` to the label `l{i}`: exactly `frames` frames of the canvas.
fn chain(i: usize, layer: &Layer, frames: u64, canvas: Canvas, aspect: Aspect) -> String {
    let fps = canvas.fps;
    let letters = drawn(layer.letters);
    // The last frame stands where the video ends early; xfade wants one time base.
    let end = format!(
        "tpad=stop=-1:stop_mode=clone,trim=end_frame={frames},{letters}\
         format=yuv420p,setsar=1,settb=1/{fps}[l{i}]"
    );
    match layer.footage {
        Footage::Plate { .. } => format!("[{i}:v]{end}"),
        Footage::Video { probe, speed, .. } => {
            let shape = shape(i, probe, canvas, aspect);
            let time = format!("setpts=PTS/{speed:.6},fps={fps}:start_time=0:round=near");
            format!("[{i}:V:0]{time},{shape},{end}")
        }
    }
}

/// The filters that bring a picture to the size of the canvas.
fn shape(i: usize, probe: &Probe, canvas: Canvas, aspect: Aspect) -> String {
    let Canvas { width, height, .. } = canvas;
    let from = matrix(probe);
    let first = format!("flags=bicubic:in_color_matrix={from}:out_color_matrix=bt709:out_range=tv");
    let scaled = |(w, h): (u32, u32)| format!("scale={w}:{h}:{first},setsar=1");
    let inside = inside(probe, canvas);
    if inside == (width, height) {
        return scaled(inside);
    }
    let (across, down) = middle(probe, canvas);
    let middle = format!("crop=w=iw*{across:.6}:h=ih*{down:.6}");
    match aspect {
        Aspect::Fit => format!("{},pad={width}:{height}:-1:-1:color=black", scaled(inside)),
        Aspect::Crop => format!("{middle},{}", scaled((width, height))),
        Aspect::Blur => {
            // Blurred at an eighth of the size: that is where the time would go.
            let small = (even((width / 8).max(32)), even((height / 8).max(32)));
            format!(
                "split=2[f{i}][b{i}];[b{i}]{middle},{},boxblur=3:2,{},\
                 lutyuv=y=val*0.55+7[g{i}];[f{i}]{}[h{i}];[g{i}][h{i}]overlay=(W-w)/2:(H-h)/2",
                scaled(small),
                format_args!("scale={width}:{height}:flags=bicubic,setsar=1"),
                scaled(inside)
            )
        }
    }
}

/// How the video's colours are coded. Where the file is silent, size tells: large pictures follow
/// BT.709, small ones BT.601. Saying so also spares a conversion that would double the cost.
fn matrix(probe: &Probe) -> &'static str {
    let large = probe.width.max(probe.height) >= 1280 || probe.width.min(probe.height) > 576;
    match probe.colours.as_deref() {
        Some("bt709") => "bt709",
        Some(_) => "auto",
        None if large => "bt709",
        None => "bt601",
    }
}

/// How much wider the video's shape is than the canvas's. A difference of one in fifty is
/// stretched away: bars that thin look like a mistake.
fn wider(probe: &Probe, canvas: Canvas) -> f64 {
    let own = f64::from(probe.width) / f64::from(probe.height);
    let ratio = own * f64::from(canvas.height) / f64::from(canvas.width);
    if (ratio - 1.0).abs() < 0.02 { 1.0 } else { ratio }
}

/// The largest size of the video's shape inside the canvas.
fn inside(probe: &Probe, canvas: Canvas) -> (u32, u32) {
    let wider = wider(probe, canvas);
    let (width, height) = (f64::from(canvas.width), f64::from(canvas.height));
    if wider > 1.0 {
        (canvas.width, nearest_even(height / wider))
    } else {
        (nearest_even(width * wider), canvas.height)
    }
}

/// The share of the video's width and height that has the canvas's shape.
fn middle(probe: &Probe, canvas: Canvas) -> (f64, f64) {
    let wider = wider(probe, canvas);
    ((1.0 / wider).min(1.0), wider.min(1.0))
}

fn nearest_even(value: f64) -> u32 {
    ((value / 2.0).round() as u32 * 2).max(2)
}

fn even(value: u32) -> u32 {
    (value / 2 * 2).max(2)
}

/// One set of x264 options for every piece: joining copies, so their headers must be the same.
fn compression(command: &mut Command, canvas: Canvas, quality: Quality) {
    let Canvas { width, height, fps } = canvas;
    let level = match u64::from(width) * u64::from(height) * u64::from(fps) {
        0..=62_668_800 => "4.0",
        62_668_801..=125_337_600 => "4.2",
        _ => "5.2",
    };
    command.args(["-c:v", "libx264", "-preset", quality.preset]);
    command.args(["-crf", &quality.crf.to_string()]);
    command.args(["-threads", "1", "-profile:v", "high", "-level:v", level]);
    command.args(["-g", &(2 * fps).to_string(), "-pix_fmt", "yuv420p"]);
    command.args(["-color_range", "tv", "-colorspace", "bt709"]);
    command.args(["-color_primaries", "bt709", "-color_trc", "bt709"]);
    command.args(["-video_track_timescale", &(fps * 512).to_string()]);
    command.args(["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact"]);
}

/// The sound of a stretch of video, decoded: stereo samples from -1 to 1 at [`RATE`].
pub struct Sound {
    running: Option<Running>,
    pipe: BufReader<ChildStdout>,
}

impl Sound {
    /// Starts to decode `seconds` of the result from a moment of the video at this speed.
    pub fn open(path: &Path, from_s: f64, seconds: f64, speed: f64) -> Result<Self, MediaError> {
        let mut command = Program::Ffmpeg.command();
        let (from, read) = (format!("{from_s:.6}"), format!("{:.6}", seconds * speed));
        command.args(["-v", "error", "-nostdin", "-vn", "-sn", "-ss", &from, "-t", &read, "-i"]);
        command.arg(url(path)).args(["-map", "0:a:0", "-af", &sound_filters(speed)]);
        command.args(["-ac", "2", "-ar", &RATE.to_string(), "-f", "f32le", "-"]);
        let mut running = Running::start(Program::Ffmpeg, command)?;
        let stdout = running.stdout().ok_or_else(|| {
            Program::Ffmpeg.not_started(io::Error::from(io::ErrorKind::BrokenPipe))
        })?;
        Ok(Self { running: Some(running), pipe: BufReader::with_capacity(1 << 16, stdout) })
    }

    /// The next pair of samples; none at the end. What is not a number becomes silence.
    pub fn next_pair(&mut self) -> Result<Option<[f32; 2]>, MediaError> {
        let mut bytes = [0; 8];
        match self.pipe.read_exact(&mut bytes) {
            Ok(()) => {
                let [a, b, c, d, e, f, g, h] = bytes;
                let pair = [f32::from_le_bytes([a, b, c, d]), f32::from_le_bytes([e, f, g, h])];
                Ok(Some(pair.map(|x| if x.is_finite() { x } else { 0.0 })))
            }
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(e) => Err(Program::Ffmpeg.not_started(e)),
        }
    }

    /// Waits for the decoder's end and says how it went.
    pub fn finish(mut self, progress: &dyn Progress) -> Result<(), MediaError> {
        self.running.take().map_or(Ok(()), |running| running.finish(progress))
    }
}

/// Silence where the sound begins late or has holes; the speed without a change of pitch.
fn sound_filters(speed: f64) -> String {
    let mut filters = format!("aresample={RATE}:async=1:first_pts=0");
    let mut left = speed;
    while left < 0.5 {
        filters.push_str(",atempo=0.5");
        left /= 0.5;
    }
    if (left - 1.0).abs() > 1e-6 {
        filters.push_str(&format!(",atempo={left:.6}"));
    }
    filters
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(width: u32, height: u32) -> Probe {
        Probe {
            duration_ms: 1000,
            width,
            height,
            fps: 30.0,
            variable_rate: false,
            video_codec: "h264".into(),
            colours: None,
            audio: None,
            texts: Vec::new(),
        }
    }

    #[test]
    fn every_shape_fits_inside_and_its_middle_covers() {
        let canvas = Canvas { width: 1280, height: 720, fps: 30 };
        let table = [
            ((1920, 1080), (1280, 720), (1.0, 1.0)),
            ((1916, 1080), (1280, 720), (1.0, 1.0)), // nearly the shape: no thin bars
            ((640, 480), (960, 720), (1.0, 0.75)),
            ((360, 640), (406, 720), (1.0, 81.0 / 256.0)),
            ((3200, 900), (1280, 360), (0.5, 1.0)),
            ((1, 4000), (2, 720), (1.0, 9.0 / 64000.0)),
        ];
        for ((width, height), fits, covers) in table {
            let probe = probe(width, height);
            assert_eq!(inside(&probe, canvas), fits, "{width}x{height}");
            let (across, down) = middle(&probe, canvas);
            assert!((across - covers.0).abs() + (down - covers.1).abs() < 1e-9, "{width}x{height}");
        }
    }

    #[test]
    fn speeds_are_chained_where_one_filter_cannot_reach() {
        assert_eq!(sound_filters(1.0), "aresample=48000:async=1:first_pts=0");
        assert!(sound_filters(0.2).ends_with("atempo=0.5,atempo=0.5,atempo=0.800000"));
        assert!(sound_filters(2.0).ends_with(",atempo=2.000000"));
    }
}
