//! The place of a video: its look, its camera, and its background, painted once per canvas size.

use super::background;
use super::brush::Brush;
use super::easing::wave;
use super::look::Look;
use crate::random::seeded;
use crate::vocabulary::Domain;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tiny_skia::{Pixmap, Transform};

/// A kitchen, workshop or garden with its presenter; every seed gives another.
pub struct Place {
    pub(super) look: Look,
    /// By canvas size.
    backgrounds: Mutex<HashMap<(u32, u32), Arc<Pixmap>>>,
}

impl Place {
    pub fn new(domain: Domain, seed: u64) -> Place {
        Place { look: Look::new(domain, seed), backgrounds: Mutex::default() }
    }

    /// The camera's shift at a moment: a position from `seed`, a slow pan, and the shake of a hand.
    pub(super) fn camera_shift(&self, seed: u64, progress: f32, seconds: f32) -> (f32, f32) {
        let mut random = seeded(self.look.seed ^ seed);
        let (x, y) = (random.range(-40.0, 40.0), random.range(-16.0, 22.0));
        let pan = random.range(-26.0, 26.0) * (progress - 0.5);
        let shake = self.look.shake;
        let sway = shake * (wave(seconds, 0.23) + 0.6 * wave(seconds + 2.0, 0.41));
        let bob = shake * 0.7 * (wave(seconds + 1.0, 0.19) + 0.5 * wave(seconds, 0.37));
        (x + pan + sway, y + bob)
    }

    /// Draws the background, shifted by the camera, on the whole canvas.
    pub(super) fn draw_background(&self, shift: (f32, f32), canvas: &mut Pixmap) {
        let size = (canvas.width(), canvas.height());
        let Some(picture) = self.background(size) else { return };
        let scale = scale_of(size);
        let x = (background::MARGIN.0 - shift.0) * scale;
        let y = (background::MARGIN.1 - shift.1) * scale;
        copy_shifted(&picture, (x.max(0.0), y.max(0.0)), canvas);
    }

    fn background(&self, size: (u32, u32)) -> Option<Arc<Pixmap>> {
        let mut cached = self.backgrounds.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = cached.get(&size) {
            return Some(found.clone());
        }
        let picture = Arc::new(self.paint_background(size)?);
        cached.insert(size, picture.clone());
        Some(picture)
    }

    fn paint_background(&self, size: (u32, u32)) -> Option<Pixmap> {
        let scale = scale_of(size);
        let (mx, my) = (background::MARGIN.0 * scale, background::MARGIN.1 * scale);
        let wide = |side: u32, margin: f32| side + 2 * margin.ceil() as u32 + 2;
        let mut picture = Pixmap::new(wide(size.0, mx), wide(size.1, my))?;
        let mut brush = Brush::new(&mut picture, to_canvas(size).post_translate(mx, my));
        background::paint(&mut brush, &self.look);
        Some(picture)
    }
}

/// Pixels per virtual unit, such that the virtual frame covers the canvas.
fn scale_of(size: (u32, u32)) -> f32 {
    (size.0 as f32 / 1600.0).max(size.1 as f32 / 900.0)
}

/// From the virtual frame to a canvas, its middle on the canvas's middle.
pub fn to_canvas(size: (u32, u32)) -> Transform {
    let s = scale_of(size);
    let (dx, dy) = (size.0 as f32 - 1600.0 * s, size.1 as f32 - 900.0 * s);
    Transform::from_row(s, 0.0, 0.0, s, dx / 2.0, dy / 2.0)
}

/// Copies the part of `from` that starts at `at`, between pixels where need be, over all of `to`.
fn copy_shifted(from: &Pixmap, at: (f32, f32), to: &mut Pixmap) {
    let (fw, fh) = (from.width() as usize, from.height() as usize);
    let (w, h) = (to.width() as usize, to.height() as usize);
    let x0 = (at.0 as usize).min(fw.saturating_sub(w + 1));
    let y0 = (at.1 as usize).min(fh.saturating_sub(h + 1));
    let (fx, fy) = ((at.0.fract() * 16.0) as u16, (at.1.fract() * 16.0) as u16);
    let source = from.data();
    for (y, row) in to.data_mut().chunks_exact_mut(w * 4).enumerate() {
        let start = ((y0 + y) * fw + x0) * 4;
        let (upper, lower) = (&source[start..], &source[start + fw * 4..]);
        blend_row(row, [&upper[..w * 4], &upper[4..], &lower[..w * 4], &lower[4..]], fx, fy);
    }
}

/// Bilinear interpolation in sixteenths of a pixel; the sums fit 16 bits, which lets the compiler
/// take eight at a time.
fn blend_row(row: &mut [u8], from: [&[u8]; 4], fx: u16, fy: u16) {
    let weights = [(16 - fx) * (16 - fy), fx * (16 - fy), (16 - fx) * fy, fx * fy];
    let [a, b, c, d] = from.map(|part| &part[..row.len().min(part.len())]);
    let all = row.iter_mut().zip(a).zip(b).zip(c).zip(d);
    for ((((out, a), b), c), d) in all {
        let part = |value: &u8, weight: u16| u16::from(*value).wrapping_mul(weight);
        let upper = part(a, weights[0]).wrapping_add(part(b, weights[1]));
        let lower = part(c, weights[2]).wrapping_add(part(d, weights[3]));
        *out = (upper.wrapping_add(lower) >> 8) as u8;
    }
}
