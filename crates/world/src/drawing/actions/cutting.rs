//! Knife and grater: chopping, slicing, shredding, grating.

use super::Moment;
use crate::drawing::brush::{Brush, Point, WHITE, across, polygon, rgb};
use crate::drawing::easing::{ease, lerp};
use crate::drawing::hands::{self, Hand};
use crate::drawing::kitchen_tools as tools;
use crate::drawing::things::{pieces, vegetables, vessels};
use crate::random::{seeded, unit_of};
use crate::vocabulary::{Kind, State};

/// Knife on a board: the whole shrinks from the right, the heap of pieces grows.
pub fn chop(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, thing, w) = (moment.look, moment.subject(), moment.work());
    vessels::board(b, look, 400.0);
    let (x0, x1, h) = vegetables::extent(look, thing.kind);
    let start = lerp(-60.0, -190.0, w);
    let cut = lerp(x1, x0, w);
    let heap = (lerp(190.0, 20.0, w * w), 16.0);
    let grown = lerp(80.0, 230.0, w);
    if w < 0.98 {
        uncut(b, moment, (start, -6.0), cut, h);
    }
    if w > 0.02 {
        b.moved(heap.0, heap.1, |b| {
            pieces::heap(b, look, thing.kind, thing.after, grown, w.max(0.1))
        });
    }
    flying(b, moment, (start + cut + 60.0, -40.0));
    let hold = (start + lerp(x0 + 40.0, x0 - 60.0, w), -h * 0.8 * (1.0 - 0.5 * w));
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, hold));
    knife(b, moment, start + cut, h);
}

/// What the knife has not reached, with its cut face.
fn uncut(b: &mut Brush, moment: &Moment, at: Point, cut: f32, h: f32) {
    let (look, thing) = (moment.look, moment.subject());
    b.moved(at.0, at.1, |b| {
        if moment.work() <= 0.0 {
            return vegetables::draw(b, look, thing.kind, thing.before);
        }
        vegetables::rest(b, look, thing.kind, thing.before, cut);
        let (x0, x1, _) = vegetables::extent(look, thing.kind);
        let t = ((cut - x0) / (x1 - x0) * 2.0 - 1.0).clamp(-1.0, 1.0);
        let long = matches!(thing.kind, Kind::Cucumber | Kind::Courgette);
        let chord = if long { 1.0 } else { (1.0 - t * t).sqrt() };
        b.moved(cut, -h * 0.5 * (1.0 - chord), |b| {
            vegetables::cut_face(b, look, thing.kind, h * chord)
        });
    });
}

/// The knife going up and down at `x`.
fn knife(b: &mut Brush, moment: &Moment, x: f32, h: f32) {
    let look = moment.look;
    let beat = (moment.seconds * 2.6 * std::f32::consts::PI).sin().abs();
    let lift = (h * 0.62 + 20.0) * beat;
    let at = moment.reach(Hand::Right, (x + 235.0, -118.0 - lift));
    hands::hold(b, look, Hand::Right, at, 156.0 + 10.0 * beat, |b| tools::knife(b, look));
}

/// A few pieces that jump as the knife comes down.
fn flying(b: &mut Brush, moment: &Moment, at: Point) {
    if moment.work() <= 0.02 || moment.work() >= 0.98 {
        return;
    }
    let thing = moment.subject();
    for i in 0..3 {
        let t = (moment.seconds * 1.3 + i as f32 * 0.33).fract();
        let (x, y) = (at.0 + 130.0 * t * (0.5 + unit_of(i, 3)), at.1 - 190.0 * t * (1.0 - t));
        let mut random = seeded(i as u64);
        b.moved(x, y, |b| pieces::piece(b, moment.look, thing.kind, thing.after, &mut random));
    }
}

/// Knife on a board, into rounds that lie in a fan.
pub fn slice(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, thing, w) = (moment.look, moment.subject(), moment.work());
    vessels::board(b, look, 440.0);
    let (x0, x1, h) = vegetables::extent(look, thing.kind);
    let start = lerp(-90.0, -170.0, w);
    let cut = lerp(x1, x0, w);
    if w < 0.98 {
        uncut(b, moment, (start, -10.0), cut, h);
    }
    let count = (w * 22.0) as usize;
    (0..count).for_each(|i| round(b, moment, i, start + cut));
    let hold = (start + lerp(x0 + 70.0, x0 - 90.0, w), -h * 0.9);
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, hold));
    knife(b, moment, start + cut, h);
}

/// The `i`-th slice: it falls over where it was cut and comes to lie in a row.
fn round(b: &mut Brush, moment: &Moment, i: usize, cut: f32) {
    let k = moment.look.tilt;
    let age = ease(moment.work() * 25.0 - i as f32, 0.0, 2.0);
    let (row, col) = ((i / 11) as f32, (i % 11) as f32);
    let lie = (350.0 - 66.0 * col + 22.0 * row, lerp(-78.0, 84.0, row) * k * 1.7 + 6.0);
    let x = lerp(cut + 16.0, lie.0, age);
    let y = lerp(-52.0, lie.1, age);
    b.shadow(x + 4.0, y + 10.0, 64.0, 64.0 * k, 0.25);
    let squash = lerp(1.0, k.max(0.6), age);
    b.placed((x, y), 0.0, lerp(1.1, 1.4, age), |b| {
        b.stretched(1.0, squash, |b| match moment.subject().kind {
            Kind::Cucumber => pieces::cucumber(b, 0.0, lerp(0.45, 1.0, age)),
            kind => b.stretched(lerp(0.45, 1.0, age), 1.0, |b| {
                pieces::piece(b, moment.look, kind, State::Sliced, &mut seeded(i as u64))
            }),
        })
    });
}

/// A box grater: the piece goes up and down, strands fall into a growing heap.
pub fn grate(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, thing, w) = (moment.look, moment.subject(), moment.work());
    vessels::board(b, look, 400.0);
    if moment.progress < 0.06 {
        b.placed((210.0, 0.0), 0.0, 0.8, |b| vegetables::draw(b, look, thing.kind, State::Whole));
    }
    grater(b, moment);
    let stroke = (moment.seconds * 1.5 * std::f32::consts::PI).sin();
    let y = -190.0 + 80.0 * stroke;
    let x = 74.0 - (y + 190.0) * 0.0 + (y + 300.0) * 0.16;
    let lie = (lerp(90.0, 40.0, w), lerp(36.0, 30.0, w));
    if w > 0.01 {
        b.moved(lie.0, lie.1, |b| {
            pieces::heap(b, look, thing.kind, State::Grated, lerp(70.0, 205.0, w), w.max(0.08))
        });
    }
    falling(b, moment, x);
    let size = 1.0 - 0.75 * w;
    let hold = moment.reach(Hand::Right, (x + 60.0 + 60.0 * size, y));
    if moment.progress < 0.95 && moment.presence() > 0.3 {
        b.placed((hold.0 - 60.0 - 60.0 * size, hold.1), 0.0, 1.0, |b| {
            vegetables::block(b, look, thing.kind, size)
        });
    }
    hands::grab(b, look, Hand::Right, hold, 90.0);
    let top = moment.reach(Hand::Left, (-20.0, -372.0));
    hands::grab(b, look, Hand::Left, top, 0.0);
}

fn grater(b: &mut Brush, moment: &Moment) {
    let steel = rgb(0xc9d1d6);
    b.shadow(0.0, 12.0, 190.0, 110.0 * moment.look.tilt, 0.45);
    b.polygon(
        &[(-130.0, 6.0), (-70.0, -340.0), (-110.0, -346.0), (-180.0, -16.0)],
        steel.dark(0.35),
    );
    let face = polygon(&[(-130.0, 6.0), (-70.0, -340.0), (46.0, -340.0), (104.0, 6.0)]);
    b.fill(&face, across(-130.0, 104.0, steel.light(0.5), steel.dark(0.12)));
    for row in 0..9 {
        let y = -300.0 + row as f32 * 32.0;
        let half = 46.0 + (y + 340.0) * 0.15;
        for col in 0..5 {
            let x = -13.0 + (col as f32 - 2.0) * half * 0.42 + if row % 2 == 0 { 0.0 } else { 9.0 };
            b.oval(x, y, 8.0, 6.0, steel.dark(0.5));
            b.line(&[(x - 7.0, y + 5.0), (x + 7.0, y + 5.0)], 4.0, WHITE);
        }
    }
    b.line(
        &[(-72.0, -344.0), (-60.0, -388.0), (36.0, -388.0), (48.0, -344.0)],
        22.0,
        moment.look.handle,
    );
}

fn falling(b: &mut Brush, moment: &Moment, x: f32) {
    if moment.work() <= 0.0 || moment.work() >= 1.0 {
        return;
    }
    for i in 0..7 {
        let t = (moment.seconds * 1.7 + i as f32 / 7.0).fract();
        let at = (x - 14.0 + 40.0 * (unit_of(i, 2) - 0.5) + 30.0 * t, -150.0 + 180.0 * t * t);
        let mut random = seeded(i as u64);
        b.placed(at, 0.0, 0.9, |b| {
            pieces::piece(b, moment.look, moment.subject().kind, State::Grated, &mut random)
        });
    }
}
