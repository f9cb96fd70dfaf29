//! One part of the result's video track, encoded to the common format.

use std::path::Path;
use std::process::Command;

use super::child::{run, url};
use super::probe::{Probe, last_value};
use super::program::{MediaError, Program};
use crate::progress::Progress;

/// The frame size and rate of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canvas {
    /// Width in pixels, even.
    pub width: u32,
    /// Height in pixels, even.
    pub height: u32,
    /// Frames per second; divides [`RATE`](super::audio::RATE), so that a frame is a whole number of samples.
    pub fps: u32,
}

/// What happens to a picture whose aspect ratio is not the canvas's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aspect {
    /// Letterboxed.
    #[default]
    Fit,
    /// Cropped to fill the canvas.
    Crop,
    /// Letterboxed before a blurred enlargement of itself.
    Blur,
}

/// What a layer shows.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    Video {
        path: &'a Path,
        probe: &'a Probe,
        from_s: f64,
        speed: f64,
    },
    /// One colour, `0xRRGGBB`.
    Colour(u32),
}

/// Content with text drawn on it.
#[derive(Clone, Copy, Debug)]
pub struct Layer<'a> {
    pub content: Content<'a>,
    /// The name of an ASS file in the working folder.
    pub text: Option<&'a str>,
}

/// x264's quality: part of the cache's keys. Chosen by hand.
pub const QUALITY: [&str; 4] = ["-preset", "veryfast", "-crf", "21"];

/// One layer, or two that fade into each other over the whole part.
#[derive(Clone, Copy, Debug)]
pub struct VideoPart<'a> {
    pub layer: Layer<'a>,
    pub fade_to: Option<Layer<'a>>,
    /// The name of an ASS file in the working folder that is drawn over both layers.
    pub caption: Option<&'a str>,
    pub frames: u64,
}

/// Encodes a part to `out` (a `.mov` without sound) with exactly its number of frames. `folder`
/// holds the ASS files and a folder `fonts`; names inside it need no quoting in filters.
pub fn encode_part(
    part: &VideoPart,
    canvas: Canvas,
    aspect: Aspect,
    folder: &Path,
    out: &Path,
    progress: &dyn Progress,
) -> Result<(), MediaError> {
    let layers: Vec<Layer> = [Some(part.layer), part.fade_to].into_iter().flatten().collect();
    let mut command = Program::Ffmpeg.command();
    command.current_dir(folder).args(["-v", "error", "-nostdin", "-y", "-filter_threads", "1"]);
    for layer in &layers {
        input(&mut command, layer, part.frames, canvas);
    }
    command.args(["-filter_complex", &graph(&layers, part, canvas, aspect)]);
    command.args(["-map", "[out]", "-frames:v", &part.frames.to_string()]);
    compression(&mut command, canvas);
    command.args(["-progress", "-", "-f", "mov"]).arg(url(out));
    let report = run(Program::Ffmpeg, command, progress)?;
    check_frames(part, last_value(&String::from_utf8_lossy(&report), "frame"))
}

/// An error for a part that came out shorter than it should.
fn check_frames(part: &VideoPart, made: Option<i64>) -> Result<(), MediaError> {
    let made = made.unwrap_or(0).max(0) as u64;
    match part.layer.content {
        _ if made == part.frames => Ok(()),
        Content::Video { path, from_s, .. } => Err(MediaError::Unusable {
            path: path.to_owned(),
            reason: format!("has no picture at {from_s:.1} s; index it again and make a new cut"),
        }),
        Content::Colour(_) => Err(MediaError::Failed {
            program: Program::Ffmpeg,
            message: format!("{made} of {} frames of a card were made", part.frames),
        }),
    }
}

fn input(command: &mut Command, layer: &Layer, frames: u64, canvas: Canvas) {
    let seconds = frames as f64 / f64::from(canvas.fps);
    match layer.content {
        Content::Video { path, from_s, speed, .. } => {
            // A little more than needed, so that the last frame has a successor.
            let read = format!("{:.6}", seconds * speed + 0.25);
            command.args(["-threads", "1", "-ss", &format!("{from_s:.6}"), "-t", &read, "-i"]);
            command.arg(url(path));
        }
        Content::Colour(colour) => {
            let Canvas { width, height, fps } = canvas;
            let plate = format!("color=c=0x{colour:06X}:s={width}x{height}:r={fps}");
            command.args(["-f", "lavfi", "-i", &plate]);
        }
    }
}

fn graph(layers: &[Layer], part: &VideoPart, canvas: Canvas, aspect: Aspect) -> String {
    let chain = |(i, layer): (usize, &Layer)| chain(i, layer, part.frames, canvas, aspect);
    let chains: Vec<String> = layers.iter().enumerate().map(chain).collect();
    let seconds = part.frames as f64 / f64::from(canvas.fps);
    let faded = match layers.len() {
        1 => "[l0]".to_owned(),
        _ => format!("[l0][l1]xfade=transition=fade:duration={seconds:.6}:offset=0,"),
    };
    format!("{};{faded}{}format=yuv420p[out]", chains.join(";"), drawn(part.caption))
}

/// The filter that draws an ASS file, with its comma.
fn drawn(text: Option<&str>) -> String {
    text.map_or_else(String::new, |name| format!("ass=filename={name}:fontsdir=fonts,"))
}

/// From input `i` to the label `l{i}`: exactly `frames` frames of the canvas.
fn chain(i: usize, layer: &Layer, frames: u64, canvas: Canvas, aspect: Aspect) -> String {
    let fps = canvas.fps;
    let text = drawn(layer.text);
    // The last frame stands where the video ends early; xfade wants one time base.
    let end = format!(
        "tpad=stop=-1:stop_mode=clone,trim=end_frame={frames},{text}\
         format=yuv420p,setsar=1,settb=1/{fps}[l{i}]"
    );
    match layer.content {
        Content::Colour(_) => format!("[{i}:v]{end}"),
        Content::Video { probe, speed, .. } => {
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

/// One set of x264 options for every part: joining copies, so their headers must be the same.
fn compression(command: &mut Command, canvas: Canvas) {
    let Canvas { width, height, fps } = canvas;
    let level = match u64::from(width) * u64::from(height) * u64::from(fps) {
        0..=62_668_800 => "4.0",
        62_668_801..=125_337_600 => "4.2",
        _ => "5.2",
    };
    command.args(["-c:v", "libx264"]).args(QUALITY);
    command.args(["-threads", "1", "-profile:v", "high", "-level:v", level]);
    command.args(["-g", &(2 * fps).to_string(), "-pix_fmt", "yuv420p"]);
    command.args(["-color_range", "tv", "-colorspace", "bt709"]);
    command.args(["-color_primaries", "bt709", "-color_trc", "bt709"]);
    command.args(["-video_track_timescale", &(fps * 512).to_string()]);
    command.args(["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact"]);
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
            colours: None,
            has_audio: false,
            text_streams: Vec::new(),
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
}
