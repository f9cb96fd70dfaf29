//! At the bench, on raw timber: measuring, sawing, sanding, drilling.

use super::Moment;
use crate::drawing::bench_tools as tools;
use crate::drawing::brush::{Brush, Colour, Point, between, down, rect, rgb, towards};
use crate::drawing::easing::{ease, lerp, wave};
use crate::drawing::hands::{self, Hand};
use crate::drawing::things::joinery::{self, Coat};
use crate::drawing::things::timber::{self, BOARD, CUTS, Face, STAND};
use crate::drawing::things::{self, furniture, panel};
use crate::random::unit_of;
use crate::vocabulary::Kind;

/// A tool in the right hand, its end at `tip`, `long` from the grip, pointing along `axis`.
pub fn to_tip(
    b: &mut Brush,
    moment: &Moment,
    tip: Point,
    long: f32,
    axis: f32,
    tool: impl FnOnce(&mut Brush),
) {
    let grip = towards(tip, axis + 180.0, long);
    hands::hold(b, moment.look, Hand::Right, moment.reach(Hand::Right, grip), axis, tool);
}

/// Whether work is going on, with the hands there.
pub fn busy(moment: &Moment) -> bool {
    let w = moment.work();
    w > 0.01 && w < 0.99
}

/// Crumbs thrown from `at`, falling some `drop` below it.
pub fn crumbs(b: &mut Brush, moment: &Moment, at: Point, drop: f32, c: Colour, count: usize) {
    if !busy(moment) {
        return;
    }
    for i in 0..count {
        let t = (moment.seconds * 1.25 + unit_of(i, 91)).fract();
        let x = at.0 + (unit_of(i, 92) - 0.5) * 260.0 * t;
        let y = at.1 - (60.0 + 120.0 * unit_of(i, 93)) * t + (drop + 190.0) * t * t;
        let r = 4.0 + 5.0 * unit_of(i, 94);
        b.oval(x, y, r, r * 0.8, c.light(0.3 * unit_of(i, 95)).fade(1.0 - 0.4 * t));
    }
}

/// A low heap of dust, `full` of the way grown.
pub fn dust(b: &mut Brush, look: &crate::drawing::look::Look, at: Point, wide: f32, full: f32) {
    let c = timber::wood(look).light(0.42);
    if full > 0.02 {
        let w = wide * full.sqrt();
        b.oval(at.0, at.1, w, w * 0.3 * look.tilt + 4.0, c.dark(0.2));
        b.blob(
            &[
                (at.0 - w * 0.8, at.1),
                (at.0 - w * 0.2, at.1 - w * 0.3),
                (at.0 + w * 0.3, at.1 - w * 0.2),
                (at.0 + w * 0.82, at.1),
                (at.0, at.1 + w * 0.2 * look.tilt),
            ],
            c,
        );
    }
}

/// The tape comes out along the board, the pencil draws the lines, the tape goes back.
pub fn measure(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let (half, depth, thick) = BOARD;
    let d = depth * look.tilt;
    let drawn = [ease(w, 0.56, 0.82), ease(w, 0.28, 0.52)];
    let out = ease(w, 0.02, 0.2) * (1.0 - ease(w, 0.86, 0.98));
    b.moved(0.0, d * 0.5, |b| {
        b.shadow(14.0, 2.0, half * 1.12, 60.0, 0.5);
        timber::plank(b, look, -half, half, Face::Plain);
        CUTS.iter().zip(drawn).for_each(|(x, part)| timber::mark(b, look, *x, part));
        let case = (-half - 34.0, -thick - d * 0.04);
        let hand = moment.reach(Hand::Left, (case.0 - 36.0, case.1 - 84.0));
        b.moved(hand.0 + 36.0, hand.1 + 84.0, |b| tools::tape(b, look, (2.0 * half - 10.0) * out));
        let i = if w < 0.54 { 1 } else { 0 };
        let tip = between((CUTS[i], -thick - 10.0), (CUTS[i] * 0.94, -thick - d), drawn[i]);
        hands::claw(b, look, Hand::Left, hand);
        let hover = if drawn[i] > 0.0 && drawn[i] < 1.0 { 0.0 } else { 22.0 };
        to_tip(b, moment, (tip.0, tip.1 - hover), 152.0, 128.0, |b| tools::pencil(b, look));
    });
}

/// How far both cuts have come, and how far apart the pieces are.
fn cuts(w: f32) -> ([f32; 2], f32) {
    ([ease(w, 0.02, 0.46), ease(w, 0.5, 0.92)], ease(w, 0.93, 1.0))
}

/// The saw goes to and fro through a board or a rod on two blocks.
pub fn saw(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let rod = moment.subject().kind == Kind::Leg;
    let ([first, second], apart) = cuts(w);
    let lift = -64.0;
    blocks(b, moment, lift);
    dust(b, look, (CUTS[0] + 10.0, 40.0), 92.0, first);
    dust(b, look, (CUTS[1] + 10.0, 46.0), 92.0, second);
    let (i, cut) = if second > 0.0 { (1, second) } else { (0, first) };
    let stroke = 62.0 * wave(moment.seconds, 1.5) * if busy(moment) { 1.0 } else { 0.0 };
    b.moved(0.0, lift + BOARD.1 * look.tilt * if rod { 0.1 } else { 0.36 }, |b| {
        if rod {
            sawn_rod(b, moment, [first, second], apart);
        } else {
            sawn_board(b, moment, [first, second], apart);
        }
        let enter = if rod {
            -timber::ROD.1 + 2.0 * timber::ROD.1 * cut
        } else {
            -BOARD.2 * (1.0 - cut * 0.5)
        };
        let axis = 128.0;
        let tip = towards((CUTS[i], enter - 150.0 * apart), axis, 110.0 + stroke);
        sawing(b, moment, tip, axis, (CUTS[i], rod));
        let hold = (-250.0, if rod { -90.0 } else { -BOARD.1 * look.tilt * 0.7 - 80.0 });
        hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, hold));
    });
    crumbs(b, moment, (CUTS[i], -60.0), 100.0, timber::wood(look).light(0.35), 16);
}

/// The saw, with the near side of the wood over its blade.
fn sawing(b: &mut Brush, moment: &Moment, tip: Point, axis: f32, at: (f32, bool)) {
    let look = moment.look;
    to_tip(b, moment, tip, 424.0, axis, |b| tools::saw(b, look));
    if moment.work() >= 0.93 || moment.presence() < 0.98 || at.1 {
        return;
    }
    let (thick, c) = (BOARD.2, timber::wood(look));
    b.rect(
        at.0 - 190.0,
        -thick + 1.0,
        188.0,
        thick - 2.0,
        0.0,
        down(-thick, 0.0, c.dark(0.1), c.dark(0.28)),
    );
}

fn blocks(b: &mut Brush, moment: &Moment, lift: f32) {
    let c = timber::wood(moment.look).dark(0.34);
    let y = BOARD.1 * moment.look.tilt * 0.3;
    b.shadow(10.0, y + 8.0, 420.0, 64.0, 0.45);
    for x in [-290.0, -10.0, 270.0] {
        b.rect(
            x - 44.0,
            lift + y - 20.0,
            88.0,
            26.0 - lift,
            6.0,
            down(lift, y, c.light(0.12), c.dark(0.16)),
        );
    }
}

fn sawn_board(b: &mut Brush, moment: &Moment, cut: [f32; 2], apart: f32) {
    let (look, half) = (moment.look, BOARD.0);
    let d = BOARD.1 * look.tilt;
    if apart > 0.0 {
        return timber::pieces(b, look, apart, |_| Face::Rough);
    }
    timber::plank(b, look, -half, half, Face::Plain);
    for (x, part) in CUTS.iter().zip(cut) {
        timber::mark(b, look, *x, 1.0);
        if part > 0.01 {
            let far = between((*x, -BOARD.2), (*x * 0.94, -BOARD.2 - d), part);
            b.line(&[(*x, -2.0), (*x, -BOARD.2), far], 13.0, rgb(0x2a1a14));
        }
    }
}

fn sawn_rod(b: &mut Brush, moment: &Moment, cut: [f32; 2], apart: f32) {
    timber::legs_lying(b, moment.look, apart);
    if apart > 0.0 {
        return;
    }
    let r = timber::ROD.1;
    for (x, part) in CUTS.iter().zip(cut) {
        b.line(&[(*x, -r + 6.0), (*x + 5.0, 0.0), (*x, r - 6.0)], 6.0, timber::PENCIL.fade(0.7));
        if part > 0.01 {
            b.line(&[(*x, -r + 2.0), (*x, -r + 2.0 * r * part)], 13.0, rgb(0x2a1a14));
        }
    }
}

/// The block goes to and fro; behind it the wood is pale and smooth.
pub fn sand(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    let (look, w) = (moment.look, moment.work());
    let go = if busy(moment) { 1.0 } else { 0.0 };
    let stroke = 74.0 * wave(moment.seconds, 1.3) * go;
    let d = BOARD.1 * look.tilt;
    let kind = moment.subject().kind;
    let at = if furniture::draws(kind) {
        sanded_furniture(b, moment, w);
        let (top, half) = furniture::extent(kind, moment.subject().before);
        (lerp(-half, half, w) + stroke * 0.6, top * 0.4 + 40.0 * wave(moment.seconds, 0.4))
    } else if kind == Kind::Seat {
        timber::seat(b, look, w, 0.0);
        (
            lerp(-210.0, 210.0, w) + stroke,
            -timber::SEAT.1 + 46.0 * wave(moment.seconds, 0.37) * look.tilt,
        )
    } else {
        sanded_board(b, moment, w);
        (
            lerp(-330.0, 330.0, w) + stroke * 0.8,
            d * 0.08 - 20.0 + 0.16 * d * wave(moment.seconds, 0.4),
        )
    };
    dust(b, look, (-360.0, 96.0), 80.0, w);
    dust(b, look, (350.0, 110.0), 96.0, w);
    let top = -92.0 - 40.0 * look.tilt;
    let hand = moment.reach(Hand::Right, (at.0 + 30.0, at.1 + top));
    b.moved(hand.0 - 30.0, hand.1 - top, |b| tools::sanding_block(b, look));
    crumbs(b, moment, (at.0, at.1 - 10.0), 90.0, timber::wood(look).light(0.5), 18);
    hands::claw(b, look, Hand::Right, hand);
    let hold = if moment.subject().kind == Kind::Seat { (-330.0, -30.0) } else { (-430.0, -30.0) };
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, hold));
}

/// Sanded to the left of the block, as it was to the right.
fn sanded_furniture(b: &mut Brush, moment: &Moment, w: f32) {
    let (look, thing) = (moment.look, moment.subject());
    let half = furniture::extent(thing.kind, thing.before).1;
    things::draw(b, look, thing.kind, thing.before);
    let x = lerp(-half - 60.0, half + 60.0, w);
    b.clipped(&rect(-900.0, -900.0, 900.0 + x, 1400.0, 0.0), |b| {
        things::draw(b, look, thing.kind, thing.after)
    });
}

fn sanded_board(b: &mut Brush, moment: &Moment, w: f32) {
    let look = moment.look;
    b.moved(0.0, BOARD.1 * look.tilt * 0.5, |b| {
        b.shadow(14.0, 2.0, BOARD.0 * 1.2, 60.0, 0.5);
        timber::pieces(b, look, 1.0, |i| {
            if w * 3.0 >= i as f32 + 0.6 { Face::Smooth } else { Face::Rough }
        });
    });
}

/// The drill bores: an entrance in a panel, holes in a seat, drains in a planter.
pub fn drill(b: &mut Brush, moment: &Moment) {
    moment.draw_others(b);
    match moment.subject().kind {
        Kind::Panel => drill_panel(b, moment),
        Kind::Seat => drill_seat(b, moment),
        _ => drill_planter(b, moment),
    }
}

/// A drill whose bit's tip is at `tip`; `axis` is the grip's direction, the bit points 90° on from it.
fn bore(b: &mut Brush, moment: &Moment, tip: Point, axis: f32, bit: f32) {
    let shiver = if busy(moment) { 3.0 * wave(moment.seconds, 9.0) } else { 0.0 };
    let foot = towards(tip, axis + 270.0, 250.0);
    let grip = towards(foot, axis, 84.0);
    let at = moment.reach(Hand::Right, (grip.0 + shiver, grip.1));
    hands::hold(b, moment.look, Hand::Right, at, axis, |b| {
        tools::drill(b, moment.look, bit, moment.seconds * 3.0)
    });
}

fn drill_panel(b: &mut Brush, moment: &Moment) {
    let (look, w) = (moment.look, moment.work());
    let r = 62.0 * ease(w, 0.08, 0.85);
    panel::draw(b, look, r, 0.0);
    b.moved(0.0, STAND, |b| vice(b, moment));
    let hole = (panel::ENTRANCE.0, panel::ENTRANCE.1 + STAND);
    crumbs(b, moment, hole, 190.0, timber::wood(look).light(0.4), 22);
    dust(b, look, (30.0, 130.0), 150.0, w);
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-190.0, -210.0)));
    let back = 60.0 * (1.0 - ease(w, 0.0, 0.08)) + 60.0 * ease(w, 0.88, 1.0);
    bore(b, moment, (hole.0 + 12.0 + back, hole.1 - back * 0.3), 66.0, 34.0);
}

/// Two jaws that hold a panel's foot.
fn vice(b: &mut Brush, moment: &Moment) {
    let c = rgb(0x58636d).mix(moment.look.accent2, 0.3);
    b.rect(-215.0, -34.0, 430.0, 62.0, 10.0, down(-34.0, 28.0, c.light(0.25), c.dark(0.2)));
    b.rect(-205.0, -28.0, 410.0, 9.0, 4.0, c.light(0.5));
    b.rect(-26.0, 20.0, 52.0, 30.0, 8.0, rgb(0x8b9398));
    b.limb((-90.0, 44.0), 18.0, (90.0, 44.0), 18.0, rgb(0xaab4bb));
}

fn drill_seat(b: &mut Brush, moment: &Moment) {
    let (look, w) = (moment.look, moment.work());
    let done = w * 4.0;
    timber::seat(b, look, 1.0, done);
    let holes = timber::seat_holes(look.tilt);
    let i = (done as usize).min(3);
    for (j, at) in holes.iter().enumerate().take(i + 1) {
        dust(b, look, (at.0 + 56.0, at.1 + 18.0), 46.0, (done - j as f32).clamp(0.0, 1.0));
    }
    crumbs(b, moment, holes[i], 60.0, timber::wood(look).light(0.4), 16);
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-320.0, -40.0)));
    bore(b, moment, hop(&holes, done, 0.0), 8.0, 26.0);
}

/// Moves from one spot to the next, staying at each while it is worked on.
pub fn hop(spots: &[Point], done: f32, still: f32) -> Point {
    let last = spots.len().saturating_sub(1);
    let i = (done.max(0.0) as usize).min(last);
    let (Some(a), Some(z)) = (spots.get(i), spots.get((i + 1).min(last))) else {
        return (0.0, still);
    };
    let t = ease(done - i as f32, 0.82, 1.0);
    let (x, y) = between(*a, *z, t);
    (x, y - 70.0 * (t * std::f32::consts::PI).sin())
}

fn drill_planter(b: &mut Brush, moment: &Moment) {
    let (look, w) = (moment.look, moment.work());
    let spots = joinery::drains().map(|s| (s.0, s.1 + STAND));
    let done = w * 4.0;
    joinery::planter(b, look, 1.0, done, Coat::Bare);
    let i = (done as usize).min(3);
    crumbs(b, moment, spots[i], 80.0, timber::wood(look).light(0.4), 18);
    for (j, at) in spots.iter().enumerate() {
        dust(b, look, (at.0 + 12.0, 110.0), 62.0, (done - j as f32).clamp(0.0, 1.0));
    }
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-340.0, -230.0)));
    let tip = hop(&spots, done, 0.0);
    bore(b, moment, (tip.0 + 8.0, tip.1), 52.0, 24.0);
}
