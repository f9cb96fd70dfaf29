//! Workshops: pegboards, bricks, planks and shutters, with tools, timber and windows.

use super::decor;
use super::surface;
use crate::drawing::brush::{Brush, SHADE, WHITE, across, down, rgb};
use crate::drawing::look::Look;
use crate::random::{SplitMix64, seeded};

/// Paints a workshop.
pub fn paint(b: &mut Brush, look: &Look) {
    let mut random = seeded(look.decor);
    wall(b, look, &mut random);
    furnish(b, look, &mut random);
    surface::bench(b, look, &mut random);
    clutter(b, look, &mut random);
}

fn wall(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let (bottom, c) = (look.horizon() + 10.0, look.wall);
    b.rect(
        -100.0,
        -60.0,
        1800.0,
        bottom + 60.0,
        0.0,
        down(-60.0, bottom, c.light(0.1), c.dark(0.1)),
    );
    match look.wall_kind % 6 {
        0 => bricks(b, look, random),
        1 => boards(b, look, random),
        2 => shutter(b, look),
        3 => stripes(b, look),
        4 => loft(b, look, random),
        _ => b.rect(-100.0, bottom * 0.62, 1800.0, bottom * 0.38, 0.0, look.trim.fade(0.7)),
    }
}

fn bricks(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    for i in 0..((look.horizon() + 60.0) / 36.0) as i32 + 1 {
        for j in -2..24 {
            let x = j as f32 * 84.0 + if i % 2 == 0 { 0.0 } else { 42.0 } - 40.0;
            let tone = look
                .wall
                .mix(if random.chance(0.5) { SHADE } else { WHITE }, random.range(0.0, 0.14));
            b.rect(x + 2.0, -60.0 + i as f32 * 36.0, 80.0, 32.0, 3.0, tone);
        }
    }
}

fn boards(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    for i in 0..18 {
        let x = -100.0 + i as f32 * 104.0;
        let tone = look.wall.mix(look.trim, random.range(0.0, 0.4));
        b.rect(x, -60.0, 101.0, look.horizon() + 60.0, 0.0, tone);
        for _ in 0..2 {
            let (kx, y) = (x + random.range(20.0, 80.0), random.range(-40.0, look.horizon()));
            b.oval(kx, y, 6.0, 10.0, tone.dark(0.25));
        }
        b.rect(x + 100.0, -60.0, 4.0, look.horizon() + 60.0, 0.0, look.wall.dark(0.3));
    }
}

fn shutter(b: &mut Brush, look: &Look) {
    let rows = ((look.horizon() + 60.0) / 34.0) as i32 + 1;
    for i in 0..rows {
        let y = -60.0 + i as f32 * 34.0;
        b.rect(
            -100.0,
            y,
            1800.0,
            32.0,
            0.0,
            down(y, y + 32.0, look.wall.light(0.2), look.wall.dark(0.14)),
        );
    }
}

/// A wall painted in two colours with a bright band between.
fn stripes(b: &mut Brush, look: &Look) {
    let bottom = look.horizon() + 10.0;
    b.rect(-100.0, bottom * 0.5, 1800.0, bottom * 0.5, 0.0, look.front.light(0.1));
    b.rect(-100.0, bottom * 0.5 - 26.0, 1800.0, 20.0, 0.0, look.accent2);
    b.rect(-100.0, bottom * 0.5 - 2.0, 1800.0, 8.0, 0.0, look.accent);
}

/// A loft of tall factory windows.
fn loft(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    let sky = *random.pick(&[rgb(0xbfe3f5), rgb(0xffd9ae), rgb(0xd9e6ee), rgb(0x8fa6cf)]);
    for i in 0..5 {
        let (x, top, h) = (-70.0 + 350.0 * i as f32, -70.0, floor + 20.0);
        b.rect(x, top, 300.0, h, 0.0, rgb(0x2f3338));
        for r in 0..4 {
            for c in 0..3 {
                let (px, py) = (x + 8.0 + 97.0 * c as f32, top + 8.0 + h / 4.0 * r as f32);
                let pane = sky.light(random.range(0.0, 0.35));
                b.rect(
                    px,
                    py,
                    90.0,
                    h / 4.0 - 8.0,
                    0.0,
                    down(py, py + h / 4.0, pane, pane.light(0.3)),
                );
            }
        }
    }
}

fn furnish(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    let high = (floor - 330.0).max(-30.0);
    let left = random.chance(0.5);
    let (near, far) = if left { (60.0, 980.0) } else { (880.0, 90.0) };
    pegboard(b, look, near, high, 640.0, 270.0, random);
    match random.below(5) {
        0 => decor::window(b, look, far, high + 4.0, 420.0, 230.0, random),
        3 => drawers(b, look, far, floor, random),
        4 => clamps_on_rail(b, look, far, high, random),
        1 => {
            decor::shelf(b, look, far, floor - 100.0, 480.0, random);
            decor::shelf(b, look, far, floor - 250.0, 480.0, random);
        }
        _ => timber(b, look, far, floor, random),
    }
    if random.chance(0.5) {
        decor::lamp(b, 800.0, (floor - 400.0).max(-50.0), look.accent, random.below(3));
    }
}

/// A board of holes with tools on hooks.
fn pegboard(b: &mut Brush, look: &Look, x: f32, y: f32, w: f32, h: f32, random: &mut SplitMix64) {
    b.rect(x + 10.0, y + 12.0, w, h, 8.0, SHADE.fade(0.25));
    b.rect(x, y, w, h, 8.0, look.trim.light(0.2));
    for i in 0..(w / 32.0) as i32 {
        for j in 0..(h / 32.0) as i32 {
            b.oval(
                x + 18.0 + i as f32 * 32.0,
                y + 18.0 + j as f32 * 32.0,
                3.5,
                3.5,
                look.trim.dark(0.35),
            );
        }
    }
    let mut at = x + 70.0;
    while at < x + w - 50.0 {
        tool(b, look, at, y + random.range(30.0, 60.0), random);
        at += random.range(92.0, 128.0);
    }
}

fn tool(b: &mut Brush, look: &Look, x: f32, y: f32, random: &mut SplitMix64) {
    let steel = rgb(0xaeb6bc);
    let grip = *random.pick(&[look.accent, look.accent2, look.handle, look.front]);
    match random.below(5) {
        0 => {
            b.rect(x - 8.0, y + 20.0, 16.0, 150.0, 7.0, look.handle.light(0.2));
            b.rect(x - 42.0, y, 84.0, 34.0, 6.0, steel.dark(0.25));
        }
        1 => {
            b.rect(x - 15.0, y, 30.0, 78.0, 12.0, grip);
            b.rect(x - 5.0, y + 74.0, 10.0, 90.0, 3.0, steel);
        }
        2 => {
            b.polygon(
                &[
                    (x - 20.0, y + 50.0),
                    (x + 24.0, y + 50.0),
                    (x + 10.0, y + 190.0),
                    (x - 8.0, y + 190.0),
                ],
                steel,
            );
            b.rect(x - 28.0, y, 56.0, 56.0, 16.0, grip);
            b.rect(x - 12.0, y + 14.0, 24.0, 26.0, 9.0, look.trim.light(0.2));
        }
        3 => {
            b.line(&[(x - 22.0, y + 150.0), (x - 6.0, y + 60.0), (x + 10.0, y)], 15.0, grip);
            b.line(
                &[(x + 22.0, y + 150.0), (x + 6.0, y + 60.0), (x - 10.0, y)],
                15.0,
                grip.dark(0.15),
            );
            b.oval(x, y + 40.0, 16.0, 26.0, steel);
        }
        _ => {
            b.ring(x, y + 60.0, 42.0, 42.0, 15.0, grip);
            b.ring(x, y + 60.0, 42.0, 42.0, 4.0, grip.light(0.4));
        }
    }
}

/// A cabinet of small drawers, each with its knob and label.
fn drawers(b: &mut Brush, look: &Look, x: f32, floor: f32, random: &mut SplitMix64) {
    let (w, h, c) = (470.0, 290.0, look.accent2.mix(look.front, 0.35));
    b.rect(x + 10.0, floor - h + 10.0, w, h, 6.0, SHADE.fade(0.22));
    b.rect(x, floor - h, w, h + 10.0, 6.0, c.dark(0.2));
    for i in 0..6 {
        for j in 0..5 {
            let (dx, dy) = (x + 12.0 + 75.0 * i as f32, floor - h + 12.0 + 56.0 * j as f32);
            let tone = c.light(random.range(0.05, 0.3));
            b.rect(dx, dy, 70.0, 50.0, 4.0, down(dy, dy + 50.0, tone.light(0.1), tone.dark(0.08)));
            b.rect(dx + 18.0, dy + 10.0, 34.0, 13.0, 2.0, rgb(0xfbf5e9));
            b.oval(dx + 35.0, dy + 36.0, 6.0, 6.0, rgb(0xd9b25c));
        }
    }
}

/// Clamps and saws that hang from a rail.
fn clamps_on_rail(b: &mut Brush, look: &Look, x: f32, y: f32, random: &mut SplitMix64) {
    let steel = rgb(0xaeb6bc);
    b.rect(x, y + 20.0, 480.0, 20.0, 6.0, look.board.dark(0.15));
    for i in 0..7 {
        let (cx, long) = (x + 30.0 + 66.0 * i as f32, random.range(150.0, 230.0));
        let grip = *random.pick(&[look.accent, look.accent2, look.handle]);
        b.rect(cx + 6.0, y + 36.0, 14.0, long, 3.0, SHADE.fade(0.2));
        b.rect(cx, y + 30.0, 14.0, long, 3.0, steel);
        b.rect(cx - 30.0, y + 30.0, 44.0, 20.0, 6.0, grip);
        b.rect(cx - 30.0, y + long * 0.7, 44.0, 20.0, 6.0, grip.dark(0.1));
        b.rect(cx - 26.0, y + long * 0.7 - 22.0, 10.0, 60.0, 4.0, steel.dark(0.3));
    }
}

/// Boards leaning against the wall.
fn timber(b: &mut Brush, look: &Look, x: f32, floor: f32, random: &mut SplitMix64) {
    for i in 0..6 {
        let tone = look.board.mix(look.surface, random.unit());
        let (w, h) = (random.range(46.0, 84.0), random.range(floor * 0.6, floor * 1.05));
        let dx = x + i as f32 * 74.0;
        b.placed((dx, floor + 10.0), random.range(-4.0, 4.0), 1.0, |b| {
            b.rect(8.0, -h + 8.0, w, h, 3.0, SHADE.fade(0.2));
            b.rect(0.0, -h, w, h, 3.0, across(0.0, w, tone.light(0.15), tone.dark(0.1)));
            b.line(
                &[(w * 0.4, -h * 0.9), (w * 0.5, -h * 0.5), (w * 0.4, -10.0)],
                2.5,
                tone.dark(0.25),
            );
        });
    }
}

/// A vice, tins, jars of screws and shavings at the sides of the bench.
fn clutter(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let y = look.horizon() + 58.0 * look.tilt + 30.0;
    for side in [-1.0, 1.0] {
        let x = 800.0 + side * random.range(600.0, 680.0);
        b.shadow(x + 16.0, y, 140.0, 36.0, 0.35);
        match random.below(3) {
            0 => tins(b, look, x, y),
            1 => {
                decor::jar(b, x - 70.0, y, 66.0, 96.0, rgb(0x9aa1a6));
                decor::jar(b, x + 10.0, y + 10.0, 70.0, 110.0, look.accent);
            }
            _ => vice(b, look, x, y),
        }
    }
    for _ in 0..26 {
        let (x, y) = (random.range(40.0, 1560.0), random.range(look.horizon() + 60.0, 880.0));
        b.line(
            &[(x, y), (x + 12.0, y - 9.0), (x + 22.0, y + 2.0)],
            4.0,
            look.board.light(0.3).fade(0.6),
        );
    }
}

fn tins(b: &mut Brush, look: &Look, x: f32, y: f32) {
    for (dx, dy, c) in [(-54.0, 0.0, look.accent), (52.0, 12.0, look.accent2)] {
        let (l, r) = (x + dx - 48.0, x + dx + 48.0);
        b.rect(l, y + dy - 108.0, 96.0, 110.0, 12.0, across(l, r, rgb(0xd9dde0), rgb(0x8e979d)));
        b.rect(l, y + dy - 84.0, 96.0, 64.0, 0.0, across(l, r, c.light(0.15), c.dark(0.15)));
        b.oval(x + dx, y + dy - 106.0, 46.0, 12.0, rgb(0xb7bec3));
        b.oval(x + dx, y + dy - 106.0, 36.0, 8.0, c);
    }
}

fn vice(b: &mut Brush, look: &Look, x: f32, y: f32) {
    let c = look.front.mix(look.accent2, 0.5);
    b.rect(x - 60.0, y - 60.0, 120.0, 62.0, 8.0, down(y - 60.0, y, c.light(0.15), c.dark(0.2)));
    b.rect(x - 70.0, y - 118.0, 54.0, 80.0, 8.0, c.light(0.1));
    b.rect(x + 14.0, y - 118.0, 54.0, 80.0, 8.0, c.dark(0.05));
    b.rect(x + 60.0, y - 64.0, 66.0, 20.0, 8.0, rgb(0xaeb6bc));
    b.rect(x + 108.0, y - 104.0, 12.0, 100.0, 6.0, rgb(0x8b9398));
}
