//! What was drawn into a video after filming: burnt-in subtitles and watermarks, by edges that keep their place.
//!
//! Told from frames all over the video, in which the picture itself changes. Where the camera never moves, its edges keep
//! their place too, and no watermark is told.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::media::frames::{Decode, Filter, Fit, Frames, Sampling};
use crate::media::{self, MediaError};
use crate::progress::Progress;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlayKind {
    Subtitles,
    Watermark,
}

/// Where something was drawn, in shares of the picture's width and height.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overlay {
    pub kind: OverlayKind,
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Overlay {
    /// What it is and where, in words.
    pub fn told(&self) -> String {
        let across = if self.left + self.right < 1.0 { "left" } else { "right" };
        let down = if self.top + self.bottom < 1.0 { "top" } else { "bottom" };
        match self.kind {
            OverlayKind::Subtitles => "burnt-in subtitles".into(),
            OverlayKind::Watermark => format!("a watermark at the {down} {across}"),
        }
    }
}

/// The size of the frames that are looked at: letters of subtitles have several pixels.
const SIZE: (usize, usize) = (480, 270);
/// Frames of a video that are looked at, and the fewest that tell anything.
const FRAMES: usize = 24;
const FEWEST: usize = 8;

/// An edge: the grey levels by which the next but one pixel differs, and how bright the brighter one is. Letters that are
/// meant to be read on any picture are bright. This and the limits below were chosen by hand; the made-up library and
/// videos of kitchens without overlays stay below them.
const CONTRAST: i32 = 48;
const BRIGHT: u8 = 150;
/// A watermark has its edges in this share of the frames.
const STEADY: f64 = 0.9;
/// It has so many of them, and this many times as many per area as the middle of the picture.
const WATERMARK_EDGES: usize = 24;
const WATERMARK_DENSITY: f64 = 8.0;
/// A row of text has this many changes between rising and falling edges, in this share of the frames.
const TEXT_CHANGES: usize = 12;
const TEXT_FRAMES: f64 = 0.25;
/// A line of text is so high, in rows, and the rows around it and in the middle of the picture have this share of its text.
const TEXT_ROWS: std::ops::RangeInclusive<usize> = 7..=60;
const AROUND: f64 = 1.0 / 3.0;

/// The overlays of a video.
pub fn find(path: &Path, progress: &dyn Progress) -> Result<Vec<Overlay>, MediaError> {
    let seconds = (media::describe(path, progress)?.duration_ms as f64 / 1000.0).max(0.1);
    let mut frames = sample(path, seconds, Decode::Keyframes, progress)?;
    if frames.len() < FEWEST {
        frames = sample(path, seconds, Decode::Fast, progress)?;
    }
    Ok(detect(&frames))
}

/// Grey frames from all over a video, without repeated ones.
fn sample(
    path: &Path,
    seconds: f64,
    decode: Decode,
    progress: &dyn Progress,
) -> Result<Vec<Vec<u8>>, MediaError> {
    let (width, height) = (SIZE.0 as u32, SIZE.1 as u32);
    let (fps, fit, filter) = (FRAMES as f64 / seconds, Fit::Squash, Filter::Bilinear);
    let sampling = Sampling { fps, width, height, fit, filter, decode };
    let luma =
        |p: &[u8]| ((u32::from(p[0]) * 3 + u32::from(p[1]) * 6 + u32::from(p[2])) / 10) as u8;
    let grey = |rgb: Vec<u8>| rgb.chunks_exact(3).map(luma).collect::<Vec<u8>>();
    let frames = Frames::open(path, &sampling, progress)?;
    let mut frames = frames.map(|rgb| rgb.map(grey)).collect::<Result<Vec<_>, _>>()?;
    frames.dedup();
    Ok(frames)
}

/// The overlays in grey frames of [`SIZE`].
fn detect(frames: &[Vec<u8>]) -> Vec<Overlay> {
    if frames.len() < FEWEST {
        return Vec::new();
    }
    let edges: Vec<Vec<i8>> = frames.iter().map(|frame| edges(frame)).collect();
    let text = subtitles(&edges);
    // Lines of text begin and end with the same edges often enough.
    let is_text = |mark: &Overlay| text.is_some_and(|t| mark.top < t.bottom && mark.bottom > t.top);
    let marks = watermarks(&edges).into_iter().filter(|mark| !is_text(mark));
    text.into_iter().chain(marks).collect()
}

/// 1 where bright letters would begin, -1 where they would end, 0 elsewhere.
fn edges(frame: &[u8]) -> Vec<i8> {
    let mut edges = vec![0; frame.len()];
    for (edges, row) in edges.chunks_exact_mut(SIZE.0).zip(frame.chunks_exact(SIZE.0)) {
        for (edge, around) in edges[1..].iter_mut().zip(row.windows(3)) {
            let rise = i32::from(around[2]) - i32::from(around[0]);
            if rise.abs() > CONTRAST && around[0].max(around[2]) > BRIGHT {
                *edge = rise.signum() as i8;
            }
        }
    }
    edges
}

/// A part of the frame, in pixels.
#[derive(Clone, Copy)]
struct Area {
    columns: (usize, usize),
    rows: (usize, usize),
}

impl Area {
    fn pixels(self) -> impl Iterator<Item = (usize, usize)> + Clone {
        let columns = self.columns.0..self.columns.1;
        (self.rows.0..self.rows.1).flat_map(move |y| columns.clone().map(move |x| (x, y)))
    }

    fn size(self) -> usize {
        (self.columns.1 - self.columns.0) * (self.rows.1 - self.rows.0)
    }

    /// Widened by so many pixels, as an overlay.
    fn overlay(self, kind: OverlayKind, margin: usize) -> Overlay {
        let share = |(from, to): (usize, usize), side: usize| {
            let (from, to) = (from.saturating_sub(margin), (to + margin).min(side));
            (from as f64 / side as f64, to as f64 / side as f64)
        };
        let ((left, right), (top, bottom)) =
            (share(self.columns, SIZE.0), share(self.rows, SIZE.1));
        Overlay { kind, left, top, right, bottom }
    }
}

/// The smallest area that holds these pixels.
fn around(pixels: impl Iterator<Item = (usize, usize)>) -> Option<Area> {
    pixels.fold(None, |area, (x, y)| {
        let Area { columns, rows } = area.unwrap_or(Area { columns: (x, x), rows: (y, y) });
        let grown = |(from, to): (usize, usize), at: usize| (from.min(at), to.max(at + 1));
        Some(Area { columns: grown(columns, x), rows: grown(rows, y) })
    })
}

/// Corners with edges that stay where they are while the middle of the picture changes.
fn watermarks(edges: &[Vec<i8>]) -> Vec<Overlay> {
    let (width, height) = SIZE;
    let steady = |(x, y): (usize, usize)| {
        let count = |sign: i8| edges.iter().filter(|frame| frame[y * width + x] == sign).count();
        count(1).max(count(-1)) as f64 >= STEADY * edges.len() as f64
    };
    let density =
        |area: Area| area.pixels().filter(|at| steady(*at)).count() as f64 / area.size() as f64;
    let middle = density(Area { columns: (0, width), rows: (height / 4, height * 2 / 3) });
    let columns = [(0, width / 3), (width - width / 3, width)];
    let rows = [(0, height / 4), (height - height / 4, height)];
    let corners = rows.iter().flat_map(|rows| columns.map(|columns| Area { columns, rows: *rows }));
    let mark = |corner: Area| {
        let marked = corner.pixels().filter(|at| steady(*at));
        let enough = marked.clone().count() >= WATERMARK_EDGES;
        let stands_out = density(corner) >= WATERMARK_DENSITY * middle;
        around(marked).filter(|_| enough && stands_out)
    };
    corners.filter_map(mark).map(|area| area.overlay(OverlayKind::Watermark, height / 40)).collect()
}

/// Lines of text in the lower third: rows with many edges in many frames, between rows with few.
fn subtitles(edges: &[Vec<i8>]) -> Option<Overlay> {
    let (width, height) = SIZE;
    let has_text = |frame: &[i8], row: usize| {
        let inside = &frame[row * width + width / 10..(row + 1) * width - width / 10];
        let signs: Vec<i8> = inside.iter().copied().filter(|edge| *edge != 0).collect();
        signs.windows(2).filter(|pair| pair[0] != pair[1]).count() >= TEXT_CHANGES
    };
    let share = |row: usize| {
        edges.iter().filter(|frame| has_text(frame, row)).count() as f64 / edges.len() as f64
    };
    let text: Vec<f64> = (0..height).map(share).collect();
    let mean = |rows: &[f64]| rows.iter().sum::<f64>() / rows.len().max(1) as f64;
    let middle = mean(&text[height / 3..height * 2 / 3]);
    let mut row = height * 2 / 3;
    let mut lines: Vec<(usize, usize)> = Vec::new();
    for run in text[height * 2 / 3..].chunk_by(|a, b| (*a >= TEXT_FRAMES) == (*b >= TEXT_FRAMES)) {
        let (from, to) = (row, row + run.len());
        row = to;
        let near = [&text[from.saturating_sub(4)..from], &text[to..(to + 4).min(height)]].concat();
        let stands_out = mean(&near).max(middle) <= AROUND * mean(run);
        if run[0] >= TEXT_FRAMES && TEXT_ROWS.contains(&run.len()) && stands_out {
            lines.push((from, to));
        }
    }
    let rows = (lines.first()?.0, lines.last()?.1);
    let seen = |(x, y): &(usize, usize)| edges.iter().any(|frame| frame[y * width + x] != 0);
    let inside = Area { columns: (0, width), rows }.pixels();
    // Letters reach beyond the rows in which most of them have edges.
    around(inside.filter(seen)).map(|area| area.overlay(OverlayKind::Subtitles, height / 40))
}
