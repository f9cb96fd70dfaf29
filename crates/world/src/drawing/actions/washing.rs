//! Under the tap: a colander in the sink, water, drops that stay.

use super::Moment;
use crate::drawing::brush::{Brush, Colour, WHITE, across, down, polygon, rgb};
use crate::drawing::easing::{ease, wave};
use crate::drawing::hands::{self, Hand};
use crate::drawing::look::Look;
use crate::drawing::things::{self, pieces, vessels};
use crate::random::unit_of;
use crate::vocabulary::{Kind, State};

/// Water runs over what lies in the colander, and drops stay on it.
pub fn wash(b: &mut Brush, moment: &Moment) {
    let (look, w) = (moment.look, moment.work());
    sink(b, look);
    tap_neck(b, look);
    let turn = 10.0 * wave(moment.seconds, 0.7) * moment.presence();
    colander(b, look, |b| b.moved(turn, 0.0, |b| contents(b, moment, ease(w, 0.15, 0.8))));
    let flow = ease(moment.progress, 0.05, 0.12) * (1.0 - ease(moment.progress, 0.86, 0.94));
    water(b, moment, flow);
    tap_mouth(b, look);
    hands::claw(b, look, Hand::Left, moment.reach(Hand::Left, (-250.0 + turn, -130.0)));
    hands::claw(b, look, Hand::Right, moment.reach(Hand::Right, (250.0 + turn, -126.0)));
}

fn sink(b: &mut Brush, look: &Look) {
    let k = look.tilt;
    let (w, d, steel) = (470.0, 330.0 * k, rgb(0xb9c3c9));
    let lean = 44.0 * (1.0 - k);
    let outer = polygon(&[(-w + lean, -d), (w - lean, -d), (w, d), (-w, d)]);
    b.fill(&outer, down(-d, d, steel.dark(0.1), steel.light(0.4)));
    b.trace(&outer, 22.0, steel.light(0.55));
    let inner = polygon(&[
        (-w + lean + 36.0, -d * 0.86),
        (w - lean - 36.0, -d * 0.86),
        (w - 44.0, d * 0.88),
        (-w + 44.0, d * 0.88),
    ]);
    b.fill(&inner, down(-d, d, steel.dark(0.45), steel.dark(0.05)));
    b.shadow(0.0, 20.0, 380.0, 300.0 * k, 0.35);
}

fn colander(b: &mut Brush, look: &Look, contents: impl FnOnce(&mut Brush)) {
    let (rx, h, k) = (250.0, 130.0, look.tilt);
    let c = if look.tool_kind.is_multiple_of(2) { rgb(0xd3dadf) } else { look.accent };
    for side in [-1.0, 1.0] {
        b.line(
            &[
                (side * rx * 0.97, -h + 8.0),
                (side * rx * 1.22, -h + 2.0),
                (side * rx * 0.95, -h + 40.0),
            ],
            16.0,
            c.dark(0.25),
        );
    }
    b.oval(0.0, -h, rx, rx * k, c.light(0.3));
    b.oval(0.0, -h + 4.0, rx * 0.94, rx * k * 0.92, c.dark(0.35));
    b.moved(0.0, -h + rx * k * 0.3, contents);
    b.fill(&vessels::round_wall(rx, k, -h), across(-rx, rx, c.light(0.25), c.dark(0.25)));
    for row in 0..3 {
        for col in 0..9 {
            let t = (col as f32 - 4.0) / 4.4;
            let r = rx * (0.9 - 0.12 * row as f32);
            let y = -h + 34.0 + 34.0 * row as f32 + (1.0 - t * t).max(0.0).sqrt() * rx * k * 0.86;
            b.oval(t * r, y, 8.0, 7.0, c.dark(0.55));
        }
    }
    let rim: Vec<(f32, f32)> = (0..=12)
        .map(|i| (std::f32::consts::PI * i as f32 / 12.0).sin_cos())
        .map(|(s, co)| (-rx * co, -h + rx * k * s))
        .collect();
    b.line(&rim, 11.0, c.light(0.45));
}

fn contents(b: &mut Brush, moment: &Moment, wet: f32) {
    let (look, thing) = (moment.look, moment.subject());
    if thing.kind == Kind::Berries {
        let state = if wet < 0.5 { State::Whole } else { State::Washed };
        pieces::heap(b, look, thing.kind, state, 205.0, 1.0);
        let drops: Vec<(f32, f32)> =
            pieces::spots(look, 190.0, 22, wet, 40.0).into_iter().map(|s| s.1).collect();
        return vessels::droplets(b, &drops, 15.0);
    }
    b.placed((0.0, 20.0), 0.0, 1.05, |b| {
        things::draw(b, look, thing.kind, thing.before);
        b.faded(wet, |b| things::draw(b, look, thing.kind, thing.after));
    });
}

fn steel(look: &Look) -> Colour {
    [rgb(0xc4ccd1), rgb(0xd0a45c), rgb(0x3a3d44)][(look.tool_kind / 3) % 3]
}

fn tap_neck(b: &mut Brush, look: &Look) {
    let (c, back) = (steel(look), -330.0 * look.tilt - 20.0);
    b.shadow(0.0, back + 6.0, 110.0, 26.0, 0.4);
    b.rect(-50.0, back - 20.0, 100.0, 30.0, 12.0, across(-50.0, 50.0, c.light(0.4), c.dark(0.3)));
    b.line(&[(60.0, back - 60.0), (130.0, back - 96.0)], 22.0, c.dark(0.1));
    b.line(&[(0.0, back), (0.0, -470.0)], 50.0, across(-25.0, 25.0, c.light(0.4), c.dark(0.3)));
}

fn tap_mouth(b: &mut Brush, look: &Look) {
    let c = steel(look);
    b.line(
        &[(0.0, -452.0), (2.0, -478.0), (8.0, -440.0), (8.0, -404.0)],
        54.0,
        across(-24.0, 34.0, c.light(0.45), c.dark(0.2)),
    );
    b.rect(-26.0, -412.0, 68.0, 26.0, 8.0, c.dark(0.25));
    b.line(&[(-8.0, -470.0), (-8.0, -424.0)], 7.0, WHITE.fade(0.6));
}

fn water(b: &mut Brush, moment: &Moment, flow: f32) {
    if flow < 0.02 {
        return;
    }
    let (blue, s) = (rgb(0x9fdcff), moment.seconds);
    let end = -240.0;
    let wob = 3.0 * wave(s, 3.0);
    b.line(&[(8.0, -396.0), (8.0 + wob, -320.0), (8.0, end)], 42.0 * flow, blue.fade(0.75));
    b.line(&[(0.0, -396.0), (-2.0 + wob, -320.0), (0.0, end)], 11.0 * flow, WHITE.fade(0.8));
    b.glow(8.0, end + 10.0, 120.0, 46.0, WHITE.fade(0.55 * flow));
    for i in 0..20 {
        let t = (s * 1.8 + unit_of(i, 1)).fract();
        let way = (unit_of(i, 2) * 2.0 - 1.0) * 210.0;
        let (x, y) = (
            8.0 + way * t,
            end + 10.0 - 120.0 * t * (1.0 - t) * 2.0 * unit_of(i, 3) + 90.0 * t * t,
        );
        b.oval(x, y, 7.0, 8.0, blue.fade(0.9 * (1.0 - t) * flow));
        b.oval(x - 2.0, y - 3.0, 2.5, 2.5, WHITE.fade(1.0 - t));
    }
}
