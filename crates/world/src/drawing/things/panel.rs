//! The house-shaped panel: the front of a birdhouse, with its hole and glue.

use super::timber::{GLUE, PENCIL, STAND, upright_grain, wood};
use crate::drawing::brush::{
    Brush, Colour, Point, SHADE, WHITE, between, down, polygon, rgb, round_light,
};
use crate::drawing::look::Look;

/// Corners of a house-shaped panel that stands at the origin.
pub const HOUSE: [Point; 5] =
    [(-165.0, 0.0), (-165.0, -250.0), (0.0, -410.0), (165.0, -250.0), (165.0, 0.0)];
/// Where the entrance goes.
pub const ENTRANCE: Point = (0.0, -225.0);

/// A birdhouse's front: `hole` is the radius of its entrance, `glued` how much of its edge has glue.
pub fn draw(b: &mut Brush, look: &Look, hole: f32, glued: f32) {
    b.moved(0.0, STAND, |b| standing(b, wood(look), hole, glued));
}

fn standing(b: &mut Brush, c: Colour, hole: f32, glued: f32) {
    b.shadow(16.0, 4.0, 240.0, 70.0, 0.5);
    let side: Vec<Point> = HOUSE.iter().map(|s| (s.0 + 20.0, s.1 - 10.0)).collect();
    b.polygon(&side, c.dark(0.35));
    b.fill(&polygon(&HOUSE), down(-410.0, 0.0, c.light(0.22), c.dark(0.04)));
    upright_grain(b, c, (-150.0, -240.0), (300.0, 230.0));
    b.line(&[(-60.0, -330.0), (-50.0, -290.0), (-62.0, -256.0)], 3.0, c.dark(0.3).fade(0.5));
    b.line(&[(48.0, -340.0), (54.0, -300.0), (44.0, -262.0)], 3.0, c.dark(0.3).fade(0.5));
    b.trace(&polygon(&HOUSE), 4.0, c.light(0.5).fade(0.7));
    entrance(b, c, ENTRANCE, hole);
    bead(b, glued);
}

/// A round entrance of radius `r`, or the pencil's circle where it will be.
pub fn entrance(b: &mut Brush, c: Colour, at: Point, r: f32) {
    if r < 60.0 {
        b.ring(at.0, at.1, 62.0, 62.0, 5.0, PENCIL.fade(0.75));
        b.line(&[(at.0 - 22.0, at.1), (at.0 + 22.0, at.1)], 5.0, PENCIL.fade(0.75));
        b.line(&[(at.0, at.1 - 22.0), (at.0, at.1 + 22.0)], 5.0, PENCIL.fade(0.75));
    }
    if r > 1.0 {
        b.oval(at.0, at.1, r, r, c.dark(0.5));
        b.oval(
            at.0 + r * 0.07,
            at.1 + r * 0.07,
            r * 0.88,
            r * 0.88,
            round_light(at, r, rgb(0x1c1014), rgb(0x3b241c)),
        );
        b.ring(at.0, at.1, r, r, 4.0, c.light(0.5).fade(0.8));
    }
}

/// A bead of glue along the panel's edge, up one side, over the gable and down the other.
fn bead(b: &mut Brush, part: f32) {
    let path = bead_path(part);
    if path.len() < 2 {
        return;
    }
    b.trace(&open_line(&path), 36.0, SHADE.fade(0.3));
    b.trace(&open_line(&path), 28.0, GLUE.dark(0.04));
    let up: Vec<Point> = path.iter().map(|s| (s.0 - 3.0, s.1 - 4.0)).collect();
    b.trace(&open_line(&up), 8.0, WHITE);
}

/// The corners of the first `part` of the bead.
fn bead_path(part: f32) -> Vec<Point> {
    let corners: Vec<Point> =
        [(-146.0, -18.0), (-146.0, -242.0), (0.0, -384.0), (146.0, -242.0), (146.0, -18.0)].into();
    let steps = part.clamp(0.0, 1.0) * 4.0;
    let whole = steps as usize;
    let mut path: Vec<Point> = corners.iter().take(whole + 1).copied().collect();
    if let (Some(a), Some(z)) = (corners.get(whole), corners.get(whole + 1)) {
        path.push(between(*a, *z, steps.fract()));
    }
    if part <= 0.005 { Vec::new() } else { path }
}

/// Where the bead has come to.
pub fn bead_end(part: f32) -> Point {
    let (x, y) = bead_path(part.max(0.006)).last().copied().unwrap_or((-146.0, -18.0));
    (x, y + STAND)
}

/// Straight lines through the points, not closed.
fn open_line(points: &[Point]) -> Option<tiny_skia::Path> {
    let mut p = tiny_skia::PathBuilder::new();
    let (first, rest) = points.split_first()?;
    p.move_to(first.0, first.1);
    rest.iter().for_each(|s| p.line_to(s.0, s.1));
    p.finish()
}
