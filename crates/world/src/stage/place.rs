//! A video's own place: its look, its camera, and its scenery painted once per canvas size.

use super::brush::Brush;
use super::dice::wave;
use super::look::Look;
use super::scenery;
use crate::vocabulary::Domain;
use std::sync::{Arc, Mutex, PoisonError};
use tiny_skia::{Pixmap, Transform};

/// A kitchen, bench or garden with its presenter; every seed gives another.
pub struct Place {
    pub(super) look: Look,
    backdrops: Mutex<Vec<Backdrop>>,
}

/// Scenery painted for canvases of one size.
#[derive(Clone)]
struct Backdrop {
    size: (u32, u32),
    picture: Arc<Pixmap>,
}

impl Place {
    /// The place of a seed.
    pub fn new(domain: Domain, seed: u64) -> Place {
        Place { look: Look::new(domain, seed), backdrops: Mutex::new(Vec::new()) }
    }

    /// The camera's shift at a moment: where a shot looks, a slow pan, and a held hand's unrest.
    pub(super) fn drift(&self, shot: u64, progress: f32, seconds: f32) -> (f32, f32) {
        let mut dice = super::dice::Dice::new(self.look.seed ^ shot);
        let (x, y) = (dice.range(-40.0, 40.0), dice.range(-16.0, 22.0));
        let pan = dice.range(-26.0, 26.0) * (progress - 0.5);
        let shake = self.look.shake;
        let unrest = shake * (wave(seconds, 0.23) + 0.6 * wave(seconds + 2.0, 0.41));
        let bob = shake * 0.7 * (wave(seconds + 1.0, 0.19) + 0.5 * wave(seconds, 0.37));
        (x + pan + unrest, y + bob)
    }

    /// Puts the scenery, shifted by the camera, on the whole canvas.
    pub(super) fn put_backdrop(&self, shift: (f32, f32), canvas: &mut Pixmap) {
        let size = (canvas.width(), canvas.height());
        let Some(picture) = self.backdrop(size) else { return };
        let scale = scale_of(size);
        let x = (scenery::MARGIN.0 - shift.0) * scale;
        let y = (scenery::MARGIN.1 - shift.1) * scale;
        copy_shifted(&picture, (x.max(0.0), y.max(0.0)), canvas);
    }

    fn backdrop(&self, size: (u32, u32)) -> Option<Arc<Pixmap>> {
        let mut kept = self.backdrops.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = kept.iter().find(|b| b.size == size) {
            return Some(found.picture.clone());
        }
        let picture = Arc::new(self.paint_backdrop(size)?);
        kept.push(Backdrop { size, picture: picture.clone() });
        Some(picture)
    }

    fn paint_backdrop(&self, size: (u32, u32)) -> Option<Pixmap> {
        let scale = scale_of(size);
        let (mx, my) = (scenery::MARGIN.0 * scale, scenery::MARGIN.1 * scale);
        let wide = |side: u32, margin: f32| side + 2 * margin.ceil() as u32 + 2;
        let mut picture = Pixmap::new(wide(size.0, mx), wide(size.1, my))?;
        let mut brush = Brush::new(&mut picture, at(size).post_translate(mx, my));
        scenery::paint(&mut brush, &self.look);
        Some(picture)
    }
}

/// Pixels per virtual unit, such that the virtual frame covers the canvas.
pub fn scale_of(size: (u32, u32)) -> f32 {
    (size.0 as f32 / 1600.0).max(size.1 as f32 / 900.0)
}

/// From the virtual frame to a canvas, its middle on the canvas's middle.
pub fn at(size: (u32, u32)) -> Transform {
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

/// Weighs four neighbouring rows by sixteenths of a pixel; the sums fit 16 bits, which lets the
/// compiler take eight at a time.
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
