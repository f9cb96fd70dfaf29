//! What is made of timber: birdhouses, bookshelves and planter boxes, part by part.

use super::panel::{self, ENTRANCE};
use super::timber::{self, STAND, grain, upright_grain, wood};
use crate::drawing::brush::{Brush, Colour, Point, SHADE, WHITE, across, between, down, rgb};
use crate::drawing::easing::ease;
use crate::drawing::look::{Look, distance};

/// What is on the wood.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coat {
    /// Nothing.
    Bare,
    /// Clear varnish.
    Varnish,
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

pub fn coated(look: &Look, coat: Coat, second: bool) -> Colour {
    match coat {
        Coat::Bare => wood(look),
        Coat::Varnish => timber::varnished(wood(look)),
        Coat::Paint if second => paints(look).1,
        Coat::Paint => paints(look).0,
    }
}

/// A shining streak on what is freshly coated.
pub fn shine(b: &mut Brush, coat: Coat, from: Point, to: Point, wide: f32) {
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
fn part(b: &mut Brush, t: f32, from: Point, turn: f32, draw: impl FnOnce(&mut Brush)) {
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
    b.polygon(&panel::HOUSE, down(-410.0, 0.0, c.light(0.16), c.dark(0.06)));
    if coat != Coat::Paint {
        upright_grain(b, c, (-150.0, -240.0), (300.0, 230.0));
    }
    b.rect(-165.0, -20.0, 330.0, 20.0, 3.0, coated(look, coat, true).dark(0.12));
    if coat == Coat::Paint {
        let trim = coated(look, coat, true);
        b.oval(ENTRANCE.0, ENTRANCE.1, 80.0, 80.0, trim);
    }
    panel::entrance(b, c, ENTRANCE, 62.0);
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
        b.rect(-226.0, -420.0, 452.0, 420.0, 0.0, down(-420.0, 0.0, c.dark(0.36), c.dark(0.5)));
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
    b.rect(x, top, 36.0, 446.0, 4.0, across(x, x + 36.0, c.light(0.22), c.dark(0.16)));
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
    b.rect(-216.0, y, 432.0, 28.0, 3.0, down(y, y + 28.0, c.light(0.08), c.dark(0.18)));
    grain(b, c.dark(0.35).fade(0.5), (-200.0, y + 3.0), (400.0, 22.0), 31, 2);
    shine(b, finish.1, (-170.0, y + 8.0), (70.0, y + 8.0), 8.0);
    b.rect(
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
pub fn screw_head(b: &mut Brush, at: Point, coat: Coat) {
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
pub fn drains() -> [Point; 4] {
    [(-210.0, -56.0), (-70.0, -56.0), (70.0, -56.0), (210.0, -56.0)]
}

fn drain(b: &mut Brush, c: Colour, at: Point, r: f32) {
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
    b.rect(-326.0, top - d - 12.0, 652.0, 24.0, 4.0, c.light(0.06));
    b.polygon(&[(-346.0, top), (-322.0, top), (-302.0, top - d), (-326.0, top - d)], c.dark(0.12));
    b.polygon(&[(346.0, top), (322.0, top), (302.0, top - d), (326.0, top - d)], c.dark(0.3));
}

fn slat(b: &mut Brush, finish: (Colour, Coat), y: f32) {
    let (c, coat) = finish;
    b.rect(-340.0, y, 680.0, 88.0, 6.0, down(y, y + 88.0, c.light(0.14), c.dark(0.12)));
    if coat != Coat::Paint {
        grain(b, c.dark(0.32).fade(0.6), (-320.0, y + 8.0), (640.0, 72.0), (-y) as u64, 4);
    }
    b.rect(-338.0, y + 1.0, 676.0, 6.0, 3.0, c.light(0.5).fade(0.8));
    b.rect(-338.0, y + 80.0, 676.0, 8.0, 3.0, c.dark(0.4).fade(0.7));
    shine(b, coat, (-270.0, y + 26.0), (-60.0, y + 26.0), 12.0);
}

fn planter_post(b: &mut Brush, finish: (Colour, Coat), x: f32) {
    let c = finish.0.dark(if finish.1 == Coat::Paint { 0.0 } else { 0.2 });
    b.rect(x, -326.0, 56.0, 340.0, 6.0, across(x, x + 56.0, c.light(0.16), c.dark(0.2)));
    b.rect(x + 3.0, -325.0, 50.0, 8.0, 3.0, c.light(0.5));
    shine(b, finish.1, (x + 13.0, -290.0), (x + 13.0, -150.0), 9.0);
}
