//! Vegetables, fruit and cheese: whole, washed, and in what a knife or grater makes of them.

use super::pieces::{self, onion_skin, pepper_colour};
use super::produce;
use super::vessels;
use crate::drawing::brush::{
    Brush, Colour, Point, WHITE, across, down, rect, rgb, round_light, towards,
};
use crate::drawing::look::Look;
use crate::random::{seeded, unit_of};
use crate::vocabulary::{Kind, State};

/// Draws one in its state.
pub fn draw(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    match (kind, state) {
        (Kind::Lime, State::Squeezed) => squeezed_lime(b),
        (Kind::Berries, _) => pieces::heap(b, look, kind, state, 170.0, 1.0),
        (_, State::Whole) => whole(b, look, kind),
        (_, State::Washed) => {
            whole(b, look, kind);
            wet(b, look, kind);
        }
        _ if produce::draws(kind, state) => made(b, look, kind, state),
        _ => pieces::heap(b, look, kind, state, 190.0, 1.0),
    }
}

/// One that a tool or heat has changed; what is cooked lies on a plate.
fn made(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    let (form, cooked) = produce::form(state);
    if cooked > 0.0 || form == produce::PieceForm::Mashed {
        vessels::plate(b, look, 250.0);
    }
    produce::heap(b, look, kind, (form, cooked), 180.0, 1.0);
    if state == State::Topped {
        topping(b, look, (Kind::Cheese, State::Grated), 1.0);
    }
}

/// A topping scattered over a heap, `amount` (0..=1) of it.
pub fn topping(b: &mut Brush, look: &Look, (kind, state): (Kind, State), amount: f32) {
    for (i, at) in pieces::spots(look, 165.0, 44, amount, 60.0) {
        let mut random = seeded(i as u64 * 7 + 3);
        b.placed((at.0, at.1 - 16.0), 0.0, 0.8, |b| {
            pieces::piece(b, look, kind, state, &mut random)
        });
    }
}

/// A whole one, standing or lying with its lowest point near the origin.
pub fn whole(b: &mut Brush, look: &Look, kind: Kind) {
    let (x0, x1, _) = extent(look, kind);
    let half = (x1 - x0) / 2.0;
    b.shadow((x0 + x1) / 2.0 + 12.0, 2.0, half * 1.25, half * 1.1 * look.tilt * 0.6, 0.5);
    bare(b, look, kind);
}

/// A whole one without its shadow.
fn bare(b: &mut Brush, look: &Look, kind: Kind) {
    match kind {
        Kind::Onion => onion(b, look),
        Kind::Tomato => tomato(b),
        Kind::Pepper => pepper(b, look),
        Kind::Lettuce => lettuce(b),
        Kind::Cucumber => cucumber(b),
        Kind::Carrot => carrot(b),
        Kind::Avocado => avocado(b),
        Kind::Cheese => cheese(b),
        Kind::Lime => lime(b),
        _ => produce::whole(b, look, kind),
    }
}

/// What is left of a whole one when all to the right of `cut` is gone.
pub fn rest(b: &mut Brush, look: &Look, kind: Kind, state: State, cut: f32) {
    let (x0, _, _) = extent(look, kind);
    let half = (cut - x0) / 2.0;
    b.shadow(x0 + half, 2.0, half * 1.25, (half * 1.2 + 20.0) * look.tilt * 0.6, 0.5);
    b.clipped(&rect(-500.0, -400.0, 500.0 + cut, 520.0, 0.0), |b| {
        bare(b, look, kind);
        if state == State::Washed {
            wet(b, look, kind);
        }
    });
}

/// Left end, right end and height of a whole one.
pub fn extent(look: &Look, kind: Kind) -> (f32, f32, f32) {
    if let Some(extent) = produce::extent(look, kind) {
        return extent;
    }
    match kind {
        Kind::Onion => (-120.0, 120.0, 215.0),
        Kind::Tomato => (-125.0, 125.0, 205.0),
        Kind::Pepper => (-125.0, 125.0, 235.0),
        Kind::Lettuce => (-175.0, 175.0, 250.0),
        Kind::Cucumber => (-250.0, 250.0, 100.0),
        Kind::Carrot => (-210.0, 200.0, 90.0),
        Kind::Cheese => (-150.0, 150.0, 160.0),
        _ => (-95.0, 95.0, 150.0),
    }
}

/// The cut face of a half, `h` high, at the origin's height.
pub fn cut_face(b: &mut Brush, look: &Look, kind: Kind, h: f32) {
    let (rx, ry) = (h * 0.2, h * 0.5);
    let (rim, flesh, core) = match kind {
        Kind::Onion => (onion_skin(look).0, rgb(0xfbf4e6), onion_skin(look).1),
        Kind::Tomato => (rgb(0xc8281f), rgb(0xf27a5c), rgb(0xf7b06a)),
        Kind::Pepper => {
            (pepper_colour(look).dark(0.2), pepper_colour(look).light(0.3), rgb(0xfbf0c8))
        }
        Kind::Lettuce => (rgb(0x5fa83c), rgb(0xd9edaa), rgb(0xf6f7dc)),
        Kind::Cucumber => (rgb(0x2c7036), rgb(0xdff0b4), rgb(0xc3e08d)),
        _ => {
            let food = produce::produce(look, kind);
            (food.skin, food.flesh, food.core)
        }
    };
    b.oval(0.0, -ry, rx, ry, rim);
    b.oval(0.0, -ry, rx * 0.86, ry * 0.92, flesh);
    b.ring(0.0, -ry, rx * 0.56, ry * 0.62, 5.0, core);
    b.oval(0.0, -ry, rx * 0.3, ry * 0.34, core);
}

fn onion(b: &mut Brush, look: &Look) {
    let c = onion_skin(look).0;
    let bulb = [
        (0.0, -232.0),
        (22.0, -196.0),
        (86.0, -164.0),
        (122.0, -92.0),
        (88.0, -20.0),
        (0.0, 4.0),
        (-88.0, -20.0),
        (-122.0, -92.0),
        (-86.0, -164.0),
        (-22.0, -196.0),
    ];
    b.blob(&bulb, round_light((-40.0, -130.0), 190.0, c.light(0.35), c.dark(0.2)));
    for t in [-0.75, -0.4, 0.0, 0.42, 0.76] {
        b.line(
            &[(t * 24.0, -196.0), (t * 104.0, -118.0), (t * 108.0, -70.0), (t * 40.0, -4.0)],
            4.0,
            c.dark(0.22).fade(0.75),
        );
    }
    b.line(&[(-58.0, -150.0), (-84.0, -96.0)], 16.0, WHITE.fade(0.4));
    for dx in [-16.0, -5.0, 6.0, 16.0] {
        b.line(&[(dx * 0.6, 0.0), (dx, 12.0)], 4.0, rgb(0xe9d9b4));
    }
    b.line(&[(0.0, -222.0), (-5.0, -246.0), (6.0, -258.0)], 10.0, c.dark(0.2));
}

fn tomato(b: &mut Brush) {
    let c = rgb(0xe23b2c);
    let body = [
        (0.0, -188.0),
        (64.0, -200.0),
        (124.0, -140.0),
        (118.0, -56.0),
        (62.0, 0.0),
        (0.0, 4.0),
        (-62.0, 0.0),
        (-118.0, -56.0),
        (-124.0, -140.0),
        (-64.0, -200.0),
    ];
    b.blob(&body, round_light((-44.0, -140.0), 210.0, rgb(0xff7a5c), c.dark(0.16)));
    b.blob(&[(-84.0, -150.0), (-62.0, -168.0), (-50.0, -150.0), (-78.0, -104.0)], WHITE.fade(0.45));
    for i in 0..6 {
        let tip = towards((0.0, -184.0), i as f32 * 60.0 + 12.0, 62.0);
        let tip = (tip.0, -184.0 + (tip.1 + 184.0) * 0.5);
        b.limb((0.0, -184.0), 20.0, tip, 4.0, rgb(0x3f8a3a));
    }
    b.line(&[(0.0, -186.0), (6.0, -214.0), (18.0, -224.0)], 12.0, rgb(0x5a9a42));
}

fn pepper(b: &mut Brush, look: &Look) {
    let c = pepper_colour(look);
    for (x, w, tone) in [(-62.0, 62.0, c.dark(0.08)), (62.0, 62.0, c.dark(0.2)), (0.0, 68.0, c)] {
        let side = [
            (x, -204.0),
            (x + w, -160.0),
            (x + w * 0.9, -60.0),
            (x * 0.8 + w * 0.3, 2.0),
            (x * 0.8 - w * 0.3, 2.0),
            (x - w * 0.9, -60.0),
            (x - w, -160.0),
        ];
        b.blob(&side, round_light((x - 24.0, -140.0), 150.0, tone.light(0.28), tone.dark(0.12)));
    }
    b.line(&[(-86.0, -160.0), (-94.0, -110.0), (-86.0, -66.0)], 13.0, WHITE.fade(0.5));
    b.line(&[(-20.0, -162.0), (-26.0, -120.0)], 11.0, WHITE.fade(0.42));
    b.blob(
        &[
            (-48.0, -200.0),
            (0.0, -214.0),
            (48.0, -200.0),
            (22.0, -180.0),
            (0.0, -188.0),
            (-22.0, -180.0),
        ],
        rgb(0x3f8a3a),
    );
    b.line(&[(0.0, -202.0), (4.0, -236.0), (24.0, -250.0)], 18.0, rgb(0x4f9a42));
}

fn lettuce(b: &mut Brush) {
    let greens = [rgb(0x3f8f3a), rgb(0x5fae44), rgb(0x86c957), rgb(0xb5de7c), rgb(0xd9efa6)];
    for (layer, c) in greens.into_iter().enumerate() {
        let (r, lift) = (176.0 - 30.0 * layer as f32, -112.0 - 6.0 * layer as f32);
        let points: Vec<Point> = (0..18)
            .map(|i| {
                let ruffle = if i % 2 == 0 { 1.0 } else { 0.88 };
                let (s, co) =
                    (std::f32::consts::TAU * (i as f32 + layer as f32 * 0.4) / 18.0).sin_cos();
                (r * ruffle * co, lift + r * 0.72 * ruffle * s)
            })
            .collect();
        b.blob(&points, down(lift - r, lift + r, c.light(0.18), c.dark(0.1)));
        for i in 0..5 {
            let end = towards((0.0, lift + 40.0), 200.0 + i as f32 * 35.0, r * 0.8);
            b.line(
                &[(0.0, lift + 50.0), (end.0 * 0.6, end.1 + 18.0), end],
                4.0,
                c.light(0.45).fade(0.8),
            );
        }
    }
}

fn cucumber(b: &mut Brush) {
    let c = rgb(0x2f7d3a);
    b.rect(-250.0, -100.0, 500.0, 100.0, 50.0, down(-100.0, 0.0, c.light(0.25), c.dark(0.3)));
    for i in 0..5 {
        let y = -82.0 + i as f32 * 17.0;
        b.line(&[(-222.0, y), (0.0, y - 4.0), (222.0, y)], 4.0, rgb(0x7dbb5e).fade(0.5));
    }
    b.rect(-210.0, -84.0, 380.0, 12.0, 6.0, WHITE.fade(0.4));
    b.oval(-246.0, -50.0, 10.0, 20.0, rgb(0xa5cc7c));
}

fn carrot(b: &mut Brush) {
    let c = rgb(0xf08a24);
    for (dy, lean) in [(-12.0, -26.0), (0.0, 0.0), (8.0, 24.0)] {
        b.placed((188.0, -46.0 + dy), lean, 1.0, |b| {
            b.line(&[(0.0, 0.0), (60.0, -4.0), (112.0, -14.0)], 9.0, rgb(0x4f9a3a));
            (0..4).for_each(|i| {
                b.oval(
                    50.0 + 20.0 * i as f32,
                    -8.0 - 6.0 * (i % 2) as f32,
                    18.0,
                    11.0,
                    rgb(0x5fae44),
                )
            });
        });
    }
    let body = [
        (-214.0, -36.0),
        (-100.0, -66.0),
        (60.0, -90.0),
        (170.0, -94.0),
        (198.0, -46.0),
        (170.0, 0.0),
        (60.0, -4.0),
        (-100.0, -20.0),
    ];
    b.blob(&body, down(-94.0, 0.0, c.light(0.3), c.dark(0.2)));
    for x in [-110.0, -40.0, 20.0, 90.0, 140.0] {
        b.line(&[(x, -62.0), (x + 8.0, -48.0), (x + 5.0, -34.0)], 4.0, c.dark(0.3).fade(0.6));
    }
    b.line(&[(-60.0, -66.0), (120.0, -78.0)], 9.0, WHITE.fade(0.4));
}

fn avocado(b: &mut Brush) {
    let c = rgb(0x3f5a2c);
    let pear = [
        (0.0, -228.0),
        (52.0, -196.0),
        (80.0, -110.0),
        (92.0, -50.0),
        (0.0, 4.0),
        (-92.0, -50.0),
        (-80.0, -110.0),
        (-52.0, -196.0),
    ];
    b.placed((-66.0, 0.0), -8.0, 1.0, |b| {
        b.blob(&pear, round_light((-30.0, -110.0), 170.0, c.light(0.25), c.dark(0.3)));
        (0..12).for_each(|i| {
            b.oval(
                -50.0 + 100.0 * unit_of(i, 1),
                -150.0 + 130.0 * unit_of(i, 2),
                5.0,
                4.0,
                c.light(0.25),
            )
        });
    });
    b.placed((84.0, 10.0), 12.0, 1.0, |b| avocado_half(b, &pear));
}

fn avocado_half(b: &mut Brush, pear: &[Point]) {
    b.blob(pear, rgb(0x33491f));
    let inner =
        |s: f32| pear.iter().map(|p| (p.0 * s, -104.0 + (p.1 + 104.0) * s)).collect::<Vec<_>>();
    b.blob(&inner(0.9), rgb(0x9ec14b));
    b.blob(&inner(0.78), rgb(0xe6ea9c));
    b.oval(0.0, -74.0, 42.0, 42.0, round_light((-12.0, -88.0), 54.0, rgb(0xb97a45), rgb(0x6f3f1e)));
    b.oval(-14.0, -90.0, 10.0, 8.0, WHITE.fade(0.5));
}

fn cheese(b: &mut Brush) {
    let c = rgb(0xf7c33f);
    b.polygon(&[(-150.0, -70.0), (60.0, -160.0), (150.0, -112.0), (-130.0, -66.0)], c.light(0.45));
    b.polygon(
        &[(-150.0, -70.0), (150.0, -112.0), (150.0, -2.0), (-150.0, 4.0)],
        down(-110.0, 0.0, c.light(0.1), c.dark(0.1)),
    );
    let holes = [
        (-90.0, -30.0, 18.0),
        (-20.0, -54.0, 14.0),
        (40.0, -26.0, 22.0),
        (104.0, -66.0, 17.0),
        (112.0, -18.0, 12.0),
    ];
    for (x, y, r) in holes {
        b.oval(x, y, r, r * 0.86, c.dark(0.22));
        b.oval(x + 2.0, y + 3.0, r * 0.8, r * 0.68, c.dark(0.1));
    }
    b.line(&[(-148.0, -68.0), (150.0, -110.0)], 5.0, c.light(0.65));
}

fn lime(b: &mut Brush) {
    let c = rgb(0x6fb52c);
    let body = [
        (-98.0, -74.0),
        (-60.0, -132.0),
        (0.0, -148.0),
        (60.0, -132.0),
        (100.0, -74.0),
        (60.0, -16.0),
        (0.0, 0.0),
        (-60.0, -16.0),
    ];
    b.blob(&body, round_light((-30.0, -100.0), 130.0, rgb(0xb5dd5c), c.dark(0.18)));
    (0..14).for_each(|i| {
        b.oval(
            -64.0 + 128.0 * unit_of(i, 3),
            -120.0 + 100.0 * unit_of(i, 4),
            3.0,
            2.6,
            c.dark(0.15),
        )
    });
    b.blob(&[(-58.0, -104.0), (-30.0, -122.0), (-24.0, -110.0), (-54.0, -84.0)], WHITE.fade(0.5));
    b.oval(102.0, -74.0, 9.0, 12.0, c.dark(0.25));
}

/// A half lime with its cut face towards the camera; `flat` is 0 when full and 1 when squeezed out.
pub fn lime_half(b: &mut Brush, flat: f32) {
    let (c, ry) = (rgb(0x5f9f26), 70.0 - 34.0 * flat);
    b.oval(0.0, 10.0, 88.0, ry + 4.0, c.dark(0.12));
    b.oval(0.0, 0.0, 88.0, ry, rgb(0x86c13a));
    b.oval(0.0, 0.0, 78.0, ry * 0.87, rgb(0xf1f6cf));
    let pulp = rgb(0xb7dd5e).mix(rgb(0xdbe3a8), flat);
    for i in 0..8 {
        let (s, co) = (std::f32::consts::TAU * (i as f32 + 0.5) / 8.0).sin_cos();
        let (x, y) = (44.0 * co, ry * 0.5 * s);
        b.blob(
            &[
                (x * 0.2, y * 0.2),
                (x * 1.2 - y * 0.55, y * 1.2 + x * 0.28 * ry / 70.0),
                (x * 1.5, y * 1.5),
                (x * 1.2 + y * 0.55, y * 1.2 - x * 0.28 * ry / 70.0),
            ],
            pulp,
        );
    }
    b.oval(0.0, 0.0, 8.0, ry * 0.1, rgb(0xf9fbe6));
}

fn squeezed_lime(b: &mut Brush) {
    b.shadow(10.0, 6.0, 230.0, 60.0, 0.4);
    b.placed((-90.0, -36.0), -10.0, 1.0, |b| lime_half(b, 1.0));
    b.placed((96.0, -24.0), 12.0, 1.0, |b| lime_half(b, 0.9));
    (0..5).for_each(|i| {
        b.oval(
            -40.0 + 30.0 * i as f32,
            40.0 + 8.0 * (i % 2) as f32,
            9.0,
            5.0,
            rgb(0xdcefa0).fade(0.9),
        )
    });
}

/// Drops on a washed one.
fn wet(b: &mut Brush, look: &Look, kind: Kind) {
    let (x0, x1, h) = extent(look, kind);
    let drops: Vec<Point> = (0..16)
        .map(|i| {
            (x0 + (x1 - x0) * (0.15 + 0.7 * unit_of(i, 21)), -h * (0.15 + 0.7 * unit_of(i, 22)))
        })
        .collect();
    vessels::droplets(b, &drops, 11.0);
}

/// A wedge of something soft on a grater, `size` of it left.
pub fn block(b: &mut Brush, look: &Look, kind: Kind, size: f32) {
    if kind >= Kind::Potato {
        let food = produce::produce(look, kind);
        let (rx, ry) = (50.0 + 60.0 * size, 46.0 + 40.0 * size);
        b.oval(
            rx - 26.0,
            0.0,
            rx,
            ry,
            across(-26.0, 2.0 * rx, food.skin.light(0.2), food.skin.dark(0.2)),
        );
        b.oval(-12.0, 0.0, 18.0, ry * 0.8, food.flesh);
        return;
    }
    let c: Colour = if kind == Kind::Carrot { rgb(0xf08a24) } else { rgb(0xf7c33f) };
    let (w, h) = (70.0 + 50.0 * size, 60.0 + 70.0 * size);
    if kind == Kind::Carrot {
        b.rect(
            -20.0,
            -36.0,
            60.0 + 190.0 * size,
            72.0,
            34.0,
            down(-36.0, 36.0, c.light(0.25), c.dark(0.2)),
        );
        b.oval(-14.0, 0.0, 14.0, 34.0, c.light(0.4));
        b.line(&[(20.0, -20.0), (40.0 + 120.0 * size, -20.0)], 7.0, WHITE.fade(0.4));
    } else {
        b.rect(-18.0, -h / 2.0, w, h, 12.0, across(-18.0, w, c.light(0.35), c.dark(0.1)));
        b.oval(30.0, -8.0, 13.0, 11.0, c.dark(0.2));
        b.oval(60.0, 22.0 * size, 9.0, 8.0, c.dark(0.18));
    }
}
