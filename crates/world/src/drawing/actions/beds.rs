//! In the bed: digging, mixing in, planting out, staking, mulching, pruning.

use super::Moment;
use super::bench::{busy, to_tip};
use super::potting::falling;
use crate::drawing::brush::{Brush, Point, between, towards};
use crate::drawing::easing::{ease, lerp, wave};
use crate::drawing::garden_tools as tools;
use crate::drawing::hands::{self, Hand};
use crate::drawing::look::Look;
use crate::drawing::things::{self, crops, earth, greens, plants};
use crate::random::unit_of;
use crate::vocabulary::{Kind, State, Thing};

/// A long tool with its end at `tip`, both hands on its shaft.
fn long_tool(b: &mut Brush, moment: &Moment, tip: Point, axis: f32, tool: impl FnOnce(&mut Brush)) {
    let look = moment.look;
    let grip = towards(tip, axis + 180.0, 370.0);
    let at = moment.reach(Hand::Right, grip);
    hands::hold(b, look, Hand::Right, at, axis, tool);
    let lower = towards(at, axis, 130.0);
    hands::grab(b, look, Hand::Left, moment.reach(Hand::Left, lower), axis);
}

/// Down into the soil, up with a load, over to the heap: a number of times.
fn dig_way(seconds: f32) -> (Point, f32) {
    let t = (seconds * 0.55).fract();
    let (into, over) = (ease(t, 0.0, 0.25), ease(t, 0.4, 0.65) * (1.0 - ease(t, 0.85, 1.0)));
    let lift = ease(t, 0.28, 0.42) * (1.0 - ease(t, 0.9, 1.0));
    let tip = (lerp(-10.0, 200.0, over), lerp(-40.0, 26.0, into) - 120.0 * lift);
    (tip, lift * (1.0 - ease(t, 0.66, 0.76)))
}

/// The spade throws out a hole; earth piles up beside it.
pub fn dig(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    earth::bed(b, look, 0.2, |b| {
        earth::weeds(b, look, w * 1.1);
        earth::hole(b, look, ease(w, 0.05, 0.95), 0.2);
    });
    let (tip, load) = dig_way(moment.seconds);
    if busy(moment) {
        falling(b, moment, (tip.0, tip.1 + 6.0), 90.0, 10);
    }
    let load = if busy(moment) { load } else { 0.0 };
    long_tool(b, moment, tip, 114.0, |b| tools::spade(b, look, earth::soil(0.5), load));
}

/// Compost lies in a heap; the fork turns it under until the bed is dark.
pub fn mix_in(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    earth::bed(b, look, lerp(0.2, 0.95, ease(w, 0.2, 1.0)), |b| {
        let shut = 1.0 - ease(w, 0.0, 0.3);
        earth::hole(b, look, shut, 0.2);
        plants::furrows(b, look, ease(w, 0.2, 0.98));
        let left = ease(w, 0.0, 0.12) * (1.0 - ease(w, 0.2, 0.95));
        if left > 0.05 {
            b.moved(lerp(-60.0, 260.0, w), -6.0, |b| {
                earth::heap(b, earth::soil(1.0).dark(0.2), 230.0 * left.sqrt(), 0.5)
            });
        }
    });
    let t = (moment.seconds * 0.8).fract();
    let stab = (t * std::f32::consts::PI).sin();
    let tip = (
        lerp(-300.0, 300.0, ease(w, 0.1, 0.95)) + 30.0 * wave(moment.seconds, 0.8),
        30.0 - 90.0 * stab,
    );
    if busy(moment) {
        falling(b, moment, (tip.0 - 20.0, tip.1 - 20.0), 90.0, 14);
    }
    long_tool(b, moment, tip, 108.0, |b| tools::fork(b, look));
}

/// A plant with its roots goes into the hole; hands fill it and press the soil down.
pub fn transplant(b: &mut Brush, moment: &Moment) {
    let (look, w, thing) = (moment.look, moment.work(), moment.subject());
    let lettuce = thing.kind == Kind::LettuceSeedling;
    if w >= 1.0 {
        b.placed((-470.0, 100.0), 0.0, 0.5, |b| earth::pot(b, look, 0.0, 0.0, |_| {}));
        things::draw(b, look, thing.kind, thing.after);
        return press_down(b, moment, (0.0, -4.0), (1.0, 1.0));
    }
    let (out, press) = (ease(w, 0.04, 0.5), ease(w, 0.55, 0.95));
    let start = (-440.0, -60.0);
    let way = between(start, (0.0, -4.0), out);
    let lift = 210.0 * (out * std::f32::consts::PI).sin().max(0.0);
    let at = (way.0, way.1 - lift);
    earth::bed(b, look, lerp(0.4, 0.55, w), |b| {
        if lettuce {
            [-270.0, 270.0].iter().enumerate().for_each(|(i, x)| {
                if w > 0.72 + 0.14 * i as f32 {
                    b.moved(*x, 14.0, |b| greens::lettuce(b, look, 1.0));
                }
            });
        }
        earth::hole(b, look, 0.62 * (1.0 - press), 0.4);
        if out >= 0.98 {
            earth::heap(b, earth::soil(0.6), 120.0 * press.max(0.05), 0.22);
            b.moved(0.0, -18.0 * press, |b| young(b, look, thing, false));
        }
    });
    b.placed((-470.0, 100.0), 0.0, 0.5, |b| earth::pot(b, look, 0.0, 0.0, |_| {}));
    if out < 0.98 {
        b.moved(at.0, at.1, |b| young(b, look, thing, true));
    }
    press_down(b, moment, at, (out, press));
}

/// Both hands carry the plant by its roots, then press the soil around it.
fn press_down(b: &mut Brush, moment: &Moment, at: Point, phase: (f32, f32)) {
    let (out, press) = phase;
    let pat = 18.0 * wave(moment.seconds, 1.2) * if press > 0.0 { 1.0 } else { 0.0 };
    let apart = lerp(74.0, 170.0, ease(press, 0.0, 0.15));
    let low = lerp(at.1 + 44.0, 10.0, ease(out, 0.9, 1.0));
    hands::claw(
        b,
        moment.look,
        Hand::Left,
        moment.reach(Hand::Left, (at.0 - apart, low - 30.0 + pat)),
    );
    hands::claw(
        b,
        moment.look,
        Hand::Right,
        moment.reach(Hand::Right, (at.0 + apart, low - 30.0 - pat)),
    );
    if press > 0.0 && busy(moment) {
        falling(b, moment, (at.0, -70.0), 80.0, 10);
    }
}

/// A young plant, with its roots in sight or not.
fn young(b: &mut Brush, look: &Look, thing: Thing, roots: bool) {
    if roots {
        greens::root_ball(b);
    }
    match thing.kind {
        kind if crops::draws(kind) => {
            crops::plant(b, look, kind, crops::growth(thing.before), 0);
        }
        Kind::LettuceSeedling => greens::lettuce(b, look, if roots { 0.8 } else { 1.0 }),
        Kind::Rose => greens::rose(b, look, 1.0, 34.0),
        _ => greens::tomato(b, look, 0.6, 0, 0.0),
    }
}

/// The stake goes in beside the stem, then string after string is tied.
pub fn stake(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let (down, ties) = (ease(w, 0.04, 0.38), 3.0 * ease(w, 0.46, 0.94));
    earth::bed(b, look, 0.55, |b| {
        earth::heap(b, earth::soil(0.6), 110.0, 0.22);
        let shown = ease(w, 0.0, 0.05);
        b.faded(shown, |b| greens::stake(b, look, down, ties));
        // the plant straightens as it is tied
        let lean = 9.0 * (1.0 - ties / 3.0);
        b.placed((0.0, -18.0), -lean, 1.0, |b| match moment.subject().kind {
            kind if crops::draws(kind) => crops::plant(b, look, kind, 0.55, 0),
            _ => greens::tomato(b, look, lerp(0.6, 0.72, w), 0, 0.0),
        });
        if ties > 0.0 {
            tied(b, ties);
        }
    });
    let y = -110.0 - 96.0 * (ties.min(2.9)).floor();
    let (left, right) = if down < 1.0 || ties <= 0.0 {
        let top = -400.0 - 260.0 * (1.0 - down);
        ((-230.0, -60.0), (44.0, (top + 120.0).max(-430.0)))
    } else {
        (
            (-70.0 + 10.0 * wave(moment.seconds, 1.3), y),
            (120.0 + 14.0 * wave(moment.seconds, 1.3), y + 6.0),
        )
    };
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, left));
    let at = moment.reach(Hand::Right, right);
    if ties <= 0.0 {
        hands::grab(b, look, Hand::Right, at, 88.0);
    } else {
        hands::pinch(b, look, Hand::Right, at, |b| {
            b.line(
                &[(0.0, 0.0), (-30.0, -10.0), (-70.0, -4.0)],
                7.0,
                crate::drawing::brush::rgb(0xfff2c8),
            );
        });
    }
}

/// The strings, in front of the stem.
fn tied(b: &mut Brush, ties: f32) {
    for i in 0..(ties.ceil() as usize).min(3) {
        let (y, part) = (-110.0 - 96.0 * i as f32, (ties - i as f32).clamp(0.0, 1.0));
        let string = crate::drawing::brush::rgb(0xfff2c8);
        b.line(&[(-12.0, y), (14.0, y + 15.0 * part), (52.0, y)], 9.0, string);
    }
}

/// Handfuls of straw cover the soil from the left.
pub fn mulch(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w, thing) = (moment.look, moment.work(), moment.subject());
    let d = earth::BED.1 * look.tilt * 0.5;
    let cover = ease(w, 0.03, 0.97);
    let rose = thing.kind == Kind::Rose;
    let crop = crops::draws(thing.kind);
    earth::bed(b, look, if rose || crop { 0.35 } else { 0.95 }, |b| {
        if crop {
            earth::straw(b, (390.0, d * 0.84), 40.0 * look.tilt, cover, 190);
            crops::stand(b, look, thing.kind, thing.before);
        } else if rose {
            match thing.before {
                State::Pruned => greens::overgrown(b, look, greens::STEMS.len()),
                _ => greens::rose(b, look, 1.0, 34.0),
            }
            earth::straw(b, (390.0, d * 0.84), 40.0 * look.tilt, cover, 190);
        } else {
            plants::furrows(b, look, 1.0);
            earth::straw(b, (405.0, d * 0.86), 0.0, cover, 230);
        }
    });
    let x = lerp(-360.0, 340.0, cover);
    let at = (x + 60.0 * wave(moment.seconds, 0.7), -150.0 + 16.0 * wave(moment.seconds, 1.4));
    if busy(moment) {
        strewn(b, moment, at);
    }
    let left = moment.reach(Hand::Left, (at.0 - 90.0, at.1 + 10.0));
    let right = moment.reach(Hand::Right, (at.0 + 70.0, at.1));
    b.faded(if busy(moment) { 1.0 } else { 0.0 }, |b| {
        b.moved((left.0 + right.0) / 2.0, (left.1 + right.1) / 2.0 + 34.0, |b| {
            earth::straw(b, (100.0, 44.0), 0.0, 1.0, 34)
        });
    });
    hands::claw(b, look, Hand::Left, left);
    hands::claw(b, look, Hand::Right, right);
}

fn strewn(b: &mut Brush, moment: &Moment, at: Point) {
    for i in 0..14 {
        let t = (moment.seconds * 1.3 + unit_of(i, 67)).fract();
        let (x, y) = (at.0 + 220.0 * (unit_of(i, 68) - 0.5), at.1 + 50.0 + 130.0 * t * t);
        let (s, c) = (t * 5.0 + i as f32).sin_cos();
        b.line(
            &[(x - 24.0 * c, y - 10.0 * s), (x + 24.0 * c, y + 10.0 * s)],
            8.0,
            crate::drawing::brush::rgb(0xf6d878),
        );
    }
}

/// Secateurs take one long stem after another; the cuttings fall.
pub fn prune(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let count = greens::STEMS.len();
    let done = w * count as f32;
    let cut = (done as usize).min(count);
    earth::bed(b, look, 0.35, |b| greens::overgrown(b, look, cut));
    if w < 1.0 && cut > 0 {
        dropping(b, look, cut - 1, ease(done.fract(), 0.0, 0.8));
    }
    (0..cut.saturating_sub(1))
        .for_each(|i| b.faded(1.0 - ease(w, 0.96, 1.0), |b| cutting(b, look, i)));
    let i = cut.min(count - 1);
    let aim = |i: usize| greens::stem_end(i, greens::STEMS[i].2.max(26.0));
    let t = ease(done.fract(), 0.1, 0.55);
    let at = between(aim(i.saturating_sub(1)), aim(i), t);
    let open = if busy(moment) { 1.0 - ease(done.fract(), 0.75, 0.98) } else { 0.6 };
    let held = greens::stem_end(i, greens::STEMS[i].1 * 0.8);
    let reach = (held.0.clamp(-240.0, 120.0), held.1.max(-300.0));
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (reach.0 - 30.0, reach.1)));
    to_tip(b, moment, at, 170.0, 160.0, |b| tools::secateurs(b, look, open));
}

/// A stem that has just been cut, on its way down.
fn dropping(b: &mut Brush, look: &Look, i: usize, t: f32) {
    let (_, long, short) = greens::STEMS[i];
    let side = greens::STEMS[i].0.signum();
    b.placed((side * 150.0 * t, 170.0 * t * t), side * 50.0 * t, 1.0, |b| {
        greens::stem(b, look, i, short, long, 0.0);
    });
}

/// A cutting that lies before the bed.
fn cutting(b: &mut Brush, look: &Look, i: usize) {
    let x = -390.0 + 98.0 * i as f32;
    let y = earth::BED.1 * look.tilt * 0.5 + 40.0 + 16.0 * unit_of(i, 81);
    b.placed((x, y), if i.is_multiple_of(2) { 74.0 } else { -82.0 }, 0.62, |b| {
        greens::stem(b, look, 6, 0.0, 230.0, 0.0)
    });
}
