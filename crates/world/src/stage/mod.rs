//! The stage: draws what a scene says, in a place of its own.
//!
//! Everything is drawn in a virtual frame of 1600 by 900. An act is drawn in the *act's space*: its
//! origin is the point of the surface where the work stands, x to the right, y down, the subject
//! some 300 to each side; a place may mirror it. [`look::Look`] holds all that a seed decides;
//! `look.tilt` is the height over the width of a circle lying on the surface (a plate of half-width
//! `rx` is an ellipse `rx` by `rx * tilt`), which is how one drawing serves a low and a high camera.
//!
//! To add a thing: draw it in a file of `props/` for its kind and state, standing at the origin, and
//! reach it from `props::draw_thing`. To add an act: write `fn(&mut Brush, &Shot)` in a file of
//! `acts/` and enter it in the table `acts::act_of`. In an act, `shot.work()` is how far the work has
//! come (0 and 1 with a moment of rest at each end), `shot.reach(hand, at)` is where a hand is that
//! works at `at` (it comes in at the start and leaves at the end, so that both states can be seen),
//! `hands::hold` puts a tool of `tools.rs` into a fist, and `shot.stand_by` draws the other things.
//! Look at the result: `cargo run --release -p stitch-lab --example stage_sheet`.

mod dice;
mod colour;
mod shapes;
mod brush;
mod text;
mod palette;
mod look;
mod scenery;
mod place;
mod tools;
mod bench_tools;
mod garden_tools;
mod hands;
mod actor;
mod title;
mod props;
mod acts;

pub use place::Place;

use crate::vocabulary::Scene;
use brush::Brush;
use tiny_skia::Pixmap;

/// Draws a moment of a scene over the whole canvas: `progress` (0..=1) is how far the scene has come
/// and `seconds` the time since it began. The same arguments give the same bytes.
pub fn draw(place: &Place, scene: &Scene, progress: f32, seconds: f32, canvas: &mut Pixmap) {
    let progress = progress.clamp(0.0, 1.0);
    let shift = place.drift(shot_of(scene), progress, seconds);
    place.put_backdrop(shift, canvas);
    let size = (canvas.width(), canvas.height());
    let mut brush = Brush::new(canvas, place::at(size));
    brush.moved(shift.0, shift.1, |b| match scene {
        Scene::Title { .. } => acts::still_life(b, &place.look),
        Scene::Chatter => actor::talk(b, &place.look, seconds),
        Scene::Step(action) => acts::perform(b, &place.look, action, progress, seconds),
    });
    if let Scene::Title { title, subtitle } = scene {
        title::plate(&mut brush, &place.look, title, subtitle, progress);
    }
}

/// A number for the camera's position that differs from one scene's content to another's.
fn shot_of(scene: &Scene) -> u64 {
    match scene {
        Scene::Title { .. } => 1,
        Scene::Chatter => 2,
        Scene::Step(action) => {
            let subject = action.things.first().map_or(0, |t| t.kind as u64);
            3 + action.verb as u64 * 64 + subject
        }
    }
}

#[cfg(test)]
mod tests;
