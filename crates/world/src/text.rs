//! Text in the built-in fonts as vector outlines: widths, line breaks, paths.
//!
//! The engine's `render::letters` lays out captions for libass and balances their lines; it has no
//! outlines, and its other line breaks would change the pictures of a seed.

use stitch_engine::fonts;
use tiny_skia::{Path, PathBuilder};
use ttf_parser::{Face, OutlineBuilder};

#[derive(Clone, Copy, Debug)]
pub enum Weight {
    Regular,
    SemiBold,
}

/// A font at a size.
pub struct Font {
    face: Face<'static>,
    size: f32,
}

impl Font {
    /// `size` is the em in pixels.
    pub fn new(weight: Weight, size: f32) -> Self {
        let bytes = match weight {
            Weight::Regular => fonts::REGULAR,
            Weight::SemiBold => fonts::SEMI_BOLD,
        };
        // A test reads these very bytes, so it cannot fail for a user.
        Self { face: Face::parse(bytes, 0).expect("the built-in font is valid"), size }
    }

    pub fn width(&self, text: &str) -> f32 {
        text.chars().map(|letter| self.advance(letter)).sum()
    }

    /// The text in lines no wider than `width`, broken at spaces; a wider word has its own line.
    pub fn wrap(&self, text: &str, width: f32) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            match lines.last_mut() {
                Some(line) if self.width(&format!("{line} {word}")) <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }

    /// The outline of a line of text whose baseline begins at the origin; none if it is empty.
    pub fn path(&self, text: &str) -> Option<Path> {
        let mut pen = Pen { path: PathBuilder::new(), x: 0.0, scale: self.scale() };
        for letter in text.chars() {
            let glyph = self.face.glyph_index(letter).unwrap_or_default();
            self.face.outline_glyph(glyph, &mut pen);
            pen.x += self.advance(letter);
        }
        pen.path.finish()
    }

    fn scale(&self) -> f32 {
        self.size / f32::from(self.face.units_per_em())
    }

    fn advance(&self, letter: char) -> f32 {
        let glyph = self.face.glyph_index(letter).unwrap_or_default();
        f32::from(self.face.glyph_hor_advance(glyph).unwrap_or(0)) * self.scale()
    }
}

/// Turns a glyph's outline (y up) into a path (y down) that starts at `x`.
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
    fn lines_fit_and_keep_every_word() {
        for (weight, size, width, text) in [
            (Weight::Regular, 12.0, 120.0, "measure the board and mark it with a pencil"),
            (Weight::SemiBold, 100.0, 800.0, "How to build a small bookshelf"),
        ] {
            let font = Font::new(weight, size);
            let lines = font.wrap(text, width);
            assert!(lines.len() > 1 && lines.iter().all(|line| font.width(line) <= width));
            assert_eq!(lines.join(" "), text);
        }
    }

    #[test]
    fn a_word_wider_than_the_line_stands_alone() {
        assert_eq!(Font::new(Weight::Regular, 100.0).wrap("incomprehensibility", 10.0).len(), 1);
    }
}
