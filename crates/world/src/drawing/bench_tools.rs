//! Tools of the bench as hands hold them: the grip at the origin, the working end along x, save the
//! drill, whose grip lies along x and whose bit points along y.

use super::brush::{Brush, Colour, WHITE, across, down, polygon, rgb};
use super::kitchen_tools::handle;
use super::look::Look;

const STEEL: Colour = rgb(0xcfd7dc);

/// A pencil, its point 150 from the grip.
pub fn pencil(b: &mut Brush, look: &Look) {
    let c = rgb(0xf2b632).mix(look.accent, 0.2);
    b.rect(-110.0, -13.0, 224.0, 26.0, 4.0, down(-13.0, 13.0, c.light(0.25), c.dark(0.2)));
    b.rect(-122.0, -13.0, 26.0, 26.0, 7.0, rgb(0xe77f80));
    b.polygon(&[(112.0, -13.0), (112.0, 13.0), (152.0, 0.0)], rgb(0xf0d3a0));
    b.polygon(&[(138.0, -5.0), (138.0, 5.0), (154.0, 0.0)], rgb(0x2c2a30));
}

/// A hand saw, its teeth towards +y, some 420 long.
pub fn saw(b: &mut Brush, look: &Look) {
    let mut edge = vec![(56.0, -46.0), (420.0, -8.0), (424.0, 22.0)];
    for i in 0..22 {
        let x = 416.0 - 16.2 * i as f32;
        let y = 34.0 + 14.0 * i as f32 / 22.0;
        edge.push((x, y + 11.0));
        edge.push((x - 8.0, y));
    }
    edge.push((56.0, 50.0));
    b.polygon(&edge, down(-46.0, 56.0, STEEL.dark(0.14), STEEL.light(0.5)));
    b.line(&[(80.0, -26.0), (400.0, 2.0)], 5.0, WHITE.fade(0.7));
    let c = look.handle;
    b.rect(-66.0, -64.0, 150.0, 128.0, 40.0, across(-66.0, 84.0, c.light(0.18), c.dark(0.2)));
    b.rect(-34.0, -28.0, 66.0, 58.0, 26.0, c.dark(0.62));
    [(60.0, -30.0), (62.0, 26.0)].iter().for_each(|s| b.oval(s.0, s.1, 7.0, 7.0, rgb(0xe8d08a)));
}

/// A drill: the bit's tip is 250 along y and 84 back along x from the grip; `spin` turns it.
pub fn drill(b: &mut Brush, look: &Look, bit: f32, spin: f32) {
    let c = look.accent.mix(rgb(0xe8a020), 0.3);
    b.rect(
        -84.0 - bit / 2.0,
        150.0,
        bit,
        100.0,
        4.0,
        across(-84.0 - bit / 2.0, -84.0 + bit / 2.0, STEEL.light(0.5), STEEL.dark(0.35)),
    );
    for i in 0..5 {
        let y = 154.0 + ((i as f32 * 20.0 + spin * 40.0) % 96.0);
        b.line(&[(-84.0 - bit / 2.0, y), (-84.0 + bit / 2.0, y + 8.0)], 5.0, STEEL.dark(0.5));
    }
    b.rect(-114.0, 104.0, 60.0, 56.0, 10.0, across(-114.0, -54.0, rgb(0x6d747b), rgb(0x2e3238)));
    b.rect(-142.0, -106.0, 116.0, 216.0, 34.0, across(-142.0, -26.0, c.light(0.25), c.dark(0.2)));
    (0..4).for_each(|i| b.rect(-116.0, -84.0 + 17.0 * i as f32, 56.0, 8.0, 4.0, c.dark(0.5)));
    b.rect(-134.0, 70.0, 100.0, 20.0, 8.0, rgb(0x34373e));
    b.rect(-44.0, -36.0, 150.0, 66.0, 24.0, rgb(0x34373e));
    b.rect(88.0, -66.0, 66.0, 122.0, 14.0, across(88.0, 154.0, c.dark(0.05), c.dark(0.3)));
    b.rect(102.0, -46.0, 14.0, 80.0, 6.0, WHITE.fade(0.35));
}

/// A bottle of glue, its nozzle 205 from the grip.
pub fn glue_bottle(b: &mut Brush, look: &Look) {
    let c = rgb(0xf6f0e2);
    b.rect(-100.0, -46.0, 220.0, 92.0, 26.0, down(-46.0, 46.0, WHITE, c.dark(0.16)));
    b.rect(
        -72.0,
        -46.0,
        126.0,
        92.0,
        0.0,
        down(-46.0, 46.0, look.accent2.light(0.1), look.accent2.dark(0.18)),
    );
    b.polygon(
        &[
            (116.0, -32.0),
            (140.0, -26.0),
            (205.0, -7.0),
            (205.0, 7.0),
            (140.0, 26.0),
            (116.0, 32.0),
        ],
        rgb(0xe8622c),
    );
    b.rect(112.0, -36.0, 22.0, 72.0, 6.0, rgb(0xc74e1e));
}

/// A hammer whose face strikes towards +y, 210 from the grip.
pub fn hammer(b: &mut Brush, look: &Look) {
    b.rect(
        -90.0,
        -17.0,
        300.0,
        34.0,
        14.0,
        down(-17.0, 17.0, look.handle.light(0.25), look.handle.dark(0.2)),
    );
    b.rect(-90.0, -20.0, 130.0, 40.0, 16.0, rgb(0x34373e));
    b.polygon(
        &[(186.0, -24.0), (236.0, -24.0), (222.0, -92.0), (250.0, -124.0), (196.0, -96.0)],
        STEEL.dark(0.35),
    );
    b.rect(178.0, -40.0, 66.0, 84.0, 10.0, across(178.0, 244.0, STEEL.light(0.3), STEEL.dark(0.3)));
    b.rect(170.0, 36.0, 82.0, 30.0, 9.0, across(170.0, 252.0, STEEL.light(0.5), STEEL.dark(0.35)));
}

/// A screwdriver, its tip 250 from the grip; `spin` turns it.
pub fn screwdriver(b: &mut Brush, look: &Look, spin: f32) {
    b.rect(60.0, -10.0, 176.0, 20.0, 4.0, down(-10.0, 10.0, STEEL.light(0.5), STEEL.dark(0.35)));
    b.polygon(&[(228.0, -11.0), (254.0, -6.0), (254.0, 6.0), (228.0, 11.0)], STEEL.dark(0.4));
    let c = look.accent;
    b.rect(-90.0, -33.0, 164.0, 66.0, 24.0, down(-33.0, 33.0, c.light(0.3), c.dark(0.28)));
    for i in 0..3 {
        let y = -28.0 + ((i as f32 * 22.0 + spin * 22.0) % 56.0);
        b.rect(-70.0, y, 110.0, 7.0, 3.0, rgb(0x2c2f35).fade(0.6));
    }
    b.rect(52.0, -24.0, 26.0, 48.0, 8.0, rgb(0x34373e));
}

/// A flat brush with `paint` on its bristles, their ends 225 from the grip.
pub fn brush(b: &mut Brush, look: &Look, paint: Colour) {
    handle(b, look, -110.0, 90.0, 32.0);
    b.rect(84.0, -44.0, 56.0, 88.0, 6.0, down(-44.0, 44.0, STEEL.light(0.4), STEEL.dark(0.3)));
    [98.0, 124.0].iter().for_each(|x| b.rect(*x, -44.0, 5.0, 88.0, 0.0, STEEL.dark(0.4)));
    b.fill(
        &polygon(&[(138.0, -42.0), (138.0, 42.0), (206.0, 48.0), (222.0, -44.0)]),
        down(-44.0, 44.0, rgb(0xe9d3a2), rgb(0xb8925c)),
    );
    b.fill(
        &polygon(&[(176.0, -45.0), (176.0, 46.0), (210.0, 49.0), (228.0, -45.0)]),
        down(-44.0, 44.0, paint.light(0.15), paint.dark(0.12)),
    );
}

/// A block wrapped in sandpaper, lying, some 190 wide.
pub fn sanding_block(b: &mut Brush, look: &Look) {
    let (d, paper) = (70.0 * look.tilt, rgb(0xc25a38));
    b.shadow(6.0, 4.0, 120.0, 40.0, 0.4);
    b.rect(-96.0, -14.0, 192.0, 18.0, 5.0, paper.dark(0.35));
    b.rect(-94.0, -62.0, 188.0, 52.0, 8.0, down(-62.0, -10.0, paper, paper.dark(0.2)));
    b.rect(-70.0, -62.0 - d, 140.0, d + 16.0, 8.0, rgb(0xd9b27a).mix(look.handle, 0.25));
    b.polygon(
        &[(-94.0, -62.0), (-70.0, -62.0 - d), (-44.0, -62.0 - d), (-60.0, -56.0)],
        paper.light(0.2),
    );
    b.polygon(
        &[(94.0, -62.0), (70.0, -62.0 - d), (44.0, -62.0 - d), (60.0, -56.0)],
        paper.light(0.08),
    );
}

/// A tape measure: its case at the origin, the blade drawn out `long` to the right.
pub fn tape(b: &mut Brush, look: &Look, long: f32) {
    let yellow = rgb(0xffd447);
    if long > 1.0 {
        b.rect(
            40.0,
            -34.0,
            long,
            36.0,
            2.0,
            down(-34.0, 2.0, yellow.light(0.25), yellow.dark(0.06)),
        );
        for i in 0..(long / 23.0) as usize {
            let tall = if i % 5 == 0 { 25.0 } else { 14.0 };
            b.rect(52.0 + 23.0 * i as f32, -33.0, 4.0, tall, 0.0, rgb(0x3a2c20));
        }
        b.rect(36.0 + long, -40.0, 10.0, 50.0, 3.0, rgb(0x8b9398));
    }
    let c = look.accent;
    b.rect(-76.0, -106.0, 132.0, 112.0, 30.0, across(-76.0, 56.0, c.light(0.2), c.dark(0.2)));
    b.oval(-12.0, -52.0, 36.0, 36.0, rgb(0x34373e));
    b.oval(-12.0, -52.0, 24.0, 24.0, yellow);
}
