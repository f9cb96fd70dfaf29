//! What heaps are made of: strands, crumbs, mash, and where they lie.

use crate::drawing::brush::{Brush, Colour, Point, WHITE, rgb};
use crate::drawing::look::Look;
use crate::random::{SplitMix64, unit_of};

/// The skin of this place's onions: brown, red or white, and the tint of their flesh.
pub fn onion_skin(look: &Look) -> (Colour, Colour) {
    match look.seed % 3 {
        0 => (rgb(0xd08a3c), rgb(0xcdb98a)),
        1 => (rgb(0x9b2f5d), rgb(0xb4527f)),
        _ => (rgb(0xe0b46a), rgb(0xc9d08a)),
    }
}

/// A grated strand.
pub fn strand(b: &mut Brush, lean: f32, c: Colour, random: &mut SplitMix64) {
    let (long, bend) = (random.range(24.0, 40.0), random.range(-14.0, 14.0));
    let tone = c.mix(WHITE, random.range(0.0, 0.25));
    b.placed((0.0, 0.0), lean, 1.0, |b| {
        b.line(&[(-long, 3.0), (0.0, bend + 3.0), (long, 3.0)], 11.0, c.dark(0.25));
        b.line(&[(-long, 0.0), (0.0, bend), (long, 0.0)], 9.0, tone);
    });
}

/// A crumb of minced meat.
pub fn crumb(b: &mut Brush, c: Colour, random: &mut SplitMix64) {
    let (r, tone) = (random.range(15.0, 24.0), c.mix(WHITE, random.range(0.0, 0.14)));
    b.oval(1.0, 5.0, r, r * 0.8, c.dark(0.35));
    b.oval(0.0, 0.0, r, r * 0.78, tone);
    b.oval(-r * 0.3, -r * 0.25, r * 0.35, r * 0.22, tone.light(0.35));
}

/// Where the first `amount` of `count` pieces of a heap lie, farthest first.
pub fn spots(look: &Look, rx: f32, count: usize, amount: f32, mound: f32) -> Vec<(usize, Point)> {
    let shown = (count as f32 * amount.clamp(0.0, 1.0)).round() as usize;
    let mut all: Vec<(usize, Point)> = (0..shown)
        .map(|i| {
            let r = ((i as f32 + 0.5) / count as f32).sqrt();
            let (s, c) = (i as f32 * 2.399_963 + 0.4 * unit_of(i, 9)).sin_cos();
            let rise = mound * (1.0 - r * r) * amount.clamp(0.2, 1.0);
            (i, (rx * r * c, rx * r * s * look.tilt - rise))
        })
        .collect();
    all.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    all
}

/// A mound of something mashed.
pub fn mash_of(b: &mut Brush, look: &Look, c: Colour, rx: f32) {
    let k = look.tilt;
    b.oval(0.0, 4.0, rx, rx * k, c.dark(0.22));
    let top: Vec<Point> = (0..9)
        .map(|i| (std::f32::consts::TAU * i as f32 / 9.0).sin_cos())
        .enumerate()
        .map(|(i, (s, co))| {
            let r = rx * (0.82 + 0.16 * unit_of(i, 4));
            (r * co, r * s * k - rx * 0.12)
        })
        .collect();
    b.blob(&top, c);
    for i in 0..11 {
        let (x, y) = (
            rx * 0.62 * (unit_of(i, 1) * 2.0 - 1.0),
            rx * k * 0.6 * (unit_of(i, 2) * 2.0 - 1.0) - rx * 0.14,
        );
        let tone = if i % 2 == 0 { c.light(0.4) } else { c.dark(0.14) };
        b.line(&[(x - 16.0, y + 3.0), (x, y - 7.0), (x + 16.0, y + 2.0)], 8.0, tone);
    }
}
