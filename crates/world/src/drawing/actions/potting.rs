//! With pots: filling, sowing, watering, feeding, and days that pass until a plant comes up.

use super::Moment;
use super::bench::{busy, to_tip};
use crate::drawing::brush::{Brush, Colour, Point, WHITE, between, rgb, round_light};
use crate::drawing::easing::{ease, lerp, wave};
use crate::drawing::garden_tools as tools;
use crate::drawing::hands::{self, Hand};
use crate::drawing::things::{self, crops, earth, greens, plants};
use crate::random::unit_of;
use crate::vocabulary::{Kind, State};

/// The height of the soil in a full pot.
const RIM: f32 = 90.0 - earth::POT.1;

/// A trowel brings soil until the pot is full.
pub fn fill(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    earth::pot(b, look, ease(w, 0.05, 0.95), 0.3, |_| {});
    let turn = (moment.seconds * 0.5).fract();
    let tip = ease(turn, 0.35, 0.5) * (1.0 - ease(turn, 0.85, 1.0));
    let over = (lerp(130.0, 40.0, ease(turn, 0.0, 0.3)), RIM - 120.0);
    let soil = earth::soil(0.45);
    if busy(moment) && tip > 0.5 {
        falling(b, moment, (over.0 - 30.0, over.1 + 30.0), 120.0, 14);
    }
    spill(b, w);
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-250.0, RIM + 70.0)));
    let load = if busy(moment) { 1.0 - tip } else { 0.0 };
    to_tip(b, moment, over, 235.0, 170.0 - 46.0 * tip, |b| tools::trowel(b, look, soil, load));
}

/// Crumbs of soil that fall `drop` from around `at`.
pub fn falling(b: &mut Brush, moment: &Moment, at: Point, drop: f32, count: usize) {
    for i in 0..count {
        let t = (moment.seconds * 1.7 + unit_of(i, 31)).fract();
        let x = at.0 + 90.0 * (unit_of(i, 32) - 0.5);
        let r = 6.0 + 8.0 * unit_of(i, 33);
        b.oval(x, at.1 + drop * t * t, r, r * 0.8, earth::soil(0.2 + 0.6 * unit_of(i, 34)));
    }
}

/// Soil beside the pot.
fn spill(b: &mut Brush, amount: f32) {
    for i in 0..(16.0 * amount) as usize {
        let x = (unit_of(i, 36) * 2.0 - 1.0) * 330.0;
        b.oval(x, 110.0 + 44.0 * unit_of(i, 37), 9.0, 6.0, earth::soil(0.4));
    }
}

/// Seeds drop from finger and thumb, one by one; the packet stands by.
pub fn sow(b: &mut Brush, moment: &Moment) {
    let (look, w, thing) = (moment.look, moment.work(), moment.subject());
    let (tomato, crop) = (thing.kind == Kind::TomatoSeeds, crops::draws(thing.kind));
    b.moved(-440.0, 60.0, |b| match crop {
        true => crops::packet(b, look, thing.kind),
        false => earth::packet(b, look, tomato),
    });
    earth::pot(b, look, 1.0, 0.25, |b| match crop {
        true => crops::seeds(b, look, thing.kind, w),
        false => plants::seeds(b, look, tomato, w, 0.25),
    });
    let at = (90.0 * wave(moment.seconds, 0.4), RIM - 130.0 + 12.0 * wave(moment.seconds, 1.1));
    let (tint, r) = match (crop, tomato) {
        (true, _) => (crops::seed(thing.kind), 14.0),
        (_, true) => (rgb(0xf7e3a6), 14.0),
        _ => (rgb(0x2c2426), 9.0),
    };
    if busy(moment) {
        for i in 0..5 {
            let t = (moment.seconds * 1.4 + unit_of(i, 41)).fract();
            b.oval(
                at.0 + 24.0 * (unit_of(i, 42) - 0.5),
                at.1 + 20.0 + 110.0 * t * t,
                r,
                r * 0.75,
                tint,
            );
        }
    }
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-250.0, RIM + 70.0)));
    hands::pinch(b, look, Hand::Right, moment.reach(Hand::Right, at), |b| {
        (0..3).for_each(|i| b.oval(-8.0 + 8.0 * i as f32, 6.0, r, r * 0.75, tint));
    });
}

/// A watering can rains on a pot or a bed; the soil darkens and shines.
pub fn water(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w, thing) = (moment.look, moment.work(), moment.subject());
    let wet = ease(w, 0.05, 0.9);
    let floor = match thing.kind {
        Kind::LettuceSeedling | Kind::Rose => {
            watered_bed(b, moment, wet);
            10.0
        }
        kind if crops::draws(kind) => {
            crops::draw(b, look, kind, thing.before, lerp(0.0, 1.0, wet));
            if crops::is_potted(thing.before) {
                RIM
            } else {
                shine(b, wet, earth::BED.1 * look.tilt * 0.5);
                10.0
            }
        }
        _ => {
            earth::pot(b, look, 1.0, lerp(0.25, 1.0, wet), |b| {
                plants::seeds(b, look, true, 1.0, wet)
            });
            RIM
        }
    };
    let wide = if floor > 0.0 { 190.0 } else { 50.0 };
    let tilt = 24.0 * ease(w, 0.0, 0.08) * (1.0 - ease(w, 0.92, 1.0));
    let axis = 180.0 - tilt;
    let sway = wide * wave(moment.seconds, 0.28);
    let grip =
        moment.reach(Hand::Right, (sway + 250.0, floor - if floor > 0.0 { 330.0 } else { 300.0 }));
    if busy(moment) {
        rain(b, moment, tools::can_rose(grip, axis), floor);
    }
    hands::hold(b, look, Hand::Right, grip, axis, |b| tools::can(b, look));
    if floor < 0.0 {
        hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-250.0, RIM + 70.0)));
    }
}

fn watered_bed(b: &mut Brush, moment: &Moment, wet: f32) {
    let (look, thing) = (moment.look, moment.subject());
    let d = earth::BED.1 * look.tilt * 0.5;
    earth::bed(b, look, lerp(0.25, 1.0, wet), |b| {
        if thing.kind == Kind::LettuceSeedling {
            [-270.0, 0.0, 270.0]
                .iter()
                .for_each(|x| b.moved(*x, 14.0, |b| greens::lettuce(b, look, 1.0)));
        } else if thing.before == State::Planted {
            greens::rose(b, look, 1.0, 34.0);
        } else {
            greens::overgrown(b, look, greens::STEMS.len());
            earth::straw(b, (390.0, d * 0.84), 40.0 * look.tilt, 1.0, 190);
            greens::reopen(b, look, 30.0 * ease(wet, 0.3, 1.0));
        }
        shine(b, wet, d);
    });
}

/// Puddles and drops that lie about after rain.
fn shine(b: &mut Brush, wet: f32, d: f32) {
    for i in 0..(26.0 * wet) as usize {
        let (x, y) = (390.0 * (unit_of(i, 51) * 2.0 - 1.0), d * (1.5 * unit_of(i, 52) - 0.7));
        if i % 4 == 0 {
            b.oval(x, y, 34.0, 10.0, rgb(0x9fd3f2).fade(0.55));
            b.oval(x - 8.0, y - 2.0, 14.0, 3.0, WHITE.fade(0.8));
        } else {
            b.oval(x, y - 24.0, 8.0, 9.0, rgb(0xbfe6ff).fade(0.95));
            b.oval(x - 2.0, y - 27.0, 3.0, 3.0, WHITE);
        }
    }
}

fn rain(b: &mut Brush, moment: &Moment, from: Point, floor: f32) {
    let c = rgb(0x7cc4f2);
    for i in 0..34 {
        let t = (moment.seconds * 1.6 + unit_of(i, 55)).fract();
        let out = 20.0 + 110.0 * unit_of(i, 56);
        let (x, y) = (from.0 - out * (0.3 + t) + 30.0, from.1 - 10.0 + (floor - from.1) * t * t);
        b.limb((x + 3.0, y - 22.0), 3.0, (x, y), 9.0, c.fade(0.9));
        if t > 0.88 {
            b.ring(x, floor, 22.0 * (t - 0.85) * 8.0, 8.0, 4.0, WHITE.fade(0.7));
        }
    }
}

/// A scoop shakes pellets around the plant, which perks up.
pub fn feed(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w, thing) = (moment.look, moment.work(), moment.subject());
    let d = earth::BED.1 * look.tilt * 0.5;
    let floor = if crops::draws(thing.kind) {
        fed_crop(b, moment, d)
    } else if thing.kind == Kind::Rose {
        earth::bed(b, look, 0.35, |b| {
            earth::pellets(b, (300.0, d * 0.8), 0.3, w);
            greens::rose(b, look, 1.0, lerp(34.0, 40.0, w));
        });
        d * 0.4
    } else {
        earth::pot(b, look, 1.0, 0.55, |b| {
            earth::pellets(b, (180.0, 180.0 * look.tilt), 0.0, w);
            greens::basil(b, look, lerp(0.34, 0.5, ease(w, 0.3, 1.0)), 0.0);
        });
        RIM
    };
    let shake = 9.0 * wave(moment.seconds, 3.0);
    let x = 110.0 + 60.0 * wave(moment.seconds, 0.35);
    let tip = (x, floor - 150.0 + shake);
    if busy(moment) {
        for i in 0..12 {
            let t = (moment.seconds * 1.6 + unit_of(i, 57)).fract();
            let px = tip.0 - 40.0 * t + 60.0 * (unit_of(i, 58) - 0.5);
            b.oval(
                px,
                tip.1 + 20.0 + 130.0 * t * t,
                10.0,
                9.0,
                [rgb(0x59b7ff), rgb(0xfdfdf6), rgb(0x7fe0d0)][i % 3],
            );
        }
    }
    to_tip(b, moment, tip, 185.0, 152.0, |b| tools::scoop(b, look, 1.0 - w * 0.9));
    hands::claw(
        b,
        look,
        Hand::Left,
        moment.reach(Hand::Left, (if floor < 0.0 { -250.0 } else { -440.0 }, floor + 40.0)),
    );
}

/// A crop with pellets around its foot; returns the height of the soil.
fn fed_crop(b: &mut Brush, moment: &Moment, d: f32) -> f32 {
    let (look, w, thing) = (moment.look, moment.work(), moment.subject());
    let plant = |b: &mut Brush| crops::stand(b, look, thing.kind, thing.before);
    if crops::is_potted(thing.before) {
        earth::pot(b, look, 1.0, 0.4, |b| {
            earth::pellets(b, (180.0, 180.0 * look.tilt), 0.0, w);
            plant(b);
        });
        return RIM;
    }
    earth::bed(b, look, 0.35, |b| {
        earth::pellets(b, (330.0, d * 0.8), 0.3, w);
        plant(b);
    });
    d * 0.4
}

/// Days pass: the sun goes over, nights fall between, and the plant comes up.
pub fn sprout(b: &mut Brush, moment: &Moment) {
    let (look, w, thing) = (moment.look, moment.work(), moment.subject());
    let days = w * 4.0;
    let night = (1.0 - (days.fract() * std::f32::consts::TAU).cos()) * 0.5;
    let dark = if w > 0.0 && w < 1.0 { 0.42 * ease(night, 0.45, 0.95) } else { 0.0 };
    b.rect(-1200.0, -1000.0, 2400.0, 2000.0, 0.0, rgb(0x14204a).fade(dark));
    if w > 0.0 && w < 1.0 {
        orb(b, ((days + 0.5).fract(), dark < 0.2), look.glow);
        orb(b, (days.fract(), dark >= 0.2), rgb(0xdfe8ff));
    }
    let g = ease(w, 0.12, 0.96);
    earth::pot(b, look, 1.0, 0.55, |b| match thing.kind {
        kind if crops::draws(kind) => {
            let grown = lerp(crops::growth(thing.before), crops::growth(thing.after), g);
            if grown < 0.02 {
                crops::seeds(b, look, kind, 1.0)
            } else {
                crops::plant(b, look, kind, grown, 0)
            }
        }
        Kind::Basil if g > 0.02 => greens::basil(b, look, g * 0.34, 0.0),
        Kind::Basil => plants::seeds(b, look, false, 1.0, 0.55),
        _ if g > 0.02 => greens::tomato(b, look, g * 0.297, 0, 0.0),
        _ => plants::seeds(b, look, true, 1.0, 0.55),
    });
    b.faded(dark * 0.55, |b| {
        b.rect(-1200.0, -1000.0, 2400.0, 2000.0, 0.0, rgb(0x101a40));
    });
}

/// The sun or the moon on its way from left to right, where it is up.
fn orb(b: &mut Brush, way: (f32, bool), c: Colour) {
    let (t, up) = way;
    if !up {
        return;
    }
    let (x, y) = (lerp(-560.0, 560.0, t), -250.0 - 190.0 * (t * std::f32::consts::PI).sin());
    b.glow(x, y, 210.0, 210.0, c.fade(0.6));
    b.oval(x, y, 62.0, 62.0, round_light((x, y), 62.0, WHITE, c));
}

/// Fruit and leaves go into the basket one by one.
pub fn harvest(b: &mut Brush, moment: &Moment) {
    if crops::draws(moment.subject().kind) {
        return harvest_crop(b, moment);
    }
    let (look, w, thing) = (moment.look, moment.work(), moment.subject());
    let basil = thing.kind == Kind::Basil;
    let done = (w * 6.0).min(6.0);
    let picked = done as usize;
    let spots = greens::fruit_spots();
    if basil {
        earth::pot(b, look, 1.0, 0.55, |b| greens::basil(b, look, 1.0, w));
    } else if w <= 0.0 || w >= 1.0 {
        things::draw(b, look, thing.kind, if w <= 0.0 { thing.before } else { thing.after });
    } else {
        earth::bed(b, look, 0.55, |b| {
            greens::stake(b, look, 1.0, 3.0);
            b.moved(0.0, -18.0, |b| {
                greens::tomato(b, look, 1.0, 0, 1.0);
                spots.iter().skip(picked + 1).for_each(|s| earth::fruit(b, *s, 40.0, 1.0));
            });
        });
    }
    let home = (-400.0, 130.0);
    b.moved(home.0, home.1, |b| earth::basket(b, look, |b| gathered(b, look, basil, done)));
    let from = if basil {
        (60.0 - 40.0 * (picked % 3) as f32, RIM - 150.0)
    } else {
        (spots[picked.min(5)].0, spots[picked.min(5)].1 - 18.0)
    };
    let (t, top) = (ease(done.fract(), 0.35, 0.85), (home.0 + 20.0, home.1 - 190.0));
    let at =
        (lerp(from.0, top.0, t), lerp(from.1, top.1, t) - 90.0 * (t * std::f32::consts::PI).sin());
    let back = ease(done.fract(), 0.85, 1.0);
    hands::pinch(b, look, Hand::Right, moment.reach(Hand::Right, at), |b| {
        if busy(moment) && back < 0.3 {
            carried(b, look, basil);
        }
    });
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (home.0 - 130.0, home.1 - 100.0)));
}

fn harvest_crop(b: &mut Brush, moment: &Moment) {
    let (look, w, kind) = (moment.look, moment.work(), moment.subject().kind);
    let (spots, home) = (crops::bearing_spots(kind), (-400.0, 130.0));
    let done = w * spots.len() as f32;
    let picked = done as usize;
    earth::bed(b, look, 0.55, |b| {
        crops::plant(b, look, kind, 1.0, 0);
        spots.iter().skip(picked).for_each(|at| crops::carried(b, kind, *at));
    });
    b.moved(home.0, home.1, |b| {
        earth::basket(b, look, |b| {
            for i in 0..picked {
                crops::carried(b, kind, (-66.0 + 33.0 * (i % 5) as f32, -14.0 * (i % 3) as f32));
            }
        })
    });
    let from = spots[picked.min(spots.len() - 1)];
    let t = ease(done.fract(), 0.35, 0.85);
    let at = between(from, (home.0 + 20.0, home.1 - 190.0), t);
    let at = (at.0, at.1 - 90.0 * (t * std::f32::consts::PI).sin());
    hands::pinch(b, look, Hand::Right, moment.reach(Hand::Right, at), |b| {
        if busy(moment) && done.fract() > 0.35 && done.fract() < 0.85 {
            crops::carried(b, kind, (0.0, 30.0));
        }
    });
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (home.0 - 130.0, home.1 - 100.0)));
}

fn carried(b: &mut Brush, look: &crate::drawing::look::Look, basil: bool) {
    if basil {
        for a in [40.0, 90.0, 140.0] {
            b.placed((0.0, 0.0), a, 1.0, |b| {
                earth::leaf(b, 84.0, 30.0, rgb(0x4fa043).light(0.001 * a))
            });
        }
    } else {
        earth::fruit(b, (0.0, 34.0), 40.0 + look.tilt * 2.0, 1.0);
    }
}

fn gathered(b: &mut Brush, look: &crate::drawing::look::Look, basil: bool, done: f32) {
    for i in 0..done as usize {
        let (x, y) = (
            -72.0 + 48.0 * (i % 4) as f32 + 24.0 * (i / 4) as f32,
            14.0 * look.tilt - 40.0 * (i / 4) as f32,
        );
        if basil {
            for j in 0..3 {
                b.placed((x, y), -150.0 + 60.0 * j as f32 + 10.0 * i as f32, 1.0, |b| {
                    earth::leaf(b, 70.0, 26.0, rgb(0x4fa043).light(0.1 * j as f32))
                });
            }
        } else {
            earth::fruit(b, (x, y - 8.0), 38.0, 1.0);
        }
    }
}
