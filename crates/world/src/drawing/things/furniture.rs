//! Furniture as kind times state: a kind is a list of boards, a state is how far it is put together and
//! what is on the wood, and every verb draws every pair of them.

use super::joinery::{Coat, arrival, coated, screw_head, shine};
use super::timber::{Face, STAND, grain, splinters, tone};
use crate::drawing::brush::{Brush, Colour, Point, WHITE, between, down};
use crate::drawing::look::Look;
use crate::vocabulary::{Kind, State};

/// A board of a standing thing: its left, top, width and height above the floor at 0, and whether it has
/// the second colour.
type Part = (f32, f32, f32, f32, bool);

/// The boards of a kind, in the order in which they are put together.
pub fn parts(kind: Kind) -> &'static [Part] {
    match kind {
        Kind::Crate => &[
            (-270.0, -300.0, 46.0, 300.0, true),
            (224.0, -300.0, 46.0, 300.0, true),
            (-280.0, -90.0, 560.0, 74.0, false),
            (-280.0, -190.0, 560.0, 74.0, false),
            (-280.0, -290.0, 560.0, 74.0, false),
        ],
        Kind::Bench => &[
            (-270.0, -170.0, 60.0, 170.0, true),
            (210.0, -170.0, 60.0, 170.0, true),
            (-240.0, -80.0, 480.0, 40.0, true),
            (-330.0, -215.0, 660.0, 46.0, false),
            (-310.0, -330.0, 620.0, 60.0, false),
            (-250.0, -350.0, 36.0, 150.0, true),
            (214.0, -350.0, 36.0, 150.0, true),
        ],
        Kind::Tray => &[
            (-300.0, -60.0, 600.0, 60.0, false),
            (-330.0, -130.0, 50.0, 130.0, true),
            (280.0, -130.0, 50.0, 130.0, true),
            (-300.0, -110.0, 600.0, 44.0, false),
        ],
        Kind::Table => &[
            (-260.0, -300.0, 56.0, 300.0, true),
            (204.0, -300.0, 56.0, 300.0, true),
            (-220.0, -290.0, 440.0, 56.0, true),
            (-320.0, -350.0, 640.0, 56.0, false),
            (-220.0, -110.0, 440.0, 34.0, false),
        ],
        Kind::Frame => &[
            (-240.0, -380.0, 60.0, 380.0, false),
            (180.0, -380.0, 60.0, 380.0, false),
            (-240.0, -60.0, 480.0, 60.0, true),
            (-240.0, -400.0, 480.0, 60.0, true),
        ],
        Kind::Ladder => &[
            (-190.0, -430.0, 50.0, 430.0, false),
            (140.0, -430.0, 50.0, 430.0, false),
            (-160.0, -110.0, 320.0, 44.0, true),
            (-160.0, -220.0, 320.0, 44.0, true),
            (-160.0, -330.0, 320.0, 44.0, true),
        ],
        Kind::Chest => &[
            (-280.0, -240.0, 560.0, 110.0, false),
            (-280.0, -130.0, 560.0, 110.0, false),
            (-300.0, -250.0, 50.0, 250.0, true),
            (250.0, -250.0, 50.0, 250.0, true),
            (-320.0, -310.0, 640.0, 60.0, true),
        ],
        Kind::Chair => &[
            (-150.0, -430.0, 46.0, 430.0, true),
            (104.0, -430.0, 46.0, 430.0, true),
            (-180.0, -210.0, 360.0, 46.0, false),
            (-130.0, -420.0, 260.0, 54.0, false),
            (-130.0, -330.0, 260.0, 44.0, false),
            (-120.0, -90.0, 240.0, 34.0, true),
        ],
        _ => &[
            (-290.0, -110.0, 580.0, 44.0, true),
            (-290.0, -320.0, 580.0, 44.0, true),
            (-290.0, -400.0, 74.0, 400.0, false),
            (-170.0, -400.0, 74.0, 400.0, false),
            (-40.0, -400.0, 74.0, 400.0, false),
            (90.0, -400.0, 74.0, 400.0, false),
            (216.0, -400.0, 74.0, 400.0, false),
        ],
    }
}

/// Whether a kind is drawn here.
pub fn draws(kind: Kind) -> bool {
    (Kind::Crate..=Kind::Gate).contains(&kind)
}

/// Highest and farthest point of a kind in a state.
pub fn extent(kind: Kind, state: State) -> (f32, f32) {
    let all = || parts(kind).iter();
    let top = if is_loose(state) { -190.0 } else { all().map(|part| part.1).fold(0.0, f32::min) };
    (top + STAND, all().map(|part| (part.0 + part.2).abs()).fold(0.0, f32::max))
}

/// Where the boards are joined.
pub fn joints(kind: Kind) -> Vec<Point> {
    parts(kind)
        .iter()
        .map(|(x, y, w, h, _)| (x + w - 18.0, y + h.min(60.0) / 2.0 + STAND))
        .collect()
}

/// What is on the wood.
#[derive(Clone, Copy, PartialEq)]
enum Finish {
    Wood(Face),
    Coat(Coat),
}

fn finish(state: State) -> Finish {
    match state {
        State::SandedParts | State::SandedBuilt => Finish::Wood(Face::Smooth),
        State::PaintedParts | State::Painted => Finish::Coat(Coat::Paint),
        State::VarnishedParts | State::Varnished => Finish::Coat(Coat::Varnish),
        _ => Finish::Wood(Face::Rough),
    }
}

/// Whether a state is one of loose boards.
fn is_loose(state: State) -> bool {
    use State::*;
    matches!(state, Parts | SandedParts | PaintedParts | VarnishedParts)
}

/// One in its state.
pub fn draw(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    assembled(b, look, kind, state, if is_loose(state) { 0.0 } else { 1.0 });
}

/// One with the finish of a state, `built` (0..=1) of the way from loose boards.
pub fn assembled(b: &mut Brush, look: &Look, kind: Kind, state: State, built: f32) {
    let all = parts(kind);
    b.moved(0.0, STAND, |b| {
        b.shadow(14.0, 8.0, 380.0, 84.0, 0.5);
        for (i, part) in all.iter().enumerate() {
            let t = arrival(built, i, all.len());
            board(b, look, part, finish(state), (i, t));
        }
    });
}

/// A board on its way from where it lay (0) to its place (1).
fn board(b: &mut Brush, look: &Look, part: &Part, finish: Finish, (i, t): (usize, f32)) {
    let &(x, y, w, h, second) = part;
    let place = (x + w / 2.0, y + h / 2.0);
    let (row, column) = (i / 2, if i.is_multiple_of(2) { -1.0 } else { 1.0 });
    let lie = (column * 130.0 + 40.0 * row as f32 - 40.0, 40.0 - 74.0 * row as f32);
    let at = between(lie, place, t);
    let lying = if h > w { 90.0 } else { 0.0 } + 7.0 * column;
    let lift = -60.0 * (t * std::f32::consts::PI).sin();
    b.placed((at.0, at.1 + lift), lying * (1.0 - t), 1.0, |b| {
        wood(b, look, finish, (w, h), second, i as u64);
        if t >= 1.0 {
            let coat = if let Finish::Coat(coat) = finish { coat } else { Coat::Bare };
            let (dx, dy) = (w / 2.0 - 18.0, h / 2.0 - 18.0);
            screw_head(b, (dx.max(0.0), -dy.max(0.0)), coat);
            screw_head(b, (-dx.max(0.0), dy.max(0.0)), coat);
        }
    });
}

fn wood(b: &mut Brush, look: &Look, finish: Finish, (w, h): Point, second: bool, salt: u64) {
    let (c, coat) = match finish {
        Finish::Wood(face) => (tone(look, face), Coat::Bare),
        Finish::Coat(coat) => (coated(look, coat, second), coat),
    };
    let shade: Colour = if second && coat != Coat::Paint { c.dark(0.12) } else { c };
    let (x, y) = (-w / 2.0, -h / 2.0);
    b.rect(x - 2.0, y + 6.0, w + 4.0, h, 6.0, shade.dark(0.5).fade(0.6));
    b.rect(x, y, w, h, 5.0, down(y, y + h, shade.light(0.14), shade.dark(0.12)));
    if coat != Coat::Paint {
        grain(b, shade.dark(0.3).fade(0.6), (x + 8.0, y + 5.0), (w - 16.0, h - 10.0), salt + 3, 4);
    }
    b.rect(x + 2.0, y + 1.0, w - 4.0, 6.0, 3.0, shade.light(0.5).fade(0.8));
    match finish {
        Finish::Wood(Face::Rough) => splinters(b, shade, (x + 6.0, y), (w - 20.0, h)),
        Finish::Wood(_) => b.polygon(
            &[
                (x + w * 0.3, y + 3.0),
                (x + w * 0.5, y + 3.0),
                (x + w * 0.4, -y - 3.0),
                (x + w * 0.2, -y - 3.0),
            ],
            WHITE.fade(0.3),
        ),
        Finish::Coat(coat) => {
            let far = if w > h { (x + w * 0.45, y + h * 0.35) } else { (x + w * 0.3, y + h * 0.5) };
            shine(b, coat, (x + w * 0.12 + 6.0, y + h * 0.12 + 10.0), far, 11.0);
        }
    }
}
