//! What stands behind the work: walls, windows, shelves, sky, and the surface itself.

mod decor;
mod surface;
mod kitchen;
mod workshop;
mod garden;

use super::brush::{Brush, Point, SHADE, across, rect, round_light};
use super::look::Look;
use crate::vocabulary::Domain;

/// How far the background reaches beyond the frame on each side, for the camera to drift.
pub const MARGIN: Point = (100.0, 60.0);

/// Paints the place at rest over the whole virtual frame and its margin.
pub fn paint(b: &mut Brush, look: &Look) {
    match look.domain {
        Domain::Cooking => kitchen::paint(b, look),
        Domain::Woodworking => workshop::paint(b, look),
        Domain::Gardening => garden::paint(b, look),
    }
    light(b, look);
}

/// Light from one side, shade on the other, and darker corners where the look has them.
fn light(b: &mut Brush, look: &Look) {
    let all = rect(-MARGIN.0, -MARGIN.1, 1600.0 + 2.0 * MARGIN.0, 900.0 + 2.0 * MARGIN.1, 0.0);
    let (bright, shady) = if look.light < 0.0 { (-100.0, 1700.0) } else { (1700.0, -100.0) };
    b.fill(&all, across(shady, bright, SHADE.fade(0.11), SHADE.fade(0.0)));
    b.fill(&all, round_light((bright, 60.0), 1100.0, look.glow.fade(0.30), look.glow.fade(0.0)));
    if look.vignette > 0.0 {
        let (clear, dark) = (SHADE.fade(0.0), SHADE.fade(look.vignette * 1.6));
        b.fill(&all, round_light((800.0, 480.0), 1250.0, clear, dark));
    }
}
