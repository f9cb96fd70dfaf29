//! Dishes and what goes into them: tortillas, tacos, nachos, salads, batters, pancakes, sauces.

use super::{bowlfuls, pieces, vessels};
use crate::drawing::brush::{Brush, Point, WHITE, across, down, rgb, round_light};
use crate::drawing::easing::lerp;
use crate::drawing::look::Look;
use crate::random::{seeded, unit_of};
use crate::vocabulary::{Kind, State};

/// Draws one in its state, with the plate, bowl or tray it comes on.
pub fn draw(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    match kind {
        Kind::Mince | Kind::BlackBeans => {
            vessels::plate(b, look, 230.0);
            pieces::heap(b, look, kind, state, 150.0, 1.0);
        }
        Kind::Tortilla => {
            vessels::plate(b, look, 240.0);
            let warm = if state == State::Cooked { 1.0 } else { 0.0 };
            (0..3).for_each(|i| {
                b.moved(4.0 * i as f32, -9.0 * i as f32, |b| tortilla(b, look, 180.0, warm))
            });
        }
        Kind::TortillaChips => {
            vessels::tray(b, look, 330.0, |b| chips(b, look, state == State::Spread, 0.0))
        }
        Kind::Nachos => nachos_on_tray(b, look, state),
        Kind::Taco => tacos(b, look, if state == State::Empty { 0.0 } else { 1.0 }),
        Kind::Dressing | Kind::Batter => {
            let mixed = if state == State::Mixed { 1.0 } else { 0.0 };
            vessels::bowl(b, look, look.ware, 210.0, 130.0, |b| {
                bowlfuls::mixture(b, look, kind, 190.0, mixed, 0.0)
            });
        }
        Kind::Salad => {
            let mixed = if state == State::Mixed { 1.0 } else { 0.0 };
            vessels::bowl(b, look, look.ware, 280.0, 150.0, |b| {
                bowlfuls::salad(b, look, 240.0, mixed, 0.0)
            });
        }
        Kind::Butter => {
            vessels::plate(b, look, 200.0);
            butter(b, look, if state == State::Melted { 1.0 } else { 0.0 });
        }
        Kind::Pancake => {
            vessels::plate(b, look, 260.0);
            stack(b, look, state);
        }
        _ => syrup_bottle(b, look),
    }
}

/// A tortilla lying flat, browned by `warm`.
pub fn tortilla(b: &mut Brush, look: &Look, rx: f32, warm: f32) {
    let c = rgb(0xf7e8c4).mix(rgb(0xecc27a), warm);
    b.oval(0.0, 7.0, rx, rx * look.tilt, c.dark(0.3));
    b.oval(
        0.0,
        0.0,
        rx,
        rx * look.tilt,
        round_light((-rx * 0.3, -20.0), rx * 1.3, c.light(0.3), c.dark(0.06)),
    );
    for i in 0..14 {
        let (r, (s, co)) = (rx * 0.86 * unit_of(i, 5).sqrt(), (i as f32 * 2.4).sin_cos());
        let size = rx * (0.05 + 0.06 * unit_of(i, 6));
        let spot = rgb(0xa8642c).fade(0.12 + 0.75 * warm);
        b.oval(r * co, r * s * look.tilt, size, size * look.tilt, spot);
    }
}

/// Corn chips in a heap, or spread over a tray.
pub fn chips(b: &mut Brush, look: &Look, spread: bool, brown: f32) {
    chips_between(b, look, if spread { 1.0 } else { 0.0 }, brown);
}

/// Chips on the way from a heap to one layer.
pub fn chips_between(b: &mut Brush, look: &Look, spread: f32, brown: f32) {
    let (count, k) = (44, look.tilt);
    let mut all: Vec<(usize, Point)> = pieces::spots(look, 165.0, count, 1.0, 110.0)
        .into_iter()
        .map(|(i, heap)| {
            let (col, row) = ((i % 9) as f32 - 4.0, (i / 9) as f32 - 2.0);
            let jitter = (unit_of(i, 1) * 24.0 - 12.0, unit_of(i, 2) * 16.0 - 8.0);
            let flat = (col * 66.0 + jitter.0, (row * 80.0 + jitter.1) * k);
            (i, (lerp(heap.0, flat.0, spread), lerp(heap.1, flat.1, spread)))
        })
        .collect();
    all.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    for (i, at) in all {
        b.moved(at.0, at.1, |b| {
            b.stretched(1.0, 0.45 + 0.5 * k, |b| {
                pieces::chip(b, unit_of(i, 3) * 360.0, 1.05, brown)
            })
        });
    }
}

fn nachos_on_tray(b: &mut Brush, look: &Look, state: State) {
    let (melt, top) = match state {
        State::Raw => (0.0, 0.0),
        State::Topped => (1.0, 1.0),
        _ => (1.0, 0.0),
    };
    vessels::tray(b, look, 330.0, |b| nachos(b, look, melt, top));
}

/// Chips with beans and cheese, `melt`ed, and `top`ped.
pub fn nachos(b: &mut Brush, look: &Look, melt: f32, top: f32) {
    let k = look.tilt;
    chips_between(b, look, 0.85, melt * 0.7);
    for i in 0..12 {
        let at = scatter(i, 31, 240.0, 120.0 * k);
        let mut random = seeded(i as u64);
        b.placed(at, 0.0, 0.62, |b| {
            pieces::piece(b, look, Kind::BlackBeans, State::Cooked, &mut random)
        });
    }
    if melt < 0.95 {
        for i in 0..46 {
            let at = scatter(i, 41, 250.0, 130.0 * k);
            let mut random = seeded(i as u64 + 90);
            b.faded(1.0 - melt, |b| {
                b.placed(at, 0.0, 0.95, |b| {
                    pieces::strand(b, random.range(-90.0, 90.0), rgb(0xfff0a8), &mut random)
                })
            });
        }
    }
    b.faded(melt, |b| {
        (0..11).for_each(|i| melted_cheese(b, scatter(i, 51, 220.0, 110.0 * k), i, melt, k))
    });
    toppings(b, look, top);
}

fn melted_cheese(b: &mut Brush, at: Point, i: usize, melt: f32, k: f32) {
    let c = rgb(0xffb92e);
    let points: Vec<Point> = (0..8)
        .map(|j| {
            let (s, co) = (std::f32::consts::TAU * j as f32 / 8.0).sin_cos();
            let r = (34.0 + 34.0 * unit_of(i * 8 + j, 7)) * (0.4 + 0.6 * melt);
            (at.0 + r * 1.2 * co, at.1 + r * k * s + if s > 0.5 { 12.0 * melt } else { 0.0 })
        })
        .collect();
    b.blob(&points.iter().map(|p| (p.0, p.1 + 5.0)).collect::<Vec<_>>(), c.dark(0.25));
    b.blob(&points, c);
    b.oval(at.0 - 10.0, at.1 - 6.0, 20.0, 6.0, WHITE.fade(0.55));
    b.oval(at.0 + 16.0, at.1 + 6.0, 6.0, 4.0, rgb(0xd07a1e).fade(0.7));
}

/// Guacamole, pepper and herbs on nachos, the first `top` of them.
fn toppings(b: &mut Brush, look: &Look, top: f32) {
    let k = look.tilt;
    let spots = [(0.0, -10.0), (-150.0, 16.0), (150.0, 20.0), (-60.0, 60.0), (90.0, -50.0)];
    for (i, s) in spots.into_iter().enumerate() {
        if top > (i as f32 + 0.6) / 10.0 {
            b.placed((s.0, s.1 * k * 1.4), 0.0, 0.5, |b| pieces::mash(b, look, 110.0));
        }
    }
    for i in 0..26 {
        if top > 0.45 + 0.5 * i as f32 / 26.0 {
            let mut random = seeded(i as u64);
            b.placed(scatter(i, 61, 240.0, 130.0 * k), 0.0, 0.72, |b| {
                pieces::piece(b, look, Kind::Pepper, State::Chopped, &mut random)
            });
        }
    }
}

fn scatter(i: usize, salt: u64, rx: f32, ry: f32) -> Point {
    (rx * (unit_of(i, salt) * 2.0 - 1.0), ry * (unit_of(i, salt + 1) * 2.0 - 1.0))
}

/// Three taco shells in a row on a plate, filled by `full` from the left to the right.
pub fn tacos(b: &mut Brush, look: &Look, full: f32) {
    vessels::plate(b, look, 340.0);
    for i in 0..3 {
        let share = (full * 3.0 - i as f32).clamp(0.0, 1.0);
        let at = (-176.0 + 176.0 * i as f32, 10.0 + 14.0 * (i % 2) as f32);
        b.placed(at, 0.0, 0.92, |b| shell(b, look, share, i));
    }
}

/// One shell standing, its fold at the origin.
fn shell(b: &mut Brush, look: &Look, full: f32, i: usize) {
    let c = rgb(0xf2c15a);
    let half = |dx: f32, dy: f32| {
        let outline = [
            (-104.0, -36.0),
            (-92.0, -92.0),
            (-56.0, -136.0),
            (0.0, -152.0),
            (56.0, -136.0),
            (92.0, -92.0),
            (104.0, -36.0),
            (84.0, -6.0),
            (0.0, 4.0),
            (-84.0, -6.0),
        ];
        outline.map(|(x, y)| (x + dx, y + dy))
    };
    b.shadow(10.0, 4.0, 130.0, 36.0, 0.4);
    b.blob(&half(12.0, -34.0), c.dark(0.12));
    b.blob(&half(10.0, -22.0), c.dark(0.42));
    filling(b, look, full, i);
    let front = half(0.0, 0.0).map(|(x, y)| (x, y * 0.9));
    b.blob(&front, down(-150.0, 0.0, c.light(0.25), c.dark(0.08)));
    b.line(&front[..7], 7.0, c.dark(0.28));
    for j in 0..7 {
        b.oval(
            -64.0 + 128.0 * unit_of(j + i * 7, 3),
            -112.0 + 90.0 * unit_of(j + i * 7, 4),
            7.0,
            5.0,
            rgb(0xc98430).fade(0.7),
        );
    }
    b.line(&[(-78.0, -64.0), (-50.0, -112.0), (0.0, -132.0)], 8.0, WHITE.fade(0.45));
}

fn filling(b: &mut Brush, look: &Look, full: f32, i: usize) {
    let layers = [
        (Kind::Mince, State::Cooked, 0.0, 9),
        (Kind::Lettuce, State::Shredded, 0.35, 6),
        (Kind::Tomato, State::Chopped, 0.55, 5),
        (Kind::Cheese, State::Grated, 0.7, 8),
    ];
    for (kind, state, from, count) in layers {
        let shown = ((full - from) / 0.3).clamp(0.0, 1.0) * count as f32;
        for j in 0..shown as usize {
            let x = -76.0 + 160.0 * (j as f32 + 0.5) / count as f32;
            let arch = 34.0 * (1.0 - (x / 90.0).powi(2));
            let mut random = seeded((i * 40 + j) as u64 * 7 + kind as u64);
            b.placed((x + 7.0, -118.0 - arch - from * 34.0), 0.0, 0.95, |b| {
                pieces::piece(b, look, kind, state, &mut random)
            });
        }
    }
}

/// A piece of butter: a block at 0, a golden pool at 1.
pub fn butter(b: &mut Brush, look: &Look, melt: f32) {
    let k = look.tilt;
    let pool = 30.0 + 150.0 * melt;
    if melt > 0.02 {
        b.oval(0.0, 6.0, pool, pool * k, rgb(0xe9a92a));
        b.oval(
            0.0,
            3.0,
            pool * 0.96,
            pool * k * 0.94,
            round_light((-pool * 0.3, 0.0), pool * 1.3, rgb(0xffe487), rgb(0xf5bd3c)),
        );
        b.oval(-pool * 0.4, -pool * k * 0.3, pool * 0.25, pool * k * 0.12, WHITE.fade(0.65));
    }
    let s = (1.0 - melt).max(0.0);
    if s > 0.06 {
        let (w, h) = (96.0 * (0.45 + 0.55 * s), 84.0 * s);
        let c = rgb(0xffdf6b);
        b.polygon(
            &[(-w, -h), (-w + 40.0 * s, -h - 50.0 * k), (w + 40.0 * s, -h - 50.0 * k), (w, -h)],
            c.light(0.5),
        );
        b.rect(-w, -h, 2.0 * w, h + 6.0, 10.0, down(-h, 6.0, c, c.dark(0.1)));
        b.polygon(
            &[(w, -h), (w + 40.0 * s, -h - 50.0 * k), (w + 40.0 * s, -16.0), (w, 4.0)],
            c.dark(0.2),
        );
    }
}

/// A pancake lying flat, from pale (0) to golden (1), with the bubbles of a raw top.
pub fn pancake(b: &mut Brush, look: &Look, rx: f32, gold: f32) {
    let k = look.tilt;
    let c = rgb(0xf6e0a6).mix(rgb(0xc97b2c), gold);
    b.oval(0.0, 12.0, rx, rx * k, rgb(0xf0d596).mix(rgb(0xe9c27c), gold).dark(0.1));
    b.oval(0.0, 0.0, rx, rx * k, rgb(0xf7e5b4));
    b.oval(
        0.0,
        0.0,
        rx * 0.93,
        rx * k * 0.91,
        round_light((-rx * 0.2, -10.0), rx * 1.1, c.light(0.12), c.dark(0.08)),
    );
    if gold < 0.5 {
        for i in 0..16 {
            let (r, (s, co)) = (rx * 0.8 * unit_of(i, 15).sqrt(), (i as f32 * 2.4).sin_cos());
            b.oval(r * co, r * s * k, 7.0, 5.0, rgb(0xdcbf7c));
        }
    } else {
        b.ring(0.0, 0.0, rx * 0.6, rx * k * 0.58, 7.0, c.dark(0.16).fade(0.6));
        b.oval(-rx * 0.35, -rx * k * 0.35, rx * 0.25, rx * k * 0.1, WHITE.fade(0.3));
    }
}

fn stack(b: &mut Brush, look: &Look, state: State) {
    match state {
        State::Empty => {}
        State::Raw => pancake(b, look, 180.0, 0.0),
        State::Topped => pancake_stack(b, look, 1.0, 0.0),
        _ => pancake_stack(b, look, 0.0, 0.0),
    }
}

/// A stack of pancakes with the first `top` of the berries and `syrup` running down.
pub fn pancake_stack(b: &mut Brush, look: &Look, top: f32, syrup: f32) {
    for i in 0..4 {
        let lean = [0.0, 8.0, -6.0, 3.0][i];
        b.moved(lean, -8.0 - 30.0 * i as f32, |b| pancake(b, look, 186.0 - 3.0 * i as f32, 1.0));
    }
    b.moved(3.0, -104.0, |b| {
        if syrup > 0.0 {
            syrup_coat(b, look, syrup);
        }
        for (i, at) in pieces::spots(look, 96.0, 15, top, 46.0) {
            let mut random = seeded(i as u64 * 17);
            b.placed(at, 0.0, 1.1, |b| {
                pieces::piece(b, look, Kind::Berries, State::Whole, &mut random)
            });
        }
    });
}

/// Syrup over the top of a stack and down its sides.
fn syrup_coat(b: &mut Brush, look: &Look, t: f32) {
    let (k, c) = (look.tilt, rgb(0xa4511a).fade(0.9));
    let rx = 60.0 + 112.0 * t.min(0.5) * 2.0;
    b.oval(0.0, 2.0, rx, rx * k, c);
    for i in 0..7 {
        let (s, co) = (0.3 + 2.5 * i as f32 / 6.0).sin_cos();
        let run =
            (t * 1.5 - 0.4 - 0.3 * unit_of(i, 91)).clamp(0.0, 1.0) * (70.0 + 40.0 * unit_of(i, 92));
        if run > 2.0 {
            let (x, y) = (rx * co * 0.97, rx * s * k * 0.9);
            b.limb((x, y), 30.0, (x, y + run), 24.0, c);
            b.oval(x - 5.0, y + run, 4.0, 7.0, WHITE.fade(0.6));
        }
    }
    b.oval(-rx * 0.35, -rx * k * 0.3, rx * 0.3, rx * k * 0.12, WHITE.fade(0.45));
}

fn syrup_bottle(b: &mut Brush, look: &Look) {
    b.shadow(10.0, 4.0, 110.0, 34.0, 0.4);
    let c = rgb(0x9a4a18);
    b.rect(-64.0, -210.0, 128.0, 214.0, 40.0, across(-64.0, 64.0, c.light(0.35), c.dark(0.25)));
    b.rect(-26.0, -270.0, 52.0, 74.0, 12.0, c.light(0.1));
    b.rect(-32.0, -296.0, 64.0, 38.0, 10.0, look.accent);
    b.rect(-64.0, -150.0, 128.0, 92.0, 6.0, rgb(0xfbf1dc));
    b.oval(0.0, -104.0, 30.0, 26.0, look.accent2);
    b.rect(-50.0, -196.0, 12.0, 180.0, 6.0, WHITE.fade(0.4));
}
