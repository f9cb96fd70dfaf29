//! Draws scenes.

use tiny_skia::{Color, Paint, Pixmap, Rect, Transform};

use super::vocabulary::{Domain, Scene};

/// A video's own kitchen, bench or garden.
#[derive(Clone, Debug)]
pub struct Place {
    colour: [u8; 3],
}

impl Place {
    /// The place of this seed.
    pub fn new(domain: Domain, seed: u64) -> Self {
        let bytes = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
        Self { colour: [bytes[0], bytes[1], bytes[2] ^ domain as u8] }
    }
}

/// Draws a moment of a scene.
pub fn draw(place: &Place, scene: &Scene, progress: f32, _seconds: f32, canvas: &mut Pixmap) {
    let [r, g, b] = place.colour;
    canvas.fill(Color::from_rgba8(r, g, b, 255));
    let mut paint = Paint::default();
    let shade = format!("{scene:?}").bytes().fold(0u8, |sum, byte| sum.wrapping_mul(31) ^ byte);
    paint.set_color_rgba8(shade, 255 - shade, 128, 255);
    let (w, h) = (canvas.width() as f32, canvas.height() as f32);
    if let Some(bar) = Rect::from_xywh(0.0, h * 0.8, w * progress.max(0.01), h * 0.1) {
        canvas.fill_rect(bar, &paint, Transform::identity(), None);
    }
}
