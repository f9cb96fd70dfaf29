//! Kitchens: walls of tile, panel or paint, with windows, shelves, rails, hoods and lamps.

use super::decor;
use super::surface;
use crate::drawing::brush::{Brush, Colour, WHITE, across, down, rgb};
use crate::drawing::look::Look;
use crate::random::{SplitMix64, seeded};

/// Paints a kitchen.
pub fn paint(b: &mut Brush, look: &Look) {
    let mut random = seeded(look.decor);
    wall(b, look);
    if look.horizon() > 200.0 {
        furnish(b, look, &mut random);
    }
    surface::counter(b, look, &mut random);
    clutter(b, look, &mut random);
}

fn wall(b: &mut Brush, look: &Look) {
    let (bottom, c) = (look.horizon() + 10.0, look.wall);
    b.rect(
        -100.0,
        -60.0,
        1800.0,
        bottom + 60.0,
        0.0,
        down(-60.0, bottom, c.light(0.12), c.dark(0.05)),
    );
    match look.wall_kind % 5 {
        0 => bricks(b, look, 96.0, 46.0, true),
        1 => bricks(b, look, 84.0, 84.0, false),
        2 => panels(b, look),
        3 => b.rect(-100.0, bottom * 0.5, 1800.0, bottom * 0.5, 0.0, look.trim.fade(0.85)),
        _ => diamonds(b, look),
    }
}

/// Tiles from the counter up to a height, in rows, shifted or not.
fn bricks(b: &mut Brush, look: &Look, w: f32, h: f32, shift: bool) {
    let mut random = seeded(look.seed ^ 3);
    let bottom = look.horizon();
    let rows = ((bottom * 0.72) / h).ceil() as i32;
    for i in 0..rows {
        for j in -2..(1800.0 / w) as i32 {
            let x = j as f32 * w + if shift && i % 2 == 1 { w / 2.0 } else { 0.0 };
            let tone = match random.below(12) {
                0 => look.trim.light(0.25),
                1 => look.trim.dark(0.06),
                _ => look.trim.light(0.1),
            };
            let y = bottom - (i + 1) as f32 * h;
            b.rect(x + 2.0, y + 2.0, w - 4.0, h - 4.0, 5.0, tone);
            b.rect(x + 8.0, y + 7.0, w - 16.0, 3.0, 1.0, WHITE.fade(0.22));
        }
    }
}

fn panels(b: &mut Brush, look: &Look) {
    for i in 0..26 {
        let x = -100.0 + i as f32 * 72.0;
        b.rect(x, -60.0, 3.0, look.horizon() + 60.0, 0.0, look.wall.dark(0.18));
        b.rect(x + 3.0, -60.0, 3.0, look.horizon() + 60.0, 0.0, look.wall.light(0.35));
    }
    let y = look.horizon() - 44.0;
    b.rect(-100.0, y, 1800.0, 44.0, 0.0, look.trim);
    b.rect(-100.0, y, 1800.0, 5.0, 0.0, look.trim.light(0.4));
}

fn diamonds(b: &mut Brush, look: &Look) {
    let bottom = look.horizon();
    for i in 0..5 {
        for j in 0..20 {
            let (x, y) = (-80.0 + j as f32 * 92.0, bottom - 46.0 - i as f32 * 92.0);
            let tone = if (i + j) % 2 == 0 { look.trim } else { look.trim.light(0.4) };
            if y > bottom * 0.25 {
                b.polygon(&[(x - 45.0, y), (x, y - 45.0), (x + 45.0, y), (x, y + 45.0)], tone);
            }
        }
    }
}

fn furnish(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let floor = look.horizon();
    let high = (floor - 300.0).max(-20.0);
    match random.below(5) {
        0 => {
            decor::window(b, look, random.range(480.0, 720.0), high - 20.0, 360.0, 230.0, random);
            decor::shelf(b, look, 60.0, floor - 150.0, 330.0, random);
            decor::shelf(b, look, 1210.0, floor - 190.0, 330.0, random);
        }
        1 => {
            cupboards(b, look, -60.0, 520.0);
            cupboards(b, look, 1090.0, 580.0);
            hood(b, look, 800.0);
        }
        2 => {
            rail(b, look, 90.0, floor - 250.0, 520.0, random);
            decor::window(b, look, 1080.0, high - 10.0, 400.0, 240.0, random);
            decor::shelf(b, look, 680.0, floor - 210.0, 300.0, random);
        }
        3 => {
            decor::shelf(b, look, 80.0, floor - 90.0, 540.0, random);
            decor::shelf(b, look, 80.0, floor - 260.0, 540.0, random);
            decor::picture(b, look, 880.0, high, 150.0, 190.0, random);
            decor::clock(b, look, 1320.0, high + 90.0, random);
        }
        _ => {
            decor::window(b, look, 110.0, high - 20.0, 330.0, 250.0, random);
            rail(b, look, 600.0, floor - 270.0, 430.0, random);
            decor::shelf(b, look, 1140.0, floor - 160.0, 420.0, random);
        }
    }
    if random.chance(0.45) {
        let (kind, colour) =
            (random.below(3), *random.pick(&[look.accent, look.front, look.accent2]));
        let y = (floor - 380.0).max(-40.0);
        [360.0, 1240.0].iter().for_each(|&x| decor::lamp(b, x, y, colour, kind));
    }
}

fn cupboards(b: &mut Brush, look: &Look, x: f32, w: f32) {
    let (bottom, c) = ((look.horizon() - 190.0).max(60.0), look.front);
    b.rect(x + 10.0, -60.0, w, bottom + 74.0, 0.0, look.wall.dark(0.22));
    b.rect(x, -60.0, w, bottom + 60.0, 6.0, c);
    let doors = (w / 180.0).round().max(1.0);
    for i in 0..doors as i32 {
        let dx = x + i as f32 * w / doors + 10.0;
        b.rect(dx, -50.0, w / doors - 20.0, bottom + 38.0, 8.0, c.light(0.12));
        b.rect(dx + 16.0, -40.0, w / doors - 52.0, bottom + 10.0, 6.0, c.light(0.04));
        b.rect(dx + w / doors - 42.0, bottom - 70.0, 9.0, 44.0, 4.0, rgb(0xe6c88a));
    }
}

fn hood(b: &mut Brush, look: &Look, x: f32) {
    let (y, metal) = ((look.horizon() - 240.0).max(20.0), rgb(0xb9c2c8));
    b.rect(
        x - 90.0,
        -60.0,
        180.0,
        y + 60.0,
        0.0,
        across(x - 90.0, x + 90.0, metal.light(0.4), metal.dark(0.2)),
    );
    b.polygon(
        &[(x - 90.0, y - 20.0), (x + 90.0, y - 20.0), (x + 240.0, y + 50.0), (x - 240.0, y + 50.0)],
        across(x - 240.0, x + 240.0, metal.light(0.3), metal.dark(0.25)),
    );
    b.rect(x - 244.0, y + 48.0, 488.0, 26.0, 6.0, metal.dark(0.3));
    b.glow(x, y + 110.0, 260.0, 60.0, rgb(0xfff0c0).fade(0.35));
}

/// A rail with hanging utensils.
fn rail(b: &mut Brush, look: &Look, x: f32, y: f32, w: f32, random: &mut SplitMix64) {
    b.rect(x, y, w, 10.0, 5.0, rgb(0x8d8f92).mix(look.front, 0.3));
    let mut at = x + 50.0;
    while at < x + w - 30.0 {
        utensil(b, look, at, y + 6.0, random);
        at += random.range(78.0, 110.0);
    }
}

fn utensil(b: &mut Brush, look: &Look, x: f32, y: f32, random: &mut SplitMix64) {
    let steel = rgb(0xc4cbd0);
    let wood = *random.pick(&[look.handle, look.handle.light(0.2), look.accent]);
    b.rect(x - 5.0, y, 10.0, 100.0, 5.0, wood);
    match random.below(4) {
        0 => b.oval(x, y + 128.0, 26.0, 36.0, steel),
        1 => b.rect(x - 28.0, y + 94.0, 56.0, 66.0, 8.0, steel.dark(0.1)),
        2 => (0..5)
            .for_each(|i| b.oval(x, y + 132.0, 6.0 + 7.0 * i as f32 * 0.9, 40.0, steel.fade(0.25))),
        _ => {
            b.oval(x, y + 140.0, 50.0, 50.0, look.metal.dark(0.1));
            b.oval(x, y + 140.0, 40.0, 40.0, look.metal.light(0.12));
        }
    }
}

/// Things at the back and sides of the counter, out of the way of the work.
fn clutter(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let y = look.horizon() + 58.0 * look.tilt + 22.0;
    for side in [-1.0, 1.0] {
        let x = 800.0 + side * random.range(600.0, 690.0);
        b.shadow(x + 20.0, y, 130.0, 34.0, 0.35);
        match random.below(4) {
            0 => {
                decor::plant(
                    b,
                    x,
                    y,
                    1.15,
                    *random.pick(&[look.accent, look.ware, look.front]),
                    random,
                );
            }
            1 => {
                decor::jar(b, x - 80.0, y, 70.0, 130.0, look.accent2);
                decor::jar(b, x + 2.0, y + 12.0, 78.0, 100.0, look.accent);
            }
            2 => crock(b, look, x, y),
            _ => bottle(b, x, y, *random.pick(&[rgb(0x6a8f3c), rgb(0xc98a2b), look.accent])),
        }
    }
    if look.tilt > 0.55 {
        cloth(b, look, random);
    }
}

/// A crock of wooden spoons.
fn crock(b: &mut Brush, look: &Look, x: f32, y: f32) {
    for (dx, lean) in [(-24.0, -16.0), (0.0, 2.0), (26.0, 15.0)] {
        b.placed((x + dx, y - 90.0), lean, 1.0, |b| {
            b.rect(-6.0, -110.0, 12.0, 120.0, 6.0, look.handle.light(0.25));
            b.oval(0.0, -120.0, 20.0, 30.0, look.handle.light(0.3));
        });
    }
    let c = look.ware2;
    b.rect(
        x - 54.0,
        y - 124.0,
        108.0,
        126.0,
        16.0,
        across(x - 54.0, x + 54.0, c.light(0.2), c.dark(0.2)),
    );
    b.oval(x, y - 120.0, 52.0, 12.0, c.dark(0.3));
    b.rect(x - 54.0, y - 80.0, 108.0, 16.0, 0.0, look.accent.fade(0.8));
}

fn bottle(b: &mut Brush, x: f32, y: f32, colour: Colour) {
    let glass = across(x - 36.0, x + 36.0, colour.light(0.3), colour.dark(0.2));
    b.rect(x - 13.0, y - 210.0, 26.0, 90.0, 8.0, glass);
    b.rect(x - 36.0, y - 150.0, 72.0, 152.0, 22.0, glass);
    b.rect(x - 36.0, y - 104.0, 72.0, 62.0, 0.0, rgb(0xf6eedd));
    b.rect(x - 15.0, y - 224.0, 30.0, 24.0, 5.0, rgb(0x3a2a22));
    b.rect(x - 26.0, y - 140.0, 8.0, 130.0, 4.0, WHITE.fade(0.35));
}

/// A folded cloth at the edge of a surface seen from high up.
fn cloth(b: &mut Brush, look: &Look, random: &mut SplitMix64) {
    let x = *random.pick(&[40.0, 1330.0]);
    b.placed((x, 700.0), random.range(-14.0, 14.0), 1.0, |b| {
        b.shadow(120.0, 90.0, 190.0, 120.0, 0.3);
        b.rect(0.0, 0.0, 230.0, 170.0, 8.0, look.accent2.light(0.35));
        for i in 0..5 {
            b.rect(14.0 + i as f32 * 46.0, 0.0, 14.0, 170.0, 0.0, look.accent.fade(0.7));
        }
        b.rect(0.0, 120.0, 230.0, 12.0, 0.0, look.accent.fade(0.45));
    });
}
