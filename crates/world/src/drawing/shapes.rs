//! Paths of shapes: ellipses, rectangles, polygons, smooth outlines and limbs.

use tiny_skia::{Path, PathBuilder, Rect};

/// A point of the virtual space.
pub type Point = (f32, f32);

/// A closed path of an ellipse.
pub fn oval(x: f32, y: f32, rx: f32, ry: f32) -> Option<Path> {
    PathBuilder::from_oval(Rect::from_ltrb(x - rx, y - ry, x + rx, y + ry)?)
}

/// A rectangle with corners rounded by `r`.
pub fn rect(x: f32, y: f32, w: f32, h: f32, r: f32) -> Option<Path> {
    let r = r.min(w / 2.0).min(h / 2.0).max(0.0);
    let mut p = PathBuilder::new();
    let (x1, y1, c) = (x + w, y + h, r * 0.448);
    p.move_to(x + r, y);
    p.line_to(x1 - r, y);
    p.cubic_to(x1 - c, y, x1, y + c, x1, y + r);
    p.line_to(x1, y1 - r);
    p.cubic_to(x1, y1 - c, x1 - c, y1, x1 - r, y1);
    p.line_to(x + r, y1);
    p.cubic_to(x + c, y1, x, y1 - c, x, y1 - r);
    p.line_to(x, y + r);
    p.cubic_to(x, y + c, x + c, y, x + r, y);
    p.close();
    p.finish()
}

/// Straight lines through the points, closed.
pub fn polygon(points: &[Point]) -> Option<Path> {
    let mut p = PathBuilder::new();
    let (&first, rest) = points.split_first()?;
    p.move_to(first.0, first.1);
    rest.iter().for_each(|s| p.line_to(s.0, s.1));
    p.close();
    p.finish()
}

/// A smooth closed outline through the points.
pub fn smooth(points: &[Point]) -> Option<Path> {
    spline(points, true)
}

/// A smooth open line through the points.
pub fn curve(points: &[Point]) -> Option<Path> {
    spline(points, false)
}

/// Catmull-Rom through the points.
fn spline(points: &[Point], closed: bool) -> Option<Path> {
    let n = points.len();
    let first = points.first()?;
    let at = |i: isize| {
        let i = if closed { i.rem_euclid(n as isize) } else { i.clamp(0, n as isize - 1) };
        points[i as usize]
    };
    let mut p = PathBuilder::new();
    p.move_to(first.0, first.1);
    for i in 0..(if closed { n } else { n - 1 }) as isize {
        let (a, b, c, d) = (at(i - 1), at(i), at(i + 1), at(i + 2));
        p.cubic_to(
            b.0 + (c.0 - a.0) / 6.0,
            b.1 + (c.1 - a.1) / 6.0,
            c.0 - (d.0 - b.0) / 6.0,
            c.1 - (d.1 - b.1) / 6.0,
            c.0,
            c.1,
        );
    }
    if closed {
        p.close();
    }
    p.finish()
}

/// A limb: from `a`, `wa` thick, to `b`, `wb` thick, with round ends.
pub fn limb(a: Point, wa: f32, b: Point, wb: f32) -> Option<Path> {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx.hypot(dy).max(0.01);
    let (ux, uy) = (dx / length, dy / length);
    let (nx, ny) = (-uy, ux);
    let k = 1.33;
    let (ra, rb) = (wa / 2.0, wb / 2.0);
    let mut p = PathBuilder::new();
    p.move_to(a.0 + nx * ra, a.1 + ny * ra);
    p.line_to(b.0 + nx * rb, b.1 + ny * rb);
    let (ex, ey) = (ux * rb * k, uy * rb * k);
    let (fx, fy) = (ux * ra * k, uy * ra * k);
    p.cubic_to(
        b.0 + nx * rb + ex,
        b.1 + ny * rb + ey,
        b.0 - nx * rb + ex,
        b.1 - ny * rb + ey,
        b.0 - nx * rb,
        b.1 - ny * rb,
    );
    p.line_to(a.0 - nx * ra, a.1 - ny * ra);
    p.cubic_to(
        a.0 - nx * ra - fx,
        a.1 - ny * ra - fy,
        a.0 + nx * ra - fx,
        a.1 + ny * ra - fy,
        a.0 + nx * ra,
        a.1 + ny * ra,
    );
    p.close();
    p.finish()
}
