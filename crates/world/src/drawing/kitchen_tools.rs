//! Tools of the kitchen as hands hold them: the grip at the origin, the working end along x.

use super::brush::{Brush, WHITE, across, down, polygon, rgb};
use super::look::Look;

const STEEL: super::brush::Colour = rgb(0xd3dadf);

/// A kitchen knife, its edge towards +y.
pub fn knife(b: &mut Brush, look: &Look) {
    handle(b, look, -62.0, 66.0, 34.0);
    let blade = match look.tool_kind % 3 {
        0 => polygon(&[(64.0, -20.0), (290.0, -16.0), (330.0, 6.0), (288.0, 34.0), (70.0, 38.0)]),
        1 => polygon(&[(64.0, -18.0), (250.0, -20.0), (344.0, 26.0), (240.0, 38.0), (70.0, 38.0)]),
        _ => polygon(&[(62.0, -24.0), (300.0, -24.0), (310.0, -10.0), (304.0, 46.0), (68.0, 46.0)]),
    };
    b.fill(&blade, down(-24.0, 44.0, STEEL.dark(0.18), STEEL.light(0.5)));
    b.rect(76.0, 26.0, 204.0, 7.0, 3.0, WHITE.fade(0.7));
    b.rect(56.0, -22.0, 18.0, 58.0, 5.0, rgb(0x9aa3aa));
}

/// A handle along x from `from` to `to`.
pub fn handle(b: &mut Brush, look: &Look, from: f32, to: f32, wide: f32) {
    let c = look.handle;
    b.rect(
        from,
        -wide / 2.0,
        to - from,
        wide,
        wide * 0.45,
        down(-wide / 2.0, wide / 2.0, c.light(0.2), c.dark(0.2)),
    );
    for i in 0..2 {
        let x = from + (to - from) * (0.25 + 0.5 * i as f32);
        b.oval(x, 0.0, 4.0, 4.0, c.light(0.55));
    }
}

/// A turner with a broad slotted blade.
pub fn spatula(b: &mut Brush, look: &Look) {
    b.rect(40.0, -7.0, 190.0, 14.0, 6.0, rgb(0x9aa3aa));
    handle(b, look, -80.0, 80.0, 28.0);
    let c = if look.tool_kind.is_multiple_of(2) { rgb(0x3a3d44) } else { STEEL.dark(0.1) };
    b.rect(210.0, -42.0, 116.0, 84.0, 14.0, across(210.0, 330.0, c.light(0.1), c));
    (0..3).for_each(|i| b.rect(234.0, -25.0 + 22.0 * i as f32, 66.0, 7.0, 3.0, c.dark(0.35)));
}

/// A wooden spoon.
pub fn spoon(b: &mut Brush, look: &Look) {
    let wood = rgb(0xc98f52).mix(look.handle, 0.25);
    b.rect(-90.0, -11.0, 300.0, 22.0, 11.0, down(-11.0, 11.0, wood.light(0.25), wood.dark(0.15)));
    b.oval(246.0, 0.0, 60.0, 36.0, wood.dark(0.08));
    b.oval(250.0, -3.0, 46.0, 25.0, wood.dark(0.28));
}

/// A whisk of wires.
pub fn whisk(b: &mut Brush, look: &Look) {
    handle(b, look, -80.0, 76.0, 30.0);
    for i in 0..4 {
        let y = 52.0 - 16.0 * i as f32;
        let tone = if i % 2 == 0 { rgb(0xe8edf0) } else { rgb(0xa9b2b8) };
        b.line(&[(72.0, 0.0), (150.0, -y), (238.0, -y * 0.8), (266.0, 0.0)], 5.0, tone);
        b.line(&[(72.0, 0.0), (150.0, y), (238.0, y * 0.8), (266.0, 0.0)], 5.0, tone);
    }
    b.rect(64.0, -15.0, 26.0, 30.0, 8.0, rgb(0x9aa3aa));
}

/// A masher, or a large fork, by the look.
pub fn masher(b: &mut Brush, look: &Look) {
    handle(b, look, -90.0, 70.0, 30.0);
    if look.tool_kind.is_multiple_of(2) {
        b.line(&[(66.0, 0.0), (120.0, -46.0), (206.0, -56.0)], 11.0, STEEL.dark(0.2));
        b.line(&[(66.0, 0.0), (120.0, 46.0), (206.0, 56.0)], 11.0, STEEL.dark(0.1));
        b.rect(
            196.0,
            -82.0,
            22.0,
            164.0,
            9.0,
            across(196.0, 218.0, STEEL.light(0.4), STEEL.dark(0.3)),
        );
    } else {
        b.rect(60.0, -7.0, 90.0, 14.0, 6.0, STEEL.dark(0.1));
        b.rect(136.0, -38.0, 50.0, 76.0, 22.0, STEEL);
        (0..4).for_each(|i| {
            b.rect(166.0, -37.0 + 21.0 * i as f32, 70.0, 11.0, 5.0, STEEL.dark(0.05))
        });
    }
}

/// Tongs, `gap` apart at the tips.
pub fn tongs(b: &mut Brush, look: &Look, gap: f32) {
    for side in [-1.0, 1.0] {
        b.line(
            &[(-80.0, 0.0), (80.0, side * (12.0 + gap * 0.4)), (240.0, side * gap)],
            15.0,
            STEEL.dark(0.18),
        );
        b.line(
            &[(-80.0, -2.0), (80.0, side * (12.0 + gap * 0.4) - 3.0), (240.0, side * gap - 2.0)],
            6.0,
            STEEL.light(0.4),
        );
        b.oval(248.0, side * gap, 24.0, 13.0, look.handle);
    }
    b.oval(-84.0, 0.0, 20.0, 18.0, look.handle);
}

/// A serving spoon of steel, with what lies in it drawn at the bowl.
pub fn scoop(b: &mut Brush, look: &Look, load: impl FnOnce(&mut Brush)) {
    b.rect(30.0, -6.0, 150.0, 12.0, 5.0, STEEL.dark(0.15));
    handle(b, look, -80.0, 60.0, 26.0);
    b.oval(216.0, 2.0, 58.0, 38.0, STEEL.dark(0.2));
    b.oval(216.0, -2.0, 50.0, 30.0, STEEL.light(0.25));
    b.moved(216.0, -4.0, load);
}
