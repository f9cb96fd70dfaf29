//! Gardens: allotments, terraces, greenhouses, courtyards and balconies under their own sky.

use super::bits;
use super::surface;
use crate::world::stage::brush::{Brush, Colour, WHITE, across, down, rgb, round_light};
use crate::world::stage::dice::Dice;
use crate::world::stage::look::Look;

/// Paints a garden.
pub fn paint(b: &mut Brush, look: &Look) {
    let mut dice = Dice::new(look.decor);
    sky(b, look, &mut dice);
    match look.wall_kind % 5 {
        0 => hills(b, look, &mut dice),
        1 => fence(b, look, &mut dice),
        2 => greenhouse(b, look, &mut dice),
        3 => bricks(b, look, &mut dice),
        _ => city(b, look, &mut dice),
    }
    surface::ground(b, look, &mut dice);
    border(b, look, &mut dice);
    clutter(b, look, &mut dice);
}

fn sky(b: &mut Brush, look: &Look, dice: &mut Dice) {
    let floor = look.horizon();
    b.slab(
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
            (dice.range(0.0, 1600.0), dice.range(0.0, floor * 0.45), dice.range(0.6, 1.3));
        for (dx, dy, r) in [(-60.0, 8.0, 34.0), (0.0, -8.0, 50.0), (64.0, 8.0, 36.0)] {
            b.oval(x + dx * s, y + dy * s, r * 1.5 * s, r * 0.62 * s, WHITE.fade(0.65));
        }
    }
}

fn hills(b: &mut Brush, look: &Look, dice: &mut Dice) {
    let floor = look.horizon();
    for i in 0..4 {
        let tone = look.front.mix(look.wall, 0.62 - 0.17 * i as f32);
        for j in 0..3 {
            let x = j as f32 * 700.0 + dice.range(-200.0, 200.0);
            b.oval(
                x,
                floor + 60.0 + 30.0 * i as f32,
                dice.range(420.0, 620.0),
                250.0 - 42.0 * i as f32,
                tone,
            );
        }
    }
    for _ in 0..7 {
        let x = dice.range(-50.0, 1650.0);
        tree(
            b,
            x,
            floor - dice.range(0.0, 30.0),
            dice.range(0.7, 1.2),
            look.front.dark(dice.range(0.0, 0.2)),
        );
    }
}

fn tree(b: &mut Brush, x: f32, y: f32, s: f32, green: Colour) {
    b.slab(x - 9.0 * s, y - 60.0 * s, 18.0 * s, 80.0 * s, 4.0, rgb(0x6b4a32));
    for (dx, dy, r) in
        [(-38.0, -90.0, 48.0), (38.0, -88.0, 46.0), (0.0, -128.0, 58.0), (0.0, -78.0, 50.0)]
    {
        let tone = if dy < -100.0 { green.light(0.12) } else { green };
        b.oval(x + dx * s, y + dy * s, r * s, r * s, tone);
    }
}

fn fence(b: &mut Brush, look: &Look, dice: &mut Dice) {
    let floor = look.horizon();
    for i in 0..6 {
        tree(
            b,
            i as f32 * 330.0 - 60.0 + dice.range(-60.0, 60.0),
            floor - 120.0,
            1.3,
            look.front.light(0.1),
        );
    }
    let pointed = dice.chance(0.5);
    [floor - 150.0, floor - 60.0]
        .iter()
        .for_each(|&y| b.slab(-100.0, y, 1800.0, 20.0, 0.0, look.trim.dark(0.2)));
    for i in 0..24 {
        let (x, top) = (-90.0 + i as f32 * 76.0, floor - 210.0 + dice.range(-5.0, 5.0));
        let tone = look.trim.light(dice.range(0.0, 0.2));
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

fn greenhouse(b: &mut Brush, look: &Look, dice: &mut Dice) {
    let floor = look.horizon();
    hills(b, look, dice);
    b.slab(-100.0, -60.0, 1800.0, floor + 70.0, 0.0, rgb(0xeaf7f4).fade(0.42));
    for i in 0..8 {
        let x = -60.0 + i as f32 * 236.0;
        b.polygon(
            &[(x + 60.0, floor), (x + 150.0, -60.0), (x + 190.0, -60.0), (x + 100.0, floor)],
            WHITE.fade(0.3),
        );
        b.slab(x, -60.0, 14.0, floor + 60.0, 0.0, look.trim.light(0.3));
    }
    b.slab(-100.0, floor - 230.0, 1800.0, 12.0, 0.0, look.trim.light(0.3));
    bits::shelf(b, look, 40.0, floor - 70.0, 440.0, dice);
    bits::shelf(b, look, 1130.0, floor - 70.0, 440.0, dice);
}

fn bricks(b: &mut Brush, look: &Look, dice: &mut Dice) {
    let floor = look.horizon();
    let top = floor - 250.0;
    b.slab(-100.0, top, 1800.0, 270.0, 0.0, look.trim.dark(0.2));
    for i in 0..8 {
        for j in -1..20 {
            let x = j as f32 * 94.0 + if i % 2 == 0 { 0.0 } else { 47.0 } - 60.0;
            b.slab(
                x,
                top + 4.0 + i as f32 * 33.0,
                90.0,
                29.0,
                3.0,
                look.trim.light(dice.range(0.0, 0.25)),
            );
        }
    }
    b.slab(-100.0, top - 20.0, 1800.0, 26.0, 4.0, look.trim.light(0.4));
    for _ in 0..90 {
        let (x, y) = (dice.range(-100.0, 560.0), top + dice.range(-30.0, 190.0));
        let r = dice.range(14.0, 30.0);
        b.oval(
            if look.light > 0.0 { x } else { 1600.0 - x },
            y,
            r,
            r * 0.8,
            look.front.light(dice.range(0.0, 0.3)),
        );
    }
}

fn city(b: &mut Brush, look: &Look, dice: &mut Dice) {
    let floor = look.horizon();
    let mut x = -100.0;
    while x < 1700.0 {
        let (w, h) = (dice.range(90.0, 190.0), dice.range(100.0, 300.0));
        let tone = look.trim.mix(look.wall, dice.range(0.35, 0.7));
        b.slab(x, floor - h, w, h, 4.0, tone);
        for i in 0..(w / 36.0) as i32 {
            for j in 0..(h / 46.0) as i32 {
                let lit = if dice.chance(0.3) { look.glow } else { tone.light(0.35) };
                b.slab(
                    x + 14.0 + i as f32 * 34.0,
                    floor - h + 18.0 + j as f32 * 44.0,
                    16.0,
                    24.0,
                    2.0,
                    lit,
                );
            }
        }
        x += w + dice.range(-6.0, 16.0);
    }
    for i in 0..38 {
        b.slab(-100.0 + i as f32 * 48.0, floor - 92.0, 8.0, 100.0, 3.0, look.front.dark(0.45));
    }
    b.slab(-100.0, floor - 104.0, 1800.0, 16.0, 6.0, look.front.dark(0.5));
}

/// Shrubs and flowers along the back of the ground.
fn border(b: &mut Brush, look: &Look, dice: &mut Dice) {
    let floor = look.horizon() + 8.0;
    for i in 0..34 {
        let x = -90.0 + i as f32 * 54.0 + dice.range(-20.0, 20.0);
        let edge = ((x - 800.0).abs() / 800.0).powi(2);
        let r = 14.0 + 56.0 * edge + dice.range(0.0, 14.0);
        let tone =
            look.front.mix(if i % 2 == 0 { WHITE } else { rgb(0x183018) }, dice.range(0.0, 0.2));
        b.oval(x, floor, r, r * 0.72, tone);
        if dice.chance(0.35 + 0.4 * edge) {
            let c = dice.pick([look.accent, look.accent2]);
            flower(b, x, floor - r * 0.5, 9.0 + 7.0 * edge, c);
        }
    }
}

fn flower(b: &mut Brush, x: f32, y: f32, r: f32, colour: Colour) {
    for i in 0..5 {
        let (dx, dy) = crate::world::stage::brush::towards((0.0, 0.0), i as f32 * 72.0, r * 0.7);
        b.oval(x + dx, y + dy, r * 0.6, r * 0.6, colour);
    }
    b.oval(x, y, r * 0.45, r * 0.45, rgb(0xffe9a0));
}

/// Pots, a can and a crate at the sides.
fn clutter(b: &mut Brush, look: &Look, dice: &mut Dice) {
    let y = look.horizon() + 90.0 * look.tilt + 40.0;
    for side in [-1.0, 1.0] {
        let x = 800.0 + side * dice.range(610.0, 690.0);
        b.shadow(x + 10.0, y, 130.0, 36.0, 0.35);
        match dice.below(3) {
            0 => {
                bits::plant(
                    b,
                    x,
                    y,
                    1.4,
                    dice.pick([rgb(0xc4683f), look.accent2, look.trim]),
                    dice,
                );
            }
            1 => crate_of(b, look, x, y, dice),
            _ => (0..3).for_each(|i| {
                let (t, clay) = (i as f32, rgb(0xb9603c).light(0.1 * i as f32));
                bits::plant(b, x - 70.0 + 70.0 * t, y + 12.0 * (t - 1.0).abs(), 0.8, clay, dice);
            }),
        }
    }
}

fn crate_of(b: &mut Brush, look: &Look, x: f32, y: f32, dice: &mut Dice) {
    for i in 0..9 {
        let c = dice.pick([look.accent, look.accent2, look.front.light(0.2)]);
        b.oval(x - 80.0 + i as f32 * 20.0, y - 92.0 + dice.range(-10.0, 6.0), 24.0, 22.0, c);
    }
    for i in 0..3 {
        let top = y - 88.0 + i as f32 * 30.0;
        b.slab(
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
        .for_each(|dx| b.slab(x + dx, y - 94.0, 16.0, 94.0, 2.0, look.trim.dark(0.15)));
}
