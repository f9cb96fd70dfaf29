//! Words in the carried typeface: how wide they are, where lines break, their outlines.

use tiny_skia::{FillRule, Paint, Path, PathBuilder, Pixmap, Transform};
use ttf_parser::{Face, OutlineBuilder};

/// A typeface at a size.
pub struct Lettering {
    face: Face<'static>,
    size: f32,
}

impl Lettering {
    /// The typeface of these bytes, `size` pixels high; none where they are no typeface.
    pub fn new(font: &'static [u8], size: f32) -> Option<Self> {
        Face::parse(font, 0).ok().map(|face| Self { face, size })
    }

    /// How wide a text is.
    pub fn width(&self, text: &str) -> f32 {
        text.chars().map(|letter| self.advance(letter)).sum()
    }

    /// The text in lines no wider than `width`, broken at spaces.
    pub fn lines(&self, text: &str, width: f32) -> Vec<String> {
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

    /// Draws a line of text whose baseline begins at this point.
    pub fn draw(&self, text: &str, x: f32, y: f32, colour: [u8; 3], canvas: &mut Pixmap) {
        let mut paint = Paint { anti_alias: true, ..Paint::default() };
        paint.set_color_rgba8(colour[0], colour[1], colour[2], 255);
        if let Some(path) = self.path(text) {
            let there = Transform::from_translate(x, y);
            canvas.fill_path(&path, &paint, FillRule::Winding, there, None);
        }
    }

    fn scale(&self) -> f32 {
        self.size / f32::from(self.face.units_per_em())
    }

    fn advance(&self, letter: char) -> f32 {
        let glyph = self.face.glyph_index(letter).unwrap_or_default();
        f32::from(self.face.glyph_hor_advance(glyph).unwrap_or(0)) * self.scale()
    }

    /// The outline of a line of text whose baseline begins at the origin.
    pub fn path(&self, text: &str) -> Option<Path> {
        let mut pen = Pen { path: PathBuilder::new(), x: 0.0, scale: self.scale() };
        for letter in text.chars() {
            let glyph = self.face.glyph_index(letter).unwrap_or_default();
            self.face.outline_glyph(glyph, &mut pen);
            pen.x += self.advance(letter);
        }
        pen.path.finish()
    }
}

/// Turns a glyph's outline (y up) into a path (y down) at the current point.
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
        let lettering = Lettering::new(stitch_engine::fonts::REGULAR, 12.0).unwrap();
        let text = "measure the board and mark it with a pencil";
        let lines = lettering.lines(text, 120.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| lettering.width(line) <= 120.0));
        assert_eq!(lines.join(" "), text);
    }
}
