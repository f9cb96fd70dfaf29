//! Timber before it is joined: boards, round legs and round seats.

use crate::drawing::brush::{Brush, Colour, Point, WHITE, across, down, polygon, rgb, round_light};
use crate::drawing::easing::lerp;
use crate::drawing::look::{Look, distance};
use crate::random::unit_of;
use crate::vocabulary::State;

/// Half the length of a board, its depth and its thickness.
pub const BOARD: (f32, f32, f32) = (350.0, 290.0, 46.0);
/// Where a board or a rod is cut.
pub const CUTS: [f32; 2] = [116.0, -116.0];
/// Half the length and the radius of the rod that legs are cut from.
pub const ROD: (f32, f32) = (360.0, 50.0);
/// Half-width and thickness of a round seat.
pub const SEAT: (f32, f32) = (300.0, 54.0);
/// How far below the origin tall things stand, so that their tops are in the picture.
pub const STAND: f32 = 76.0;
/// Graphite of a pencil's line.
pub const PENCIL: Colour = rgb(0x3a3640);
/// Wood glue, as it stands out from every wood.
pub const GLUE: Colour = rgb(0xfffbe8);

/// How the face of wood feels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// As it comes from the saw: dull, with splinters and saw marks.
    Rough,
    /// As bought.
    Plain,
    /// Sanded: pale, even, with a soft sheen.
    Smooth,
}

/// The wood that this place works with; never the colour of its bench.
pub fn wood(look: &Look) -> Colour {
    const WOODS: [Colour; 6] =
        [rgb(0xf0bf74), rgb(0xe0a050), rgb(0xd08c4c), rgb(0xf4cf8c), rgb(0xdb8a4c), rgb(0xeab060)];
    let own = WOODS[look.tool_kind / 7 % WOODS.len()];
    let away = |c: Colour| distance(c, look.surface);
    if away(own) > 0.26 {
        return own;
    }
    WOODS.into_iter().max_by(|a, b| away(*a).total_cmp(&away(*b))).unwrap_or(own)
}

/// The same wood under varnish: deep and warm.
pub fn varnished(c: Colour) -> Colour {
    c.mix(rgb(0x832a00), 0.64)
}

/// The colour of a face.
pub fn tone(look: &Look, face: Face) -> Colour {
    match face {
        Face::Rough => wood(look).mix(rgb(0x7d6650), 0.42),
        Face::Plain => wood(look),
        Face::Smooth => wood(look).mix(rgb(0xffe9bd), 0.42),
    }
}

/// Wavy grain between two heights; the same for the same salt.
pub fn grain(b: &mut Brush, c: Colour, at: Point, size: Point, salt: u64, count: usize) {
    for i in 0..count {
        let y = at.1 + size.1 * (i as f32 + 0.3 + 0.4 * unit_of(i, salt)) / count as f32;
        let x = at.0 + size.0 * 0.4 * unit_of(i, salt + 1);
        let long = (size.0 - (x - at.0)) * (0.45 + 0.5 * unit_of(i, salt + 2));
        let bend = size.1 * 0.1 * (unit_of(i, salt + 3) - 0.5);
        let line = [(x, y), (x + long * 0.35, y + bend), (x + long * 0.7, y - bend), (x + long, y)];
        b.line(&line, 3.0, c);
    }
}

/// The part of a board from `x0` to `x1`, its near lower edge at height 0.
pub fn plank(b: &mut Brush, look: &Look, x0: f32, x1: f32, face: Face) {
    let (_, depth, thick) = BOARD;
    let (d, c) = (depth * look.tilt, tone(look, face));
    let slant = |x: f32| x * 0.94;
    let top =
        polygon(&[(slant(x0), -thick - d), (slant(x1), -thick - d), (x1, -thick), (x0, -thick)]);
    b.fill(&top, down(-thick - d, -thick, c.light(0.06), c.light(0.2)));
    board_face(b, c, face, (x0, x1), (-thick - d, d));
    b.rect(x0, -thick, x1 - x0, thick, 4.0, down(-thick, 0.0, c.dark(0.1), c.dark(0.28)));
    let line = c.dark(0.4).fade(0.5);
    grain(b, line, (x0 + 4.0, -thick + 4.0), (x1 - x0 - 8.0, thick - 8.0), 7, 3);
    b.rect(x0 + 2.0, -thick - 2.0, x1 - x0 - 4.0, 5.0, 2.0, c.light(0.5).fade(0.8));
}

fn board_face(b: &mut Brush, c: Colour, face: Face, across: Point, down: Point) {
    let ((x0, x1), (y, d)) = (across, down);
    let inset = 14.0;
    let (at, size) = ((x0 * 0.96 + inset, y), ((x1 - x0) * 0.94 - 2.0 * inset, d));
    let salt = (x0 + 900.0) as u64;
    match face {
        Face::Plain => grain(b, c.dark(0.28).fade(0.6), at, size, salt, 7),
        Face::Smooth => {
            grain(b, c.dark(0.14).fade(0.5), at, size, salt, 5);
            gleam(b, (at.0 + size.0 * 0.3, y), (size.0 * 0.16, d));
        }
        Face::Rough => {
            grain(b, c.dark(0.38).fade(0.7), at, size, salt, 7);
            splinters(b, c, at, size);
        }
    }
    let knot = (at.0 + size.0 * 0.7, y + d * 0.45);
    let (w, h) = (16.0, 16.0 * (d / 200.0));
    b.oval(knot.0, knot.1, w, h, c.dark(if face == Face::Smooth { 0.2 } else { 0.38 }));
    b.ring(knot.0, knot.1, w * 1.7, h * 1.7, 3.0, c.dark(0.3).fade(0.5));
}

fn gleam(b: &mut Brush, at: Point, size: Point) {
    let (x, y, w, h) = (at.0, at.1, size.0, size.1);
    b.polygon(
        &[(x + 20.0, y + 4.0), (x + 20.0 + w, y + 4.0), (x + w, y + h - 4.0), (x, y + h - 4.0)],
        WHITE.fade(0.3),
    );
}

/// Splinters of rough wood.
pub fn splinters(b: &mut Brush, c: Colour, at: Point, size: Point) {
    for i in 0..16 {
        let x = at.0 + size.0 * unit_of(i, 41);
        let y = at.1 + size.1 * (0.08 + 0.84 * unit_of(i, 42));
        let tint = if i % 3 == 0 { c.light(0.45) } else { c.dark(0.5) };
        b.line(&[(x, y), (x + 13.0, y - 7.0)], 4.0, tint);
    }
}

/// The pencil's line across a board at `x`, `part` of it drawn from the near edge.
pub fn mark(b: &mut Brush, look: &Look, x: f32, part: f32) {
    let (_, depth, thick) = BOARD;
    let far = (lerp(x, x * 0.94, part), -thick - depth * look.tilt * part);
    if part > 0.01 {
        b.line(&[(x, -thick), far], 14.0, PENCIL);
        b.line(&[(x, -thick), (x, -thick * 0.2)], 12.0, PENCIL);
        cross(b, look, x, part);
    }
}

/// The cross that says on which side of a line the waste is.
fn cross(b: &mut Brush, look: &Look, x: f32, part: f32) {
    let (at, d) = (x + x.signum() * 118.0, BOARD.1 * look.tilt);
    let (w, h, y) = (44.0, d * 0.26, -BOARD.2 - d * 0.5);
    let grown = ((part - 0.6) / 0.4).clamp(0.0, 1.0);
    if grown > 0.0 {
        let (dx, dy) = (w * (2.0 * grown - 1.0), h * (2.0 * grown - 1.0));
        b.line(&[(at - w, y - h), (at + dx, y + dy)], 11.0, PENCIL.fade(0.9));
        b.line(&[(at + w, y - h), (at - dx, y + dy)], 11.0, PENCIL.fade(0.9));
    }
}

/// A board in one of its states, its middle at the origin.
pub fn board(b: &mut Brush, look: &Look, state: State) {
    let half = BOARD.0;
    b.moved(0.0, BOARD.1 * look.tilt * 0.5, |b| {
        b.shadow(14.0, 2.0, half * 1.12, 60.0, 0.5);
        match state {
            State::Cut => pieces(b, look, 1.0, |_| Face::Rough),
            State::Sanded => pieces(b, look, 1.0, |_| Face::Smooth),
            _ => plank(b, look, -half, half, Face::Plain),
        }
        if state == State::Marked {
            CUTS.iter().for_each(|x| mark(b, look, *x, 1.0));
        }
    });
}

/// The three pieces of a board, moved apart by `gap` (0..=1).
pub fn pieces(b: &mut Brush, look: &Look, gap: f32, face: impl Fn(usize) -> Face) {
    let half = BOARD.0;
    let ends = [(-half, CUTS[1]), (CUTS[1], CUTS[0]), (CUTS[0], half)];
    for (i, (x0, x1)) in ends.into_iter().enumerate() {
        let apart = 46.0 * gap * (i as f32 - 1.0);
        plank(b, look, x0 + apart + 1.0, x1 + apart - 1.0, face(i));
    }
}

/// A round rod lying from `x0` to `x1`, its middle at height 0.
pub fn rod(b: &mut Brush, look: &Look, x0: f32, x1: f32) {
    let (r, c) = (ROD.1, wood(look));
    let e = r * 0.36;
    b.rect(
        x0 - e * 0.4,
        -r,
        x1 - x0 + e * 0.4,
        r * 2.0,
        e,
        down(-r, r, c.light(0.4), c.dark(0.35)),
    );
    grain(b, c.dark(0.35).fade(0.5), (x0 + 6.0, -r * 0.7), (x1 - x0 - 30.0, r * 1.5), 5, 5);
    b.rect(x0 + 8.0, -r * 0.66, x1 - x0 - 30.0, 9.0, 4.0, WHITE.fade(0.35));
    end_grain(b, c, (x1, 0.0), (e, r));
}

/// Growth rings on a sawn end.
pub fn end_grain(b: &mut Brush, c: Colour, at: Point, size: Point) {
    b.oval(at.0, at.1, size.0, size.1, c.light(0.45));
    b.ring(at.0, at.1, size.0, size.1, 4.0, c.dark(0.25));
    for t in [0.66, 0.34] {
        b.ring(at.0, at.1, size.0 * t, size.1 * t, 3.0, c.dark(0.2).fade(0.7));
    }
}

/// The rod, whole or in three legs `gap` apart.
pub fn legs_lying(b: &mut Brush, look: &Look, gap: f32) {
    let half = ROD.0;
    let ends = [(-half, CUTS[1]), (CUTS[1], CUTS[0]), (CUTS[0], half)];
    if gap <= 0.0 {
        return rod(b, look, -half, half);
    }
    for (i, (x0, x1)) in ends.into_iter().enumerate() {
        let apart = 50.0 * gap * (i as f32 - 1.0);
        rod(b, look, x0 + apart, x1 + apart - 2.0);
    }
}

/// Legs that stand in a row, with glue on as much of their tops as `glued` says (0..=3).
pub fn legs_standing(b: &mut Brush, look: &Look, glued: f32) {
    b.shadow(10.0, 4.0, 330.0, 70.0, 0.5);
    for i in 0..3 {
        leg(b, look, -190.0 + 190.0 * i as f32, (glued - i as f32).clamp(0.0, 1.0));
    }
    let (c, k) = (wood(look).dark(0.3), look.tilt);
    b.rect(-300.0, -46.0 - 60.0 * k, 600.0, 60.0 * k + 12.0, 8.0, c.light(0.1));
    for x in [-190.0, 0.0, 190.0] {
        let w = wood(look);
        b.rect(
            x - 44.0,
            -100.0,
            88.0,
            84.0 - 30.0 * k,
            10.0,
            across(x - 44.0, x + 44.0, w.light(0.2), w.dark(0.28)),
        );
    }
    b.rect(-300.0, -40.0, 600.0, 56.0, 8.0, down(-40.0, 16.0, c, c.dark(0.2)));
}

fn leg(b: &mut Brush, look: &Look, x: f32, glued: f32) {
    let (c, top, r) = (wood(look), -300.0, 56.0);
    let k = look.tilt * 0.7;
    b.polygon(
        &[(x - r, top), (x + r, top), (x + r * 0.84, -20.0), (x - r * 0.84, -20.0)],
        across(x - r, x + r, c.light(0.3), c.dark(0.28)),
    );
    b.line(
        &[(x - 22.0, top + 60.0), (x - 17.0, -150.0), (x - 18.0, -60.0)],
        4.0,
        c.dark(0.3).fade(0.5),
    );
    b.line(
        &[(x + 12.0, top + 90.0), (x + 8.0, -190.0), (x + 10.0, -70.0)],
        4.0,
        c.dark(0.35).fade(0.5),
    );
    end_grain(b, c, (x, top), (r, r * k));
    if glued > 0.02 {
        glue_cap(b, (x, top), (r, r * k), glued);
    }
}

fn glue_cap(b: &mut Brush, at: Point, size: Point, glued: f32) {
    let ((x, y), (rx, ry)) = (at, size);
    let side = GLUE.dark(0.12);
    for (dx, long) in [(-36.0, 46.0), (-12.0, 84.0), (14.0, 58.0), (38.0, 30.0)] {
        let start = y + ry * 0.7;
        b.limb((x + dx, start - 8.0), 26.0, (x + dx, start + long * glued), 18.0, side);
    }
    b.oval(x, y, rx * glued, ry * glued, GLUE);
    b.oval(x - rx * 0.3 * glued, y - ry * 0.25, rx * 0.3 * glued, ry * 0.25 * glued, WHITE);
}

/// Grain that runs upwards.
pub fn upright_grain(b: &mut Brush, c: Colour, at: Point, size: Point) {
    for i in 0..7 {
        let x = at.0 + size.0 * (i as f32 + 0.5) / 7.0;
        let bend = 10.0 * (unit_of(i, 12) - 0.5);
        let (y0, y1) =
            (at.1 + size.1 * 0.3 * unit_of(i, 13), at.1 + size.1 * (0.7 + 0.3 * unit_of(i, 14)));
        b.line(&[(x, y0), (x + bend, (y0 + y1) / 2.0), (x, y1)], 3.0, c.dark(0.3).fade(0.55));
    }
}

/// A round seat lying down; `smooth` (0..=1) is how much of it, from the left, is sanded.
pub fn seat(b: &mut Brush, look: &Look, smooth: f32, holes: f32) {
    let ((rx, thick), k) = (SEAT, look.tilt);
    let rough = tone(look, Face::Rough);
    let fine = tone(look, Face::Smooth);
    b.shadow(12.0, 8.0, rx * 1.14, rx * k * 1.14, 0.5);
    let edge = rough.mix(fine, smooth);
    b.oval(0.0, 0.0, rx, rx * k, across(-rx, rx, edge.dark(0.14), edge.dark(0.4)));
    b.rect(-rx, -thick, rx * 2.0, thick, 0.0, across(-rx, rx, edge.dark(0.14), edge.dark(0.4)));
    if smooth < 1.0 {
        seat_top(b, (rx, k), rough, Face::Rough);
    }
    if smooth > 0.0 {
        let x = lerp(-rx, rx, smooth);
        let part = polygon(&[
            (-rx - 20.0, -thick - rx * k - 9.0),
            (x + 24.0, -thick - rx * k - 9.0),
            (x - 24.0, -thick + rx * k + 9.0),
            (-rx - 20.0, -thick + rx * k + 9.0),
        ]);
        if smooth >= 1.0 {
            seat_top(b, (rx, k), fine, Face::Smooth);
        } else {
            b.clipped(&part, |b| seat_top(b, (rx, k), fine, Face::Smooth));
        }
    }
    for (i, at) in seat_holes(k).into_iter().enumerate() {
        bored(b, fine, at, 34.0 * (holes - i as f32).clamp(0.0, 1.0), k);
    }
}

/// Where the legs go into the seat.
pub fn seat_holes(k: f32) -> [Point; 4] {
    [(-150.0, -0.55), (150.0, -0.55), (-150.0, 0.55), (150.0, 0.55)]
        .map(|(x, y)| (x, -SEAT.1 + y * 230.0 * k))
}

fn bored(b: &mut Brush, c: Colour, at: Point, r: f32, k: f32) {
    if r > 1.0 {
        let ry = r * k.max(0.5);
        b.oval(at.0, at.1, r + 5.0, ry + 4.0, c.light(0.5));
        b.oval(at.0, at.1, r, ry, rgb(0x2c1810));
        b.oval(at.0, at.1 + ry * 0.35, r * 0.75, ry * 0.55, c.dark(0.5));
    }
}

fn seat_top(b: &mut Brush, size: (f32, f32), c: Colour, face: Face) {
    let ((rx, k), y) = (size, -SEAT.1);
    b.oval(
        0.0,
        y,
        rx,
        rx * k,
        round_light((-rx * 0.4, y - rx * k * 0.5), rx * 1.7, c.light(0.25), c.dark(0.06)),
    );
    let line = c.dark(if face == Face::Rough { 0.4 } else { 0.18 }).fade(0.55);
    for i in 0..9 {
        let t = (i as f32 - 4.0) / 4.6;
        let half = (1.0 - t * t).sqrt() * rx * 0.9;
        let yy = y + t * rx * k;
        b.line(
            &[(-half, yy), (-half * 0.2, yy + 6.0 * k), (half * 0.4, yy - 5.0 * k), (half, yy)],
            3.0,
            line,
        );
    }
    if face == Face::Rough {
        for i in 0..26 {
            let (r, (s, co)) = (rx * 0.9 * unit_of(i, 3).sqrt(), (i as f32 * 2.4).sin_cos());
            let (x, yy) = (r * co, y + r * s * k);
            let tint = if i % 3 == 0 { c.light(0.5) } else { c.dark(0.55) };
            b.line(&[(x, yy), (x + 15.0, yy - 9.0)], 4.5, tint);
        }
    } else {
        b.oval(-rx * 0.3, y - rx * k * 0.4, rx * 0.42, rx * k * 0.24, WHITE.fade(0.35));
    }
    b.ring(0.0, y, rx - 2.0, rx * k - 2.0, 4.0, c.light(0.55).fade(0.7));
}
