//! Tools of the garden as hands hold them: the grip at the origin, the working end along x.

use super::brush::{Brush, Colour, Point, WHITE, across, down, polygon, rgb};
use super::kitchen_tools::handle;
use super::look::Look;

const STEEL: Colour = rgb(0xb9c3c9);

/// A trowel, its point 235 from the grip, with `load` (0..=1) of soil on its blade.
pub fn trowel(b: &mut Brush, look: &Look, soil: Colour, load: f32) {
    b.rect(60.0, -8.0, 60.0, 16.0, 6.0, STEEL.dark(0.2));
    handle(b, look, -84.0, 72.0, 36.0);
    b.blob(
        &[(104.0, -40.0), (170.0, -46.0), (240.0, 0.0), (170.0, 46.0), (104.0, 40.0)],
        down(-46.0, 46.0, STEEL.light(0.4), STEEL.dark(0.25)),
    );
    if load > 0.02 {
        let r = 62.0 * load;
        b.blob(
            &[
                (168.0 - r, 12.0),
                (168.0 - r * 0.6, -r * 0.8),
                (176.0, -r),
                (168.0 + r * 0.7, -r * 0.6),
                (168.0 + r, 12.0),
                (168.0, 28.0),
            ],
            soil,
        );
        b.oval(160.0, -r * 0.5, 9.0, 6.0, soil.light(0.3));
        b.oval(186.0, -r * 0.3, 8.0, 5.0, soil.dark(0.3));
    }
}

/// A spade, its edge 370 from the grip, with `load` (0..=1) of soil on its blade.
pub fn spade(b: &mut Brush, look: &Look, soil: Colour, load: f32) {
    shaft(b, look, 230.0);
    let blade =
        polygon(&[(222.0, -54.0), (330.0, -58.0), (372.0, 0.0), (330.0, 58.0), (222.0, 54.0)]);
    b.fill(&blade, down(-58.0, 58.0, STEEL.light(0.45), STEEL.dark(0.28)));
    b.rect(224.0, -5.0, 70.0, 10.0, 4.0, STEEL.dark(0.35));
    if load > 0.02 {
        let r = 74.0 * load;
        b.blob(
            &[
                (310.0 - r, 20.0),
                (310.0 - r * 0.5, -r),
                (330.0, -r * 1.05),
                (310.0 + r * 0.8, -r * 0.3),
                (310.0 + r * 0.7, 34.0),
                (300.0, 44.0),
            ],
            soil,
        );
        (0..5).for_each(|i| {
            b.oval(
                276.0 + 17.0 * i as f32,
                -20.0 + 9.0 * (i % 3) as f32,
                8.0,
                6.0,
                soil.light(0.25),
            )
        });
    }
}

/// A garden fork, its tines' ends 370 from the grip.
pub fn fork(b: &mut Brush, look: &Look) {
    shaft(b, look, 240.0);
    b.rect(224.0, -54.0, 26.0, 108.0, 10.0, STEEL.dark(0.25));
    for i in 0..4 {
        let y = -50.0 + 33.0 * i as f32;
        b.limb((236.0, y), 13.0, (368.0, y * 0.9), 6.0, STEEL.light(0.2 * (i % 2) as f32));
    }
}

/// A long shaft with a cross handle behind the grip.
fn shaft(b: &mut Brush, look: &Look, to: f32) {
    let c = look.handle.mix(rgb(0xc58f56), 0.4);
    b.rect(-150.0, -15.0, to + 150.0, 30.0, 12.0, down(-15.0, 15.0, c.light(0.28), c.dark(0.2)));
    b.rect(-172.0, -58.0, 36.0, 116.0, 15.0, across(-172.0, -136.0, c.light(0.1), c.dark(0.25)));
}

/// A watering can held by its top handle, its spout forward.
pub fn can(b: &mut Brush, look: &Look) {
    let c = [look.accent, rgb(0x9fb3bf), rgb(0x4d8f6a), look.accent2][look.tool_kind / 31 % 4];
    b.line(
        &[(-60.0, 86.0), (-50.0, 10.0), (20.0, -8.0), (84.0, 40.0), (92.0, 90.0)],
        22.0,
        c.dark(0.25),
    );
    b.polygon(
        &[(92.0, 190.0), (100.0, 140.0), (250.0, 6.0), (276.0, 22.0)],
        down(0.0, 190.0, c.light(0.1), c.dark(0.2)),
    );
    b.rect(-96.0, 76.0, 212.0, 160.0, 26.0, across(-96.0, 116.0, c.light(0.3), c.dark(0.22)));
    b.rect(-96.0, 110.0, 212.0, 12.0, 0.0, c.dark(0.22));
    b.rect(-70.0, 136.0, 16.0, 80.0, 8.0, WHITE.fade(0.4));
    b.oval(8.0, 80.0, 98.0, 20.0, c.dark(0.4));
    b.placed((264.0, 12.0), -38.0, 1.0, |b| {
        b.polygon(&[(-6.0, -14.0), (34.0, -46.0), (34.0, 46.0), (-6.0, 14.0)], c.dark(0.1));
        b.oval(35.0, 0.0, 13.0, 47.0, c.light(0.35));
        (0..5).for_each(|i| b.oval(36.0, -28.0 + 14.0 * i as f32, 3.0, 4.0, c.dark(0.5)));
    });
}

/// Where the can's rose is when a hand holds it at `grip`, pointing along `axis` to the left.
pub fn can_rose(grip: Point, axis: f32) -> Point {
    let (s, c) = axis.to_radians().sin_cos();
    let (x, y) = (290.0, -10.0);
    (grip.0 + x * c + y * s, grip.1 + x * s - y * c)
}

/// Secateurs, their blades' middle 170 from the grip, `open` (0..=1).
pub fn secateurs(b: &mut Brush, look: &Look, open: f32) {
    let (a, c) = (18.0 * open, look.accent);
    b.placed((78.0, 0.0), a, 1.0, |b| {
        b.line(&[(-170.0, -10.0), (-90.0, -26.0), (0.0, 0.0)], 30.0, c.dark(0.12));
        b.blob(
            &[(-8.0, -12.0), (60.0, 4.0), (112.0, 34.0), (50.0, 34.0), (-8.0, 18.0)],
            STEEL.dark(0.25),
        );
    });
    b.placed((78.0, 0.0), -a, 1.0, |b| {
        b.line(&[(-170.0, 14.0), (-90.0, 28.0), (0.0, 0.0)], 30.0, c);
        b.blob(
            &[(-8.0, 14.0), (40.0, -22.0), (122.0, -8.0), (70.0, 10.0), (-4.0, 22.0)],
            STEEL.light(0.35),
        );
    });
    b.oval(78.0, 0.0, 16.0, 16.0, rgb(0x4d565d));
}

/// A scoop, its lip 190 from the grip, with `load` (0..=1) of pellets in it.
pub fn scoop(b: &mut Brush, look: &Look, load: f32) {
    handle(b, look, -84.0, 70.0, 32.0);
    b.blob(
        &[(64.0, -34.0), (100.0, -46.0), (196.0, -40.0), (180.0, 44.0), (96.0, 50.0), (64.0, 30.0)],
        down(-46.0, 50.0, STEEL.light(0.4), STEEL.dark(0.2)),
    );
    for i in 0..(14.0 * load) as usize {
        let (x, y) = (94.0 + 17.0 * (i % 6) as f32, -40.0 - 13.0 * (i / 6) as f32);
        b.oval(x, y, 10.0, 9.0, [rgb(0x59b7ff), rgb(0xfdfdf6), rgb(0x7fe0d0)][i % 3]);
    }
}
