//! Surfaces that work stands on: counters, benches and ground, seen from the camera's height.

use super::MARGIN;
use crate::drawing::brush::{Brush, Colour, SHADE, WHITE, down, rect};
use crate::drawing::easing::lerp;
use crate::drawing::look::Look;
use crate::random::SplitMix64;

const LEFT: f32 = -MARGIN.0;
const WIDE: f32 = 1600.0 + 2.0 * MARGIN.0;
const BOTTOM: f32 = 900.0 + MARGIN.1;

/// The height at which row `t` (0 at the back, 1 at the bottom) of the surface lies.
fn row(look: &Look, t: f32) -> f32 {
    let back = look.horizon();
    back + (BOTTOM - back) * t.powf(1.0 + 1.2 * (0.7 - look.tilt))
}

/// A kitchen counter: stone, planks, marble, terrazzo, or tiles.
pub fn counter(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    base(b, look);
    match look.surface_kind % 5 {
        0 => speckles(b, look, random, 260),
        1 => planks(b, look, random, 6),
        2 => veins(b, look, random),
        3 => terrazzo(b, look, random),
        _ => tiles(b, look),
    }
    back_edge(b, look);
}

/// A work bench: planks, a butcher's block, or a mat.
pub fn bench(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    base(b, look);
    match look.surface_kind % 3 {
        0 => planks(b, look, random, 5),
        1 => planks(b, look, random, 9),
        _ => scratches(b, look, random),
    }
    back_edge(b, look);
}

/// The ground of a garden: lawn, paving, decking, gravel.
pub fn ground(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    base(b, look);
    let green = look.surface.green > look.surface.red;
    match look.surface_kind % 3 {
        _ if green => grass(b, look, random),
        0 => tiles(b, look),
        1 => planks(b, look, random, 8),
        _ => speckles(b, look, random, 700),
    }
}

fn base(b: &mut Brush, look: &Look) {
    let (top, c) = (look.horizon(), look.surface);
    b.rect(LEFT, top, WIDE, BOTTOM - top, 0.0, down(top, BOTTOM, c.dark(0.12), c.light(0.12)));
}

fn back_edge(b: &mut Brush, look: &Look) {
    let top = look.horizon();
    b.rect(LEFT, top - 4.0, WIDE, 7.0, 0.0, look.surface.light(0.4));
    b.rect(
        LEFT,
        top + 3.0,
        WIDE,
        46.0,
        0.0,
        down(top, top + 46.0, SHADE.fade(0.22), SHADE.fade(0.0)),
    );
    if look.tilt < 0.47 {
        let edge = 868.0;
        b.rect(LEFT, edge, WIDE, 100.0, 0.0, down(edge, 960.0, look.front.dark(0.15), look.front));
        b.rect(
            LEFT,
            edge,
            WIDE,
            26.0,
            0.0,
            down(edge, edge + 26.0, SHADE.fade(0.3), SHADE.fade(0.0)),
        );
        b.rect(LEFT, edge - 16.0, WIDE, 18.0, 6.0, look.surface.light(0.3));
    }
}

fn speckles(b: &mut Brush, look: &Look, random: &mut SplitMix64, count: usize) {
    for _ in 0..count {
        let t = random.unit();
        let size = lerp(2.0, 7.0, t) * random.range(0.5, 1.2);
        let tone =
            if random.chance(0.5) { look.surface.dark(0.3) } else { look.surface.light(0.6) };
        let x = random.range(LEFT, LEFT + WIDE);
        b.oval(x, row(look, t), size, size * look.tilt.max(0.5), tone.fade(0.55));
    }
}

fn planks(b: &mut Brush, look: &Look, random: &mut SplitMix64, count: usize) {
    for i in 0..count {
        let (y0, y1) =
            (row(look, i as f32 / count as f32), row(look, (i + 1) as f32 / count as f32));
        let tone = look
            .surface
            .mix(if random.chance(0.5) { WHITE } else { SHADE }, random.range(0.0, 0.1));
        b.rect(LEFT, y0, WIDE, y1 - y0, 0.0, tone.fade(0.6));
        grain(b, look.surface.dark(0.25).fade(0.4), (LEFT, y0), (WIDE, y1 - y0), random, 7);
        b.rect(LEFT, y1 - 2.5, WIDE, 3.0, 0.0, look.surface.dark(0.4).fade(0.7));
        for _ in 0..2 {
            let x = random.range(LEFT, LEFT + WIDE);
            b.rect(x, y0, 3.0, y1 - y0, 0.0, look.surface.dark(0.4).fade(0.6));
        }
    }
}

/// Wavy lines of wood grain inside a rectangle.
fn grain(
    b: &mut Brush,
    tone: Colour,
    at: (f32, f32),
    size: (f32, f32),
    random: &mut SplitMix64,
    count: usize,
) {
    for _ in 0..count {
        let (x, y) =
            (at.0 + random.range(0.0, size.0 * 0.8), at.1 + random.range(0.15, 0.85) * size.1);
        let (long, bend) = (random.range(100.0, 460.0), random.range(-0.06, 0.06) * size.1);
        b.line(&[(x, y), (x + long * 0.5, y + bend), (x + long, y)], 2.2, tone);
    }
}

fn veins(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    for _ in 0..9 {
        let (mut x, mut t) = (random.range(LEFT, LEFT + WIDE), random.range(0.0, 0.4));
        let lean = random.range(40.0, 160.0);
        let mut points = Vec::new();
        while t < 1.1 {
            points.push((x, row(look, t)));
            x += lean * random.range(0.2, 1.0) - 20.0;
            t += random.range(0.1, 0.22);
        }
        b.line(&points, random.range(3.0, 12.0), look.surface.dark(0.35).fade(0.2));
        b.line(&points, 2.0, look.surface.dark(0.45).fade(0.4));
    }
}

fn terrazzo(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    for _ in 0..190 {
        let t = random.unit();
        let size = lerp(6.0, 18.0, t) * random.range(0.5, 1.2);
        let tone = *random.pick(&[look.accent, look.accent2, look.front, look.trim]);
        let (x, y) = (random.range(LEFT, LEFT + WIDE), row(look, t));
        let (u, v) = (random.range(0.3, 1.0) * size, random.range(0.3, 1.0) * size * look.tilt);
        b.polygon(
            &[(x - u, y), (x, y - v), (x + size, y + v * 0.4), (x - u * 0.2, y + v)],
            tone.fade(0.5),
        );
    }
}

fn tiles(b: &mut Brush, look: &Look) {
    let line = look.surface.dark(0.28).fade(0.55);
    let (top, rows) = (look.horizon(), 6);
    for i in 1..rows {
        let y = row(look, i as f32 / rows as f32);
        b.rect(LEFT, y, WIDE, 4.0, 0.0, line);
    }
    for i in -8..=8 {
        let i = i as f32 + 0.5;
        b.line(&[(800.0 + i * 170.0, top), (800.0 + i * 330.0, BOTTOM)], 4.0, line);
    }
}

fn scratches(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let (top, h) = (look.horizon(), BOTTOM - look.horizon());
    grain(b, look.surface.dark(0.3).fade(0.5), (LEFT, top), (WIDE, h), random, 50);
    let mat = rect(360.0, row(look, 0.3), 880.0, row(look, 0.92) - row(look, 0.3), 16.0);
    b.fill(&mat, look.front.light(0.1).fade(0.55));
    b.trace(&mat, 4.0, look.front.light(0.4).fade(0.6));
}

fn grass(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    for i in 0..6 {
        let (y0, y1) = (row(look, i as f32 / 6.0), row(look, (i + 1) as f32 / 6.0));
        if i % 2 == 0 {
            b.rect(LEFT, y0, WIDE, y1 - y0, 0.0, look.surface.light(0.25).fade(0.45));
        }
    }
    for _ in 0..520 {
        let t = random.unit();
        let (x, y, h) = (random.range(LEFT, LEFT + WIDE), row(look, t), lerp(6.0, 24.0, t));
        let tone =
            if random.chance(0.5) { look.surface.dark(0.2) } else { look.surface.light(0.3) };
        b.polygon(
            &[(x - 3.0, y), (x + random.range(-6.0, 6.0), y - h), (x + 3.0, y)],
            tone.fade(0.8),
        );
    }
}
