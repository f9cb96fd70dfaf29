//! Gardens: allotments, terraces, greenhouses, courtyards and balconies under their own sky.

use super::decor;
use super::surface;
use crate::drawing::brush::{Brush, Colour, WHITE, across, down, rgb, round_light, towards};
use crate::drawing::look::Look;
use crate::random::{SplitMix64, seeded};

/// Paints a garden.
pub fn paint(b: &mut Brush, look: &Look) {
    let mut random = seeded(look.decor);
    sky(b, look, &mut random);
    match look.wall_kind % 8 {
        0 => hills(b, look, &mut random),
        1 => fence(b, look, &mut random),
        2 => greenhouse(b, look, &mut random),
        3 => bricks(b, look, &mut random),
        4 => city(b, look, &mut random),
        5 => hedge(b, look, &mut random),
        6 => rows(b, look, &mut random),
        _ => pergola(b, look, &mut random),
    }
    surface::ground(b, look, &mut random);
    border(b, look, &mut random);
    clutter(b, look, &mut random);
}

fn sky(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    b.rect(
        -100.0,
        -60.0,
        1800.0,
        floor + 80.0,
        0.0,
        down(-60.0, floor, look.wall, look.wall.light(0.6)),
    );
    let sun = if look.light < 0.0 { 240.0 } else { 1360.0 };
    b.oval(sun, 60.0, 60.0, 60.0, round_light((sun, 60.0), 60.0, WHITE, look.glow));
    for _ in 0..4 {
        let (x, y, s) =
            (random.range(0.0, 1600.0), random.range(0.0, floor * 0.45), random.range(0.6, 1.3));
        for (dx, dy, r) in [(-60.0, 8.0, 34.0), (0.0, -8.0, 50.0), (64.0, 8.0, 36.0)] {
            b.oval(x + dx * s, y + dy * s, r * 1.5 * s, r * 0.62 * s, WHITE.fade(0.65));
        }
    }
}

fn hills(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    for i in 0..4 {
        let tone = look.front.mix(look.wall, 0.62 - 0.17 * i as f32);
        for j in 0..3 {
            let x = j as f32 * 700.0 + random.range(-200.0, 200.0);
            b.oval(
                x,
                floor + 60.0 + 30.0 * i as f32,
                random.range(420.0, 620.0),
                250.0 - 42.0 * i as f32,
                tone,
            );
        }
    }
    for _ in 0..7 {
        let x = random.range(-50.0, 1650.0);
        tree(
            b,
            x,
            floor - random.range(0.0, 30.0),
            random.range(0.7, 1.2),
            look.front.dark(random.range(0.0, 0.2)),
        );
    }
}

fn tree(b: &mut Brush, x: f32, y: f32, s: f32, green: Colour) {
    b.rect(x - 9.0 * s, y - 60.0 * s, 18.0 * s, 80.0 * s, 4.0, rgb(0x6b4a32));
    for (dx, dy, r) in
        [(-38.0, -90.0, 48.0), (38.0, -88.0, 46.0), (0.0, -128.0, 58.0), (0.0, -78.0, 50.0)]
    {
        let tone = if dy < -100.0 { green.light(0.12) } else { green };
        b.oval(x + dx * s, y + dy * s, r * s, r * s, tone);
    }
}

fn fence(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    for i in 0..6 {
        tree(
            b,
            i as f32 * 330.0 - 60.0 + random.range(-60.0, 60.0),
            floor - 120.0,
            1.3,
            look.front.light(0.1),
        );
    }
    let pointed = random.chance(0.5);
    [floor - 150.0, floor - 60.0]
        .iter()
        .for_each(|&y| b.rect(-100.0, y, 1800.0, 20.0, 0.0, look.trim.dark(0.2)));
    for i in 0..24 {
        let (x, top) = (-90.0 + i as f32 * 76.0, floor - 210.0 + random.range(-5.0, 5.0));
        let tone = look.trim.light(random.range(0.0, 0.2));
        let peak = if pointed { top - 34.0 } else { top };
        b.polygon(
            &[
                (x, floor + 20.0),
                (x, top),
                (x + 32.0, peak),
                (x + 64.0, top),
                (x + 64.0, floor + 20.0),
            ],
            across(x, x + 64.0, tone.light(0.12), tone.dark(0.1)),
        );
    }
}

fn greenhouse(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    hills(b, look, random);
    b.rect(-100.0, -60.0, 1800.0, floor + 70.0, 0.0, rgb(0xeaf7f4).fade(0.42));
    for i in 0..8 {
        let x = -60.0 + i as f32 * 236.0;
        b.polygon(
            &[(x + 60.0, floor), (x + 150.0, -60.0), (x + 190.0, -60.0), (x + 100.0, floor)],
            WHITE.fade(0.3),
        );
        b.rect(x, -60.0, 14.0, floor + 60.0, 0.0, look.trim.light(0.3));
    }
    b.rect(-100.0, floor - 230.0, 1800.0, 12.0, 0.0, look.trim.light(0.3));
    decor::shelf(b, look, 40.0, floor - 70.0, 440.0, random);
    decor::shelf(b, look, 1130.0, floor - 70.0, 440.0, random);
}

fn bricks(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    let top = floor - 250.0;
    b.rect(-100.0, top, 1800.0, 270.0, 0.0, look.trim.dark(0.2));
    for i in 0..8 {
        for j in -1..20 {
            let x = j as f32 * 94.0 + if i % 2 == 0 { 0.0 } else { 47.0 } - 60.0;
            b.rect(
                x,
                top + 4.0 + i as f32 * 33.0,
                90.0,
                29.0,
                3.0,
                look.trim.light(random.range(0.0, 0.25)),
            );
        }
    }
    b.rect(-100.0, top - 20.0, 1800.0, 26.0, 4.0, look.trim.light(0.4));
    for _ in 0..90 {
        let (x, y) = (random.range(-100.0, 560.0), top + random.range(-30.0, 190.0));
        let r = random.range(14.0, 30.0);
        b.oval(
            if look.light > 0.0 { x } else { 1600.0 - x },
            y,
            r,
            r * 0.8,
            look.front.light(random.range(0.0, 0.3)),
        );
    }
}

fn city(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    let mut x = -100.0;
    while x < 1700.0 {
        let (w, h) = (random.range(90.0, 190.0), random.range(100.0, 300.0));
        let tone = look.trim.mix(look.wall, random.range(0.35, 0.7));
        b.rect(x, floor - h, w, h, 4.0, tone);
        for i in 0..(w / 36.0) as i32 {
            for j in 0..(h / 46.0) as i32 {
                let lit = if random.chance(0.3) { look.glow } else { tone.light(0.35) };
                b.rect(
                    x + 14.0 + i as f32 * 34.0,
                    floor - h + 18.0 + j as f32 * 44.0,
                    16.0,
                    24.0,
                    2.0,
                    lit,
                );
            }
        }
        x += w + random.range(-6.0, 16.0);
    }
    for i in 0..38 {
        b.rect(-100.0 + i as f32 * 48.0, floor - 92.0, 8.0, 100.0, 3.0, look.front.dark(0.45));
    }
    b.rect(-100.0, floor - 104.0, 1800.0, 16.0, 6.0, look.front.dark(0.5));
}

/// A clipped hedge with a garden shed before it.
fn hedge(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    for i in 0..26 {
        let x = -90.0 + i as f32 * 70.0;
        let top = floor - 190.0 + random.range(-8.0, 8.0);
        let tone = look.front.light(random.range(0.0, 0.14));
        b.rect(x, top, 96.0, 240.0, 40.0, down(top, floor, tone, tone.dark(0.25)));
    }
    for _ in 0..70 {
        let (x, y) = (random.range(-90.0, 1690.0), floor - random.range(10.0, 180.0));
        b.oval(x, y, 13.0, 9.0, look.front.light(random.range(0.1, 0.35)).fade(0.7));
    }
    let x = if look.light < 0.0 { random.range(1080.0, 1180.0) } else { random.range(80.0, 180.0) };
    shed(b, look, x, floor);
}

fn shed(b: &mut Brush, look: &Look, x: f32, floor: f32) {
    let (w, top, c) = (330.0, floor - 220.0, look.accent.mix(look.trim, 0.45));
    b.rect(x, top, w, 240.0, 2.0, c);
    for i in 0..8 {
        b.rect(x + 41.0 * i as f32, top, 4.0, 240.0, 0.0, c.dark(0.22));
    }
    let roof = look.trim.dark(0.35);
    b.polygon(
        &[(x - 34.0, top + 12.0), (x + w / 2.0, top - 110.0), (x + w + 34.0, top + 12.0)],
        across(x, x + w, roof.light(0.15), roof),
    );
    b.polygon(
        &[(x + 20.0, top + 12.0), (x + w / 2.0, top - 80.0), (x + w - 20.0, top + 12.0)],
        c.dark(0.1),
    );
    b.rect(x + 40.0, top + 66.0, 104.0, 170.0, 4.0, c.dark(0.3));
    b.oval(x + 128.0, top + 156.0, 7.0, 7.0, look.glow);
    b.rect(x + 190.0, top + 60.0, 100.0, 84.0, 4.0, rgb(0xf6efe0));
    b.rect(
        x + 198.0,
        top + 68.0,
        84.0,
        68.0,
        2.0,
        down(top + 60.0, top + 140.0, look.wall, look.glow),
    );
    b.rect(x + 237.0, top + 66.0, 6.0, 72.0, 0.0, rgb(0xf6efe0));
    b.rect(x + 184.0, top + 142.0, 112.0, 22.0, 4.0, look.trim.dark(0.2));
    for i in 0..6 {
        flower(
            b,
            x + 196.0 + 18.0 * i as f32,
            top + 138.0,
            11.0,
            if i % 2 == 0 { look.accent2 } else { rgb(0xfdfaf2) },
        );
    }
}

/// Rows of vegetables that run to the hills behind a rail.
fn rows(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    hills(b, look, random);
    let floor = look.horizon();
    b.rect(
        -100.0,
        floor - 90.0,
        1800.0,
        110.0,
        0.0,
        down(floor - 90.0, floor + 20.0, look.front.mix(look.wall, 0.2), look.front),
    );
    for i in -9..=9 {
        let i = i as f32;
        let (far, near) = (800.0 + i * 60.0, 800.0 + i * 150.0);
        b.polygon(
            &[
                (far - 9.0, floor - 90.0),
                (far + 9.0, floor - 90.0),
                (near + 34.0, floor + 20.0),
                (near - 34.0, floor + 20.0),
            ],
            rgb(0x7a5236).mix(look.surface, 0.3),
        );
        for j in 0..5 {
            let t = j as f32 / 5.0 + 0.1;
            let (x, y) = (far + (near - far) * t, floor - 90.0 + 110.0 * t);
            b.oval(
                x,
                y - 6.0,
                10.0 + 16.0 * t,
                8.0 + 11.0 * t,
                look.front.light(random.range(0.1, 0.35)),
            );
        }
    }
    for x in [-40.0, 520.0, 1080.0, 1640.0] {
        b.rect(x - 7.0, floor - 170.0, 14.0, 180.0, 4.0, look.trim.dark(0.2));
    }
    for y in [150.0, 100.0] {
        b.rect(-100.0, floor - y, 1800.0, 9.0, 4.0, look.trim);
    }
}

/// A pergola with climbing leaves and a string of lamps.
fn pergola(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    for i in 0..7 {
        tree(
            b,
            i as f32 * 280.0 - 60.0 + random.range(-60.0, 60.0),
            floor - 30.0,
            1.1,
            look.front.mix(look.wall, 0.3),
        );
    }
    let (top, c) = ((floor - 330.0).max(-30.0), look.trim.light(0.2));
    for x in [40.0, 500.0, 1070.0, 1530.0] {
        b.rect(
            x,
            top,
            34.0,
            floor - top + 16.0,
            3.0,
            across(x, x + 34.0, c.light(0.12), c.dark(0.2)),
        );
    }
    b.rect(-100.0, top, 1800.0, 30.0, 3.0, down(top, top + 30.0, c.light(0.15), c.dark(0.15)));
    (0..16)
        .for_each(|i| b.rect(-60.0 + 112.0 * i as f32, top - 34.0, 24.0, 70.0, 3.0, c.dark(0.08)));
    for _ in 0..120 {
        let side = if random.chance(0.5) { 57.0 } else { 1547.0 };
        let (x, y) = if random.chance(0.45) {
            (random.range(-80.0, 1680.0), top + random.range(-24.0, 40.0))
        } else {
            (side + random.range(-44.0, 44.0), random.range(top, floor))
        };
        b.oval(
            x,
            y,
            random.range(12.0, 24.0),
            random.range(9.0, 18.0),
            look.front.light(random.range(0.0, 0.3)),
        );
    }
    for i in 0..15 {
        let t = i as f32 / 14.0;
        let (x, y) =
            (80.0 + 1440.0 * t, top + 46.0 + 60.0 * (t * std::f32::consts::TAU * 1.5).sin().abs());
        b.glow(x, y, 34.0, 34.0, look.glow.fade(0.7));
        b.oval(x, y, 9.0, 12.0, rgb(0xfff4cf));
    }
}

/// Shrubs and flowers along the back of the ground.
fn border(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon() + 8.0;
    for i in 0..34 {
        let x = -90.0 + i as f32 * 54.0 + random.range(-20.0, 20.0);
        let edge = ((x - 800.0).abs() / 800.0).powi(2);
        let r = 14.0 + 56.0 * edge + random.range(0.0, 14.0);
        let tone =
            look.front.mix(if i % 2 == 0 { WHITE } else { rgb(0x183018) }, random.range(0.0, 0.2));
        b.oval(x, floor, r, r * 0.72, tone);
        if random.chance(0.35 + 0.4 * edge) {
            let c = *random.pick(&[look.accent, look.accent2]);
            flower(b, x, floor - r * 0.5, 9.0 + 7.0 * edge, c);
        }
    }
}

fn flower(b: &mut Brush, x: f32, y: f32, r: f32, colour: Colour) {
    for i in 0..5 {
        let (dx, dy) = towards((0.0, 0.0), i as f32 * 72.0, r * 0.7);
        b.oval(x + dx, y + dy, r * 0.6, r * 0.6, colour);
    }
    b.oval(x, y, r * 0.45, r * 0.45, rgb(0xffe9a0));
}

/// Pots, a can and a crate at the sides.
fn clutter(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let y = look.horizon() + 90.0 * look.tilt + 40.0;
    for side in [-1.0, 1.0] {
        let x = 800.0 + side * random.range(610.0, 690.0);
        b.shadow(x + 10.0, y, 130.0, 36.0, 0.35);
        match random.below(3) {
            0 => {
                decor::plant(
                    b,
                    x,
                    y,
                    1.4,
                    *random.pick(&[rgb(0xc4683f), look.accent2, look.trim]),
                    random,
                );
            }
            1 => crate_of(b, look, x, y, random),
            _ => (0..3).for_each(|i| {
                let (t, clay) = (i as f32, rgb(0xb9603c).light(0.1 * i as f32));
                decor::plant(b, x - 70.0 + 70.0 * t, y + 12.0 * (t - 1.0).abs(), 0.8, clay, random);
            }),
        }
    }
}

fn crate_of(b: &mut Brush, look: &Look, x: f32, y: f32, random: &mut SplitMix64) {
    for i in 0..9 {
        let c = *random.pick(&[look.accent, look.accent2, look.front.light(0.2)]);
        b.oval(x - 80.0 + i as f32 * 20.0, y - 92.0 + random.range(-10.0, 6.0), 24.0, 22.0, c);
    }
    for i in 0..3 {
        let top = y - 88.0 + i as f32 * 30.0;
        b.rect(
            x - 104.0,
            top,
            208.0,
            25.0,
            3.0,
            down(top, top + 25.0, look.trim.light(0.3), look.trim),
        );
    }
    [-100.0, 84.0]
        .iter()
        .for_each(|dx| b.rect(x + dx, y - 94.0, 16.0, 94.0, 2.0, look.trim.dark(0.15)));
}
