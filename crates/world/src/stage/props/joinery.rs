//! What is made of timber: birdhouses, stools, bookshelves and planter boxes, part by part.

use super::timber::{self, ENTRANCE, GLUE, STAND, grain, upright_grain, wood};
use crate::stage::brush::{Brush, Colour, SHADE, Spot, WHITE, across, between, down, rgb};
use crate::stage::dice::ease;
use crate::stage::look::{Look, distance};

/// What is on the wood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coat {
    /// Nothing.
    Bare,
    /// Clear varnish.
    Varnish,
    /// Colour.
    Paint,
}

/// The two colours that this place paints with: strong, unlike its wood and its wall.
pub fn paints(look: &Look) -> (Colour, Colour) {
    const POTS: [Colour; 7] = [
        rgb(0x2f7fb8),
        rgb(0xd9483b),
        rgb(0x3d9a6a),
        rgb(0x7b4fa3),
        rgb(0x1fa3a3),
        rgb(0xe0559a),
        rgb(0x34548f),
    ];
    let first = look.tool_kind / 5 % POTS.len();
    let apart = |c: Colour| distance(c, look.wall).min(distance(c, look.surface));
    let main = (0..3)
        .map(|i| POTS[(first + i * 2) % POTS.len()])
        .max_by(|a, b| apart(*a).total_cmp(&apart(*b)))
        .unwrap_or(POTS[first]);
    (main, [rgb(0xf6d35c), rgb(0xf7efe2), rgb(0xf29a4b)][look.tool_kind / 3 % 3])
}

fn coated(look: &Look, coat: Coat, second: bool) -> Colour {
    match coat {
        Coat::Bare => wood(look),
        Coat::Varnish => timber::varnished(wood(look)),
        Coat::Paint if second => paints(look).1,
        Coat::Paint => paints(look).0,
    }
}

/// A shining streak on what is freshly coated.
fn shine(b: &mut Brush, coat: Coat, from: Spot, to: Spot, wide: f32) {
    if coat != Coat::Bare {
        b.limb(from, wide, to, wide * 0.8, WHITE.fade(0.42));
    }
}

/// How far the `i`-th of `count` parts has come into place when `built` of the work is done.
pub fn arrival(built: f32, i: usize, count: usize) -> f32 {
    let t = built * count as f32 - i as f32;
    ease(t, 0.0, 0.42)
}

/// Draws a part on its way from where it lay to where it belongs.
fn part(b: &mut Brush, t: f32, from: Spot, turn: f32, draw: impl FnOnce(&mut Brush)) {
    let (x, y) = between(from, (0.0, 0.0), t);
    let lift = -60.0 * (t * std::f32::consts::PI).sin();
    b.placed((x, y + lift), turn * (1.0 - t), 1.0, draw);
}

/// How many steps a birdhouse is put together in.
pub const BIRDHOUSE_PARTS: usize = 4;

/// A birdhouse, `built` of the way from loose parts (0..=1).
pub fn birdhouse(b: &mut Brush, look: &Look, built: f32, coat: Coat) {
    b.moved(0.0, STAND, |b| birdhouse_standing(b, look, built, coat));
}

fn birdhouse_standing(b: &mut Brush, look: &Look, built: f32, coat: Coat) {
    let at = |i| arrival(built, i, BIRDHOUSE_PARTS);
    b.shadow(20.0, 6.0, 330.0, 84.0, 0.5);
    part(b, at(0), (-250.0, 50.0), -84.0, |b| side_wall(b, look, coat));
    part(b, at(1), (60.0, 20.0), 0.0, |b| front(b, look, coat));
    part(b, at(2), (-90.0, 280.0), 40.0, |b| roof(b, look, coat, -1.0));
    part(b, at(3), (150.0, 280.0), -36.0, |b| roof(b, look, coat, 1.0));
    if built >= 1.0 {
        nails(b, coat);
    }
}

fn side_wall(b: &mut Brush, look: &Look, coat: Coat) {
    let c = coated(look, coat, false).dark(0.28);
    b.polygon(
        &[(150.0, 0.0), (150.0, -240.0), (236.0, -262.0), (236.0, -34.0)],
        across(150.0, 236.0, c, c.dark(0.2)),
    );
    b.polygon(&[(150.0, 0.0), (236.0, -34.0), (236.0, -46.0), (150.0, -14.0)], c.dark(0.3));
}

fn front(b: &mut Brush, look: &Look, coat: Coat) {
    let c = coated(look, coat, false);
    b.polygon(&timber::HOUSE, down(-410.0, 0.0, c.light(0.16), c.dark(0.06)));
    if coat != Coat::Paint {
        upright_grain(b, c, (-150.0, -240.0), (300.0, 230.0));
    }
    b.slab(-165.0, -20.0, 330.0, 20.0, 3.0, coated(look, coat, true).dark(0.12));
    if coat == Coat::Paint {
        let trim = coated(look, coat, true);
        b.oval(ENTRANCE.0, ENTRANCE.1, 80.0, 80.0, trim);
    }
    timber::entrance(b, c, ENTRANCE, 62.0);
    let peg = coated(look, coat, true).dark(if coat == Coat::Paint { 0.1 } else { 0.3 });
    b.oval(0.0, -112.0, 17.0, 17.0, peg.dark(0.4));
    b.limb((0.0, -112.0), 22.0, (-14.0, -92.0), 24.0, peg);
    shine(b, coat, (-128.0, -236.0), (-128.0, -60.0), 16.0);
}

/// Half of the roof, to the left or the right of the ridge.
fn roof(b: &mut Brush, look: &Look, coat: Coat, side: f32) {
    let c = coated(look, coat, true);
    let c = if coat == Coat::Paint { c } else { c.dark(0.14) };
    let (ridge, eave) = ((0.0, -424.0), (side * 212.0, -222.0));
    if side > 0.0 {
        b.polygon(
            &[ridge, (84.0, -454.0), (296.0, -254.0), eave],
            across(0.0, 296.0, c.light(0.06), c.dark(0.2)),
        );
        b.line(&[(34.0, -406.0), (236.0, -216.0)], 3.0, c.dark(0.4).fade(0.4));
        shine(b, coat, (70.0, -428.0), (210.0, -300.0), 13.0);
    }
    let thick = 34.0;
    b.polygon(
        &[ridge, eave, (eave.0 - side * 4.0, eave.1 + thick), (0.0, ridge.1 + thick + 10.0)],
        if side > 0.0 { c.dark(0.1) } else { c.light(0.12) },
    );
    b.line(&[ridge, eave], 5.0, c.light(0.45));
}

fn nails(b: &mut Brush, coat: Coat) {
    let head = if coat == Coat::Paint { SHADE.fade(0.15) } else { rgb(0x6e7880) };
    for (x, y) in [
        (-146.0, -36.0),
        (146.0, -36.0),
        (-146.0, -210.0),
        (146.0, -210.0),
        (-88.0, -334.0),
        (88.0, -334.0),
    ] {
        b.oval(x, y, 8.0, 8.0, head);
        b.oval(x - 2.0, y - 2.0, 3.0, 3.0, WHITE.fade(0.7));
    }
}

/// A stool; `oozed` is how much glue shows at its joints.
pub fn stool(b: &mut Brush, look: &Look, coat: Coat, oozed: f32) {
    b.moved(0.0, STAND, |b| stool_standing(b, look, coat, oozed));
}

fn stool_standing(b: &mut Brush, look: &Look, coat: Coat, oozed: f32) {
    let (c, k, top) = (coated(look, coat, false), look.tilt, -340.0);
    b.shadow(10.0, 8.0, 260.0, 80.0, 0.5);
    for (x, back) in [(-120.0, true), (120.0, true), (-190.0, false), (190.0, false)] {
        stool_leg(b, (c, coat), x, top, if back { -70.0 * k - 40.0 } else { 0.0 });
    }
    for (y, half) in [(-110.0, 160.0), (-170.0, 124.0)] {
        b.limb((-half, y), 26.0, (half, y), 26.0, c.dark(0.32));
        b.limb((-half, y - 5.0), 12.0, (half, y - 5.0), 12.0, c.dark(0.1));
    }
    stool_seat(b, (c, coat), k, top);
    joints(b, k, top, oozed);
}

fn stool_leg(b: &mut Brush, finish: (Colour, Coat), x: f32, top: f32, foot: f32) {
    let (c, head) = (finish.0, (x * 0.62, top + 30.0));
    let c = if foot < 0.0 { c.dark(0.24) } else { c };
    b.limb(head, 54.0, (x, foot - 14.0), 40.0, c.dark(0.3));
    b.limb((head.0 - 7.0, head.1), 36.0, (x - 6.0, foot - 18.0), 24.0, c.light(0.04));
    if foot >= 0.0 {
        shine(b, finish.1, (head.0 - 12.0, head.1 + 50.0), (x - 10.0, foot - 60.0), 9.0);
    }
}

fn stool_seat(b: &mut Brush, finish: (Colour, Coat), k: f32, top: f32) {
    let ((c, coat), rx, thick) = (finish, 230.0, 48.0);
    let (ry, edge) = (rx * k * 0.8, across(-rx, rx, c.dark(0.1), c.dark(0.36)));
    b.oval(0.0, top, rx, ry, edge);
    b.slab(-rx, top - thick, rx * 2.0, thick, 0.0, edge);
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
    b.moved(0.0, STAND, |b| clamps_standing(b, look, on, turn));
}

fn clamps_standing(b: &mut Brush, look: &Look, on: f32, turn: f32) {
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
    b.slab(
        116.0,
        upper - 20.0,
        30.0,
        lower - upper + 60.0,
        6.0,
        across(116.0, 146.0, steel.light(0.4), steel.dark(0.25)),
    );
    (0..12).for_each(|i| {
        b.slab(118.0, upper + 30.0 + 28.0 * i as f32, 10.0, 5.0, 2.0, steel.dark(0.4))
    });
    b.slab(
        -30.0,
        upper - 26.0,
        186.0,
        46.0,
        14.0,
        down(upper - 26.0, upper + 20.0, grip.light(0.15), grip.dark(0.2)),
    );
    b.slab(-36.0, upper + 12.0, 64.0, 24.0, 8.0, rgb(0x3b3d44));
    b.slab(
        -30.0,
        lower - 4.0,
        186.0,
        46.0,
        14.0,
        down(lower, lower + 46.0, grip.light(0.1), grip.dark(0.25)),
    );
    let rise = 44.0 * turn;
    b.slab(-10.0, lower - 16.0 - rise, 20.0, 110.0 + rise * 0.4, 4.0, steel.dark(0.1));
    (0..5).for_each(|i| {
        b.line(
            &[(-10.0, lower + 36.0 + 9.0 * i as f32), (10.0, lower + 40.0 + 9.0 * i as f32)],
            3.0,
            steel.dark(0.4),
        )
    });
    b.slab(-34.0, lower - 32.0 - rise, 68.0, 22.0, 7.0, rgb(0x3b3d44));
    let wide = 20.0 + 20.0 * (turn * 19.0).sin().abs();
    b.slab(-wide, lower + 84.0 - rise * 0.4, wide * 2.0, 26.0, 11.0, look.handle);
}

/// How many steps a bookshelf is put together in.
pub const BOOKSHELF_PARTS: usize = 5;
/// Heights of a bookshelf's shelves.
pub const SHELVES: [f32; 4] = [-30.0, -162.0, -294.0, -426.0];

/// A bookshelf, `built` of the way from loose parts (0..=1).
pub fn bookshelf(b: &mut Brush, look: &Look, built: f32, coat: Coat) {
    b.moved(0.0, STAND, |b| bookshelf_standing(b, look, built, coat));
}

fn bookshelf_standing(b: &mut Brush, look: &Look, built: f32, coat: Coat) {
    let c = coated(look, coat, false);
    b.shadow(14.0, 8.0, 340.0, 80.0, 0.5);
    if built >= 1.0 {
        b.slab(-226.0, -420.0, 452.0, 420.0, 0.0, down(-420.0, 0.0, c.dark(0.36), c.dark(0.5)));
    }
    let at = |i| arrival(built, i, BOOKSHELF_PARTS);
    part(b, 1.0, (0.0, 0.0), 0.0, |b| upright(b, (c, coat), -250.0));
    part(b, at(0), (150.0, 60.0), 24.0, |b| upright(b, (c, coat), 214.0));
    for (i, y) in SHELVES.into_iter().enumerate() {
        let lie = (20.0 + 16.0 * i as f32, 96.0 - y - 40.0 * i as f32);
        part(b, at(i + 1), lie, 4.0 * i as f32 - 5.0, |b| shelf(b, (c, coat), y));
    }
    screws(b, built, coat);
}

fn upright(b: &mut Brush, finish: (Colour, Coat), x: f32) {
    let (c, top) = (finish.0, -446.0);
    b.slab(x, top, 36.0, 446.0, 4.0, across(x, x + 36.0, c.light(0.22), c.dark(0.16)));
    b.line(
        &[(x + 12.0, top + 30.0), (x + 15.0, -240.0), (x + 11.0, -30.0)],
        3.0,
        c.dark(0.35).fade(0.6),
    );
    b.line(
        &[(x + 25.0, top + 90.0), (x + 22.0, -180.0), (x + 25.0, -60.0)],
        3.0,
        c.dark(0.35).fade(0.6),
    );
    shine(b, finish.1, (x + 9.0, top + 40.0), (x + 9.0, -120.0), 9.0);
}

fn shelf(b: &mut Brush, finish: (Colour, Coat), y: f32) {
    let c = finish.0;
    b.polygon(&[(-206.0, y - 16.0), (206.0, y - 16.0), (214.0, y), (-214.0, y)], c.light(0.34));
    b.slab(-216.0, y, 432.0, 28.0, 3.0, down(y, y + 28.0, c.light(0.08), c.dark(0.18)));
    grain(b, c.dark(0.35).fade(0.5), (-200.0, y + 3.0), (400.0, 22.0), 31, 2);
    shine(b, finish.1, (-170.0, y + 8.0), (70.0, y + 8.0), 8.0);
    b.slab(
        -214.0,
        y + 28.0,
        428.0,
        16.0,
        0.0,
        down(y + 28.0, y + 44.0, SHADE.fade(0.25), SHADE.fade(0.0)),
    );
}

fn screws(b: &mut Brush, built: f32, coat: Coat) {
    for (i, y) in SHELVES.into_iter().enumerate() {
        if arrival(built, i + 1, BOOKSHELF_PARTS) >= 1.0 {
            for x in [-232.0, 232.0] {
                screw_head(b, (x, y + 14.0), coat);
            }
        }
    }
}

/// A screw's head with its slot.
pub fn screw_head(b: &mut Brush, at: Spot, coat: Coat) {
    let c = if coat == Coat::Paint { rgb(0xffffff).fade(0.35) } else { rgb(0xc8d0d6) };
    b.oval(at.0, at.1 + 2.0, 12.0, 12.0, SHADE.fade(0.35));
    b.oval(at.0, at.1, 11.0, 11.0, c);
    b.line(&[(at.0 - 6.0, at.1 - 4.0), (at.0 + 6.0, at.1 + 4.0)], 4.0, rgb(0x5a636b));
}

/// How many steps a planter is put together in.
pub const PLANTER_PARTS: usize = 5;
/// Heights of a planter's slats, from below.
const SLATS: [f32; 3] = [-104.0, -198.0, -292.0];

/// A planter box, `built` of the way from parts; `holes` (0..=4) drain holes are bored.
pub fn planter(b: &mut Brush, look: &Look, built: f32, holes: f32, coat: Coat) {
    b.moved(0.0, STAND, |b| planter_standing(b, look, built, holes, coat));
}

fn planter_standing(b: &mut Brush, look: &Look, built: f32, holes: f32, coat: Coat) {
    let (c, d) = (coated(look, coat, false), 150.0 * look.tilt);
    b.shadow(16.0, 8.0, 440.0, 96.0, 0.5);
    let at = |i| arrival(built, i, PLANTER_PARTS);
    if at(4) >= 1.0 {
        inside(b, c, d);
    }
    for (i, y) in SLATS.into_iter().enumerate() {
        let lie = (-30.0 + 44.0 * i as f32, -y - 74.0 - 56.0 * i as f32);
        part(b, at(i + 1), lie, 3.0 - 5.0 * i as f32, |b| slat(b, (c, coat), y));
    }
    let post = coated(look, coat, true);
    part(b, at(0), (-70.0, 120.0), -68.0, |b| planter_post(b, (post, coat), -352.0));
    part(b, at(4), (90.0, 120.0), 62.0, |b| planter_post(b, (post, coat), 296.0));
    if at(4) >= 1.0 {
        SLATS
            .iter()
            .for_each(|y| [-324.0, 324.0].iter().for_each(|x| screw_head(b, (*x, y + 44.0), coat)));
    }
    for (i, spot) in drains().into_iter().enumerate() {
        drain(b, c, spot, 25.0 * (holes - i as f32).clamp(0.0, 1.0));
    }
}

/// Where the drain holes go.
pub fn drains() -> [Spot; 4] {
    [(-210.0, -56.0), (-70.0, -56.0), (70.0, -56.0), (210.0, -56.0)]
}

fn drain(b: &mut Brush, c: Colour, at: Spot, r: f32) {
    if r > 1.0 {
        b.oval(at.0, at.1, r + 5.0, r + 5.0, c.light(0.45));
        b.oval(at.0, at.1, r, r, rgb(0x21130f));
        b.oval(at.0 + r * 0.2, at.1 + r * 0.3, r * 0.6, r * 0.5, c.dark(0.6));
    }
}

fn inside(b: &mut Brush, c: Colour, d: f32) {
    let top = -300.0;
    b.polygon(
        &[(-320.0, top - d), (320.0, top - d), (346.0, top), (-346.0, top)],
        down(top - d, top, c.dark(0.6), c.dark(0.42)),
    );
    b.slab(-326.0, top - d - 12.0, 652.0, 24.0, 4.0, c.light(0.06));
    b.polygon(&[(-346.0, top), (-322.0, top), (-302.0, top - d), (-326.0, top - d)], c.dark(0.12));
    b.polygon(&[(346.0, top), (322.0, top), (302.0, top - d), (326.0, top - d)], c.dark(0.3));
}

fn slat(b: &mut Brush, finish: (Colour, Coat), y: f32) {
    let (c, coat) = finish;
    b.slab(-340.0, y, 680.0, 88.0, 6.0, down(y, y + 88.0, c.light(0.14), c.dark(0.12)));
    if coat != Coat::Paint {
        grain(b, c.dark(0.32).fade(0.6), (-320.0, y + 8.0), (640.0, 72.0), (-y) as u64, 4);
    }
    b.slab(-338.0, y + 1.0, 676.0, 6.0, 3.0, c.light(0.5).fade(0.8));
    b.slab(-338.0, y + 80.0, 676.0, 8.0, 3.0, c.dark(0.4).fade(0.7));
    shine(b, coat, (-270.0, y + 26.0), (-60.0, y + 26.0), 12.0);
}

fn planter_post(b: &mut Brush, finish: (Colour, Coat), x: f32) {
    let c = finish.0.dark(if finish.1 == Coat::Paint { 0.0 } else { 0.2 });
    b.slab(x, -326.0, 56.0, 340.0, 6.0, across(x, x + 56.0, c.light(0.16), c.dark(0.2)));
    b.slab(x + 3.0, -325.0, 50.0, 8.0, 3.0, c.light(0.5));
    shine(b, finish.1, (x + 13.0, -290.0), (x + 13.0, -150.0), 9.0);
}
