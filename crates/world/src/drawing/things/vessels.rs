//! Dishes and vessels seen from the camera's height: boards, bowls, pans, pots, plates, trays.

use crate::drawing::brush::{
    Brush, Colour, Point, SHADE, WHITE, across, down, polygon, rgb, round_light,
};
use crate::drawing::look::Look;
use tiny_skia::{Path, PathBuilder};

/// The wall of a bowl below its rim at `top`, which is `rx` to each side and squashed by `k`.
pub fn round_wall(rx: f32, k: f32, top: f32) -> Option<Path> {
    let (ry, c) = (rx * k, 0.552);
    let bottom = rx * 0.5 * k - top * 0.12;
    let waist = top + 0.66 * (bottom - top);
    let mut p = PathBuilder::new();
    p.move_to(-rx, top);
    p.cubic_to(-rx, top + ry * c, -rx * c, top + ry, 0.0, top + ry);
    p.cubic_to(rx * c, top + ry, rx, top + ry * c, rx, top);
    p.cubic_to(rx, waist, rx * 0.62, bottom, 0.0, bottom);
    p.cubic_to(-rx * 0.62, bottom, -rx, waist, -rx, top);
    p.close();
    p.finish()
}

/// The wall of a straight vessel below its rim at `top`, with a foot of half-width `foot`.
pub fn wall(rx: f32, k: f32, top: f32, foot: f32) -> Option<Path> {
    let (ry, c) = (rx * k, 0.552);
    let base = foot * k;
    let mut p = PathBuilder::new();
    p.move_to(-rx, top);
    p.cubic_to(-rx, top + ry * c, -rx * c, top + ry, 0.0, top + ry);
    p.cubic_to(rx * c, top + ry, rx, top + ry * c, rx, top);
    p.line_to(foot, 0.0);
    p.cubic_to(foot, base * c, foot * c, base, 0.0, base);
    p.cubic_to(-foot * c, base, -foot, base * c, -foot, 0.0);
    p.close();
    p.finish()
}

/// A bowl `h` high with contents drawn around its level's middle.
pub fn bowl(
    b: &mut Brush,
    look: &Look,
    c: Colour,
    rx: f32,
    h: f32,
    contents: impl FnOnce(&mut Brush),
) {
    let k = look.tilt;
    b.shadow(16.0, 6.0, rx * 1.12, rx * k * 0.95, 0.5);
    b.oval(0.0, -h, rx, rx * k, c.light(0.25));
    b.oval(
        0.0,
        -h + 3.0,
        rx * 0.94,
        rx * k * 0.92,
        down(-h - rx * k, -h + rx * k, c.dark(0.34), c.dark(0.08)),
    );
    b.moved(0.0, -h + rx * k * 0.16, contents);
    let front = round_wall(rx, k, -h);
    b.fill(&front, across(-rx, rx, c.light(0.2), c.dark(0.24)));
    match (look.tool_kind / 11) % 3 {
        0 => band(b, rx, k, -h, look.accent.fade(0.85)),
        1 => band(b, rx, k, -h, WHITE.fade(0.5)),
        _ => {}
    }
    lip(b, rx, k, -h, c.light(0.42));
    let gleam = |x: f32, t: f32| (x * rx, -h + (rx * k + h * 0.5) * t);
    b.line(&[gleam(-0.88, 0.42), gleam(-0.8, 0.66), gleam(-0.66, 0.84)], 11.0, WHITE.fade(0.35));
}

/// The near half of a rim.
fn lip(b: &mut Brush, rx: f32, k: f32, top: f32, c: Colour) {
    b.line(&arc(rx, k, top), 8.0, c);
}

fn band(b: &mut Brush, rx: f32, k: f32, top: f32, c: Colour) {
    let lower: Vec<Point> = arc(rx * 0.965, k, top).iter().map(|s| (s.0, s.1 + 28.0)).collect();
    b.line(&lower[1..12], 11.0, c);
}

fn arc(rx: f32, k: f32, y: f32) -> Vec<Point> {
    (0..=12)
        .map(|i| (std::f32::consts::PI * i as f32 / 12.0).sin_cos())
        .map(|(s, c)| (-rx * c, y + rx * k * s))
        .collect()
}

pub fn plate(b: &mut Brush, look: &Look, rx: f32) {
    let (k, c) =
        (look.tilt, if look.ware2.brightness() > 0.5 { look.ware2 } else { rgb(0xf5f1e8) });
    b.shadow(14.0, 16.0, rx * 1.1, rx * k * 1.1, 0.45);
    b.oval(0.0, 12.0, rx * 0.98, rx * k, c.dark(0.3));
    b.oval(0.0, 0.0, rx, rx * k, across(-rx, rx, c.light(0.3), c.dark(0.08)));
    b.ring(0.0, 0.0, rx * 0.93, rx * k * 0.93, 6.0, look.accent.fade(0.5));
    b.oval(0.0, 4.0, rx * 0.74, rx * k * 0.72, c.dark(0.09));
    b.oval(0.0, 7.0, rx * 0.72, rx * k * 0.69, c.light(0.2));
}

/// A cutting board, half as wide as `half`, with its top at the surface's height.
pub fn board(b: &mut Brush, look: &Look, half: f32) {
    let (k, c) = (look.tilt, look.board);
    let d = half * 0.62 * k;
    let lean = half * 0.1 * (1.0 - k);
    let top = [(-half + lean, -d), (half - lean, -d), (half, d), (-half, d)];
    b.shadow(10.0, 26.0, half * 1.16, d * 1.5 + 26.0, 0.5);
    b.rect(-half, d - 8.0, half * 2.0, 30.0, 9.0, c.dark(0.34));
    b.fill(&polygon(&top), down(-d, d, c.dark(0.05), c.light(0.12)));
    b.trace(&polygon(&top), 9.0, c.light(0.05));
    grain(b, half, d, c);
    if look.tool_kind.is_multiple_of(2) {
        b.oval(half * 0.86, -d * 0.1, 24.0, 24.0 * k, c.dark(0.5));
        b.oval(half * 0.86, -d * 0.1 + 4.0, 22.0, 20.0 * k, look.surface.dark(0.2));
    } else {
        let inner = [
            (-half * 0.9, -d * 0.8),
            (half * 0.9, -d * 0.8),
            (half * 0.93, d * 0.8),
            (-half * 0.93, d * 0.8),
        ];
        b.trace(&polygon(&inner), 6.0, c.dark(0.22).fade(0.7));
    }
}

fn grain(b: &mut Brush, half: f32, d: f32, c: Colour) {
    for i in 0..7 {
        let t = (i as f32 + 0.5) / 7.0;
        let (y, x) = (-d + 2.0 * d * t, half * (0.2 + 0.13 * ((i * 5) % 4) as f32));
        let bend = if i % 2 == 0 { 4.0 } else { -4.0 };
        b.line(
            &[(-half * 0.93, y), (-x * 0.3, y + bend), (x + half * 0.2, y - bend * 0.5)],
            2.6,
            c.dark(0.2).fade(0.55),
        );
    }
}

/// A cooker with a ring of fire, on which a pan of half-width `rx` stands. `heat` in 0..=1.
pub fn hob(b: &mut Brush, look: &Look, rx: f32, heat: f32, seconds: f32) {
    let k = look.tilt;
    let (w, d) = (rx * 1.75, rx * 1.42 * k);
    let lean = w * 0.08 * (1.0 - k);
    let glass = !look.tool_kind.is_multiple_of(3);
    let c = if glass { rgb(0x24262c) } else { rgb(0xc6ced3) };
    b.shadow(0.0, 24.0, w * 1.15, d * 1.3, 0.45);
    b.polygon(&[(-w, d), (w, d), (w, d + 26.0), (-w, d + 26.0)], c.dark(0.35));
    let top = [(-w + lean, -d), (w - lean, -d), (w, d), (-w, d)];
    b.polygon(&top, round_light((-w * 0.5, -d), w * 1.6, c.light(0.2), c));
    b.trace(&polygon(&top), 5.0, c.light(0.3));
    for i in 0..3 {
        let x = w * (0.55 + 0.15 * i as f32);
        b.oval(
            x,
            d * 0.86,
            17.0,
            17.0 * k.max(0.5),
            if glass { rgb(0x8b9298) } else { rgb(0x2d2f36) },
        );
        b.line(&[(x, d * 0.86), (x + 6.0, d * 0.86 - 10.0)], 4.0, WHITE.fade(0.9));
    }
    if glass && look.tool_kind.is_multiple_of(2) {
        b.ring(0.0, 10.0, rx * 1.02, rx * 1.02 * k, 15.0, rgb(0xff5a36).fade(0.25 + 0.6 * heat));
        b.glow(0.0, 10.0, rx * 1.35, rx * 1.35 * k, rgb(0xff6a3a).fade(0.4 * heat));
    } else {
        flames(b, rx, k, heat, seconds);
    }
}

fn flames(b: &mut Brush, rx: f32, k: f32, heat: f32, seconds: f32) {
    b.oval(0.0, 10.0, rx * 0.8, rx * 0.8 * k, rgb(0x17181c));
    b.glow(0.0, 14.0, rx * 1.2, rx * 1.2 * k, rgb(0x5aa9ff).fade(0.45 * heat));
    let count = 26;
    for i in 0..count {
        let angle = std::f32::consts::TAU * i as f32 / count as f32;
        let (s, c) = angle.sin_cos();
        let (x, y) = (rx * 0.9 * c, 14.0 + rx * 0.9 * k * s);
        let flick = 0.75 + 0.25 * (seconds * 17.0 + i as f32 * 2.3).sin();
        let h = 46.0 * heat * flick;
        b.polygon(&[(x - 12.0, y), (x + c * 14.0, y - h), (x + 12.0, y)], rgb(0x3f8cff).fade(0.85));
        b.polygon(
            &[(x - 6.0, y), (x + c * 8.0, y - h * 0.6), (x + 6.0, y)],
            rgb(0xbfe4ff).fade(0.9),
        );
    }
}

/// A frying pan; its floor's middle is where contents are drawn.
pub fn pan(b: &mut Brush, look: &Look, rx: f32, contents: impl FnOnce(&mut Brush)) {
    let (k, c, h) = (look.tilt, look.metal, 54.0);
    b.shadow(0.0, 18.0, rx * 1.08, rx * k * 1.1, 0.4);
    pan_handle(b, look, rx, k, h);
    b.fill(&wall(rx, k, -h, rx * 0.82), across(-rx, rx, c.light(0.18), c.dark(0.35)));
    b.oval(0.0, -h, rx, rx * k, across(-rx, rx, c.light(0.42), c.light(0.05)));
    b.oval(0.0, -h + 4.0, rx * 0.95, rx * k * 0.94, c.dark(0.3));
    let floor = round_light((-rx * 0.3, -h), rx * 1.2, c.light(0.22), c.dark(0.18));
    b.oval(0.0, -h + 16.0, rx * 0.87, rx * k * 0.82, floor);
    b.moved(0.0, -h + 14.0, contents);
}

fn pan_handle(b: &mut Brush, look: &Look, rx: f32, k: f32, h: f32) {
    let (from, to) = ((-rx * 0.92, -h + rx * k * 0.3), (-rx * 1.82, -h + rx * k * 0.86));
    b.limb(from, 30.0, to, 40.0, look.handle.dark(0.25));
    b.limb((from.0, from.1 - 5.0), 20.0, (to.0, to.1 - 6.0), 26.0, look.handle.light(0.08));
    b.oval(to.0, to.1, 8.0, 6.0, look.handle.dark(0.6));
}

/// A deep pot with two handles.
pub fn pot(b: &mut Brush, look: &Look, rx: f32, h: f32, contents: impl FnOnce(&mut Brush)) {
    let (k, c) = (look.tilt, look.ware);
    b.shadow(0.0, 18.0, rx * 1.1, rx * k * 1.1, 0.4);
    for side in [-1.0, 1.0] {
        b.line(
            &[
                (side * rx * 0.96, -h * 0.82),
                (side * rx * 1.22, -h * 0.8),
                (side * rx * 0.97, -h * 0.6),
            ],
            20.0,
            c.dark(0.3),
        );
    }
    b.oval(0.0, -h, rx, rx * k, c.light(0.35));
    b.oval(
        0.0,
        -h + 3.0,
        rx * 0.95,
        rx * k * 0.93,
        down(-h - rx * k, -h + rx * k, c.dark(0.5), c.dark(0.25)),
    );
    b.moved(0.0, -h + rx * k * 0.2, contents);
    b.fill(&wall(rx, k, -h, rx * 0.95), across(-rx, rx, c.light(0.22), c.dark(0.28)));
    lip(b, rx, k, -h, c.light(0.4));
    b.line(
        &[(-rx * 0.8, -h * 0.8 + rx * k * 0.5), (-rx * 0.78, rx * k * 0.35)],
        14.0,
        WHITE.fade(0.28),
    );
}

/// A baking tray; contents are drawn on its floor.
pub fn tray(b: &mut Brush, look: &Look, half: f32, contents: impl FnOnce(&mut Brush)) {
    let k = look.tilt;
    let (d, lean, c) =
        (half * 0.72 * k, half * 0.1 * (1.0 - k), rgb(0x8e979e).mix(look.metal, 0.4));
    b.shadow(8.0, 22.0, half * 1.15, d * 1.5, 0.45);
    b.rect(-half - 4.0, d - 6.0, half * 2.0 + 8.0, 26.0, 10.0, c.dark(0.35));
    let rim = [(-half + lean, -d), (half - lean, -d), (half, d), (-half, d)];
    b.fill(&polygon(&rim), down(-d, d, c.dark(0.1), c.light(0.25)));
    b.trace(&polygon(&rim), 14.0, c.light(0.35));
    let paper = [
        (-half * 0.9 + lean, -d * 0.82),
        (half * 0.9 - lean, -d * 0.82),
        (half * 0.93, d * 0.84),
        (-half * 0.93, d * 0.84),
    ];
    b.fill(&polygon(&paper), down(-d, d, rgb(0xe9ddc6), rgb(0xf7eeda)));
    contents(b);
}

/// Steam rising from a point, wider with `amount`.
pub fn steam(b: &mut Brush, x: f32, y: f32, amount: f32, seconds: f32) {
    for i in 0..5 {
        let t = (seconds * 0.32 + i as f32 * 0.2).fract();
        let sway = (seconds * 1.3 + i as f32 * 1.9).sin() * 26.0 * t;
        let px = x + (i as f32 - 2.0) * 46.0 + sway;
        let fade = (t * 4.0).min(1.0) * (1.0 - t) * 0.66 * amount;
        b.glow(px, y - t * 250.0, 40.0 + 46.0 * t, 54.0 + 50.0 * t, WHITE.fade(fade));
    }
}

/// A jug with a spout to the left, its handle at the origin, tilted by the caller.
pub fn jug(b: &mut Brush, look: &Look, inside: Colour) {
    let c = look.ware;
    b.line(&[(24.0, -56.0), (-14.0, -40.0), (-14.0, 40.0), (24.0, 60.0)], 20.0, c.dark(0.22));
    b.blob(
        &[(20.0, -92.0), (150.0, -92.0), (176.0, 20.0), (158.0, 96.0), (40.0, 96.0), (16.0, 20.0)],
        across(20.0, 176.0, c.dark(0.2), c.light(0.22)),
    );
    b.polygon(&[(120.0, -98.0), (196.0, -104.0), (158.0, -56.0)], c.light(0.2));
    b.oval(94.0, -90.0, 74.0, 17.0, c.light(0.35));
    b.oval(100.0, -88.0, 64.0, 12.0, inside);
    b.rect(130.0, -50.0, 12.0, 120.0, 6.0, WHITE.fade(0.35));
}

/// Where the spout of a jug is that a hand holds at `grip` and points along `axis` to the left.
pub fn spout(grip: Point, axis: f32) -> Point {
    let (s, c) = axis.to_radians().sin_cos();
    (grip.0 + 190.0 * c - 100.0 * s, grip.1 + 190.0 * s + 100.0 * c)
}

/// Drops of water on something: bright dots with a dark lower rim.
pub fn droplets(b: &mut Brush, spots: &[Point], size: f32) {
    for (i, s) in spots.iter().enumerate() {
        let r = size * (0.6 + 0.4 * ((i * 7) % 5) as f32 / 4.0);
        b.oval(s.0, s.1 + r * 0.3, r, r * 1.15, SHADE.fade(0.25));
        b.oval(s.0, s.1, r, r * 1.15, rgb(0xbfe6ff).fade(0.85));
        b.oval(s.0 - r * 0.3, s.1 - r * 0.4, r * 0.36, r * 0.36, WHITE);
    }
}
