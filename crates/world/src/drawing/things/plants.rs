//! Pots, beds, soil and plants in their states.

use super::earth;
use super::greens;
use crate::drawing::brush::{Brush, rgb};
use crate::drawing::look::Look;
use crate::vocabulary::{Kind, State};

/// Draws one in its state.
pub fn draw(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    match kind {
        Kind::Soil => earth::sack(b, look, earth::soil(0.55), look.accent2),
        Kind::Compost => earth::sack(b, look, earth::soil(0.95), rgb(0x5b8a4a)),
        Kind::Fertiliser => fertiliser(b, look),
        Kind::Straw => earth::bale(b, look),
        Kind::GardenBed => bed(b, look, state),
        Kind::TomatoSeeds | Kind::BasilSeeds if state == State::Seed => {
            earth::packet(b, look, kind == Kind::TomatoSeeds);
        }
        Kind::Pot | Kind::TomatoSeeds | Kind::BasilSeeds => pot(b, look, state, kind),
        Kind::Basil => basil(b, look, state),
        Kind::LettuceSeedling => lettuce(b, look, state),
        Kind::Rose => rose(b, look, state),
        _ => tomato(b, look, state),
    }
}

fn fertiliser(b: &mut Brush, look: &Look) {
    earth::sack(b, look, rgb(0x8fd0f0), rgb(0x2f78b8));
    b.moved(0.0, -250.0, |b| earth::pellets(b, (90.0, 30.0), 0.0, 0.5));
}

/// A pot in its state, with the seeds of `kind` where some are sown.
fn pot(b: &mut Brush, look: &Look, state: State, kind: Kind) {
    let fill = if state == State::Empty { 0.0 } else { 1.0 };
    let wet = if state == State::Watered { 1.0 } else { 0.25 };
    earth::pot(b, look, fill, wet, |b| {
        if state >= State::Sown {
            seeds(b, look, kind != Kind::BasilSeeds, 1.0, wet);
        }
    });
}

/// Seeds in their dimples, `sown` (0..=1) of them.
pub fn seeds(b: &mut Brush, look: &Look, tomato: bool, sown: f32, wet: f32) {
    let (count, r) = if tomato { (9, 15.0) } else { (22, 9.0) };
    for i in 0..(sown * count as f32).round() as usize {
        let (s, c) = (i as f32 * 2.4).sin_cos();
        let far = 140.0 * ((i as f32 + 0.5) / count as f32).sqrt();
        let (x, y) = (far * c, far * look.tilt * s);
        b.oval(x, y + 3.0, r * 1.7, r * 1.1, earth::soil((wet + 0.45).min(1.0)).dark(0.3));
        let tint = if tomato { rgb(0xf7e3a6) } else { rgb(0x201a1c) };
        b.oval(x, y, r, r * 0.72, if tomato { tint } else { tint.light(0.1) });
        b.oval(x - r * 0.3, y - r * 0.2, r * 0.3, r * 0.2, tint.light(0.6));
    }
}

fn basil(b: &mut Brush, look: &Look, state: State) {
    let (grown, cut) = match state {
        State::Seed | State::Sown | State::Watered => (0.0, 0.0),
        State::Sprout => (0.12, 0.0),
        State::Seedling | State::Planted => (0.34, 0.0),
        State::Fed => (0.5, 0.0),
        State::Harvested => (1.0, 1.0),
        _ => (1.0, 0.0),
    };
    earth::pot(b, look, 1.0, 0.55, |b| {
        if state == State::Fed {
            earth::pellets(b, (180.0, 180.0 * look.tilt), 0.0, 1.0);
        }
        if grown > 0.0 {
            greens::basil(b, look, grown, cut);
        } else {
            seeds(b, look, false, 1.0, 0.55);
        }
    });
}

fn tomato(b: &mut Brush, look: &Look, state: State) {
    match state {
        State::Seed | State::Sown | State::Watered => {
            earth::pot(b, look, 1.0, 0.55, |b| seeds(b, look, true, 1.0, 0.55));
        }
        State::Sprout | State::Seedling => {
            let grown = if state == State::Sprout { 0.12 } else { 0.3 };
            earth::pot(b, look, 1.0, 0.55, |b| greens::tomato(b, look, grown * 0.99, 0, 0.0));
        }
        _ => earth::bed(b, look, 0.55, |b| planted_tomato(b, look, state)),
    }
}

fn planted_tomato(b: &mut Brush, look: &Look, state: State) {
    earth::heap(b, earth::soil(0.6), 110.0, 0.22);
    let (grown, fruits) = match state {
        State::Ripe => (1.0, 6),
        State::Harvested => (1.0, 0),
        State::Staked => (0.72, 0),
        _ => (0.6, 0),
    };
    if state >= State::Staked {
        greens::stake(b, look, 1.0, 3.0);
    }
    b.moved(0.0, -18.0, |b| greens::tomato(b, look, grown, fruits, 1.0));
}

fn lettuce(b: &mut Brush, look: &Look, state: State) {
    if state <= State::Seedling {
        return b.moved(0.0, -60.0, |b| {
            greens::root_ball(b);
            greens::lettuce(b, look, 0.8);
        });
    }
    let wet = if state == State::Watered { 1.0 } else { 0.3 };
    earth::bed(b, look, wet, |b| {
        for x in [-270.0, 0.0, 270.0] {
            b.moved(x, 14.0, |b| greens::lettuce(b, look, 1.0));
        }
    });
}

fn rose(b: &mut Brush, look: &Look, state: State) {
    if state <= State::Seedling {
        return b.moved(0.0, -60.0, |b| {
            greens::root_ball(b);
            greens::rose(b, look, 0.9, 24.0);
        });
    }
    let wet = if state == State::Watered { 1.0 } else { 0.35 };
    let d = earth::BED.1 * look.tilt * 0.5;
    earth::bed(b, look, wet, |b| match state {
        State::Overgrown => greens::overgrown(b, look, 0),
        State::Pruned => greens::overgrown(b, look, greens::STEMS.len()),
        State::Mulched | State::Watered => {
            greens::overgrown(b, look, greens::STEMS.len());
            earth::straw(b, (390.0, d * 0.84), 40.0 * look.tilt, 1.0, 190);
            if state == State::Watered {
                greens::reopen(b, look, 30.0);
            }
        }
        State::Fed => {
            earth::pellets(b, (300.0, d * 0.8), 0.3, 1.0);
            greens::rose(b, look, 1.0, 40.0);
        }
        _ => greens::rose(b, look, 1.0, 34.0),
    });
}

fn bed(b: &mut Brush, look: &Look, state: State) {
    let wet = match state {
        State::Enriched | State::Mulched => 0.95,
        _ => 0.2,
    };
    let d = earth::BED.1 * look.tilt * 0.5;
    earth::bed(b, look, wet, |b| match state {
        State::Flat => earth::weeds(b, look, 0.0),
        State::Dug => earth::hole(b, look, 1.0, wet),
        State::Mulched => earth::straw(b, (405.0, d * 0.86), 0.0, 1.0, 230),
        _ => furrows(b, look, 1.0),
    });
}

/// Rows of turned, dark soil over `part` of the bed from the left.
pub fn furrows(b: &mut Brush, look: &Look, part: f32) {
    let d = earth::BED.1 * look.tilt * 0.5;
    let c = earth::soil(1.0);
    for row in 0..4 {
        let y = d * (-0.66 + 0.44 * row as f32);
        for i in 0..15 {
            let x = -378.0 + 54.0 * i as f32;
            if (x + 378.0) / 756.0 <= part {
                b.oval(
                    x,
                    y,
                    34.0,
                    15.0 + 12.0 * look.tilt,
                    c.light(if i % 2 == 0 { 0.1 } else { 0.02 }),
                );
                b.oval(x - 8.0, y - 7.0, 13.0, 5.0, c.light(0.24));
            }
        }
    }
}
