//! Writing on the stage.

use super::brush::{Brush, Ink};
use crate::lettering::Lettering;
use stitch_engine::fonts;
use tiny_skia::Transform;

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
    letters(weight, size).map_or_else(Vec::new, |letters| letters.lines(text, width))
}

/// How wide a line is.
pub fn measure(text: &str, weight: Weight, size: f32) -> f32 {
    letters(weight, size).map_or(0.0, |letters| letters.width(text))
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
    let path = letters(weight, size).and_then(|letters| letters.path(text));
    let ink = ink.into();
    b.within(Transform::from_translate(at.0, at.1), |b| b.fill(&path, ink));
}

fn letters(weight: Weight, size: f32) -> Option<Lettering> {
    let bytes = match weight {
        Weight::Regular => fonts::REGULAR,
        Weight::SemiBold => fonts::SEMI_BOLD,
    };
    Lettering::new(bytes, size)
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
