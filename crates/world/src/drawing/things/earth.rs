//! Earth and what holds it: pots, beds, sacks, heaps, straw, seed packets, baskets.

use super::vessels::wall;
use crate::drawing::brush::{
    Brush, Colour, Point, SHADE, WHITE, across, down, polygon, rgb, round_light,
};
use crate::drawing::easing::lerp;
use crate::drawing::look::Look;
use crate::random::unit_of;

/// Rim's half-width and height of a pot.
pub const POT: (f32, f32) = (215.0, 240.0);
/// Half-width, depth and board height of a raised bed; the middle of its soil is the origin.
pub const BED: (f32, f32, f32) = (430.0, 300.0, 70.0);

/// Soil from dry (0) to soaked (1).
pub fn soil(wet: f32) -> Colour {
    rgb(0x93653f).mix(rgb(0x3d2418), wet)
}

/// Crumbs scattered over an ellipse, the same for the same salt.
pub fn crumbs(b: &mut Brush, c: Colour, size: Point, count: usize, salt: u64) {
    for i in 0..count {
        let (r, (s, co)) = (unit_of(i, salt).sqrt() * 0.93, (i as f32 * 2.4).sin_cos());
        let tint = if i % 2 == 0 { c.dark(0.3) } else { c.light(0.25) };
        let w = 5.0 + 6.0 * unit_of(i, salt + 1);
        b.oval(size.0 * r * co, size.1 * r * s, w, w * 0.6, tint);
    }
}

/// A pot standing at the origin: `fill` (0..=1) of soil, `wet` (0..=1); `grow` draws at the soil.
pub fn pot(b: &mut Brush, look: &Look, fill: f32, wet: f32, grow: impl FnOnce(&mut Brush)) {
    let ((rx, h), k, c) = (POT, look.tilt, clay(look));
    let y = 90.0 - h;
    b.shadow(16.0, 92.0, rx * 1.15, rx * k * 0.9, 0.5);
    b.moved(0.0, 90.0, |b| {
        b.fill(
            &wall(rx * 0.95, k, -h + 30.0, rx * 0.66),
            across(-rx, rx, c.light(0.2), c.dark(0.32)),
        );
        pot_band(b, look, c);
    });
    b.oval(0.0, y, rx * 1.05, rx * 1.05 * k, c.light(0.3));
    b.oval(
        0.0,
        y + 3.0,
        rx * 0.94,
        rx * 0.94 * k,
        down(y - rx * k, y + rx * k, c.dark(0.62), c.dark(0.4)),
    );
    potted_soil(b, (rx, k), fill, wet, y);
    b.moved(0.0, y - 6.0, grow);
    b.moved(0.0, y, |b| collar(b, (rx * 1.05, k), c));
}

fn clay(look: &Look) -> Colour {
    [rgb(0xc9673c), rgb(0xd58a5a), look.ware, rgb(0xb5533a), look.ware2][look.tool_kind / 13 % 5]
}

fn pot_band(b: &mut Brush, look: &Look, c: Colour) {
    let (rx, h) = POT;
    b.line(&[(-rx * 0.72, -h * 0.6), (-rx * 0.62, -h * 0.2)], 17.0, WHITE.fade(0.25));
    if (look.tool_kind / 17).is_multiple_of(3) {
        for i in 0..5 {
            let x = (i as f32 - 2.0) * 66.0;
            let y = -h * 0.42 + look.tilt * (60.0 - 0.0022 * x * x);
            b.oval(x, y, 17.0, 17.0, look.accent2.fade(0.9));
            b.oval(x, y, 8.0, 8.0, c.light(0.4));
        }
    }
}

fn potted_soil(b: &mut Brush, size: (f32, f32), fill: f32, wet: f32, y: f32) {
    if fill <= 0.02 {
        return;
    }
    let ((rx, k), c) = (size, soil(wet));
    let r = rx * lerp(0.62, 0.93, fill);
    let level = y + lerp(rx * k * 0.34, 2.0, fill);
    b.oval(
        0.0,
        level,
        r,
        r * k * lerp(0.7, 0.98, fill),
        round_light((-r * 0.4, level - r * k * 0.4), r * 1.5, c.light(0.14), c.dark(0.12)),
    );
    b.moved(0.0, level, |b| crumbs(b, c, (r * 0.94, r * k * 0.8), 34, 5));
    if wet > 0.6 {
        b.oval(-r * 0.35, level - r * k * 0.25, r * 0.26, r * k * 0.1, WHITE.fade(0.3 * wet));
        b.oval(r * 0.3, level + r * k * 0.3, r * 0.2, r * k * 0.08, WHITE.fade(0.26 * wet));
    }
}

/// The near half of a pot's thick rim.
fn collar(b: &mut Brush, size: (f32, f32), c: Colour) {
    let (rx, k) = size;
    let arc = |drop: f32, r: f32| -> Vec<Point> {
        (0..=16)
            .map(|i| {
                let (s, co) = (std::f32::consts::PI * i as f32 / 16.0).sin_cos();
                (-r * co, r * k * s + drop)
            })
            .collect()
    };
    let mut ring = arc(0.0, rx);
    ring.extend(arc(52.0, rx * 0.99).into_iter().rev());
    b.polygon(&ring, across(-rx, rx, c.light(0.28), c.dark(0.2)));
    b.line(&arc(0.0, rx * 0.985), 9.0, c.light(0.42));
    b.line(&arc(55.0, rx * 0.96), 6.0, SHADE.fade(0.25));
}

/// A raised bed with soil `wet` (0..=1); `grow` draws on its soil, whose middle is the origin.
pub fn bed(b: &mut Brush, look: &Look, wet: f32, grow: impl FnOnce(&mut Brush)) {
    let ((half, depth, h), c) = (BED, frame_wood(look));
    let (d, e) = (depth * look.tilt * 0.5, 0.93);
    b.shadow(14.0, d + h, half * 1.12, 80.0, 0.5);
    let rim = [
        (-half * e - 14.0, -d - 14.0),
        (half * e + 14.0, -d - 14.0),
        (half + 26.0, d + 6.0),
        (-half - 26.0, d + 6.0),
    ];
    b.polygon(&rim, down(-d, d, c.dark(0.04), c.light(0.16)));
    let s = soil(wet);
    let ground = [(-half * e, -d), (half * e, -d), (half - 6.0, d - 8.0), (-half + 6.0, d - 8.0)];
    b.polygon(&ground, down(-d, d, s.dark(0.22), s.light(0.06)));
    b.polygon(
        &[(-half * e, -d), (half * e, -d), (half * e, -d + 16.0), (-half * e, -d + 16.0)],
        SHADE.fade(0.25),
    );
    bed_crumbs(b, s, (half * 0.92, d * 0.86));
    grow(b);
    let y = d - 4.0;
    b.rect(-half - 26.0, y, half * 2.0 + 52.0, h, 6.0, down(y, y + h, c.light(0.1), c.dark(0.22)));
    b.rect(-half - 24.0, y, half * 2.0 + 48.0, 9.0, 4.0, c.light(0.42));
    for i in 0..3 {
        let gy = y + 20.0 + 15.0 * i as f32;
        b.line(
            &[(-half + 60.0 * i as f32, gy), (0.0, gy + 4.0), (half - 90.0 + 30.0 * i as f32, gy)],
            3.0,
            c.dark(0.35).fade(0.6),
        );
    }
    for x in [-half - 4.0, half + 4.0] {
        b.rect(
            x - 24.0,
            y - 14.0,
            48.0,
            h + 20.0,
            5.0,
            across(x - 24.0, x + 24.0, c.light(0.05), c.dark(0.3)),
        );
    }
}

fn frame_wood(look: &Look) -> Colour {
    [rgb(0xb9804a), rgb(0x8f6a4c), rgb(0xd2a468), look.trim.mix(rgb(0xa9744a), 0.4)]
        [look.tool_kind / 19 % 4]
}

fn bed_crumbs(b: &mut Brush, s: Colour, size: Point) {
    for i in 0..60 {
        let (x, y) = (size.0 * (unit_of(i, 3) * 2.0 - 1.0), size.1 * (unit_of(i, 4) * 2.0 - 1.0));
        let w = 6.0 + 7.0 * unit_of(i, 6);
        b.oval(x, y, w, w * 0.55, if i % 2 == 0 { s.dark(0.28) } else { s.light(0.22) });
    }
}

/// Weeds on an untouched bed, all but the part from the left that is `gone`.
pub fn weeds(b: &mut Brush, look: &Look, gone: f32) {
    let d = BED.1 * look.tilt * 0.5;
    for i in 0..15 {
        let x = -370.0 + 53.0 * i as f32;
        if (x / 370.0 + 1.0) / 2.0 < gone {
            continue;
        }
        let y = d * (1.5 * unit_of(i, 8) - 0.7);
        for (a, long) in [(-130.0, 38.0), (-92.0, 54.0), (-54.0, 40.0)] {
            b.placed((x, y), a, 1.0, |b| {
                b.blob(
                    &[(0.0, 0.0), (long * 0.5, -8.0), (long, 0.0), (long * 0.5, 8.0)],
                    rgb(0x6c9a3c).light(0.1 * unit_of(i, 9)),
                )
            });
        }
    }
}

/// A hole `size` (0..=1) deep in the soil, with the earth out of it in a heap to the right.
pub fn hole(b: &mut Brush, look: &Look, size: f32, wet: f32) {
    if size <= 0.02 {
        return;
    }
    let (k, s) = (look.tilt, soil(wet));
    let (rx, ry) = (150.0 * size.sqrt(), 130.0 * k * size.sqrt());
    b.oval(0.0, 4.0, rx + 22.0, ry + 12.0, s.light(0.2));
    b.oval(0.0, 4.0, rx, ry, down(-ry, ry, rgb(0x140a08), rgb(0x40281a)));
    b.oval(0.0, 4.0 + ry * 0.4, rx * 0.8, ry * 0.5, rgb(0x2a1710));
    b.moved(285.0, 10.0, |b| heap(b, s.light(0.04), 130.0 * size.sqrt(), 0.9));
}

/// A heap of something crumbly, `w` to each side.
pub fn heap(b: &mut Brush, c: Colour, w: f32, tall: f32) {
    let h = w * tall;
    b.shadow(8.0, 6.0, w * 1.15, w * 0.3, 0.4);
    b.blob(
        &[
            (-w, 6.0),
            (-w * 0.6, -h * 0.5),
            (-w * 0.12, -h),
            (w * 0.3, -h * 0.86),
            (w * 0.72, -h * 0.42),
            (w, 6.0),
            (0.0, w * 0.2),
        ],
        down(-h, w * 0.2, c.light(0.16), c.dark(0.16)),
    );
    for i in 0..22 {
        let t = unit_of(i, 21);
        let x = w * 0.8 * (unit_of(i, 22) * 2.0 - 1.0) * t;
        let r = 5.0 + 7.0 * unit_of(i, 23);
        b.oval(
            x,
            -h + (h + w * 0.08) * t,
            r,
            r * 0.7,
            if i % 2 == 0 { c.dark(0.3) } else { c.light(0.22) },
        );
    }
}

/// Straw over an ellipse around the origin, `cover` (0..=1) of it from the left; `inner` is left free.
pub fn straw(b: &mut Brush, size: Point, inner: f32, cover: f32, count: usize) {
    let pale = rgb(0xf2cf6a);
    for i in 0..count / 4 {
        let (x, y) =
            (size.0 * (unit_of(i, 68) * 1.8 - 0.9), size.1 * (unit_of(i, 69) * 1.7 - 0.85));
        if (x / size.0 + 1.0) / 2.0 < cover && (x / size.0 * size.1).hypot(y) > inner * 1.3 {
            b.oval(x, y, 54.0, 20.0, pale.dark(0.14).fade(0.9));
        }
    }
    for i in 0..count {
        let (x, y) = (size.0 * (unit_of(i, 61) * 2.0 - 1.0), size.1 * (unit_of(i, 62) * 2.0 - 1.0));
        let (u, v) = (x / size.0, y / size.1);
        if (u + 1.0) / 2.0 > cover * 1.04
            || (x / size.0 * size.1).hypot(y) < inner
            || u.abs() > 1.0 - 0.1 * v.abs()
        {
            continue;
        }
        let (lean, long) = (unit_of(i, 63) * std::f32::consts::PI, 24.0 + 26.0 * unit_of(i, 64));
        let (dx, dy) = (long * lean.cos(), long * 0.45 * lean.sin());
        let c = if i % 4 == 0 { pale.dark(0.28) } else { pale.light(0.4 * unit_of(i, 65)) };
        b.line(&[(x - dx, y - dy), (x + dx, y + dy)], 8.0, c);
    }
}

/// An open sack of `stuff` with a sign of it on the front.
pub fn sack(b: &mut Brush, look: &Look, stuff: Colour, tint: Colour) {
    let c = tint;
    b.shadow(12.0, 6.0, 190.0, 60.0, 0.45);
    b.oval(0.0, -236.0, 128.0, 128.0 * look.tilt * 0.8, c.dark(0.3));
    b.moved(0.0, -226.0, |b| heap(b, stuff, 112.0, 0.42));
    b.blob(
        &[
            (-132.0, -232.0),
            (-60.0, -196.0),
            (60.0, -196.0),
            (132.0, -232.0),
            (152.0, -110.0),
            (146.0, 4.0),
            (0.0, 24.0),
            (-146.0, 4.0),
            (-152.0, -110.0),
        ],
        across(-150.0, 150.0, c.light(0.2), c.dark(0.2)),
    );
    b.oval(0.0, -90.0, 66.0, 66.0, WHITE.fade(0.8));
    b.placed((-6.0, -62.0), -62.0, 1.0, |b| leaf(b, 72.0, 24.0, rgb(0x4f9a3c)));
    b.placed((-6.0, -62.0), -128.0, 1.0, |b| leaf(b, 56.0, 20.0, rgb(0x78b84e)));
}

/// A leaf along x.
pub fn leaf(b: &mut Brush, long: f32, wide: f32, c: Colour) {
    b.blob(
        &[
            (0.0, 0.0),
            (long * 0.3, -wide * 0.9),
            (long * 0.68, -wide * 0.75),
            (long, 0.0),
            (long * 0.66, wide * 0.75),
            (long * 0.3, wide * 0.9),
        ],
        c,
    );
    b.line(&[(long * 0.06, 0.0), (long * 0.86, 0.0)], (wide * 0.14).max(2.0), c.light(0.35));
}

/// A packet of seeds with a picture of what they become.
pub fn packet(b: &mut Brush, look: &Look, tomato: bool) {
    let band = if tomato { rgb(0xd8412f) } else { rgb(0x3f8f4f) };
    packet_of(b, look, band, |b| {
        if tomato {
            return fruit(b, (0.0, -96.0), 46.0, 1.0);
        }
        for a in [-150.0, -120.0, -90.0, -60.0, -30.0] {
            b.placed((0.0, -66.0), a, 1.0, |b| {
                leaf(b, 66.0, 22.0, rgb(0x58a63f).light(0.002 * (a + 150.0)))
            });
        }
    });
}

/// A packet of seeds with a band of a colour and a picture.
pub fn packet_of(b: &mut Brush, look: &Look, band: Colour, picture: impl FnOnce(&mut Brush)) {
    b.shadow(8.0, 4.0, 110.0, 34.0, 0.4);
    b.placed((0.0, 0.0), -6.0, 1.0, |b| {
        b.rect(-88.0, -236.0, 176.0, 240.0, 8.0, across(-88.0, 88.0, rgb(0xfff6e0), rgb(0xead8b0)));
        b.rect(-88.0, -236.0, 176.0, 46.0, 8.0, band);
        b.rect(-60.0, -222.0, 120.0, 16.0, 6.0, WHITE.fade(0.9));
        b.oval(0.0, -100.0, 70.0, 70.0, look.accent2.light(0.5));
        picture(b);
    });
}

/// A tomato, green to red.
pub fn fruit(b: &mut Brush, at: Point, r: f32, ripe: f32) {
    let c = rgb(0x9cc25a).mix(rgb(0xe23420), ripe);
    b.oval(
        at.0,
        at.1,
        r,
        r * 0.92,
        round_light((at.0 - r * 0.35, at.1 - r * 0.35), r * 1.5, c.light(0.25), c.dark(0.22)),
    );
    b.oval(at.0 - r * 0.36, at.1 - r * 0.36, r * 0.2, r * 0.15, WHITE.fade(0.8));
    for i in 0..5 {
        b.placed((at.0, at.1 - r * 0.82), 200.0 + 35.0 * i as f32 - 90.0, 1.0, |b| {
            b.blob(
                &[(0.0, 0.0), (r * 0.25, -r * 0.1), (r * 0.5, 0.0), (r * 0.25, r * 0.1)],
                rgb(0x4a8a34),
            )
        });
    }
}

/// A basket standing at the origin, its contents drawn in it.
pub fn basket(b: &mut Brush, look: &Look, contents: impl FnOnce(&mut Brush)) {
    let (rx, h, k, c) = (140.0, 120.0, look.tilt, rgb(0xc28b4c));
    b.shadow(10.0, 6.0, rx * 1.15, rx * k, 0.5);
    b.trace(
        &crate::drawing::brush::curve(&[
            (-rx * 0.92, -h),
            (-rx * 0.7, -h - 120.0),
            (0.0, -h - 168.0),
            (rx * 0.7, -h - 120.0),
            (rx * 0.92, -h),
        ]),
        17.0,
        c.dark(0.24),
    );
    b.oval(0.0, -h, rx, rx * k * 0.9, c.light(0.2));
    b.oval(0.0, -h + 3.0, rx * 0.92, rx * k * 0.82, c.dark(0.6));
    b.moved(0.0, -h, contents);
    let front = wall(rx, k * 0.9, -h, rx * 0.72);
    b.fill(&front, across(-rx, rx, c.light(0.2), c.dark(0.25)));
    for j in 0..3 {
        for i in 0..9 {
            let t = (i as f32 - 4.0) / 4.5;
            let x = rx * (0.95 - 0.08 * j as f32) * t;
            let y = -h + 30.0 + 34.0 * j as f32 + rx * k * 0.86 * (1.0 - t * t).sqrt();
            if (i + j) % 2 == 0 {
                b.rect(x - 14.0, y - 12.0, 28.0, 20.0, 7.0, c.dark(0.2));
            }
        }
    }
}

/// Pellets of plant food scattered over an ellipse, `amount` (0..=1) of them.
pub fn pellets(b: &mut Brush, size: Point, inner: f32, amount: f32) {
    let count = (46.0 * amount) as usize;
    for i in 0..count {
        let (r, (s, c)) = (lerp(inner, 0.94, unit_of(i, 71).sqrt()), (i as f32 * 2.4).sin_cos());
        let (x, y) = (size.0 * r * c, size.1 * r * s);
        b.oval(x, y + 3.0, 11.0, 9.0, SHADE.fade(0.35));
        b.oval(x, y, 11.0, 9.0, [rgb(0x59b7ff), rgb(0xfdfdf6), rgb(0x7fe0d0)][i % 3]);
    }
}

/// Straw in a bale.
pub fn bale(b: &mut Brush, look: &Look) {
    let (c, d) = (rgb(0xe6bd55), 120.0 * look.tilt);
    b.shadow(10.0, 6.0, 210.0, 60.0, 0.45);
    b.polygon(
        &[(-168.0, -130.0 - d), (168.0, -130.0 - d), (184.0, -130.0), (-184.0, -130.0)],
        c.light(0.3),
    );
    b.rect(-186.0, -132.0, 372.0, 134.0, 12.0, down(-132.0, 0.0, c.light(0.1), c.dark(0.14)));
    b.moved(0.0, -66.0, |b| straw(b, (165.0, 54.0), 0.0, 1.0, 46));
    [-88.0, 88.0].iter().for_each(|x| b.rect(x - 6.0, -134.0, 12.0, 136.0, 3.0, look.accent));
    b.fill(
        &polygon(&[(-94.0, -132.0), (-88.0, -130.0 - d), (-78.0, -130.0 - d), (-82.0, -132.0)]),
        look.accent.dark(0.2),
    );
}
