//! In a bowl: mashing, whisking, tossing.

use super::Shot;
use crate::stage::brush::{Brush, Spot, rgb};
use crate::stage::dice::{Dice, chance_of, ease, lerp};
use crate::stage::hands::{self, Hand};
use crate::stage::props::{bowlfuls, pieces, vegetables, wares};
use crate::stage::tools;
use crate::vocabulary::{Kind, State};

const RIM: f32 = 290.0;
const HIGH: f32 = 150.0;

/// The bowl with its contents and a tool that stands in it, its tip at `tip` (from the level's middle).
fn in_bowl(
    b: &mut Brush,
    shot: &Shot,
    contents: impl FnOnce(&mut Brush),
    tools: impl FnOnce(&mut Brush),
) {
    let look = shot.look;
    wares::bowl(b, look, look.ware, RIM, HIGH, |b| {
        contents(b);
        b.moved(0.0, 0.0, tools);
    });
}

/// The left hand on the bowl's rim.
fn steady(b: &mut Brush, shot: &Shot) {
    let at = shot.reach(Hand::Left, (-RIM - 6.0, -HIGH + 34.0));
    hands::claw(b, shot.look, Hand::Left, at);
}

/// A tool from the right, tip at `tip` in the space where the level's middle is the origin.
fn tool(
    b: &mut Brush,
    shot: &Shot,
    hand: Hand,
    tip: Spot,
    long: f32,
    axis: f32,
    draw: impl FnOnce(&mut Brush),
) {
    let r = axis.to_radians();
    let level = HIGH - RIM * shot.look.tilt * 0.16;
    let grip = (tip.0 - long * r.cos(), tip.1 - long * r.sin() - level);
    let at = shot.reach(hand, grip);
    b.moved(0.0, level, |b| hands::hold(b, shot.look, hand, at, axis, draw));
}

/// A masher goes up and down: halves, chunks, mash.
pub fn mash(b: &mut Brush, shot: &Shot) {
    shot.stand_by(b);
    let (look, w) = (shot.look, shot.work());
    let press = (shot.seconds * 1.5 * std::f32::consts::PI).sin().abs();
    let tip = (40.0 * (shot.seconds * 1.1).sin(), 10.0 - 90.0 * press);
    in_bowl(
        b,
        shot,
        |b| mashing(b, shot, ease(w, 0.05, 0.95), 1.0 - press),
        |b| tool(b, shot, Hand::Right, tip, 214.0, 116.0, |b| tools::masher(b, look)),
    );
    steady(b, shot);
}

fn mashing(b: &mut Brush, shot: &Shot, done: f32, pressed: f32) {
    let (look, k) = (shot.look, shot.look.tilt);
    b.faded(ease(done, 0.1, 0.5), |b| {
        b.stretched(1.0 + 0.03 * pressed, 1.0, |b| pieces::mash(b, look, lerp(150.0, 228.0, done)))
    });
    let left = 1.0 - ease(done, 0.35, 0.8);
    for i in 0..((14.0 * left) as usize) {
        let (r, (s, c)) = (170.0 * chance_of(i, 1).sqrt(), (i as f32 * 2.4).sin_cos());
        let mut dice = Dice::new(i as u64);
        let show = ease(done, 0.05, 0.2);
        b.faded(show, |b| {
            b.placed((r * c, r * s * k - 20.0), 0.0, 1.4, |b| {
                pieces::piece(b, look, shot.subject().kind, State::Chopped, &mut dice)
            })
        });
    }
    b.faded(1.0 - ease(done, 0.06, 0.22), |b| {
        b.placed((0.0, 60.0 * k), 0.0, 1.0, |b| vegetables::whole(b, look, shot.subject().kind))
    });
}

/// A whisk runs in circles: the parts become one.
pub fn whisk(b: &mut Brush, shot: &Shot) {
    shot.stand_by(b);
    let (look, w, k) = (shot.look, shot.work(), shot.look.tilt);
    let angle = shot.seconds * 1.3 * std::f32::consts::TAU;
    let tip = (110.0 * angle.cos(), 100.0 * k * angle.sin());
    let kind = if shot.subject().kind == Kind::Dressing { Kind::Dressing } else { Kind::Batter };
    in_bowl(
        b,
        shot,
        |b| {
            bowlfuls::mixture(
                b,
                look,
                kind,
                262.0,
                ease(w, 0.05, 0.85),
                shot.seconds * 2.0 * shot.presence(),
            );
            b.ring(tip.0, tip.1, 60.0, 60.0 * k, 6.0, rgb(0xffffff).fade(0.5 * shot.presence()));
        },
        |b| {
            tool(b, shot, Hand::Right, tip, 250.0, 118.0 + 6.0 * angle.cos(), |b| {
                tools::whisk(b, look)
            })
        },
    );
    steady(b, shot);
}

/// Two spoons lift the salad until all is through each other and shines.
pub fn toss(b: &mut Brush, shot: &Shot) {
    shot.stand_by(b);
    let (look, w) = (shot.look, shot.work());
    let lift = (shot.seconds * 1.1 * std::f32::consts::PI).sin().abs();
    let jump = lift * shot.presence() * if w > 0.02 && w < 0.98 { 1.0 } else { 0.0 };
    in_bowl(
        b,
        shot,
        |b| {
            bowlfuls::salad(b, look, 250.0, ease(w, 0.05, 0.95), jump);
            shine(b, shot, ease(w, 0.3, 1.0));
        },
        |b| {
            let dip = 20.0 - 60.0 * lift;
            tool(b, shot, Hand::Left, (-120.0, dip), 250.0, 58.0, |b| tools::spoon(b, look));
            tool(b, shot, Hand::Right, (120.0, dip), 250.0, 122.0, |b| tools::spoon(b, look));
        },
    );
}

fn shine(b: &mut Brush, shot: &Shot, t: f32) {
    for i in 0..((18.0 * t) as usize) {
        let (r, (s, c)) = (220.0 * chance_of(i, 81).sqrt(), (i as f32 * 2.4).sin_cos());
        b.oval(r * c, r * s * shot.look.tilt - 36.0, 9.0, 5.0, rgb(0xfff2b0).fade(0.85));
    }
}
