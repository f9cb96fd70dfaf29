//! In a bowl: mashing, whisking, tossing.

use super::Moment;
use crate::drawing::brush::{Brush, Point, rgb};
use crate::drawing::easing::{ease, lerp};
use crate::drawing::hands::{self, Hand};
use crate::drawing::kitchen_tools as tools;
use crate::drawing::things::{bowlfuls, pieces, produce, vegetables, vessels};
use crate::random::{seeded, unit_of};
use crate::vocabulary::{Kind, State};

const RIM: f32 = 290.0;
const HIGH: f32 = 150.0;

/// The bowl with its contents and a tool that stands in it, its tip at `tip` (from the level's middle).
fn in_bowl(
    b: &mut Brush,
    moment: &Moment,
    contents: impl FnOnce(&mut Brush),
    tools: impl FnOnce(&mut Brush),
) {
    let look = moment.look;
    vessels::bowl(b, look, look.ware, RIM, HIGH, |b| {
        contents(b);
        b.moved(0.0, 0.0, tools);
    });
}

/// The left hand on the bowl's rim.
fn steady(b: &mut Brush, moment: &Moment) {
    let at = moment.reach(Hand::Left, (-RIM - 6.0, -HIGH + 34.0));
    hands::claw(b, moment.look, Hand::Left, at);
}

/// A tool from the right, tip at `tip` in the space where the level's middle is the origin.
fn tool(
    b: &mut Brush,
    moment: &Moment,
    hand: Hand,
    tip: Point,
    long: f32,
    axis: f32,
    draw: impl FnOnce(&mut Brush),
) {
    let r = axis.to_radians();
    let level = HIGH - RIM * moment.look.tilt * 0.16;
    let grip = (tip.0 - long * r.cos(), tip.1 - long * r.sin() - level);
    let at = moment.reach(hand, grip);
    b.moved(0.0, level, |b| hands::hold(b, moment.look, hand, at, axis, draw));
}

/// A masher goes up and down: halves, chunks, mash.
pub fn mash(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let press = (moment.seconds * 1.5 * std::f32::consts::PI).sin().abs();
    let tip = (40.0 * (moment.seconds * 1.1).sin(), 10.0 - 90.0 * press);
    in_bowl(
        b,
        moment,
        |b| mashing(b, moment, ease(w, 0.05, 0.95), 1.0 - press),
        |b| tool(b, moment, Hand::Right, tip, 214.0, 116.0, |b| tools::masher(b, look)),
    );
    steady(b, moment);
}

fn mashing(b: &mut Brush, moment: &Moment, done: f32, pressed: f32) {
    let (look, k, thing) = (moment.look, moment.look.tilt, moment.subject());
    if produce::draws(thing.kind, thing.after) {
        let (form, cooked) = produce::form(thing.before);
        b.faded(1.0 - ease(done, 0.3, 0.9), |b| {
            produce::heap(b, look, thing.kind, (form, cooked), 200.0, 1.0)
        });
        return b.faded(ease(done, 0.1, 0.7), |b| {
            produce::mash(b, look, thing.kind, lerp(150.0, 228.0, done))
        });
    }
    b.faded(ease(done, 0.1, 0.5), |b| {
        b.stretched(1.0 + 0.03 * pressed, 1.0, |b| pieces::mash(b, look, lerp(150.0, 228.0, done)))
    });
    let left = 1.0 - ease(done, 0.35, 0.8);
    for i in 0..((14.0 * left) as usize) {
        let (r, (s, c)) = (170.0 * unit_of(i, 1).sqrt(), (i as f32 * 2.4).sin_cos());
        let mut random = seeded(i as u64);
        let show = ease(done, 0.05, 0.2);
        b.faded(show, |b| {
            b.placed((r * c, r * s * k - 20.0), 0.0, 1.4, |b| {
                pieces::piece(b, look, thing.kind, State::Chopped, &mut random)
            })
        });
    }
    b.faded(1.0 - ease(done, 0.06, 0.22), |b| {
        b.placed((0.0, 60.0 * k), 0.0, 1.0, |b| vegetables::whole(b, look, thing.kind))
    });
}

/// A whisk runs in circles: the parts become one.
pub fn whisk(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w, k) = (moment.look, moment.work(), moment.look.tilt);
    let angle = moment.seconds * 1.3 * std::f32::consts::TAU;
    let tip = (110.0 * angle.cos(), 100.0 * k * angle.sin());
    let kind = if moment.subject().kind == Kind::Dressing { Kind::Dressing } else { Kind::Batter };
    in_bowl(
        b,
        moment,
        |b| {
            bowlfuls::mixture(
                b,
                look,
                kind,
                262.0,
                ease(w, 0.05, 0.85),
                moment.seconds * 2.0 * moment.presence(),
            );
            b.ring(tip.0, tip.1, 60.0, 60.0 * k, 6.0, rgb(0xffffff).fade(0.5 * moment.presence()));
        },
        |b| {
            tool(b, moment, Hand::Right, tip, 250.0, 118.0 + 6.0 * angle.cos(), |b| {
                tools::whisk(b, look)
            })
        },
    );
    steady(b, moment);
}

/// Two spoons lift the salad until all is through each other and shines.
pub fn toss(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let lift = (moment.seconds * 1.1 * std::f32::consts::PI).sin().abs();
    let jump = lift * moment.presence() * if w > 0.02 && w < 0.98 { 1.0 } else { 0.0 };
    in_bowl(
        b,
        moment,
        |b| {
            bowlfuls::salad(b, look, 250.0, ease(w, 0.05, 0.95), jump);
            shine(b, moment, ease(w, 0.3, 1.0));
        },
        |b| {
            let dip = 20.0 - 60.0 * lift;
            tool(b, moment, Hand::Left, (-120.0, dip), 250.0, 58.0, |b| tools::spoon(b, look));
            tool(b, moment, Hand::Right, (120.0, dip), 250.0, 122.0, |b| tools::spoon(b, look));
        },
    );
}

fn shine(b: &mut Brush, moment: &Moment, t: f32) {
    for i in 0..((18.0 * t) as usize) {
        let (r, (s, c)) = (220.0 * unit_of(i, 81).sqrt(), (i as f32 * 2.4).sin_cos());
        b.oval(r * c, r * s * moment.look.tilt - 36.0, 9.0, 5.0, rgb(0xfff2b0).fade(0.85));
    }
}
