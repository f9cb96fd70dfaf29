//! Letters: outlines of the carried typeface as paths.

use super::brush::{Brush, Ink};
use stitch_engine::fonts;
use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, OutlineBuilder};

/// Which cut of the typeface.
#[derive(Clone, Copy, Debug)]
pub enum Weight {
    /// For small lines.
    Regular,
    /// For titles.
    SemiBold,
}

/// Lines of a text no wider than `width` at `size`, broken at spaces.
pub fn wrap(text: &str, weight: Weight, size: f32, width: f32) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or("", String::as_str);
        let longer = if last.is_empty() { word.to_string() } else { format!("{last} {word}") };
        if last.is_empty() || measure(&longer, weight, size) <= width {
            lines.pop();
            lines.push(longer);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

/// How wide a line is.
pub fn measure(text: &str, weight: Weight, size: f32) -> f32 {
    face(weight).map_or(0.0, |face| {
        let scale = size / f32::from(face.units_per_em());
        text.chars().map(|c| advance(&face, c) * scale).sum()
    })
}

/// Writes a line with its left end on the baseline at (x, y).
pub fn write(
    b: &mut Brush,
    text: &str,
    weight: Weight,
    size: f32,
    at: (f32, f32),
    ink: impl Into<Ink>,
) {
    let path = outline(text, weight, size);
    let ink = ink.into();
    b.within(Transform::from_translate(at.0, at.1), |b| b.fill(&path, ink));
}

fn face(weight: Weight) -> Option<Face<'static>> {
    let bytes = match weight {
        Weight::Regular => fonts::REGULAR,
        Weight::SemiBold => fonts::SEMI_BOLD,
    };
    Face::parse(bytes, 0).ok()
}

fn advance(face: &Face, letter: char) -> f32 {
    let glyph = face.glyph_index(letter).unwrap_or_default();
    f32::from(face.glyph_hor_advance(glyph).unwrap_or(0))
}

fn outline(text: &str, weight: Weight, size: f32) -> Option<Path> {
    let face = face(weight)?;
    let scale = size / f32::from(face.units_per_em());
    let mut pen = Pen { path: PathBuilder::new(), x: 0.0, scale };
    for letter in text.chars() {
        face.outline_glyph(face.glyph_index(letter).unwrap_or_default(), &mut pen);
        pen.x += advance(&face, letter) * scale;
    }
    pen.path.finish()
}

/// Turns a glyph's outline (y up, font units) into a path (y down, virtual units).
struct Pen {
    path: PathBuilder,
    x: f32,
    scale: f32,
}

impl Pen {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_keep_every_word() {
        let lines = wrap("How to build a small bookshelf", Weight::SemiBold, 100.0, 800.0);
        assert!(lines.len() > 1);
        assert!(lines.iter().all(|l| measure(l, Weight::SemiBold, 100.0) <= 800.0));
        assert_eq!(lines.join(" "), "How to build a small bookshelf");
    }

    #[test]
    fn a_word_wider_than_the_line_stands_alone() {
        assert_eq!(wrap("incomprehensibility", Weight::Regular, 100.0, 10.0).len(), 1);
    }
}
