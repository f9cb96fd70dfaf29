//! At the bench, putting together and finishing: glue, clamps, nails, screws, paint, varnish.

use super::Moment;
use super::bench::{busy, to_tip};
use crate::drawing::bench_tools as tools;
use crate::drawing::brush::{Brush, Colour, Point, WHITE, across, polygon, rgb, towards};
use crate::drawing::easing::{ease, lerp, wave};
use crate::drawing::hands::{self, Hand};
use crate::drawing::things::joinery::{self, Coat};
use crate::drawing::things::timber::{self, GLUE, STAND};
use crate::drawing::things::{self, furniture, panel, stool};
use crate::random::unit_of;
use crate::vocabulary::{Kind, State};

/// A bead of glue runs along a panel's edge, or over the tops of legs.
pub fn glue(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let tip = if moment.subject().kind == Kind::Leg {
        timber::legs_standing(b, look, w * 3.0);
        let i = (w * 3.0).min(2.9);
        (-190.0 + 190.0 * i.floor() + 22.0 * wave(moment.seconds, 0.9), -312.0)
    } else {
        panel::draw(b, look, 62.0, w);
        panel::bead_end(w)
    };
    if busy(moment) {
        b.limb(tip, 12.0, (tip.0 + 8.0, tip.1 - 30.0), 14.0, GLUE);
    }
    let hold = if moment.subject().kind == Kind::Leg { (-330.0, -60.0) } else { (-230.0, -120.0) };
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, hold));
    to_tip(b, moment, (tip.0 + 6.0, tip.1 - 26.0), 205.0, 142.0, |b| tools::glue_bottle(b, look));
}

/// Clamps come in from both sides, their spindles turn, glue oozes out.
pub fn clamp(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let (on, turn) = (ease(w, 0.0, 0.3), ease(w, 0.32, 0.92));
    let thing = moment.subject();
    let mut high = 1.0; // of a stool
    if furniture::draws(thing.kind) {
        things::draw(b, look, thing.kind, thing.before);
        high = (furniture::extent(thing.kind, thing.before).0 - STAND - 60.0) / -430.0;
    } else {
        stool::draw(b, look, Coat::Bare, lerp(0.3, 1.0, turn));
    }
    let down = STAND * (1.0 - high); // what they stand on stays where it is
    b.moved(0.0, down, |b| b.stretched(1.0, high, |b| stool::clamps(b, look, on, turn)));
    let away = 460.0 * (1.0 - on);
    let twist = 16.0 * wave(moment.seconds, 1.6) * if w > 0.32 && busy(moment) { 1.0 } else { 0.0 };
    let (low, bar) = (24.0 + STAND, -250.0 + STAND);
    let right =
        (135.0 + away + twist, if w < 0.32 { lerp(bar, low, ease(w, 0.2, 0.32)) } else { low });
    hands::grab(b, look, Hand::Right, moment.reach(Hand::Right, right), 8.0 + twist);
    hands::grab(b, look, Hand::Left, moment.reach(Hand::Left, (-265.0 - away, bar)), 86.0);
}

/// The hammer comes down on nail after nail as the house goes up.
pub fn nail(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let spots = nailed(b, moment);
    let done = w * spots.len() as f32;
    let i = (done as usize).min(spots.len() - 1);
    let spot = spots[i];
    let beat = wave(moment.seconds, 1.7).max(-0.2);
    let sunk = ease(done.fract(), 0.5, 1.0);
    if busy(moment) {
        driven(b, spot, sunk);
    }
    let raise = if busy(moment) { 26.0 * (1.0 - beat) } else { 20.0 };
    // the head strikes downwards, so the handle stands off to the right of the nail
    let grip = (spot.0 + 210.0, spot.1 - 68.0 - 44.0 * (1.0 - beat) - 44.0 * (1.0 - sunk));
    hands::hold(b, look, Hand::Right, moment.reach(Hand::Right, grip), 180.0 + raise * 0.7, |b| {
        tools::hammer(b, look)
    });
    if beat > 0.9 && busy(moment) {
        spark(b, (spot.0, spot.1 - 40.0 * (1.0 - sunk)));
    }
    let hold = [(-200.0, 10.0), (-205.0, -70.0), (-230.0, -150.0), (-235.0, -150.0)][i.min(3)];
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, hold));
}

/// Draws what is nailed and returns where the nails go.
fn nailed(b: &mut Brush, moment: &Moment) -> Vec<Point> {
    let (look, thing, w) = (moment.look, moment.subject(), moment.work());
    if furniture::draws(thing.kind) {
        furniture::assembled(b, look, thing.kind, thing.before, w);
        return furniture::joints(thing.kind);
    }
    joinery::birdhouse(b, look, w, Coat::Bare);
    vec![(146.0, 10.0), (150.0, -130.0), (-100.0, -250.0), (104.0, -246.0)]
}

fn driven(b: &mut Brush, at: Point, sunk: f32) {
    let up = 46.0 * (1.0 - sunk);
    b.rect(at.0 - 4.0, at.1 - up, 8.0, up + 4.0, 2.0, rgb(0x9aa3aa));
    b.rect(at.0 - 13.0, at.1 - up - 7.0, 26.0, 9.0, 3.0, rgb(0xd3dadf));
}

fn spark(b: &mut Brush, at: Point) {
    for i in 0..5 {
        let a = -160.0 + 35.0 * i as f32;
        let from = towards(at, a, 30.0);
        b.line(&[from, towards(at, a, 58.0)], 7.0, WHITE.fade(0.9));
    }
}

/// The screwdriver turns in screw after screw as the parts come together.
pub fn screw(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let shelf = moment.subject().kind == Kind::Bookshelf;
    let kind = moment.subject().kind;
    let (spots, hold): (Vec<Point>, Point) = if furniture::draws(kind) {
        furniture::assembled(b, look, kind, moment.subject().before, w);
        let half = furniture::extent(kind, moment.subject().before).1;
        (furniture::joints(kind), (-half - 20.0, -100.0))
    } else if shelf {
        joinery::bookshelf(b, look, w, Coat::Bare);
        let first = (250.0, -300.0 + STAND);
        let rest = joinery::SHELVES.iter().map(|y| (250.0, y + 14.0 + STAND));
        (std::iter::once(first).chain(rest).collect(), (-262.0, -230.0))
    } else {
        joinery::planter(b, look, w, 0.0, Coat::Bare);
        let side = |x: f32, y: f32| (x, y + STAND);
        (
            vec![
                side(-324.0, -60.0),
                side(324.0, -60.0),
                side(324.0, -154.0),
                side(324.0, -248.0),
                side(324.0, -100.0),
            ],
            (-350.0, -150.0),
        )
    };
    let done = w * spots.len() as f32;
    let tip = super::bench::hop(&spots, done, 0.0);
    let sunk = ease(done.fract(), 0.5, 0.95);
    let out = 40.0 * (1.0 - sunk);
    if busy(moment) {
        let axis = if shelf { 0.0 } else { -28.0 };
        b.placed(tip, axis, 1.0, |b| screw_out(b, out));
    }
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, hold));
    let axis = if shelf { 180.0 } else { 152.0 };
    let end = towards(tip, axis + 180.0, out + 4.0);
    to_tip(b, moment, end, 252.0, axis, |b| tools::screwdriver(b, look, moment.seconds * 2.2));
}

/// A screw that stands out by `out` along x.
fn screw_out(b: &mut Brush, out: f32) {
    b.rect(0.0, -6.0, out, 12.0, 2.0, across(0.0, out.max(1.0), rgb(0x9aa3aa), rgb(0xd3dadf)));
    (0..4).for_each(|i| {
        b.line(
            &[(out * i as f32 / 4.0, -7.0), (out * i as f32 / 4.0 + 4.0, 7.0)],
            3.0,
            rgb(0x6e7880),
        )
    });
    b.rect(out - 3.0, -13.0, 9.0, 26.0, 4.0, rgb(0xc8d0d6));
}

/// A brush covers the thing from the top in broad strokes; a tin stands by.
pub fn coat(b: &mut Brush, moment: &Moment) {
    let (look, thing, w) = (moment.look, moment.subject(), moment.work());
    let paint = matches!(thing.after, State::Painted | State::PaintedParts);
    let colour = if paint { joinery::paints(look).0 } else { rgb(0xb5651d) };
    tin(b, moment, colour);
    let (top, half) = match thing.kind {
        Kind::PlanterBox => (-270.0 - 150.0 * look.tilt, 350.0),
        Kind::Stool => (-324.0 - 180.0 * look.tilt, 210.0),
        Kind::Bookshelf => (-380.0, 240.0),
        kind if furniture::draws(kind) => furniture::extent(kind, thing.before),
        _ => (-390.0, 230.0),
    };
    let covered = ease(w, if thing.before == State::Clamped { 0.16 } else { 0.02 }, 0.97);
    let edge = lerp(top, 40.0 + STAND, covered);
    let turn = moment.seconds * 0.62;
    let x = half * 0.82 * (turn * std::f32::consts::TAU).sin();
    bare(b, moment, w);
    wet(b, moment, edge, x);
    drips(b, moment, (x, edge), colour);
    let tip = (x, edge.min(4.0 + STAND) + 8.0);
    let sway = 10.0 * (turn * std::f32::consts::TAU).cos();
    to_tip(b, moment, tip, 222.0, 142.0 + sway, |b| tools::brush(b, look, colour));
    let hold = (-half - 40.0, 0.0);
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, hold));
}

/// The thing before; clamps come off a clamped one first.
fn bare(b: &mut Brush, moment: &Moment, w: f32) {
    let (look, thing) = (moment.look, moment.subject());
    match thing.kind {
        Kind::Stool => {
            let off = ease(w, 0.03, 0.16);
            stool::draw(b, look, Coat::Bare, 1.0 - off);
            b.faded(1.0 - off, |b| stool::clamps(b, look, 1.0 - off * 0.999, 1.0 - off));
        }
        kind => things::draw(b, look, kind, thing.before),
    }
}

/// The thing after, down to a ragged wet edge that is lower where the brush has been.
fn wet(b: &mut Brush, moment: &Moment, edge: f32, x: f32) {
    let (look, thing) = (moment.look, moment.subject());
    if moment.work() >= 0.985 {
        return things::draw(b, look, thing.kind, thing.after);
    }
    if moment.work() <= 0.02 {
        return;
    }
    let mut outline = vec![(-700.0, -900.0), (700.0, -900.0)];
    for i in 0..=28 {
        let at = 700.0 - 50.0 * i as f32;
        let near = (1.0 - ((at - x) / 150.0).abs()).max(0.0);
        let ragged = 26.0 * (unit_of(i, 17) - 0.5);
        outline.push((at, edge + ragged + 26.0 * near));
    }
    b.clipped(&polygon(&outline), |b| {
        things::draw(b, look, thing.kind, thing.after);
    });
}

fn drips(b: &mut Brush, moment: &Moment, at: Point, c: Colour) {
    if !busy(moment) {
        return;
    }
    for i in 0..3 {
        let t = (moment.seconds * 0.9 + i as f32 * 0.37).fract();
        let (x, y) = (at.0 - 20.0 + 22.0 * i as f32, at.1 + 12.0 + 110.0 * t * t);
        b.limb((x, y - 10.0), 4.0, (x, y), 11.0, c.fade(0.9 * (1.0 - t)));
    }
}

/// An open tin of paint or varnish at the side.
fn tin(b: &mut Brush, moment: &Moment, c: Colour) {
    let (x, y, k) = (440.0, 96.0, moment.look.tilt);
    let steel = rgb(0xc9d0d5);
    b.shadow(x + 10.0, y, 120.0, 46.0, 0.45);
    b.rect(
        x - 84.0,
        y - 150.0,
        168.0,
        158.0,
        16.0,
        across(x - 84.0, x + 84.0, steel.light(0.4), steel.dark(0.35)),
    );
    b.rect(
        x - 84.0,
        y - 118.0,
        168.0,
        92.0,
        0.0,
        across(x - 84.0, x + 84.0, c.light(0.15), c.dark(0.25)),
    );
    b.rect(x - 84.0, y - 96.0, 168.0, 26.0, 0.0, WHITE.fade(0.75));
    b.oval(x, y - 150.0, 86.0, 86.0 * k * 0.8, steel.light(0.3));
    b.oval(x, y - 148.0, 74.0, 74.0 * k * 0.76, c);
    b.oval(x - 22.0, y - 154.0, 30.0, 12.0 * k, WHITE.fade(0.5));
    b.limb((x - 60.0, y - 140.0), 20.0, (x - 60.0, y - 104.0), 15.0, c);
}
