//! Stools and the clamps that hold them while the glue dries.

use super::joinery::{Coat, coated, shine};
use super::timber::{GLUE, STAND};
use crate::drawing::brush::{Brush, Colour, WHITE, across, down, rgb};
use crate::drawing::look::Look;

/// A stool; `oozed` is how much glue shows at its joints.
pub fn draw(b: &mut Brush, look: &Look, coat: Coat, oozed: f32) {
    b.moved(0.0, STAND, |b| standing(b, look, coat, oozed));
}

fn standing(b: &mut Brush, look: &Look, coat: Coat, oozed: f32) {
    let (c, k, top) = (coated(look, coat, false), look.tilt, -340.0);
    b.shadow(10.0, 8.0, 260.0, 80.0, 0.5);
    for (x, back) in [(-120.0, true), (120.0, true), (-190.0, false), (190.0, false)] {
        leg(b, (c, coat), x, top, if back { -70.0 * k - 40.0 } else { 0.0 });
    }
    for (y, half) in [(-110.0, 160.0), (-170.0, 124.0)] {
        b.limb((-half, y), 26.0, (half, y), 26.0, c.dark(0.32));
        b.limb((-half, y - 5.0), 12.0, (half, y - 5.0), 12.0, c.dark(0.1));
    }
    seat(b, (c, coat), k, top);
    joints(b, k, top, oozed);
}

fn leg(b: &mut Brush, finish: (Colour, Coat), x: f32, top: f32, foot: f32) {
    let (c, head) = (finish.0, (x * 0.62, top + 30.0));
    let c = if foot < 0.0 { c.dark(0.24) } else { c };
    b.limb(head, 54.0, (x, foot - 14.0), 40.0, c.dark(0.3));
    b.limb((head.0 - 7.0, head.1), 36.0, (x - 6.0, foot - 18.0), 24.0, c.light(0.04));
    if foot >= 0.0 {
        shine(b, finish.1, (head.0 - 12.0, head.1 + 50.0), (x - 10.0, foot - 60.0), 9.0);
    }
}

fn seat(b: &mut Brush, finish: (Colour, Coat), k: f32, top: f32) {
    let ((c, coat), rx, thick) = (finish, 230.0, 48.0);
    let (ry, edge) = (rx * k * 0.8, across(-rx, rx, c.dark(0.1), c.dark(0.36)));
    b.oval(0.0, top, rx, ry, edge);
    b.rect(-rx, top - thick, rx * 2.0, thick, 0.0, edge);
    b.oval(
        0.0,
        top - thick,
        rx,
        ry,
        down(top - thick - ry, top - thick + ry, c.light(0.12), c.light(0.26)),
    );
    for i in 0..5 {
        let t = (i as f32 - 2.0) / 2.8;
        let half = (1.0 - t * t).sqrt() * rx * 0.86;
        let y = top - thick + t * ry;
        b.line(&[(-half, y), (0.0, y + 5.0), (half, y)], 3.0, c.dark(0.25).fade(0.5));
    }
    b.ring(0.0, top - thick, rx - 2.0, ry - 2.0, 4.0, c.light(0.5).fade(0.7));
    if coat != Coat::Bare {
        b.oval(-70.0, top - thick - ry * 0.25, 96.0, ry * 0.34, WHITE.fade(0.5));
        b.line(
            &[(-190.0, top - 12.0 + ry * 0.45), (-110.0, top - 14.0 + ry * 0.8)],
            11.0,
            WHITE.fade(0.5),
        );
    }
}

/// Glue at the joints: beads that swell and run as the clamps press.
fn joints(b: &mut Brush, k: f32, top: f32, oozed: f32) {
    if oozed <= 0.0 {
        return;
    }
    let under = top + 230.0 * k * 0.62;
    for (i, x) in [-122.0_f32, 122.0].into_iter().enumerate() {
        let long = 30.0 + 62.0 * (oozed - 0.5).max(0.0) * (1.0 + i as f32 * 0.4);
        b.oval(x, under + 6.0, 44.0 + 12.0 * oozed, 15.0, GLUE.dark(0.1));
        b.oval(x, under + 2.0, 38.0 + 12.0 * oozed, 10.0, GLUE);
        b.limb((x - 14.0, under + 6.0), 20.0, (x - 16.0, under + long), 16.0, GLUE.dark(0.05));
        b.limb(
            (x + 20.0, under + 6.0),
            16.0,
            (x + 22.0, under + long * 0.7),
            13.0,
            GLUE.dark(0.05),
        );
    }
    for (x, y) in [(-168.0, -120.0), (168.0, -120.0)] {
        b.oval(x, y, 24.0 * oozed.min(1.0) + 4.0, 19.0, GLUE);
    }
}

/// Bar clamps around a stool: `on` is how far they have come in, `turn` how far the spindles are.
pub fn clamps(b: &mut Brush, look: &Look, on: f32, turn: f32) {
    b.moved(0.0, STAND, |b| clamps_around(b, look, on, turn));
}

fn clamps_around(b: &mut Brush, look: &Look, on: f32, turn: f32) {
    if on <= 0.0 {
        return;
    }
    for side in [-1.0_f32, 1.0] {
        let away = (1.0 - on) * 460.0 * side;
        b.moved(side * 135.0 + away, 0.0, |b| b.stretched(side, 1.0, |b| clamp(b, look, turn)));
    }
}

/// A clamp that grips from the seat's top down to the rung, its bar at x = 130.
fn clamp(b: &mut Brush, look: &Look, turn: f32) {
    let (steel, grip) = (rgb(0xaab4bb), look.accent.mix(rgb(0xe0572e), 0.35));
    let (upper, lower) = (-430.0, -70.0);
    b.rect(
        116.0,
        upper - 20.0,
        30.0,
        lower - upper + 60.0,
        6.0,
        across(116.0, 146.0, steel.light(0.4), steel.dark(0.25)),
    );
    (0..12).for_each(|i| {
        b.rect(118.0, upper + 30.0 + 28.0 * i as f32, 10.0, 5.0, 2.0, steel.dark(0.4))
    });
    b.rect(
        -30.0,
        upper - 26.0,
        186.0,
        46.0,
        14.0,
        down(upper - 26.0, upper + 20.0, grip.light(0.15), grip.dark(0.2)),
    );
    b.rect(-36.0, upper + 12.0, 64.0, 24.0, 8.0, rgb(0x3b3d44));
    b.rect(
        -30.0,
        lower - 4.0,
        186.0,
        46.0,
        14.0,
        down(lower, lower + 46.0, grip.light(0.1), grip.dark(0.25)),
    );
    let rise = 44.0 * turn;
    b.rect(-10.0, lower - 16.0 - rise, 20.0, 110.0 + rise * 0.4, 4.0, steel.dark(0.1));
    (0..5).for_each(|i| {
        b.line(
            &[(-10.0, lower + 36.0 + 9.0 * i as f32), (10.0, lower + 40.0 + 9.0 * i as f32)],
            3.0,
            steel.dark(0.4),
        )
    });
    b.rect(-34.0, lower - 32.0 - rise, 68.0, 22.0, 7.0, rgb(0x3b3d44));
    let wide = 20.0 + 20.0 * (turn * 19.0).sin().abs();
    b.rect(-wide, lower + 84.0 - rise * 0.4, wide * 2.0, 26.0, 11.0, look.handle);
}
