//! Loose pieces of food, and heaps of them.

use super::bits::mash_of;
pub use super::bits::{crumb, onion_skin, spots, strand};
use super::produce;
use crate::drawing::brush::{Brush, Colour, Point, WHITE, rgb};
use crate::drawing::look::Look;
use crate::random::{SplitMix64, seeded};
use crate::vocabulary::{Kind, State};

/// Whether a thing lies about in pieces, so that it waits in a bowl.
pub fn is_loose(kind: Kind, state: State) -> bool {
    use State::*;
    matches!(state, Chopped | Grated | Shredded | Sliced | Mashed)
        || matches!(state, CookedWhole | CookedSliced | CookedChopped | CookedGrated)
        || matches!(kind, Kind::Mince | Kind::Berries | Kind::BlackBeans)
}

/// One piece around the origin, some 40 wide.
pub fn piece(b: &mut Brush, look: &Look, kind: Kind, state: State, random: &mut SplitMix64) {
    let lean = random.range(-50.0, 50.0);
    match (kind, state) {
        (Kind::Onion, State::Chopped | State::Cooked) => onion(b, look, lean, random),
        (Kind::Tomato, State::Chopped) => tomato(b, lean, random),
        (Kind::Pepper, _) => pepper(b, look, lean, random),
        (Kind::Lettuce, State::Shredded) => ribbon(b, random),
        (Kind::Lettuce, _) => leaf(b, lean, random),
        (Kind::Cucumber, _) => cucumber(b, lean * 0.4, 1.0),
        (Kind::Carrot, State::Grated) => strand(b, lean * 1.6, rgb(0xf28a2e), random),
        (Kind::Cheese, _) => strand(b, lean * 1.6, rgb(0xf8c74a), random),
        (Kind::Avocado, _) => cube(b, lean),
        (Kind::Mince, State::Cooked) => crumb(b, rgb(0x7a4528), random),
        (Kind::Mince, _) => crumb(b, rgb(0xe2777a), random),
        (Kind::BlackBeans, _) => bean(b, lean, random),
        (Kind::Berries, _) => berry(b, state == State::Washed, random),
        (Kind::TortillaChips | Kind::Nachos, _) => chip(b, lean * 2.0, 1.0, 0.0),
        _ => {
            let (form, cooked) = produce::form(state);
            produce::piece(b, look, kind, form, cooked, random);
        }
    }
}

fn cube(b: &mut Brush, lean: f32) {
    b.placed((0.0, 0.0), lean, 1.0, |b| {
        b.rect(-17.0, -12.0, 34.0, 30.0, 6.0, rgb(0xa9c756).dark(0.16));
        b.rect(-17.0, -17.0, 34.0, 26.0, 6.0, rgb(0xd9e48a));
    });
}

fn onion(b: &mut Brush, look: &Look, lean: f32, random: &mut SplitMix64) {
    let red = onion_skin(look).1;
    let s = random.range(0.8, 1.15);
    b.placed((0.0, 0.0), lean, s, |b| {
        b.rect(-18.0, -11.0, 36.0, 28.0, 7.0, rgb(0xd8cbb8));
        b.rect(-18.0, -16.0, 36.0, 26.0, 7.0, rgb(0xfdf8ef));
        b.line(&[(-14.0, -9.0), (0.0, -13.0), (14.0, -8.0)], 4.0, red.light(0.3));
        b.line(&[(-14.0, 1.0), (0.0, -3.0), (14.0, 2.0)], 2.5, red.light(0.6));
    });
}

/// The colour of this place's peppers.
pub fn pepper_colour(look: &Look) -> Colour {
    [rgb(0xe23a2e), rgb(0xf4b223), rgb(0x3f9a3f), rgb(0xef7a22)][(look.seed % 4) as usize]
}

fn tomato(b: &mut Brush, lean: f32, random: &mut SplitMix64) {
    let s = random.range(0.85, 1.15);
    b.placed((0.0, 0.0), lean, s, |b| {
        b.rect(-19.0, -12.0, 38.0, 32.0, 9.0, rgb(0xb3241d));
        b.rect(-19.0, -17.0, 38.0, 28.0, 9.0, rgb(0xf0604a));
        b.oval(3.0, -4.0, 9.0, 7.0, rgb(0xf79a63));
        b.oval(0.0, -5.0, 2.6, 2.0, rgb(0xffe9a8));
        b.oval(6.0, -3.0, 2.6, 2.0, rgb(0xffe9a8));
    });
}

fn pepper(b: &mut Brush, look: &Look, lean: f32, random: &mut SplitMix64) {
    let (c, s) = (pepper_colour(look), random.range(0.85, 1.15));
    b.placed((0.0, 0.0), lean, s, |b| {
        b.rect(-18.0, -10.0, 36.0, 26.0, 5.0, c.dark(0.28));
        b.rect(-18.0, -15.0, 36.0, 24.0, 5.0, c.light(0.08));
        b.rect(-13.0, -12.0, 20.0, 5.0, 2.0, WHITE.fade(0.45));
    });
}

fn ribbon(b: &mut Brush, random: &mut SplitMix64) {
    let c = *random.pick(&[rgb(0x5fa83c), rgb(0x8fcb54), rgb(0xb9de7a), rgb(0xdcebb0)]);
    let (w, h) = (random.range(46.0, 74.0), random.range(-18.0, 18.0));
    let line = [(-w, h), (-w * 0.4, -h * 0.6 - 9.0), (w * 0.3, h * 0.5 + 7.0), (w, -h)];
    b.line(&line, 14.0, c.dark(0.22));
    b.line(&line.map(|(x, y)| (x, y - 3.0)), 10.0, c);
}

fn leaf(b: &mut Brush, lean: f32, random: &mut SplitMix64) {
    let c = *random.pick(&[rgb(0x6fb344), rgb(0x93cc5c), rgb(0x4f9a3a)]);
    b.placed((0.0, 0.0), lean, 1.5, |b| {
        b.blob(
            &[
                (-34.0, 4.0),
                (-22.0, -20.0),
                (0.0, -16.0),
                (20.0, -24.0),
                (36.0, 0.0),
                (18.0, 20.0),
                (0.0, 14.0),
                (-20.0, 22.0),
            ],
            c,
        );
        b.line(&[(-28.0, 4.0), (0.0, -2.0), (26.0, 0.0)], 4.0, c.light(0.5));
    });
}

/// A round slice of cucumber, `open` as wide as high.
pub fn cucumber(b: &mut Brush, lean: f32, open: f32) {
    b.placed((0.0, 0.0), lean, 1.0, |b| {
        b.stretched(open, 1.0, |b| {
            b.oval(3.0, 5.0, 41.0, 41.0, rgb(0x1f5a2c));
            b.oval(0.0, 0.0, 41.0, 41.0, rgb(0x3c8a3f));
            b.oval(0.0, 0.0, 36.0, 36.0, rgb(0xdff0b4));
            b.oval(0.0, 0.0, 23.0, 23.0, rgb(0xc3e08d));
            for i in 0..6 {
                let (s, c) = (i as f32 * 1.047).sin_cos();
                b.oval(15.0 * c, 15.0 * s, 3.4, 5.0, rgb(0xf6f8df));
            }
        });
    });
}

fn bean(b: &mut Brush, lean: f32, random: &mut SplitMix64) {
    let s = random.range(0.9, 1.15);
    b.placed((0.0, 0.0), lean, s, |b| {
        b.oval(0.0, 3.0, 23.0, 15.0, rgb(0x0f0a10));
        b.oval(0.0, 0.0, 22.0, 14.0, rgb(0x33243a));
        b.oval(-6.0, -5.0, 8.0, 3.5, WHITE.fade(0.55));
        b.oval(4.0, 3.0, 4.0, 3.0, rgb(0xe9dcc6));
    });
}

fn berry(b: &mut Brush, washed: bool, random: &mut SplitMix64) {
    let c = *random.pick(&[rgb(0x3d4fa1), rgb(0x3d4fa1), rgb(0xd8283f), rgb(0x6a2a86)]);
    let r = if c == rgb(0xd8283f) { 27.0 } else { 21.0 };
    b.oval(2.0, 4.0, r, r, c.dark(0.4));
    b.oval(0.0, 0.0, r, r * 0.97, c);
    b.oval(-r * 0.3, -r * 0.35, r * 0.3, r * 0.22, WHITE.fade(0.6));
    if r > 25.0 {
        [(-8.0, 6.0), (6.0, -2.0), (9.0, 10.0), (-2.0, 15.0)]
            .iter()
            .for_each(|s: &Point| b.oval(s.0, s.1, 2.4, 3.2, rgb(0xffd98a)));
        b.blob(&[(-14.0, -r), (0.0, -r - 9.0), (14.0, -r), (0.0, -r + 9.0)], rgb(0x4f9a3a));
    } else {
        b.ring(3.0, -4.0, 6.0, 5.0, 3.0, c.light(0.45));
    }
    if washed {
        super::vessels::droplets(b, &[(r * 0.35, r * 0.2)], 8.0);
    }
}

/// A corn chip: a rounded triangle, `brown` as it bakes.
pub fn chip(b: &mut Brush, lean: f32, size: f32, brown: f32) {
    let c = rgb(0xf2c45c).mix(rgb(0xd08a34), brown);
    b.placed((0.0, 0.0), lean, size, |b| {
        let shape =
            [(-46.0, 26.0), (0.0, 34.0), (46.0, 26.0), (26.0, -10.0), (0.0, -44.0), (-26.0, -10.0)];
        b.blob(&shape.map(|(x, y)| (x + 2.0, y + 7.0)), c.dark(0.4));
        b.blob(&shape, c);
        b.line(&[(-24.0, 10.0), (0.0, -26.0)], 6.0, c.light(0.45));
        [(-12.0, 14.0), (14.0, 8.0), (4.0, -8.0), (22.0, 20.0)]
            .iter()
            .for_each(|s: &Point| b.oval(s.0, s.1, 3.5, 3.0, c.dark(0.3)));
    });
}

/// A heap of pieces `rx` to each side when `amount` is 1; it grows from the middle.
pub fn heap(b: &mut Brush, look: &Look, kind: Kind, state: State, rx: f32, amount: f32) {
    if produce::draws(kind, state) {
        return produce::heap(b, look, kind, produce::form(state), rx, amount);
    }
    if state == State::Mashed {
        return mash(b, look, rx * amount.clamp(0.0, 1.0).sqrt());
    }
    let size = match (kind, state) {
        (Kind::Cucumber, _) => 1900.0,
        (Kind::Lettuce, State::Shredded) => 1100.0,
        (Kind::TortillaChips, _) => 1800.0,
        _ => 560.0,
    };
    let count = ((rx * rx * (0.45 + look.tilt) * 1.9 / size) as usize).clamp(8, 110);
    let grown = rx * amount.clamp(0.0, 1.0).sqrt();
    b.shadow(6.0, 12.0, grown * 1.2 + 20.0, (grown * 1.2 + 20.0) * look.tilt, 0.35);
    for (i, at) in spots(look, rx, count, amount, rx * 0.2) {
        let mut random = seeded(i as u64 * 31 + kind as u64);
        b.moved(at.0, at.1, |b| piece(b, look, kind, state, &mut random));
    }
}

/// A mound of mashed avocado.
pub fn mash(b: &mut Brush, look: &Look, rx: f32) {
    mash_of(b, look, rgb(0x9fbf45), rx);
}
