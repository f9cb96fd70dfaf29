//! Things made of wood in their states.

use super::joinery::{self, Coat};
use super::{panel, stool, timber};
use crate::drawing::brush::Brush;
use crate::drawing::look::Look;
use crate::vocabulary::{Kind, State};

/// Draws one in its state.
pub fn draw(b: &mut Brush, look: &Look, kind: Kind, state: State) {
    let built = if state == State::Parts { 0.0 } else { 1.0 };
    let coat = match state {
        State::Painted => Coat::Paint,
        State::Varnished => Coat::Varnish,
        _ => Coat::Bare,
    };
    match kind {
        Kind::Leg => leg(b, look, state),
        Kind::Panel => {
            let hole = if state == State::Plain { 0.0 } else { 62.0 };
            panel::draw(b, look, hole, if state == State::Glued { 1.0 } else { 0.0 });
        }
        Kind::Seat => {
            let smooth = if state == State::Rough { 0.0 } else { 1.0 };
            timber::seat(b, look, smooth, if state == State::Drilled { 4.0 } else { 0.0 });
        }
        Kind::Birdhouse => joinery::birdhouse(b, look, built, coat),
        Kind::Stool => stool(b, look, state, coat),
        Kind::Bookshelf => joinery::bookshelf(b, look, built, coat),
        Kind::PlanterBox => {
            let bored = matches!(state, State::Drilled | State::Painted);
            joinery::planter(b, look, built, if bored { 4.0 } else { 0.0 }, coat);
        }
        _ => timber::board(b, look, state),
    }
}

fn leg(b: &mut Brush, look: &Look, state: State) {
    if state == State::Glued {
        return timber::legs_standing(b, look, 3.0);
    }
    b.shadow(12.0, 44.0, timber::ROD.0 * 1.1, 50.0, 0.5);
    timber::legs_lying(b, look, if state == State::Cut { 1.0 } else { 0.0 });
}

fn stool(b: &mut Brush, look: &Look, state: State, coat: Coat) {
    let oozed = match state {
        State::Glued => 0.3,
        State::Clamped => 1.0,
        _ => 0.0,
    };
    stool::draw(b, look, coat, oozed);
    if state == State::Clamped {
        stool::clamps(b, look, 1.0, 1.0);
    }
}
