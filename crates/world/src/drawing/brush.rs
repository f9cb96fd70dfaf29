//! A small drawing vocabulary over tiny-skia, in a virtual space of 1600 by 900: shapes, inks,
//! soft shadows and moves that nest.

pub use super::colour::{Colour, SHADE, WHITE, rgb};
pub use super::shapes::{Point, curve, limb, oval, polygon, rect, smooth};
use crate::text::Font;
use tiny_skia::{
    FillRule, GradientStop, LineCap, LineJoin, LinearGradient, Mask, Paint, Path, Pixmap,
    Point as SkiaPoint, RadialGradient, Shader, SpreadMode, Stroke, Transform,
};

/// What fills a shape.
#[derive(Clone, Copy, Debug)]
pub enum Ink {
    /// One colour.
    Flat(Colour),
    /// A gradient along a line.
    Linear { from: Point, to: Point, start: Colour, end: Colour },
    /// A gradient out from a point.
    Radial { centre: Point, radius: f32, inner: Colour, outer: Colour },
}

/// Shapes of fewer pixels than this are left out, and shapes of fewer than `FLAT` have no gradient:
/// nobody sees the difference and most shapes of a frame are small.
const UNSEEN: f32 = 1.1;
const FLAT: f32 = 16.0;

impl Ink {
    /// The one colour that stands for this ink on a small shape.
    fn flat(self) -> Ink {
        match self {
            Ink::Flat(_) => self,
            Ink::Linear { start, end, .. } => Ink::Flat(start.mix(end, 0.5)),
            Ink::Radial { inner, outer, .. } => Ink::Flat(inner.mix(outer, 0.5)),
        }
    }
}

impl From<Colour> for Ink {
    fn from(colour: Colour) -> Self {
        Ink::Flat(colour)
    }
}

/// A gradient from the height `top` to the height `bottom`.
pub fn down(top: f32, bottom: f32, start: Colour, end: Colour) -> Ink {
    Ink::Linear { from: (0.0, top), to: (0.0, bottom), start, end }
}

/// A gradient from `left` to `right`.
pub fn across(left: f32, right: f32, start: Colour, end: Colour) -> Ink {
    Ink::Linear { from: (left, 0.0), to: (right, 0.0), start, end }
}

/// A gradient out from a point, as a rounded body in light from there has.
pub fn round_light(centre: Point, radius: f32, inner: Colour, outer: Colour) -> Ink {
    Ink::Radial { centre, radius, inner, outer }
}

/// Where things were drawn, in pixels; they may be outside the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drawn {
    /// The left and the right hand.
    pub hands: [Option<Point>; 2],
    /// What a step acts on.
    pub subject: Option<Point>,
}

/// A brush on a canvas: where it stands, how opaque it paints, and what it may touch.
pub struct Brush<'a> {
    canvas: &'a mut Pixmap,
    at: Transform,
    alpha: f32,
    mask: Option<Mask>,
    pub(super) drawn: Drawn,
}

impl<'a> Brush<'a> {
    /// A brush in the canvas's own pixels moved by `at`.
    pub fn new(canvas: &'a mut Pixmap, at: Transform) -> Self {
        Brush { canvas, at, alpha: 1.0, mask: None, drawn: Drawn::default() }
    }

    /// A point in pixels.
    pub fn pixel(&self, (x, y): Point) -> Point {
        let mut point = SkiaPoint::from_xy(x, y);
        self.at.map_point(&mut point);
        (point.x, point.y)
    }

    /// Draws with the origin moved to (x, y).
    pub fn moved(&mut self, x: f32, y: f32, draw: impl FnOnce(&mut Self)) {
        self.within(Transform::from_translate(x, y), draw);
    }

    /// Draws with the origin at `at`, turned by `degrees` clockwise and made `scale` as large.
    pub fn placed(&mut self, at: Point, degrees: f32, scale: f32, draw: impl FnOnce(&mut Self)) {
        let t = Transform::from_translate(at.0, at.1).pre_rotate(degrees).pre_scale(scale, scale);
        self.within(t, draw);
    }

    /// Draws with the axes stretched separately.
    pub fn stretched(&mut self, sx: f32, sy: f32, draw: impl FnOnce(&mut Self)) {
        self.within(Transform::from_scale(sx, sy), draw);
    }

    /// Draws under a further transform.
    pub fn within(&mut self, transform: Transform, draw: impl FnOnce(&mut Self)) {
        let before = self.at;
        self.at = before.pre_concat(transform);
        draw(self);
        self.at = before;
    }

    /// Draws `alpha` as opaque; nothing where that is nought.
    pub fn faded(&mut self, alpha: f32, draw: impl FnOnce(&mut Self)) {
        if alpha <= 0.004 {
            return;
        }
        let before = self.alpha;
        self.alpha = before * alpha.min(1.0);
        draw(self);
        self.alpha = before;
    }

    /// Draws only inside `path`. Costs a mask of the canvas's size, so not per particle.
    pub fn clipped(&mut self, path: &Option<Path>, draw: impl FnOnce(&mut Self)) {
        let Some(path) = path else { return };
        let before = self.mask.take();
        let mask = match &before {
            Some(outer) => {
                let mut inner = outer.clone();
                inner.intersect_path(path, FillRule::Winding, true, self.at);
                Some(inner)
            }
            None => Mask::new(self.canvas.width(), self.canvas.height()).map(|mut mask| {
                mask.fill_path(path, FillRule::Winding, true, self.at);
                mask
            }),
        };
        self.mask = mask;
        draw(self);
        self.mask = before;
    }

    /// Fills a path.
    pub fn fill(&mut self, path: &Option<Path>, ink: impl Into<Ink>) {
        let Some(path) = path else { return };
        let seen = self.seen_size(path);
        if seen < UNSEEN {
            return;
        }
        let paint = self.paint(if seen < FLAT { ink.into().flat() } else { ink.into() });
        self.canvas.fill_path(path, &paint, FillRule::Winding, self.at, self.mask.as_ref());
    }

    /// The longer side of a path's box, in pixels.
    fn seen_size(&self, path: &Path) -> f32 {
        let (bounds, (sx, sy)) = (path.bounds(), self.at.get_scale());
        (bounds.width() * sx).max(bounds.height() * sy)
    }

    /// Draws along a path with round ends.
    pub fn trace(&mut self, path: &Option<Path>, width: f32, ink: impl Into<Ink>) {
        let Some(path) = path else { return };
        let stroke = Stroke {
            width,
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            ..Stroke::default()
        };
        let paint = self.paint(ink.into());
        self.canvas.stroke_path(path, &paint, &stroke, self.at, self.mask.as_ref());
    }

    /// An ellipse.
    pub fn oval(&mut self, x: f32, y: f32, rx: f32, ry: f32, ink: impl Into<Ink>) {
        self.fill(&oval(x, y, rx, ry), ink);
    }

    /// The outline of an ellipse.
    pub fn ring(&mut self, x: f32, y: f32, rx: f32, ry: f32, width: f32, ink: impl Into<Ink>) {
        self.trace(&oval(x, y, rx, ry), width, ink);
    }

    /// A rounded rectangle.
    pub fn rect(&mut self, x: f32, y: f32, w: f32, h: f32, r: f32, ink: impl Into<Ink>) {
        self.fill(&rect(x, y, w, h, r), ink);
    }

    pub fn polygon(&mut self, points: &[Point], ink: impl Into<Ink>) {
        self.fill(&polygon(points), ink);
    }

    /// A smooth closed shape.
    pub fn blob(&mut self, points: &[Point], ink: impl Into<Ink>) {
        self.fill(&smooth(points), ink);
    }

    /// A smooth line.
    pub fn line(&mut self, points: &[Point], width: f32, ink: impl Into<Ink>) {
        self.trace(&curve(points), width, ink);
    }

    /// A tapered limb.
    pub fn limb(&mut self, a: Point, wa: f32, b: Point, wb: f32, ink: impl Into<Ink>) {
        self.fill(&limb(a, wa, b, wb), ink);
    }

    /// A line of text whose baseline begins at `at`.
    pub fn text(&mut self, font: &Font, text: &str, at: Point, ink: impl Into<Ink>) {
        self.moved(at.0, at.1, |b| b.fill(&font.path(text), ink));
    }

    /// A soft shadow on the surface.
    pub fn shadow(&mut self, x: f32, y: f32, rx: f32, ry: f32, strength: f32) {
        self.glow(x, y, rx, ry, SHADE.fade(strength));
    }

    /// A soft spot of colour that fades out.
    pub fn glow(&mut self, x: f32, y: f32, rx: f32, ry: f32, colour: Colour) {
        if rx < 0.5 || ry < 0.5 {
            return;
        }
        if self.mask.is_none() && self.at.kx == 0.0 && self.at.ky == 0.0 {
            let mut centre = SkiaPoint::from_xy(x, y);
            self.at.map_point(&mut centre);
            let size = (rx * self.at.sx.abs(), ry * self.at.sy.abs());
            return soft_spot(self.canvas, (centre.x, centre.y), size, colour.fade(self.alpha));
        }
        let t = Transform::from_translate(x, y).pre_scale(1.0, ry / rx);
        let ink = round_light((0.0, 0.0), rx, colour, colour.fade(0.0));
        self.within(t, |b| b.oval(0.0, 0.0, rx, rx, ink));
    }

    fn paint(&self, ink: Ink) -> Paint<'static> {
        let shader = self.shader(ink);
        Paint { shader, anti_alias: true, ..Paint::default() }
    }

    fn shader(&self, ink: Ink) -> Shader<'static> {
        let stops = |start: Colour, end: Colour| {
            vec![
                GradientStop::new(0.0, start.skia(self.alpha)),
                GradientStop::new(1.0, end.skia(self.alpha)),
            ]
        };
        let (pad, still) = (SpreadMode::Pad, Transform::identity());
        let point = |s: Point| SkiaPoint::from_xy(s.0, s.1);
        match ink {
            Ink::Flat(colour) => Shader::SolidColor(colour.skia(self.alpha)),
            Ink::Linear { from, to, start, end } => {
                LinearGradient::new(point(from), point(to), stops(start, end), pad, still)
                    .unwrap_or(Shader::SolidColor(end.skia(self.alpha)))
            }
            Ink::Radial { centre, radius, inner, outer } => {
                let (c, s) = (point(centre), stops(inner, outer));
                RadialGradient::new(c, 0.0, c, radius, s, pad, still)
                    .unwrap_or(Shader::SolidColor(outer.skia(self.alpha)))
            }
        }
    }
}

/// Blends a spot that fades out from its middle straight into the pixels: many of them lie under
/// things in every frame, and this is several times as fast as a gradient.
fn soft_spot(canvas: &mut Pixmap, centre: Point, size: Point, colour: Colour) {
    let (w, h) = (canvas.width() as usize, canvas.height() as usize);
    let span = |c: f32, r: f32, end: usize| {
        ((c - r).max(0.0) as usize, (c + r).ceil().clamp(0.0, end as f32) as usize)
    };
    let (y0, y1) = span(centre.1, size.1, h);
    let source = [colour.red, colour.green, colour.blue, 1.0].map(|v| (v * 255.0) as u32);
    let strength = colour.alpha * 256.0;
    for y in y0..y1 {
        let dy = (y as f32 + 0.5 - centre.1) / size.1;
        let (x0, x1) = span(centre.0, size.0 * (1.0 - dy * dy).max(0.0).sqrt(), w);
        if x0 >= x1 {
            continue;
        }
        let row = &mut canvas.data_mut()[(y * w + x0) * 4..(y * w + x1) * 4];
        for (i, pixel) in row.chunks_exact_mut(4).enumerate() {
            let dx = ((x0 + i) as f32 + 0.5 - centre.0) / size.0;
            let near = (1.0 - dx * dx - dy * dy).max(0.0);
            let part = (near * near * strength) as u32;
            for (out, from) in pixel.iter_mut().zip(source) {
                *out = ((from * part + u32::from(*out) * (256 - part)) >> 8) as u8;
            }
        }
    }
}

/// The point `a` moved by `length` towards `degrees`.
pub fn towards(a: Point, degrees: f32, length: f32) -> Point {
    let r = degrees.to_radians();
    (a.0 + r.cos() * length, a.1 + r.sin() * length)
}

/// The direction from `a` to `b` in degrees.
pub fn direction(a: Point, b: Point) -> f32 {
    (b.1 - a.1).atan2(b.0 - a.0).to_degrees()
}

/// From `a` to `b` as `t` goes from 0 to 1.
pub fn between(a: Point, b: Point, t: f32) -> Point {
    (a.0 + (b.0 - a.0) * t, a.1 + (b.1 - a.1) * t)
}
