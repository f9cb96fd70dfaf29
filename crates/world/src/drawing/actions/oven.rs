//! In the oven: a window, a glow, and cheese that melts behind it.

use super::Moment;
use crate::drawing::brush::{Brush, Colour, SHADE, WHITE, across, down, rect, rgb};
use crate::drawing::easing::ease;
use crate::drawing::hands::{self, Hand};
use crate::drawing::look::Look;
use crate::drawing::things::{self, dishes, produce, vessels};
use crate::text::{Font, Weight};
use crate::vocabulary::Kind;

/// A tray bakes behind the oven's window; the dial turns, heat shimmers.
pub fn bake(b: &mut Brush, moment: &Moment) {
    let (look, w) = (moment.look, moment.work());
    b.moved(0.0, 60.0, |b| {
        b.shadow(0.0, 70.0, 620.0, 90.0, 0.5);
        body(b, look);
        panel(b, look, w);
        window(b, moment, ease(w, 0.1, 0.9));
        handle(b, look);
    });
    let set = Moment { progress: (moment.progress * 3.2).min(1.0), ..*moment };
    if set.progress < 1.0 {
        hands::claw(b, look, Hand::Right, set.reach(Hand::Right, (400.0, -330.0)));
    }
}

fn enamel(look: &Look) -> Colour {
    [rgb(0xdfe4e6), rgb(0x33363d), look.accent, look.front.light(0.2)][(look.tool_kind / 5) % 4]
}

fn body(b: &mut Brush, look: &Look) {
    let c = enamel(look);
    b.rect(-500.0, -520.0, 1000.0, 600.0, 26.0, across(-500.0, 500.0, c.light(0.15), c.dark(0.16)));
    b.rect(-500.0, -520.0, 1000.0, 16.0, 8.0, c.light(0.5));
    b.rect(-466.0, -366.0, 932.0, 420.0, 22.0, c.dark(0.12));
    b.rect(-460.0, -372.0, 920.0, 420.0, 22.0, c.light(0.05));
}

fn panel(b: &mut Brush, look: &Look, w: f32) {
    b.rect(-466.0, -500.0, 932.0, 104.0, 16.0, enamel(look).dark(0.3));
    for (i, x) in [-360.0, -240.0, 240.0, 360.0].into_iter().enumerate() {
        let turn = if i == 3 { -120.0 + 240.0 * w } else { 40.0 * i as f32 };
        b.oval(x, -448.0, 36.0, 36.0, rgb(0x202228));
        b.placed((x, -448.0), turn, 1.0, |b| {
            b.oval(0.0, -3.0, 30.0, 30.0, rgb(0xd9dee1));
            b.rect(-4.0, -30.0, 8.0, 26.0, 4.0, look.accent);
        });
    }
    b.rect(-110.0, -482.0, 220.0, 68.0, 10.0, rgb(0x14161a));
    let left = 12 - (12.0 * w) as u32;
    let text = format!("{left:02}:00");
    let font = Font::new(Weight::SemiBold, 50.0);
    let flip = if look.mirror { -1.0 } else { 1.0 };
    b.moved(0.0, -430.0, |b| {
        b.stretched(flip, 1.0, |b| {
            b.text(&font, &text, (-64.0, 0.0), rgb(0xff8a4a));
        });
    });
}

/// The window: dark, glowing, with the tray in it.
fn window(b: &mut Brush, moment: &Moment, melt: f32) {
    let pane = rect(-400.0, -286.0, 800.0, 300.0, 24.0);
    b.fill(&pane, down(-286.0, 14.0, rgb(0x3a140c), rgb(0x8a3312)));
    b.clipped(&pane, |b| {
        let pulse = 0.9 + 0.1 * (moment.seconds * 2.1).sin();
        b.glow(0.0, -310.0, 520.0, 180.0, rgb(0xff9a3a).fade(0.75 * pulse));
        b.glow(0.0, 40.0, 520.0, 160.0, rgb(0xffb24a).fade(0.6 * pulse));
    });
    baking(b, moment, melt);
    b.polygon(
        &[(-330.0, -286.0), (-210.0, -286.0), (-350.0, 14.0), (-395.0, 14.0), (-395.0, -160.0)],
        WHITE.fade(0.09),
    );
    b.trace(&pane, 16.0, rgb(0x1d1e22));
    b.trace(&rect(-392.0, -278.0, 784.0, 284.0, 20.0), 3.0, SHADE.fade(0.6));
}

/// The grill, the shelf, the tray on it and the heat that rises.
fn baking(b: &mut Brush, moment: &Moment, melt: f32) {
    let look = moment.look;
    b.line(&[(-380.0, -274.0), (380.0, -274.0)], 9.0, rgb(0xffd08a));
    (0..9).for_each(|i| {
        b.line(
            &[(-390.0, -64.0 + 2.0 * i as f32), (390.0, -64.0 + 2.0 * i as f32)],
            1.6,
            rgb(0x2a1410),
        )
    });
    b.placed((0.0, -108.0), 0.0, 1.02, |b| inside(b, look, moment.subject().kind, melt, moment));
    for i in 0..5 {
        let t = (moment.seconds * 0.5 + i as f32 * 0.2).fract();
        let x = -280.0 + 140.0 * i as f32 + 14.0 * (moment.seconds * 3.0 + i as f32).sin();
        b.line(
            &[(x, -110.0 - 140.0 * t), (x + 14.0, -134.0 - 140.0 * t), (x, -158.0 - 140.0 * t)],
            7.0,
            WHITE.fade(0.28 * (1.0 - t)),
        );
    }
}

fn inside(b: &mut Brush, look: &Look, kind: Kind, melt: f32, moment: &Moment) {
    if kind == Kind::Nachos {
        return vessels::tray(b, look, 330.0, |b| dishes::nachos(b, look, melt, 0.0));
    }
    let thing = moment.subject();
    if produce::draws(thing.kind, thing.after) {
        let (form, cooked) = produce::form(thing.before);
        let food = (form, melt.max(cooked));
        let wide = 210.0_f32.min(95.0 / look.tilt); // no higher than the window
        return vessels::tray(b, look, 330.0, |b| {
            produce::heap(b, look, thing.kind, food, wide, 1.0)
        });
    }
    let state = if melt < 0.5 { thing.before } else { thing.after };
    things::draw(b, look, thing.kind, state);
}

fn handle(b: &mut Brush, look: &Look) {
    let steel = rgb(0xc9d1d6).mix(look.metal, 0.2);
    b.rect(
        -360.0,
        -338.0,
        720.0,
        30.0,
        15.0,
        down(-338.0, -308.0, steel.light(0.5), steel.dark(0.3)),
    );
    [-330.0, 306.0].iter().for_each(|x| b.rect(*x, -346.0, 24.0, 46.0, 8.0, steel.dark(0.2)));
}
