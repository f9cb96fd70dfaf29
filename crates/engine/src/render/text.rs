//! Text on pictures: measured, wrapped and placed here, drawn by libass from an ASS script.

use stitch_core::format::one_line;
use ttf_parser::Face;

use crate::fonts;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    Regular,
    SemiBold,
}

impl Weight {
    /// The name of the font and its file.
    fn family(self) -> (&'static str, &'static [u8]) {
        match self {
            Self::Regular => ("Inter Regular", fonts::REGULAR),
            Self::SemiBold => ("Inter SemiBold", fonts::SEMI_BOLD),
        }
    }
}

/// A weight of the typeface at a size.
pub struct Font {
    weight: Weight,
    /// In pixels.
    em: f64,
    face: Option<Face<'static>>,
}

/// The assumed width, in ems, of a letter that is not in the typeface, such as Chinese.
const FALLBACK_WIDTH: f64 = 1.0;

impl Font {
    pub fn new(weight: Weight, em: f64) -> Self {
        Self { weight, em, face: Face::parse(weight.family().1, 0).ok() }
    }

    pub fn line_height(&self) -> f64 {
        self.em * 1.32
    }

    /// In pixels.
    pub fn width(&self, text: &str) -> f64 {
        text.chars().map(|letter| self.advance(letter)).sum::<f64>() * self.em
    }

    fn advance(&self, letter: char) -> f64 {
        let glyph = || {
            let face = self.face.as_ref()?;
            let advance = face.glyph_hor_advance(face.glyph_index(letter)?)?;
            Some(f64::from(advance) / f64::from(face.units_per_em()))
        };
        glyph().unwrap_or(FALLBACK_WIDTH)
    }

    /// The font size for libass, which counts from the top to the bottom of the tallest letters.
    fn ass_size(&self) -> f64 {
        let heights = |face: &Face| {
            let os2 = face.tables().os2?;
            let height = os2.windows_ascender() - os2.windows_descender();
            Some(f64::from(height) / f64::from(face.units_per_em()))
        };
        self.em * self.face.as_ref().and_then(heights).unwrap_or(1.21)
    }

    /// The text in lines no wider than `width`, as even as possible; a word that is wider is broken.
    pub fn wrap(&self, text: &str, width: f64) -> Vec<String> {
        let words = self.words(text, width);
        let lines = self.fill(&words, width);
        // The narrowest column that needs no more lines.
        let (mut low, mut high) = (width / 3.0, width);
        for _ in 0..12 {
            let middle = (low + high) / 2.0;
            match self.fill(&words, middle).len() > lines.len() || self.widest(&words) > middle {
                true => low = middle,
                false => high = middle,
            }
        }
        if lines.len() > 1 { self.fill(&words, high) } else { lines }
    }

    fn widest(&self, words: &[String]) -> f64 {
        words.iter().map(|word| self.width(word)).fold(0.0, f64::max)
    }

    /// The words; those that are wider than `width` are broken.
    fn words(&self, text: &str, width: f64) -> Vec<String> {
        let mut words = Vec::new();
        for word in text.split_whitespace() {
            let mut part = String::new();
            for letter in word.chars() {
                if !part.is_empty() && self.width(&part) + self.advance(letter) * self.em > width {
                    words.push(std::mem::take(&mut part));
                }
                part.push(letter);
            }
            words.push(part);
        }
        words
    }

    fn fill(&self, words: &[String], width: f64) -> Vec<String> {
        let space = self.width(" ");
        let mut lines: Vec<String> = Vec::new();
        let mut used = f64::INFINITY;
        for word in words {
            let wide = self.width(word);
            match lines.last_mut() {
                Some(line) if used + space + wide <= width => {
                    line.push(' ');
                    line.push_str(word);
                    used += space + wide;
                }
                _ => {
                    lines.push(word.clone());
                    used = wide;
                }
            }
        }
        lines
    }
}

/// The text without what the typeface has no glyphs for: emoji and invisible marks. They stay in
/// text tracks, where the player draws them.
pub fn drawable(text: &str) -> String {
    let emoji = |c: char| {
        matches!(u32::from(c),
            0x1F000..=0x1FAFF | 0x2600..=0x27BF | 0xFE00..=0xFE0F | 0x200B..=0x200F
            | 0x2B00..=0x2BFF | 0xE0000..=0xE007F)
    };
    one_line(&text.chars().filter(|c| !emoji(*c)).collect::<String>())
}

/// An ASS file: shapes and lines of text at positions in pixels.
pub struct AssScript {
    script: String,
    layer: u32,
    /// From when to when what follows is shown.
    times: String,
}

impl AssScript {
    pub fn new(width: u32, height: u32) -> Self {
        let script = format!(
            "[Script Info]\nScriptType: v4.00+\nPlayResX: {width}\nPlayResY: {height}\n\
             WrapStyle: 2\nScaledBorderAndShadow: yes\nYCbCr Matrix: TV.709\n\n\
             [V4+ Styles]\nFormat: Name, Fontname, Fontsize, PrimaryColour, BackColour, Bold, \
             BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding\n\
             Style: Default,Inter,20,&H00FFFFFF,&H00000000,0,1,0,0,7,0,0,0,1\n\n\
             [Events]\nFormat: Layer, Start, End, Style, Text\n"
        );
        Self { script, layer: 0, times: "0:00:00.00,9:59:59.99".into() }
    }

    /// What follows is shown from `start_ms` to `end_ms`.
    pub fn during(&mut self, start_ms: u64, end_ms: u64) {
        let clock = |ms: u64| {
            let (seconds, hundredths) = (ms / 1000, ms % 1000 / 10);
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            format!("{hours}:{minutes:02}:{:02}.{hundredths:02}", seconds % 60)
        };
        self.times = format!("{},{}", clock(start_ms), clock(end_ms));
    }

    fn event(&mut self, text: &str) {
        let Self { layer, times, .. } = self;
        self.script.push_str(&format!("Dialogue: {layer},{times},Default,{text}\n"));
        self.layer += 1;
    }

    /// A rectangle with round corners: position, size, radius; colour (`0xRRGGBB`) and opacity 0 to 1.
    pub fn rectangle(&mut self, at: (f64, f64), size: (f64, f64), round: f64, ink: (u32, f64)) {
        let (w, h) = size;
        let r = round.min(w / 2.0).min(h / 2.0);
        let k = r * 0.45; // how far a Bézier curve's handles stay from the corner
        let path = format!(
            "m {r:.1} 0 l {:.1} 0 b {:.1} 0 {w:.1} {k:.1} {w:.1} {r:.1} l {w:.1} {:.1} \
             b {w:.1} {:.1} {:.1} {h:.1} {:.1} {h:.1} l {r:.1} {h:.1} \
             b {k:.1} {h:.1} 0 {:.1} 0 {:.1} l 0 {r:.1} b 0 {k:.1} {k:.1} 0 {r:.1} 0",
            w - r,
            w - k,
            h - r,
            h - k,
            w - k,
            w - r,
            h - k,
            h - r
        );
        let (x, y) = at;
        let ink = paint(ink.0, ink.1);
        self.event(&format!("{{\\an7\\pos({x:.1},{y:.1}){ink}\\p1}}{path}"));
    }

    /// Lines of text, the first with the top left corner of its box at `(x, y)`.
    pub fn lines(&mut self, font: &Font, (x, y): (f64, f64), lines: &[impl AsRef<str>], rgb: u32) {
        let style = format!("\\fn{}\\fs{:.2}", font.weight.family().0, font.ass_size());
        let ink = paint(rgb, 1.0);
        for (i, line) in lines.iter().enumerate() {
            let y = y + i as f64 * font.line_height();
            let y = y + (font.line_height() - font.ass_size()) / 2.0;
            let line = escape(line.as_ref());
            self.event(&format!("{{\\an7\\pos({x:.1},{y:.1})\\q2{style}{ink}}}{line}"));
        }
    }

    pub fn finish(self) -> String {
        self.script
    }
}

fn paint(colour: u32, opacity: f64) -> String {
    let (r, g, b) = (colour >> 16 & 255, colour >> 8 & 255, colour & 255);
    let alpha = ((1.0 - opacity.clamp(0.0, 1.0)) * 255.0).round() as u32;
    format!("\\1c&H{b:02X}{g:02X}{r:02X}&\\1a&H{alpha:02X}&")
}

/// The text escaped, so that libass takes nothing in it for markup.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '{' => escaped.push_str("\\{"),
            '}' => escaped.push_str("\\}"),
            // A word joiner after the backslash keeps it from meaning anything.
            '\\' => escaped.push_str("\\\u{2060}"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_evenly_within_the_width_and_loses_nothing() {
        let font = Font::new(Weight::SemiBold, 36.0);
        let text = "Fry the onions in oil over a low flame until they are soft and golden brown";
        let lines = font.wrap(text, 700.0);
        assert_eq!(lines.join(" "), text);
        assert_eq!(lines.len(), 2);
        let widths: Vec<f64> = lines.iter().map(|line| font.width(line)).collect();
        assert!(widths.iter().all(|w| *w <= 700.0) && (widths[0] - widths[1]).abs() < 150.0);
    }

    #[test]
    fn breaks_a_word_that_is_wider_than_the_line() {
        let font = Font::new(Weight::Regular, 20.0);
        let lines = font.wrap(&"x".repeat(300), 200.0);
        assert!(lines.len() > 5 && lines.iter().all(|line| font.width(line) <= 200.0));
        assert_eq!(lines.concat().len(), 300);
        assert!(font.wrap("  ", 200.0).is_empty());
    }

    #[test]
    fn nothing_in_a_text_is_taken_for_markup() {
        let table = [
            ("a {\\an8} b", "a \\{\\\u{2060}an8\\} b"),
            ("50%{pts}: 'x'", "50%\\{pts\\}: 'x'"),
            ("one\nDialogue: two", "one Dialogue: two"),
        ];
        for (text, escaped) in table {
            assert_eq!(escape(text), escaped);
        }
        assert_eq!(drawable("Stir 🥄\u{fe0f} well\n\tnow"), "Stir well now");
    }
}
