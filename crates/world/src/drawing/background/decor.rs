//! Small things that stand or hang about in places: windows, shelves, jars, plants, lamps, tools.

use crate::drawing::brush::{
    Brush, Colour, WHITE, across, down, polygon, rect, rgb, round_light, smooth, towards,
};
use crate::drawing::look::Look;
use crate::random::SplitMix64;

/// A window with sky, hills and a frame.
pub fn window(b: &mut Brush, look: &Look, x: f32, y: f32, w: f32, h: f32, random: &mut SplitMix64) {
    let frame =
        if look.wall.brightness() > 0.6 { WHITE.mix(look.wall, 0.12) } else { rgb(0xf3ece0) };
    b.rect(x - 6.0, y + 8.0, w + 24.0, h + 16.0, 8.0, look.wall.dark(0.22));
    b.rect(x - 14.0, y - 14.0, w + 28.0, h + 28.0, 8.0, frame);
    let sky = *random.pick(&[rgb(0x9fd4f2), rgb(0xffcf9a), rgb(0xc3dcec), rgb(0x6f8fc0)]);
    let pane = rect(x, y, w, h, 4.0);
    b.fill(&pane, down(y, y + h, sky, sky.light(0.65)));
    let (dx, rise) = (random.range(0.2, 0.8), random.range(0.25, 0.5));
    b.clipped(&pane, |b| {
        let hill = rgb(0x7fae72).mix(sky, 0.35);
        b.oval(x + w * dx, y + h * 1.15, w * 0.8, h * rise, hill.light(0.2));
        b.oval(x + w * (1.0 - dx), y + h * 1.2, w * 0.7, h * rise, hill);
        b.oval(x + w * 0.7, y + h * 0.3, w * 0.12, h * 0.06, WHITE.fade(0.8));
        b.oval(x + w * 0.78, y + h * 0.34, w * 0.14, h * 0.06, WHITE.fade(0.8));
        b.polygon(
            &[(x + w * 0.1, y + h), (x + w * 0.5, y), (x + w * 0.66, y), (x + w * 0.26, y + h)],
            WHITE.fade(0.16),
        );
    });
    let bars = 1 + random.below(2);
    for i in 1..=bars {
        let at = x + w * i as f32 / (bars + 1) as f32;
        b.rect(at - 5.0, y, 10.0, h, 0.0, frame);
    }
    b.rect(x, y + h * 0.48, w, 10.0, 0.0, frame.dark(0.04));
    b.rect(x - 30.0, y + h + 8.0, w + 60.0, 20.0, 5.0, frame.dark(0.08));
}

/// A shelf with jars, books, bowls and plants on it.
pub fn shelf(b: &mut Brush, look: &Look, x: f32, y: f32, w: f32, random: &mut SplitMix64) {
    b.rect(x + 8.0, y + 16.0, w, 16.0, 4.0, look.wall.dark(0.2));
    let mut at = x + 20.0;
    while at < x + w - 70.0 {
        at += thing_on_shelf(b, look, at, y, random) + random.range(6.0, 26.0);
    }
    let wood = look.board.mix(look.front, 0.3);
    b.rect(x, y, w, 18.0, 4.0, down(y, y + 18.0, wood.light(0.15), wood.dark(0.15)));
}

fn thing_on_shelf(b: &mut Brush, look: &Look, x: f32, y: f32, random: &mut SplitMix64) -> f32 {
    let colour = *random.pick(&[look.accent, look.accent2, look.ware, look.ware2, look.trim]);
    match random.below(5) {
        0 | 1 => jar(b, x, y, random.range(46.0, 66.0), random.range(66.0, 104.0), colour),
        2 => bowls(b, x, y, random.range(84.0, 110.0), colour),
        3 => plant(b, x + 44.0, y, random.range(0.45, 0.65), colour, random),
        _ => books(b, x, y, look, random),
    }
}

/// A jar with a lid and something in it.
pub fn jar(b: &mut Brush, x: f32, y: f32, w: f32, h: f32, colour: Colour) -> f32 {
    b.rect(x, y - h, w, h, 10.0, WHITE.fade(0.55));
    b.rect(x + 5.0, y - h * 0.66, w - 10.0, h * 0.66 - 5.0, 7.0, colour);
    b.rect(x + 8.0, y - h * 0.92, 7.0, h * 0.75, 4.0, WHITE.fade(0.5));
    b.rect(x - 2.0, y - h - 8.0, w + 4.0, 16.0, 5.0, rgb(0xb98a55));
    w
}

fn bowls(b: &mut Brush, x: f32, y: f32, w: f32, colour: Colour) -> f32 {
    for i in 0..3 {
        let (i, top) = (i as f32, y - 36.0 - 13.0 * i as f32);
        let tone = colour.light(0.12 * i);
        b.fill(
            &smooth(&[
                (x, top),
                (x + w, top),
                (x + w * 0.74, top + 32.0),
                (x + w * 0.26, top + 32.0),
            ]),
            across(x, x + w, tone.light(0.15), tone.dark(0.15)),
        );
    }
    w
}

fn books(b: &mut Brush, x: f32, y: f32, look: &Look, random: &mut SplitMix64) -> f32 {
    let mut at = x;
    for _ in 0..3 + random.below(3) {
        let (w, h) = (random.range(16.0, 26.0), random.range(64.0, 98.0));
        let colour =
            *random.pick(&[look.accent, look.accent2, look.front, rgb(0xe8e0d0), look.trim]);
        b.rect(at, y - h, w, h, 3.0, colour.dark(0.06));
        b.rect(at + 4.0, y - h * 0.8, w - 8.0, 6.0, 2.0, colour.light(0.5));
        at += w + 1.0;
    }
    at - x
}

/// A pot with a plant, its middle at x, standing at y.
pub fn plant(
    b: &mut Brush,
    x: f32,
    y: f32,
    size: f32,
    pot: Colour,
    random: &mut SplitMix64,
) -> f32 {
    let green = *random.pick(&[rgb(0x4f8f4c), rgb(0x6fa35a), rgb(0x2f7a5c), rgb(0x8bb34f)]);
    let (kind, leaves) = (random.below(3), 9 + random.below(5));
    b.placed((x, y), 0.0, size, |b| {
        for i in 0..leaves {
            let angle = -160.0 + 140.0 * (i as f32 + 0.5) / leaves as f32 + random.range(-8.0, 8.0);
            let tone = if i % 2 == 0 { green } else { green.light(0.18) };
            let long = random.range(80.0, 130.0);
            b.placed((0.0, -64.0), angle, 1.0, |b| leaf(b, kind, long, tone));
        }
        b.fill(
            &polygon(&[(-44.0, -74.0), (44.0, -74.0), (32.0, 0.0), (-32.0, 0.0)]),
            across(-44.0, 44.0, pot.light(0.18), pot.dark(0.18)),
        );
        b.rect(
            -50.0,
            -84.0,
            100.0,
            20.0,
            5.0,
            across(-50.0, 50.0, pot.light(0.25), pot.dark(0.12)),
        );
    });
    90.0 * size
}

fn leaf(b: &mut Brush, kind: usize, long: f32, tone: Colour) {
    let wide = [16.0, 26.0, 8.0][kind % 3];
    b.blob(&[(0.0, 0.0), (long * 0.45, -wide), (long, 0.0), (long * 0.45, wide)], tone);
    b.line(&[(4.0, 0.0), (long * 0.9, 0.0)], 2.0, tone.dark(0.2));
}

/// A lamp hanging from above with a pool of light.
pub fn lamp(b: &mut Brush, x: f32, y: f32, colour: Colour, kind: usize) {
    b.line(&[(x, -70.0), (x, y)], 4.0, rgb(0x2e2a2c));
    b.glow(x, y + 90.0, 260.0, 170.0, rgb(0xffe6a8).fade(0.38));
    let shade = match kind % 3 {
        0 => polygon(&[(x - 20.0, y), (x + 20.0, y), (x + 84.0, y + 66.0), (x - 84.0, y + 66.0)]),
        1 => smooth(&[(x - 70.0, y + 62.0), (x, y - 10.0), (x + 70.0, y + 62.0), (x, y + 70.0)]),
        _ => rect(x - 42.0, y, 84.0, 88.0, 20.0),
    };
    b.fill(&shade, across(x - 80.0, x + 80.0, colour.light(0.2), colour.dark(0.22)));
    b.oval(x, y + 70.0, 34.0, 16.0, round_light((x, y + 66.0), 40.0, WHITE, rgb(0xffd98a)));
}

/// A framed picture.
pub fn picture(
    b: &mut Brush,
    look: &Look,
    x: f32,
    y: f32,
    w: f32,
    h: f32,
    random: &mut SplitMix64,
) {
    b.rect(x + 6.0, y + 8.0, w, h, 4.0, look.wall.dark(0.2));
    b.rect(x, y, w, h, 4.0, look.front.dark(0.2));
    b.rect(x + 10.0, y + 10.0, w - 20.0, h - 20.0, 2.0, rgb(0xfbf5e9));
    let (cx, cy, r) = (x + w / 2.0, y + h / 2.0, w.min(h) * 0.26);
    b.oval(cx, cy, r, r, *random.pick(&[look.accent, look.accent2]));
    b.oval(cx + r * 0.5, cy + r * 0.5, r * 0.6, r * 0.6, *random.pick(&[look.front, look.trim]));
}

/// A round clock.
pub fn clock(b: &mut Brush, look: &Look, x: f32, y: f32, random: &mut SplitMix64) {
    b.oval(x + 6.0, y + 8.0, 66.0, 66.0, look.wall.dark(0.2));
    b.oval(x, y, 66.0, 66.0, look.accent);
    b.oval(x, y, 54.0, 54.0, rgb(0xfdf8ee));
    for long in [30.0, 42.0] {
        let end = towards((x, y), random.range(0.0, 360.0), long);
        b.line(&[(x, y), end], 6.0, rgb(0x2e2a2c));
    }
}
