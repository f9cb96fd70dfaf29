//! Pots, beds, soil and plants in their states.

use crate::world::stage::brush::{Brush, across, polygon, rgb};
use crate::world::stage::look::Look;
use crate::world::vocabulary::{Kind, State};

/// Draws one in its state.
pub fn draw(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    let clay = rgb(0xc4683f).mix(look.accent2, 0.15);
    b.shadow(10.0, 6.0, 190.0, 60.0, 0.45);
    b.fill(
        &polygon(&[(-130.0, -170.0), (130.0, -170.0), (95.0, 0.0), (-95.0, 0.0)]),
        across(-130.0, 130.0, clay.light(0.2), clay.dark(0.2)),
    );
    b.slab(-146.0, -200.0, 292.0, 44.0, 8.0, clay.light(0.1));
    if state != State::Empty {
        b.oval(0.0, -198.0, 126.0, 126.0 * look.tilt * 0.4, rgb(0x4a3222));
    }
    if !matches!(kind, Kind::Pot | Kind::Soil | Kind::Compost | Kind::Straw | Kind::Fertiliser)
        && state > State::Sown
    {
        (0..7).for_each(|i| {
            b.placed((0.0, -200.0), -150.0 + 20.0 * i as f32, 1.0, |b| {
                b.blob(&[(0.0, 0.0), (60.0, -22.0), (130.0, 0.0), (60.0, 22.0)], rgb(0x5fa83c));
            })
        });
    }
}
