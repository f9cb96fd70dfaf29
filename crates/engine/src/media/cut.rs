//! One part of the result's video track, encoded to the common format.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Result;
use super::probe::{Probe, last_value, unusable};
use super::program::{MediaError, Program};
use super::task::Task;
use super::video_encoder::VideoEncoder;
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aspect {
    /// Letterboxed.
    #[default]
    Fit,
    /// Cropped to fill the canvas.
    Crop,
    /// Cropped to fill the canvas, where something moves.
    Follow,
    /// Letterboxed before a blurred enlargement of itself.
    Blur,
}

/// A part of a picture, in shares of its width and height.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// What is done to a picture before anything else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cleaning {
    /// The part that is used; all of it without one.
    pub kept: Option<Area>,
    /// Painted over with their surroundings.
    pub covered: Vec<Area>,
}

impl Cleaning {
    /// As filters, each with its comma.
    pub fn filters(&self, probe: &Probe) -> String {
        let (width, height) = (probe.width, probe.height);
        let cover = |area: &Area| {
            // The surroundings must be in the picture.
            let at = |share: f64, side: u32| {
                (share * f64::from(side)).min(f64::from(side) - 2.0).max(1.0) as u32
            };
            let (x, y) = (at(area.left, width), at(area.top, height));
            let (to_x, to_y) =
                (at(area.right, width).max(x + 1), at(area.bottom, height).max(y + 1));
            format!("delogo=x={x}:y={y}:w={}:h={},", to_x - x, to_y - y)
        };
        let keep = |Area { left, top, right, bottom }: Area| {
            let (width, height) = (right - left, bottom - top);
            format!("crop=iw*{width:.4}:ih*{height:.4}:iw*{left:.4}:ih*{top:.4},")
        };
        let covered: String = self.covered.iter().map(cover).collect();
        let square = if covered.is_empty() {
            String::new()
        } else {
            format!("scale={width}:{height},setsar=1,")
        };
        format!("{square}{covered}{}", self.kept.map(keep).unwrap_or_default())
    }

    /// The size of what is used.
    pub fn size(&self, probe: &Probe) -> (u32, u32) {
        let side = |length: u32, share: f64| ((f64::from(length) * share).round() as u32).max(1);
        self.kept.map_or((probe.width, probe.height), |Area { left, top, right, bottom }| {
            (side(probe.width, right - left), side(probe.height, bottom - top))
        })
    }
}

/// What a layer shows.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// A video from a moment on.
    Video { path: &'a Path, probe: &'a Probe, from_s: f64, speed: f64 },
    /// One colour, `0xRRGGBB`.
    Colour(u32),
}

/// Content with text drawn on it.
#[derive(Clone, Debug)]
pub struct Layer<'a> {
    pub content: Content<'a>,
    /// The name of an ASS file in the working folder.
    pub text: Option<String>,
    /// For [`Aspect::Follow`]: where the crop stands in the room that it has, 0 to 1, as an expression of the frame
    /// number `n`; in the middle without it.
    pub crop_at: Option<String>,
    pub cleaning: Cleaning,
}

/// One layer, or two that fade into each other over the whole part.
#[derive(Clone, Debug)]
pub struct VideoPart<'a> {
    pub layers: Vec<Layer<'a>>,
    /// The name of an ASS file in the working folder that is drawn over both layers.
    pub caption: Option<String>,
    pub frames: u64,
    pub encoder: VideoEncoder,
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
) -> Result<()> {
    let mut task = part.encoder.task().in_folder(folder).args(["-filter_threads", "1"]);
    for layer in &part.layers {
        task = input(task, layer, part.frames, canvas);
    }
    let task = task.args(["-filter_complex", &graph(part, canvas, aspect)]);
    let task = task.args(["-map", "[out]", "-frames:v", &part.frames.to_string()]);
    let task =
        compressed(task, canvas, part.encoder).args(["-progress", "-", "-f", "mov"]).file(out);
    check_frames(part, last_value(&task.run(progress)?, "frame"))
}

/// An error for a part that came out shorter than it should.
fn check_frames(part: &VideoPart, made: Option<i64>) -> Result<()> {
    let made = made.unwrap_or(0).max(0) as u64;
    match part.layers.first().map(|layer| layer.content) {
        _ if made == part.frames => Ok(()),
        Some(Content::Video { path, from_s, .. }) => Err(unusable(
            path,
            format!("has no picture at {from_s:.1} s; index it again and make a new cut"),
        )),
        _ => Err(MediaError::Failed {
            program: Program::Ffmpeg,
            message: format!("{made} of {} frames of a card were made", part.frames),
        }),
    }
}

fn input(task: Task, layer: &Layer, frames: u64, canvas: Canvas) -> Task {
    let Canvas { width, height, fps } = canvas;
    match layer.content {
        Content::Video { path, from_s, speed, .. } => {
            // A little more than needed, so that the last frame has a successor.
            let read = format!("{:.6}", frames as f64 / f64::from(fps) * speed + 0.25);
            task.args(["-threads", "1", "-ss", &format!("{from_s:.6}"), "-t", &read]).input(path)
        }
        Content::Colour(colour) => {
            let plate = format!("color=c=0x{colour:06X}:s={width}x{height}:r={fps}");
            task.args(["-f", "lavfi", "-i", &plate])
        }
    }
}

fn graph(part: &VideoPart, canvas: Canvas, aspect: Aspect) -> String {
    let chain = |(i, layer): (usize, &Layer)| chain(i, layer, part.frames, canvas, aspect);
    let chains: Vec<String> = part.layers.iter().enumerate().map(chain).collect();
    let seconds = part.frames as f64 / f64::from(canvas.fps);
    let faded = match part.layers.len() {
        1 => "[l0]".to_owned(),
        _ => format!("[l0][l1]xfade=transition=fade:duration={seconds:.6}:offset=0,"),
    };
    let pixels = part.encoder.pixels();
    format!("{};{faded}{}{pixels}[out]", chains.join(";"), drawn(&part.caption))
}

/// The filter that draws an ASS file, with its comma.
fn drawn(text: &Option<String>) -> String {
    text.as_ref().map_or_else(String::new, |name| format!("ass=filename={name}:fontsdir=fonts,"))
}

/// From input `i` to the label `l{i}`: exactly `frames` frames of the canvas.
fn chain(i: usize, layer: &Layer, frames: u64, canvas: Canvas, aspect: Aspect) -> String {
    let fps = canvas.fps;
    let text = drawn(&layer.text);
    // The last frame stands where the video ends early; xfade wants one time base.
    let end = format!(
        "tpad=stop=-1:stop_mode=clone,trim=end_frame={frames},{text}\
         format=yuv420p,setsar=1,settb=1/{fps}[l{i}]"
    );
    match layer.content {
        Content::Colour(_) => format!("[{i}:v]{end}"),
        Content::Video { probe, speed, .. } => {
            let clean = layer.cleaning.filters(probe);
            let shape = shape(i, layer, probe, canvas, aspect);
            let time = format!("setpts=PTS/{speed:.6},fps={fps}:start_time=0:round=near");
            format!("[{i}:V:0]{time},{clean}{shape},{end}")
        }
    }
}

/// The filters that bring a picture to the size of the canvas.
fn shape(i: usize, layer: &Layer, probe: &Probe, canvas: Canvas, aspect: Aspect) -> String {
    let Canvas { width, height, .. } = canvas;
    let size = layer.cleaning.size(probe);
    let from = matrix(probe);
    let first = format!("flags=bicubic:in_color_matrix={from}:out_color_matrix=bt709:out_range=tv");
    let scaled = |(w, h): (u32, u32)| format!("scale={w}:{h}:{first},setsar=1");
    let inside = inside(size, canvas);
    if inside == (width, height) {
        return scaled(inside);
    }
    let (across, down) = crop_shares(size, canvas);
    let middle = format!("crop=w=iw*{across:.6}:h=ih*{down:.6}");
    match aspect {
        Aspect::Fit => format!("{},pad={width}:{height}:-1:-1:color=black", scaled(inside)),
        Aspect::Crop => format!("{middle},{}", scaled((width, height))),
        Aspect::Follow => {
            let cover = |side: u32, share: f64| nearest_even(f64::from(side) / share);
            let crop_at = layer.crop_at.as_deref().unwrap_or("0.5");
            // In 4:4:4 the crop moves by single pixels, after scaling by those of the result.
            format!(
                "{},format=yuv444p,crop={width}:{height}:x='(iw-ow)*{crop_at}':y='(ih-oh)*{crop_at}'",
                scaled((cover(width, across), cover(height, down)))
            )
        }
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
fn wider((width, height): (u32, u32), canvas: Canvas) -> f64 {
    let own = f64::from(width) / f64::from(height);
    let ratio = own * f64::from(canvas.height) / f64::from(canvas.width);
    if (ratio - 1.0).abs() < 0.02 { 1.0 } else { ratio }
}

/// The largest size of the video's shape inside the canvas.
fn inside(size: (u32, u32), canvas: Canvas) -> (u32, u32) {
    let wider = wider(size, canvas);
    let (width, height) = (f64::from(canvas.width), f64::from(canvas.height));
    if wider > 1.0 {
        (canvas.width, nearest_even(height / wider))
    } else {
        (nearest_even(width * wider), canvas.height)
    }
}

/// The share of the video's width and height that has the canvas's shape.
pub fn crop_shares(size: (u32, u32), canvas: Canvas) -> (f64, f64) {
    let wider = wider(size, canvas);
    ((1.0 / wider).min(1.0), wider.min(1.0))
}

fn nearest_even(value: f64) -> u32 {
    ((value / 2.0).round() as u32 * 2).max(2)
}

fn even(value: u32) -> u32 {
    (value / 2 * 2).max(2)
}

/// One set of options for every part: joining copies, so their headers must be the same.
fn compressed(task: Task, canvas: Canvas, encoder: VideoEncoder) -> Task {
    let Canvas { width, height, fps } = canvas;
    let level = match u64::from(width) * u64::from(height) * u64::from(fps) {
        0..=62_668_800 => "4.0",
        62_668_801..=125_337_600 => "4.2",
        _ => "5.2",
    };
    // Hardware encoders choose the level by the size, and each takes other names for it.
    let own = format!("-threads 1 -level:v {level} -pix_fmt yuv420p");
    let own = own.split(' ').filter(|_| encoder == VideoEncoder::X264);
    let options = format!(
        "-profile:v high -g {} -color_range tv -colorspace bt709 -color_primaries bt709 -color_trc bt709 \
         -video_track_timescale {} -map_metadata -1 -fflags +bitexact -flags:v +bitexact",
        2 * fps,
        fps * 512
    );
    task.args(encoder.options()).args(own).args(options.split(' '))
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
            audio: None,
            timecode: None,
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
            let size = (width, height);
            assert_eq!(inside(size, canvas), fits, "{width}x{height}");
            let (across, down) = crop_shares(size, canvas);
            assert!((across - covers.0).abs() + (down - covers.1).abs() < 1e-9, "{width}x{height}");
        }
    }

    #[test]
    fn what_is_covered_lies_inside_and_what_is_kept_has_its_size() {
        let probe = probe(640, 360);
        let corner = Area { left: 0.8, top: 0.0, right: 1.0, bottom: 0.1 };
        let cover = Cleaning { covered: vec![corner], kept: None };
        let filters = "scale=640:360,setsar=1,delogo=x=512:y=1:w=126:h=35,";
        assert_eq!((cover.filters(&probe).as_str(), cover.size(&probe)), (filters, (640, 360)));
        let kept = Area { left: 0.0, top: 0.1, right: 1.0, bottom: 1.0 };
        let crop = Cleaning { covered: Vec::new(), kept: Some(kept) };
        let filters = "crop=iw*1.0000:ih*0.9000:iw*0.0000:ih*0.1000,";
        assert_eq!((crop.filters(&probe).as_str(), crop.size(&probe)), (filters, (640, 324)));
        assert_eq!(Cleaning::default().filters(&probe), "");
    }
}
