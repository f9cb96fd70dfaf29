//! Plants from first leaf to harvest: tomato, basil, lettuce, rose. The soil is at the origin.

use super::earth::{fruit, leaf};
use crate::drawing::brush::{Brush, Colour, Point, SHADE, WHITE, between, rgb, towards};
use crate::drawing::easing::lerp;
use crate::drawing::look::Look;
use crate::random::unit_of;

/// A leaf of leaflets, as a tomato has.
fn compound(b: &mut Brush, at: Point, degrees: f32, long: f32, c: Colour) {
    b.placed(at, degrees, 1.0, |b| {
        b.line(&[(0.0, 0.0), (long * 0.7, 0.0)], (long * 0.05).max(3.0), c.dark(0.2));
        for (t, side) in [(0.34, -1.0), (0.34, 1.0), (0.62, -1.0), (0.62, 1.0)] {
            let tint = if side < 0.0 { c.light(0.12) } else { c.dark(0.08) };
            b.placed((long * t, 0.0), side * 52.0, 1.0, |b| {
                leaf(b, long * 0.42, long * 0.14, tint)
            });
        }
        b.placed((long * 0.6, 0.0), 0.0, 1.0, |b| leaf(b, long * 0.5, long * 0.17, c.light(0.05)));
    });
}

/// A tomato plant grown `g` (0..=1), with `fruits` of its six fruits on it, `ripe` of the way to red.
pub fn tomato(b: &mut Brush, look: &Look, g: f32, fruits: usize, ripe: f32) {
    let (high, c) = (lerp(30.0, 350.0, g.powf(0.75)), green(look, rgb(0x4f9a3c)));
    let stem = [(0.0, 0.0), (8.0 * g, -high * 0.35), (-10.0 * g, -high * 0.7), (4.0, -high)];
    b.line(&stem, lerp(9.0, 20.0, g), c.dark(0.18));
    b.line(&stem.map(|(x, y)| (x - 3.0, y)), lerp(4.0, 8.0, g), c.light(0.2));
    if g < 0.3 {
        return first_leaves(b, high, g / 0.3, c);
    }
    let count = lerp(5.0, 10.0, g) as usize;
    for i in 0..count {
        let t = 0.2 + 0.78 * i as f32 / count as f32;
        let side = if i % 2 == 0 { -1.0 } else { 1.0 };
        let lean = -90.0 + side * lerp(98.0, 46.0, t);
        let long = lerp(190.0, 120.0, t) * lerp(0.55, 1.0, g);
        compound(
            b,
            (0.0, -high * t),
            lean,
            long,
            if i % 2 == 0 { c.light(0.16) } else { c.dark(0.06 * unit_of(i, 4)) },
        );
    }
    for at in fruit_spots().into_iter().take(fruits) {
        fruit(b, at, 40.0, ripe);
    }
}

/// Where a grown tomato plant's fruits hang.
pub fn fruit_spots() -> [Point; 6] {
    [
        (-96.0, -92.0),
        (92.0, -128.0),
        (-70.0, -196.0),
        (84.0, -226.0),
        (10.0, -146.0),
        (-24.0, -266.0),
    ]
}

fn green(look: &Look, c: Colour) -> Colour {
    c.mix(look.front, 0.12)
}

fn first_leaves(b: &mut Brush, high: f32, t: f32, c: Colour) {
    for side in [-1.0_f32, 1.0] {
        let lean = -90.0 + side * lerp(20.0, 62.0, t);
        b.placed((0.0, -high), lean, 1.0, |b| {
            leaf(b, lerp(30.0, 118.0, t), lerp(12.0, 36.0, t), c.light(0.2))
        });
        if t > 0.55 {
            let long = 190.0 * (t - 0.4);
            compound(b, (0.0, -high * 0.96), -90.0 + side * 26.0, long, c.light(0.06));
        }
    }
}

/// Basil grown `g` (0..=1): from sprouts to a bush; `cut` (0..=1) of its stems are picked bare.
pub fn basil(b: &mut Brush, look: &Look, g: f32, cut: f32) {
    let c = green(look, rgb(0x4fa043));
    let k = look.tilt;
    for i in 0..9 {
        let order = (i * 4) % 9; // those behind first, spread out
        let a = order as f32 / 9.0 * std::f32::consts::TAU;
        let spread = lerp(0.62, 0.78, g);
        let (x, y) = (130.0 * spread * a.cos(), 130.0 * k * spread * a.sin());
        let picked = (i as f32) < cut * 8.0 + 0.01 && cut > 0.0;
        basil_stem(b, (x, y), g * (0.8 + 0.2 * unit_of(order, 5)), picked, c);
    }
}

fn basil_stem(b: &mut Brush, foot: Point, g: f32, picked: bool, c: Colour) {
    let high = lerp(16.0, 190.0, g.powf(0.8)) * if picked { 0.45 } else { 1.0 };
    let head = (foot.0 * lerp(1.0, 1.35, g), foot.1 - high);
    b.line(&[foot, between(foot, head, 0.5), head], lerp(5.0, 11.0, g), c.dark(0.16));
    if picked {
        b.oval(head.0, head.1, 7.0, 5.0, c.light(0.6));
        return b.placed(between(foot, head, 0.6), -30.0, 1.0, |b| leaf(b, 34.0, 12.0, c));
    }
    let tiers = 1 + (g * 3.6) as usize;
    for tier in (0..tiers).rev() {
        let t = 1.0 - 0.26 * tier as f32;
        let at = between(foot, head, t);
        let long = lerp(36.0, 92.0, g) * (0.74 + 0.2 * tier as f32);
        for side in [-1.0_f32, 1.0] {
            let lean = -90.0 + side * (48.0 + 20.0 * tier as f32);
            let shade = c.mix(rgb(0x1d5a2e), 0.24 * tier as f32);
            let tint = if side < 0.0 { shade.light(0.24) } else { shade };
            b.placed(at, lean, 1.0, |b| leaf(b, long, long * 0.36, tint));
        }
    }
    b.placed(head, -90.0, 1.0, |b| leaf(b, lerp(12.0, 52.0, g), lerp(6.0, 20.0, g), c.light(0.32)));
}

/// A rosette of lettuce, `s` as large as a full one of half-width 130.
pub fn lettuce(b: &mut Brush, look: &Look, s: f32) {
    let red = (look.tool_kind / 23).is_multiple_of(3);
    let c = if red { rgb(0x8a4a4e) } else { rgb(0x62ad38) };
    b.shadow(4.0, 6.0, 130.0 * s, 44.0 * s, 0.4);
    for ring in 0..3 {
        let (n, long) = (9 - 2 * ring, 134.0 - 34.0 * ring as f32);
        for i in 0..n {
            let a = -180.0 + 180.0 * (i as f32 + 0.5) / n as f32;
            let tint = c.light(0.02 + 0.15 * ring as f32 + 0.1 * unit_of(i, ring as u64));
            b.placed((0.0, -6.0 * s), a, s, |b| frilly(b, long, tint));
        }
    }
    b.oval(0.0, -30.0 * s, 28.0 * s, 22.0 * s, c.light(0.55));
}

fn frilly(b: &mut Brush, long: f32, c: Colour) {
    b.blob(
        &[
            (0.0, -6.0),
            (long * 0.4, -30.0),
            (long * 0.62, -26.0),
            (long * 0.74, -36.0),
            (long * 0.9, -18.0),
            (long, -8.0),
            (long * 0.96, 12.0),
            (long * 0.8, 34.0),
            (long * 0.62, 24.0),
            (long * 0.4, 30.0),
            (0.0, 6.0),
        ],
        c,
    );
    b.line(&[(4.0, 0.0), (long * 0.5, 2.0), (long * 0.8, 0.0)], 6.0, c.light(0.36));
}

/// The colour of this place's roses.
pub fn petal(look: &Look) -> Colour {
    [rgb(0xe0355a), rgb(0xf58fb0), rgb(0xf6c445), rgb(0xd8312a), rgb(0xfff0e6), rgb(0xf0793c)]
        [look.tool_kind / 29 % 6]
}

/// A rose's flower.
pub fn bloom(b: &mut Brush, at: Point, r: f32, c: Colour) {
    for i in 0..6 {
        let s = towards(at, 60.0 * i as f32 + 15.0, r * 0.5);
        b.oval(s.0, s.1, r * 0.62, r * 0.58, if i % 2 == 0 { c.dark(0.14) } else { c });
    }
    b.oval(at.0, at.1, r * 0.6, r * 0.58, c.light(0.12));
    b.line(
        &[
            (at.0 - r * 0.36, at.1 + r * 0.1),
            (at.0, at.1 - r * 0.34),
            (at.0 + r * 0.34, at.1),
            (at.0, at.1 + r * 0.26),
            (at.0 - r * 0.12, at.1),
        ],
        (r * 0.14).max(3.0),
        c.dark(0.32),
    );
    b.oval(at.0 - r * 0.4, at.1 - r * 0.42, r * 0.16, r * 0.1, WHITE.fade(0.6));
}

/// The stems of a rose: degrees from upright, length when overgrown, length when pruned.
pub const STEMS: [(f32, f32, f32); 9] = [
    (-62.0, 300.0, 0.0),
    (58.0, 320.0, 0.0),
    (-40.0, 370.0, 170.0),
    (36.0, 360.0, 180.0),
    (-22.0, 400.0, 210.0),
    (20.0, 410.0, 220.0),
    (-4.0, 390.0, 240.0),
    (-78.0, 230.0, 0.0),
    (76.0, 250.0, 0.0),
];

/// The end of a stem that is `long` from the soil.
pub fn stem_end(i: usize, long: f32) -> Point {
    towards((0.0, -6.0), -90.0 + STEMS[i % STEMS.len()].0, long)
}

/// A stem with leaves from `from` to `to` along it, and maybe a flower at its end.
pub fn stem(b: &mut Brush, look: &Look, i: usize, from: f32, to: f32, flower: f32) {
    let c = green(look, rgb(0x3f8246));
    let wood = rgb(0x7c5a3a).mix(c, 0.4);
    let (a, z) = (stem_end(i, from), stem_end(i, to));
    b.line(&[a, between(a, z, 0.5), z], 15.0, wood.dark(0.15));
    b.line(&[(a.0 - 2.0, a.1), (z.0 - 2.0, z.1)], 6.0, wood.light(0.25));
    let leaves = ((to - from) / 46.0) as usize;
    for j in 0..leaves {
        let at = between(a, z, (j as f32 + 0.6) / leaves as f32);
        let side = if j % 2 == 0 { -1.0 } else { 1.0 };
        let lean = -90.0 + STEMS[i % STEMS.len()].0 + side * 62.0;
        b.placed(at, lean, 1.0, |b| {
            leaf(b, 62.0, 22.0, c.light(0.18 * unit_of(i * 7 + j, 3)));
        });
    }
    if flower > 4.0 {
        b.oval(z.0, z.1 + flower * 0.5, flower * 0.4, flower * 0.4, c);
        bloom(b, z, flower, petal(look));
    }
}

/// A tidy rose bush, `size` as large as a planted one, its flowers `flower` in radius.
pub fn rose(b: &mut Brush, look: &Look, size: f32, flower: f32) {
    for (n, i) in [2, 3, 4, 5, 6].into_iter().enumerate() {
        let long = size * (190.0 + 30.0 * (n % 3) as f32 + if i == 6 { 40.0 } else { 0.0 });
        stem(b, look, i, 0.0, long, flower);
    }
}

/// A rose run wild: every stem long, tangled, its flowers spent; those before `cut` are cut back.
pub fn overgrown(b: &mut Brush, look: &Look, cut: usize) {
    for (i, (_, long, short)) in STEMS.into_iter().enumerate() {
        if i >= cut {
            stem(b, look, i, 0.0, long, if i % 3 == 0 { 22.0 } else { 0.0 });
        } else if short > 0.0 {
            pruned_stem(b, look, i, short);
        }
    }
}

/// A short stem with a clean cut and a fresh bud.
pub fn pruned_stem(b: &mut Brush, look: &Look, i: usize, long: f32) {
    stem(b, look, i, 0.0, long, 0.0);
    let end = stem_end(i, long);
    b.oval(end.0, end.1, 11.0, 8.0, rgb(0xeaf0c0));
    b.placed(stem_end(i, long * 0.82), -70.0, 1.0, |b| leaf(b, 34.0, 13.0, rgb(0xc2495a)));
}

/// Flowers that open on a pruned bush, `r` in radius.
pub fn reopen(b: &mut Brush, look: &Look, r: f32) {
    if r > 3.0 {
        for (i, (_, _, short)) in STEMS.into_iter().enumerate().filter(|(_, s)| s.2 > 0.0) {
            bloom(b, stem_end(i, short + r * 0.4), r, petal(look));
        }
    }
}

/// Roots and the earth they hold, below the origin.
pub fn root_ball(b: &mut Brush) {
    let c = rgb(0x5c3d28);
    b.blob(&[(-72.0, 0.0), (72.0, 0.0), (58.0, 78.0), (0.0, 100.0), (-58.0, 78.0)], c);
    for i in 0..7 {
        let x = -54.0 + 18.0 * i as f32;
        b.line(&[(x, 10.0), (x * 0.9 + 8.0, 50.0), (x * 0.8, 92.0)], 4.0, rgb(0xe6d3b0).fade(0.8));
    }
    b.oval(0.0, 0.0, 74.0, 20.0, c.dark(0.3));
}

/// A stake beside the stem, `down` (0..=1) in place, tied with `ties` (0..=3) strings.
pub fn stake(b: &mut Brush, look: &Look, down: f32, ties: f32) {
    let (c, up) = (rgb(0xcfa05c).mix(look.trim, 0.2), -260.0 * (1.0 - down));
    let x = 30.0;
    b.rect(x, -410.0 + up, 24.0, 420.0, 8.0, c.dark(0.18));
    b.rect(x + 3.0, -408.0 + up, 9.0, 410.0, 4.0, c.light(0.35));
    if down >= 1.0 {
        b.oval(x + 12.0, 8.0, 34.0, 11.0, SHADE.fade(0.35));
    }
    for i in 0..(ties.ceil() as usize).min(3) {
        let (y, part) = (-110.0 - 96.0 * i as f32, (ties - i as f32).clamp(0.0, 1.0));
        let string = rgb(0xfff2c8);
        b.ring(x + 2.0, y, 42.0 * part, 15.0 * part, 8.0, string);
        if part >= 1.0 {
            b.line(&[(x + 34.0, y), (x + 74.0, y - 20.0)], 7.0, string);
            b.line(&[(x + 34.0, y), (x + 78.0, y + 18.0)], 7.0, string);
        }
    }
}
