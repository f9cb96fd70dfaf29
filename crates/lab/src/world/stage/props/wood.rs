//! Things made of wood in their states.

use crate::world::stage::brush::{Brush, down, rgb};
use crate::world::stage::look::Look;
use crate::world::vocabulary::{Kind, State};

/// Draws one in its state.
pub fn draw(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    let wood = rgb(0xd9a566).mix(look.accent, if state == State::Painted { 0.8 } else { 0.0 });
    let (w, h) = match kind {
        Kind::Board | Kind::Leg => (300.0, 50.0),
        Kind::Panel | Kind::Seat => (240.0, 60.0),
        _ => (180.0, 280.0),
    };
    b.shadow(10.0, 6.0, w * 1.15, 60.0, 0.45);
    b.slab(-w, -h, w * 2.0, h, 10.0, down(-h, 0.0, wood.light(0.2), wood.dark(0.12)));
    (0..4).for_each(|i| {
        let y = -h + h * (i as f32 + 0.5) / 4.0;
        b.line(&[(-w * 0.9, y), (0.0, y + 4.0), (w * 0.9, y)], 3.0, wood.dark(0.25));
    });
}
