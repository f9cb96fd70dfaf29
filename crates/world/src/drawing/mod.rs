//! Draws scenes: a background, things, hands and the presenter, all vector shapes.
//!
//! Everything is drawn in a virtual frame of 1600 by 900. An action is drawn in the *action space*: its
//! origin is the point of the surface where the work stands, x to the right, y down, the subject
//! some 300 to each side; a place may mirror it. [`look::Look`] holds all that a seed decides;
//! `look.tilt` is the height over the width of a circle lying on the surface (a plate of half-width
//! `rx` is an ellipse `rx` by `rx * tilt`), which is how one drawing serves a low and a high camera.
//!
//! To add a thing: draw it in a file of `things/` for its kind and state, standing at the origin, and
//! call that from `things::draw`. To add an action: write a `fn(&mut Brush, &Moment)` in a file of
//! `actions/` and enter it in the table `actions::action_fn`. In it, `moment.work()` is the progress of
//! the work (0 and 1 for a while at the ends), `moment.reach(hand, at)` is the position of a hand that
//! works at `at` (it comes in at the start and leaves at the end, so that both states can be seen),
//! `hands::hold` draws a hand with a tool of `kitchen_tools`, `bench_tools` or `garden_tools`, and
//! `moment.draw_others` draws the things beside the subject. Look at the result with
//! `cargo run --release -p stitch-world --example panels`.

mod easing;
mod colour;
mod shapes;
mod brush;
mod palette;
mod look;
mod background;
mod place;
mod kitchen_tools;
mod bench_tools;
mod garden_tools;
mod hands;
mod presenter;
mod title;
mod things;
mod actions;

pub use brush::Drawn;
pub use place::Place;

use crate::vocabulary::Scene;
use brush::Brush;
use tiny_skia::Pixmap;

/// Draws a moment of a scene over the whole canvas: `progress` (0..=1) is how far the scene has come
/// and `seconds` the time since it began. The same arguments give the same bytes. Returns where
/// hands and the subject are.
pub fn draw(
    place: &Place,
    scene: &Scene,
    progress: f32,
    seconds: f32,
    canvas: &mut Pixmap,
) -> Drawn {
    let progress = progress.clamp(0.0, 1.0);
    let shift = place.camera_shift(camera_seed(scene), progress, seconds);
    place.draw_background(shift, canvas);
    let size = (canvas.width(), canvas.height());
    let mut brush = Brush::new(canvas, place::to_canvas(size));
    brush.moved(shift.0, shift.1, |b| match scene {
        Scene::Title { .. } => actions::still_life(b, &place.look),
        Scene::Chatter => presenter::talk(b, &place.look, seconds),
        Scene::Step(action) => actions::draw(b, &place.look, action, progress, seconds),
    });
    if let Scene::Title { title, subtitle } = scene {
        title::draw(&mut brush, &place.look, title, subtitle, progress);
    }
    brush.drawn
}

/// Scenes with different content are seen from different positions.
fn camera_seed(scene: &Scene) -> u64 {
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
