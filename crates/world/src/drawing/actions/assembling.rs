//! Putting dishes together: spreading, filling, topping, squeezing, drizzling.

use super::Moment;
use crate::drawing::brush::{Brush, Point, WHITE, rgb};
use crate::drawing::easing::{ease, lerp, wave};
use crate::drawing::hands::{self, Hand};
use crate::drawing::kitchen_tools as tools;
use crate::drawing::things::{self, dishes, pieces, produce, vegetables, vessels};
use crate::random::{seeded, unit_of};
use crate::vocabulary::{Kind, State};

/// Two hands part a heap of chips until they lie in one layer on the tray.
pub fn spread(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    vessels::tray(b, look, 400.0, |b| {
        b.placed((0.0, 0.0), 0.0, 1.16, |b| {
            dishes::chips_between(b, look, ease(w, 0.05, 0.95), 0.0)
        })
    });
    let apart = lerp(220.0, 350.0, ease(w, 0.05, 0.9)) + 26.0 * wave(moment.seconds, 0.8);
    let down = -50.0 + 26.0 * wave(moment.seconds, 0.55) * look.tilt;
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-apart, down)));
    hands::claw(b, look, Hand::Right, moment.reach(Hand::Right, (apart, down - 6.0)));
}

/// A spoon goes from the bowl to the shells and fills one after the other.
pub fn fill(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    b.placed((0.0, 0.0), 0.0, 1.12, |b| dishes::tacos(b, look, w));
    let target = -176.0 + 176.0 * (w * 3.0).floor().min(2.0);
    let dip = wave(moment.seconds, 0.5);
    let tip = (target * 1.12 + 20.0, -230.0 - 50.0 * dip.max(0.0));
    falling(b, moment, tip, -180.0, Kind::Mince, State::Cooked);
    let at = moment.reach(Hand::Right, (tip.0 + 190.0, tip.1 - 100.0));
    hands::hold(b, look, Hand::Right, at, 152.0 + 10.0 * dip, |b| {
        tools::scoop(b, look, |b| b.placed((0.0, 0.0), 0.0, 0.9, |b| spoonful(b, moment)));
    });
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-400.0, -20.0)));
}

fn spoonful(b: &mut Brush, moment: &Moment) {
    let with =
        moment.action.things.get(1).map_or((Kind::Mince, State::Cooked), |t| (t.kind, t.after));
    for i in 0..6 {
        let mut random = seeded(i as u64);
        let at = (-34.0 + 14.0 * i as f32, -8.0 - 9.0 * (i % 3) as f32);
        b.moved(at.0, at.1, |b| pieces::piece(b, moment.look, with.0, with.1, &mut random));
    }
}

/// Pieces that fall from `from` to the height `floor`.
fn falling(b: &mut Brush, moment: &Moment, from: Point, floor: f32, kind: Kind, state: State) {
    if moment.work() <= 0.0 || moment.work() >= 0.98 {
        return;
    }
    for i in 0..5 {
        let t = (moment.seconds * 1.2 + unit_of(i, 13)).fract();
        let x = from.0 + (30.0 + 130.0 * t) * (unit_of(i, 12) - 0.5);
        let mut random = seeded(i as u64 + 3);
        b.moved(x, lerp(from.1, floor, t * t), |b| {
            pieces::piece(b, moment.look, kind, state, &mut random)
        });
    }
}

/// Toppings fall from a hand on a dish until it is covered.
pub fn top(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let with = topping(moment, w);
    match moment.subject().kind {
        Kind::Nachos => vessels::tray(b, look, 370.0, |b| {
            b.placed((0.0, 0.0), 0.0, 1.1, |b| dishes::nachos(b, look, 1.0, w))
        }),
        Kind::Pancake => {
            vessels::plate(b, look, 320.0);
            b.placed((0.0, 0.0), 0.0, 1.2, |b| dishes::pancake_stack(b, look, w, 0.0));
        }
        kind if produce::draws(kind, moment.subject().before) => {
            vessels::plate(b, look, 320.0);
            let food = produce::form(moment.subject().before);
            produce::heap(b, look, kind, food, 200.0, 1.0);
            vegetables::topping(b, look, with, w);
        }
        kind => things::draw(b, look, kind, moment.subject().after),
    }
    let floor = if moment.subject().kind == Kind::Pancake { -150.0 } else { -10.0 };
    let over =
        (120.0 * wave(moment.seconds, 0.23), floor - 190.0 + 14.0 * wave(moment.seconds, 0.9));
    falling(b, moment, (over.0, over.1 + 30.0), floor, with.0, with.1);
    hands::pinch(b, look, Hand::Right, moment.reach(Hand::Right, over), |b| {
        let mut random = seeded(5);
        pieces::piece(b, look, with.0, with.1, &mut random);
    });
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-400.0, 0.0)));
}

/// Which of the other things goes on now: one after the other.
fn topping(moment: &Moment, w: f32) -> (Kind, State) {
    let rest = &moment.action.things[1.min(moment.action.things.len())..];
    let i = (w * rest.len() as f32) as usize;
    rest.get(i.min(rest.len().saturating_sub(1))).map_or((Kind::Berries, State::Washed), |t| {
        (t.kind, if t.after == State::Mashed { State::Chopped } else { t.after })
    })
}

/// A lime is halved, then a half is squeezed over the dish; the drops run dry.
pub fn squeeze(b: &mut Brush, moment: &Moment) {
    let (look, w) = (moment.look, moment.work());
    match moment.action.things.get(1) {
        Some(dish) => {
            b.placed((40.0, 20.0), 0.0, 0.95, |b| things::draw(b, look, dish.kind, dish.after))
        }
        None => vessels::plate(b, look, 300.0),
    }
    let open = ease(w, 0.04, 0.12);
    b.placed((-370.0, 90.0), 0.0, 0.9, |b| {
        b.shadow(0.0, 6.0, 120.0, 40.0, 0.4);
        match w {
            w if w >= 0.97 => vegetables::draw(b, look, Kind::Lime, State::Squeezed),
            w if w > 0.08 => b.moved(0.0, -40.0, |b| vegetables::lime_half(b, 0.0)),
            _ => vegetables::whole(b, look, Kind::Lime),
        }
    });
    if w >= 0.97 {
        return;
    }
    b.faded(open, |b| squeezing(b, moment, ease(w, 0.15, 0.9)));
}

fn squeezing(b: &mut Brush, moment: &Moment, flat: f32) {
    let look = moment.look;
    let press = 0.5 + 0.5 * wave(moment.seconds, 0.9);
    let at = moment.reach(Hand::Right, (70.0, -300.0 + 10.0 * press));
    for i in 0..6 {
        let t = (moment.seconds * 1.5 + i as f32 / 6.0).fract();
        let x = at.0 - 30.0 + 14.0 * (i % 3) as f32;
        let y = at.1 + 60.0 + 180.0 * t * t;
        b.limb((x, y - 16.0), 4.0, (x, y), 13.0, rgb(0xd3ec7a).fade(1.0 - 0.6 * flat));
        b.oval(x - 2.0, y - 2.0, 3.0, 3.0, WHITE.fade(0.9));
    }
    hands::hold(b, look, Hand::Right, at, 180.0 - 12.0 * press, |b| {
        b.moved(20.0, 16.0, |b| {
            b.placed((0.0, 0.0), 0.0, 1.05, |b| vegetables::lime_half(b, flat * 0.8 + 0.2 * press))
        });
    });
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-330.0, 30.0)));
}

/// A jug circles over the dish and a thread of syrup runs down its sides.
pub fn drizzle(b: &mut Brush, moment: &Moment) {
    let (look, w) = (moment.look, moment.work());
    let dish = moment.action.things.get(1).map_or(Kind::Pancake, |t| t.kind);
    if dish == Kind::Pancake {
        vessels::plate(b, look, 320.0);
        b.placed((0.0, 0.0), 0.0, 1.2, |b| dishes::pancake_stack(b, look, 1.0, w));
    } else {
        things::draw(b, look, dish, moment.action.things.get(1).map_or(State::Mixed, |t| t.after));
    }
    let syrup = rgb(0xa4511a);
    let sway = 70.0 * wave(moment.seconds, 0.45);
    let grip = moment.reach(Hand::Right, (200.0 + sway, -390.0));
    if w > 0.0 && w < 0.97 {
        let mouth = vessels::spout(grip, 124.0);
        b.line(
            &[
                mouth,
                (mouth.0 - 6.0 - sway * 0.1, mouth.1 + 70.0),
                (mouth.0 - 10.0 - sway * 0.2, -150.0),
            ],
            13.0,
            syrup,
        );
        b.line(
            &[(mouth.0 - 3.0, mouth.1), (mouth.0 - 9.0 - sway * 0.1, mouth.1 + 70.0)],
            4.0,
            syrup.light(0.6),
        );
    }
    hands::hold(b, look, Hand::Right, grip, 124.0, |b| vessels::jug(b, look, syrup));
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-400.0, 10.0)));
}
