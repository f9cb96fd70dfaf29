//! On the flame: frying, simmering, warming, melting, pouring, flipping.

use super::Moment;
use crate::drawing::brush::{Brush, Point, WHITE, rgb, round_light};
use crate::drawing::easing::{ease, lerp, wave};
use crate::drawing::hands::{self, Hand};
use crate::drawing::kitchen_tools as tools;
use crate::drawing::things::produce::{self, PieceForm};
use crate::drawing::things::{dishes, pieces, vessels};
use crate::random::{seeded, unit_of};
use crate::vocabulary::{Kind, State};

const PAN: f32 = 290.0;

/// Where a stirring tool's tip is on the pan's floor.
fn stir(moment: &Moment, rx: f32, rate: f32) -> Point {
    let angle = moment.seconds * rate * std::f32::consts::TAU;
    (rx * angle.cos(), rx * 0.8 * moment.look.tilt * angle.sin() - 42.0)
}

/// A tool held from the right with its tip at `tip`, `long` away from the grip.
fn tool_to(
    b: &mut Brush,
    moment: &Moment,
    tip: Point,
    long: f32,
    lean: f32,
    tool: impl FnOnce(&mut Brush),
) {
    let grip = (tip.0 + long * lean.cos(), tip.1 - long * lean.sin());
    let at = moment.reach(Hand::Right, grip);
    hands::hold(b, moment.look, Hand::Right, at, 180.0 - lean.to_degrees(), tool);
}

/// The steadying hand on the pan's handle, while the presenter is there.
fn steady(b: &mut Brush, moment: &Moment) {
    let grip = (-PAN * 1.55, -54.0 + PAN * moment.look.tilt * 0.72);
    hands::grab(b, moment.look, Hand::Left, moment.reach(Hand::Left, grip), -24.0);
}

/// Pan and spatula: the meat browns, onions glisten, fat spits.
pub fn fry(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    vessels::hob(b, look, PAN, 1.0, moment.seconds);
    vessels::pan(b, look, PAN, |b| {
        b.oval(0.0, 2.0, PAN * 0.8, PAN * 0.76 * look.tilt, rgb(0xd9962f).fade(0.25));
        match moment.subject().kind {
            Kind::Mince => browning(b, moment, ease(w, 0.1, 0.9)),
            _ => cooking(b, moment, PAN * 0.72, ease(w, 0.1, 0.9), 9.0),
        }
    });
    sizzle(b, moment, w);
    vessels::steam(b, 0.0, -80.0, 0.3 + 0.7 * w, moment.seconds);
    steady(b, moment);
    tool_to(b, moment, stir(moment, 110.0, 0.55), 290.0, 0.8, |b| tools::spatula(b, look));
}

/// Crumbs of mince, and whatever else goes in, stirred about.
fn browning(b: &mut Brush, moment: &Moment, brown: f32) {
    let look = moment.look;
    let extra = moment.action.things.get(1).map(|t| (t.kind, t.after));
    let turn = moment.seconds * 0.6;
    let colour = rgb(0xe77f80).mix(rgb(0x74401f), brown);
    for (i, at) in pieces::spots(look, PAN * 0.74, 84, 1.0, lerp(56.0, 22.0, brown)) {
        let nudge = 9.0 * (turn + i as f32).sin() * moment.presence();
        let mut random = seeded(i as u64);
        b.moved(at.0 + nudge, at.1, |b| match extra {
            Some((kind, state)) if i % 6 == 0 => pieces::piece(b, look, kind, state, &mut random),
            _ => b.placed((0.0, 0.0), 0.0, 1.2, |b| pieces::crumb(b, colour, &mut random)),
        });
    }
}

/// The subject in the form it came in, browning as it is moved about by `nudge`.
fn cooking(b: &mut Brush, moment: &Moment, rx: f32, done: f32, nudge: f32) {
    let (look, thing) = (moment.look, moment.subject());
    let (form, cooked) = produce::form(thing.before);
    let rx = if form == PieceForm::Whole { rx * 0.78 } else { rx };
    for (i, at) in pieces::spots(look, rx, produce::count(look, form, rx), 1.0, 0.0) {
        let sway = nudge * (moment.seconds * 0.6 + i as f32).sin() * moment.presence();
        let mut random = seeded(i as u64);
        b.moved(at.0 + sway, at.1, |b| {
            produce::piece(b, look, thing.kind, form, done.max(cooked), &mut random)
        });
    }
}

fn sizzle(b: &mut Brush, moment: &Moment, w: f32) {
    for i in 0..9 {
        let t = (moment.seconds * 1.4 + unit_of(i, 1)).fract();
        let x = PAN * 0.7 * (unit_of(i, 2) * 2.0 - 1.0);
        let y = -60.0 - 110.0 * t * (1.0 - t) * 2.0 * unit_of(i, 3);
        b.oval(
            x + 30.0 * t * (unit_of(i, 4) - 0.5),
            y,
            5.0,
            5.0,
            rgb(0xffd27a).fade(w * (1.0 - t)),
        );
    }
}

/// Pot and spoon: dry beans in clear water turn to a thick dark stew.
pub fn simmer(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let (rx, h) = (250.0, 190.0);
    vessels::hob(b, look, rx, 0.8, moment.seconds);
    vessels::pot(b, look, rx, h, |b| match moment.subject().kind {
        Kind::BlackBeans => beans(b, moment, ease(w, 0.05, 0.95)),
        _ => stew(b, moment, ease(w, 0.05, 0.95)),
    });
    vessels::steam(b, 0.0, -h - 20.0, 0.15 + 0.85 * w, moment.seconds);
    let tip = stir(moment, 80.0, 0.4);
    let tip = (tip.0, tip.1 + 42.0 - h + 20.0);
    tool_to(b, moment, tip, 230.0, 1.05, |b| tools::spoon(b, look));
    pot_front(b, moment, rx, h);
}

fn beans(b: &mut Brush, moment: &Moment, done: f32) {
    let (look, k) = (moment.look, moment.look.tilt);
    let water = rgb(0xa9d3de).mix(rgb(0x3a2026), done);
    b.oval(
        0.0,
        0.0,
        232.0,
        232.0 * k * 0.93,
        round_light((-60.0, -30.0), 300.0, water.light(0.25), water),
    );
    for (i, at) in pieces::spots(look, 205.0, lerp(46.0, 70.0, done) as usize, 1.0, 0.0) {
        let bob = 4.0 * wave(moment.seconds + i as f32 * 0.37, 1.1) * done;
        let mut random = seeded(i as u64);
        b.placed((at.0, at.1 + bob), 0.0, lerp(0.8, 1.15, done), |b| {
            pieces::piece(b, look, Kind::BlackBeans, State::Raw, &mut random)
        });
    }
    b.oval(0.0, 0.0, 232.0, 232.0 * k * 0.93, rgb(0x4a2630).fade(0.42 * done));
    bubbles(b, moment, done);
    if done > 0.5 {
        b.placed((90.0, -20.0 * k), 24.0, 1.0, |b| {
            b.blob(
                &[(-60.0, 0.0), (0.0, -18.0), (60.0, 0.0), (0.0, 18.0)],
                rgb(0x5c7a3a).fade(ease(done, 0.5, 0.8)),
            );
        });
    }
}

fn bubbles(b: &mut Brush, moment: &Moment, done: f32) {
    let k = moment.look.tilt;
    for i in 0..12 {
        let t = (moment.seconds * 0.9 + unit_of(i, 6)).fract();
        let (r, (s, c)) = (190.0 * unit_of(i, 7).sqrt(), (i as f32 * 2.4).sin_cos());
        b.ring(
            r * c,
            r * s * k,
            6.0 + 14.0 * t,
            (6.0 + 14.0 * t) * k,
            4.0,
            WHITE.fade(0.7 * (1.0 - t) * (0.3 + done)),
        );
    }
}

/// Clear water that takes the colour of what is cooked in it.
fn stew(b: &mut Brush, moment: &Moment, done: f32) {
    let (look, k) = (moment.look, moment.look.tilt);
    let flesh = produce::produce(look, moment.subject().kind).flesh;
    let water = rgb(0xa9d3de).mix(flesh.mix(rgb(0xb5641e), 0.45), done);
    let light = round_light((-60.0, -30.0), 300.0, water.light(0.25), water);
    b.oval(0.0, 0.0, 232.0, 232.0 * k * 0.93, light);
    cooking(b, moment, 200.0, done * 0.6, 4.0);
    bubbles(b, moment, done);
}

/// The pot's near wall again, so that the spoon stands inside it.
fn pot_front(b: &mut Brush, moment: &Moment, rx: f32, h: f32) {
    let (look, c) = (moment.look, moment.look.ware);
    b.fill(
        &vessels::wall(rx, look.tilt, -h, rx * 0.95),
        crate::drawing::brush::across(-rx, rx, c.light(0.22), c.dark(0.28)),
    );
    let rim: Vec<Point> = (0..=12)
        .map(|i| (std::f32::consts::PI * i as f32 / 12.0).sin_cos())
        .map(|(s, co)| (-rx * co, -h + rx * look.tilt * s))
        .collect();
    b.line(&rim, 9.0, c.light(0.4));
    b.line(
        &[(-rx * 0.8, -h * 0.75 + rx * look.tilt * 0.5), (-rx * 0.78, rx * look.tilt * 0.3)],
        14.0,
        WHITE.fade(0.28),
    );
}

/// Dry pan and tongs: the tortilla is turned half way and browns.
pub fn warm(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    vessels::hob(b, look, PAN, 0.9, moment.seconds);
    let turn = ease(w, 0.42, 0.58);
    let lift = 190.0 * (turn * std::f32::consts::PI).sin();
    let warmth = if turn < 0.5 { ease(w, 0.0, 0.42) * 0.3 } else { 0.6 + 0.4 * ease(w, 0.58, 1.0) };
    vessels::pan(b, look, PAN, |b| {
        turning(b, -lift, turn, |b| dishes::tortilla(b, look, 215.0, warmth))
    });
    vessels::steam(b, 0.0, -70.0, 0.2 + 0.5 * w, moment.seconds);
    steady(b, moment);
    let poke = 14.0 * wave(moment.seconds, 0.7);
    tool_to(b, moment, (190.0 - 60.0 * turn + poke, -60.0 - lift), 240.0, 0.72, |b| {
        tools::tongs(b, look, 17.0)
    });
}

/// Draws something flat, lifted by `up` and turned over as `turn` goes from 0 to 1.
fn turning(b: &mut Brush, up: f32, turn: f32, draw: impl FnOnce(&mut Brush)) {
    let flat = (turn * std::f32::consts::PI).cos().abs().max(0.3);
    b.moved(0.0, up, |b| {
        b.placed((0.0, 0.0), -18.0 * (turn * std::f32::consts::PI).sin(), 1.0, |b| {
            b.stretched(1.0, flat, draw)
        })
    });
}

/// A piece of butter slides about the pan and melts.
pub fn melt(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    vessels::hob(b, look, PAN, 0.8, moment.seconds);
    let slide = (
        40.0 * wave(moment.seconds, 0.35) * (1.0 - w),
        16.0 * wave(moment.seconds, 0.5) * look.tilt,
    );
    vessels::pan(b, look, PAN, |b| {
        b.moved(slide.0, slide.1, |b| {
            b.placed((0.0, 0.0), 0.0, 1.25, |b| dishes::butter(b, look, ease(w, 0.05, 0.95)))
        });
        for i in 0..14 {
            let t = (moment.seconds * 1.1 + unit_of(i, 6)).fract();
            let (r, (s, c)) = (170.0 * w * unit_of(i, 7).sqrt(), (i as f32 * 2.4).sin_cos());
            b.ring(
                r * c,
                r * s * look.tilt,
                4.0 + 9.0 * t,
                (4.0 + 9.0 * t) * look.tilt,
                3.0,
                WHITE.fade(0.8 * w * (1.0 - t)),
            );
        }
    });
    vessels::steam(b, 0.0, -70.0, 0.6 * w, moment.seconds);
    steady(b, moment);
    if w < 0.9 {
        tool_to(b, moment, (slide.0 + 120.0, -70.0), 290.0, 0.75, |b| tools::spatula(b, look));
    }
}

/// Batter runs from a jug into the pan and spreads to a round.
pub fn pour(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    vessels::hob(b, look, PAN, 0.7, moment.seconds);
    vessels::pan(b, look, PAN, |b| {
        if w > 0.08 {
            dishes::pancake(b, look, lerp(40.0, 220.0, ease(w, 0.08, 0.95).sqrt()), 0.0);
        }
    });
    steady(b, moment);
    let flowing = w > 0.05 && w < 0.93;
    let axis = 180.0 - lerp(0.0, 58.0, ease(w, 0.0, 0.1) * (1.0 - ease(w, 0.9, 1.0)));
    let grip = moment.reach(Hand::Right, (190.0, -350.0));
    let batter = rgb(0xf7e2a8);
    if flowing {
        let mouth = vessels::spout(grip, axis);
        b.line(
            &[mouth, (mouth.0 - 12.0, mouth.1 + 60.0), (mouth.0 - 14.0, -40.0)],
            24.0,
            batter.dark(0.1),
        );
        b.line(
            &[(mouth.0 - 4.0, mouth.1), (mouth.0 - 17.0, mouth.1 + 60.0), (mouth.0 - 18.0, -42.0)],
            11.0,
            batter.light(0.4),
        );
    }
    hands::hold(b, look, Hand::Right, grip, axis, |b| vessels::jug(b, look, batter));
}

/// A spatula under the pancake, a leap, and it lands golden side up.
pub fn flip(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    vessels::hob(b, look, PAN, 0.8, moment.seconds);
    let turn = ease(w, 0.38, 0.66);
    let lift = 330.0 * (turn * std::f32::consts::PI).sin();
    let gold = if turn < 0.5 { 0.0 } else { 1.0 };
    vessels::pan(b, look, PAN, |b| {
        b.shadow(0.0, 8.0, 220.0, 220.0 * look.tilt, 0.35);
        turning(b, -lift, turn, |b| dishes::pancake(b, look, 210.0, gold));
    });
    vessels::steam(b, 0.0, -70.0, 0.5, moment.seconds);
    steady(b, moment);
    let under = ease(w, 0.15, 0.36);
    let away = ease(w, 0.5, 0.62);
    let tip = (
        lerp(250.0, 90.0, under) + 120.0 * away,
        -46.0 - 40.0 * ease(w, 0.36, 0.44) * (1.0 - away),
    );
    tool_to(b, moment, tip, 290.0, 0.55, |b| tools::spatula(b, look));
}
