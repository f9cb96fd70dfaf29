//! The act for whatever has none of its own: hands work on the subject and it changes.

use super::Shot;
use crate::world::stage::brush::Brush;
use crate::world::stage::dice::{ease, wave};
use crate::world::stage::hands::{self, Hand};
use crate::world::stage::props;

/// Two hands turn and press the subject while its new state shows.
pub fn handle(b: &mut Brush, shot: &Shot) {
    shot.stand_by(b);
    let (thing, look) = (shot.subject(), shot.look);
    let change = ease(shot.work(), 0.25, 0.85);
    props::draw_thing(b, look, thing.kind, thing.before);
    b.faded(change, |b| props::draw_thing(b, look, thing.kind, thing.after));
    let sway = 14.0 * wave(shot.seconds, 0.8);
    hands::claw(b, look, Hand::Left, shot.reach(Hand::Left, (-170.0 + sway, -120.0)));
    hands::claw(b, look, Hand::Right, shot.reach(Hand::Right, (170.0 + sway, -110.0 - sway)));
}
