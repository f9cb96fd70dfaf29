//! What bowls hold while it is mixed: dressing, batter, salad.

use super::pieces;
use crate::drawing::brush::{Brush, Colour, Point, WHITE, down, rgb, round_light};
use crate::drawing::easing::lerp;
use crate::drawing::look::Look;
use crate::random::{seeded, unit_of};
use crate::vocabulary::{Kind, State};

/// What is in a mixing bowl: its parts apart at 0, one smooth mass at 1, turning with `turn`.
pub fn mixture(b: &mut Brush, look: &Look, kind: Kind, rx: f32, mixed: f32, turn: f32) {
    let k = look.tilt;
    let smooth = if kind == Kind::Batter { rgb(0xf7e2a8) } else { rgb(0xe5c25a) };
    let first = if kind == Kind::Batter { rgb(0xfbfaf4) } else { rgb(0xe2b23a) };
    b.oval(0.0, 0.0, rx, rx * k, first.mix(smooth, mixed).dark(0.05));
    b.faded(1.0 - mixed, |b| match kind {
        Kind::Batter => batter_parts(b, rx, k, turn * mixed),
        _ => dressing_parts(b, rx, k, turn * mixed),
    });
    b.faded(mixed, |b| swirl(b, rx, k, turn, smooth, kind == Kind::Dressing));
}

fn batter_parts(b: &mut Brush, rx: f32, k: f32, turn: f32) {
    let at = |angle: f32, r: f32| {
        let (s, c) = (angle + turn).sin_cos();
        (rx * r * c, rx * r * s * k)
    };
    let flour = at(3.4, 0.4);
    b.blob(
        &[
            (flour.0 - rx * 0.46, flour.1 + 14.0),
            (flour.0, flour.1 - rx * 0.34),
            (flour.0 + rx * 0.46, flour.1 + 14.0),
            (flour.0, flour.1 + rx * k * 0.42),
        ],
        down(-90.0, 60.0, WHITE, rgb(0xe6ddcc)),
    );
    for a in [0.2, 1.2] {
        let (x, y) = at(a, 0.5);
        b.oval(x, y, rx * 0.3, rx * 0.3 * k, rgb(0xfff7dc).fade(0.85));
        b.oval(
            x,
            y - 8.0,
            rx * 0.16,
            rx * 0.15 * k.max(0.55),
            round_light((x - 8.0, y - 16.0), rx * 0.2, rgb(0xffd24a), rgb(0xf09a1e)),
        );
        b.oval(x - 8.0, y - 16.0, 8.0, 5.0, WHITE.fade(0.7));
    }
}

fn dressing_parts(b: &mut Brush, rx: f32, k: f32, turn: f32) {
    let at = |angle: f32, r: f32| {
        let (s, c) = (angle + turn).sin_cos();
        (rx * r * c, rx * r * s * k)
    };
    let vinegar = at(2.6, 0.45);
    b.oval(vinegar.0, vinegar.1, rx * 0.42, rx * 0.42 * k, rgb(0x8c3b2a).fade(0.9));
    let mustard = at(5.6, 0.5);
    b.blob(
        &[
            (mustard.0 - 40.0, mustard.1 + 6.0),
            (mustard.0, mustard.1 - 38.0),
            (mustard.0 + 40.0, mustard.1 + 6.0),
            (mustard.0, mustard.1 + 20.0),
        ],
        rgb(0xd99a1c),
    );
    for i in 0..9 {
        let (x, y) = at(i as f32 * 1.7, 0.2 + 0.08 * i as f32);
        b.oval(x, y, 13.0, 13.0 * k, rgb(0xf6d978));
        b.oval(x - 3.0, y - 3.0, 4.0, 3.0, WHITE.fade(0.8));
    }
}

fn swirl(b: &mut Brush, rx: f32, k: f32, turn: f32, c: Colour, herbs: bool) {
    for arm in 0..3 {
        let points: Vec<Point> = (0..9)
            .map(|i| {
                let t = i as f32 / 8.0;
                let (s, co) = (turn + arm as f32 * 2.09 + t * 3.2).sin_cos();
                (rx * (0.12 + 0.74 * t) * co, rx * (0.12 + 0.74 * t) * s * k)
            })
            .collect();
        b.line(&points, 11.0, c.light(0.5).fade(0.8));
        b.line(
            &points.iter().map(|p| (p.0 + 6.0, p.1 + 9.0)).collect::<Vec<_>>(),
            6.0,
            c.dark(0.18).fade(0.6),
        );
    }
    if herbs {
        for i in 0..16 {
            let (s, co) = (turn * 0.7 + i as f32 * 2.4).sin_cos();
            let r = rx * (0.2 + 0.65 * unit_of(i, 8));
            b.oval(r * co, r * s * k, 7.0, 4.0, rgb(0x4f8a34));
        }
    }
}

/// A salad's pieces: each kind in its own quarter at 0, all through each other at 1.
pub fn salad(b: &mut Brush, look: &Look, rx: f32, mixed: f32, jump: f32) {
    let kinds = [
        (Kind::Lettuce, State::Washed),
        (Kind::Tomato, State::Chopped),
        (Kind::Cucumber, State::Sliced),
        (Kind::Carrot, State::Grated),
    ];
    let k = look.tilt;
    b.oval(0.0, 0.0, rx * 1.02, rx * 1.02 * k, rgb(0x4c8a34));
    let mut all: Vec<(usize, Point)> = (0..60)
        .map(|i| {
            let r = rx * (unit_of(i, 71).sqrt() * 0.9);
            let quarter = (i % 4) as f32 * 1.571 + 0.3 + 1.1 * unit_of(i, 72);
            let anywhere = unit_of(i, 73) * std::f32::consts::TAU;
            let (s, c) = lerp(quarter, anywhere, mixed).sin_cos();
            let hop = jump * 80.0 * unit_of(i, (jump * 3.0) as u64 + 74);
            (i, (r * c, r * s * k - rx * 0.24 * (1.0 - (r / rx).powi(2)) - hop))
        })
        .collect();
    all.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
    for (i, at) in all {
        let (kind, state) = kinds[i % 4];
        let mut random = seeded(i as u64 * 13);
        let size = if kind == Kind::Cucumber { 0.95 } else { 1.15 };
        b.placed(at, 0.0, size, |b| pieces::piece(b, look, kind, state, &mut random));
    }
}
