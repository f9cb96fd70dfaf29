//! The look of captions and cards.

use stitch_core::format::count;

use super::letters::{Drawing, Letters, Weight, drawable};
use super::options::Canvas;

/// The plate that cards stand on.
pub const PLATE: u32 = 0x13_15_1A;
const PANEL: u32 = 0x1E_21_29;
const ACCENT: u32 = 0xFF_B4_54;
const WHITE: u32 = 0xFF_FF_FF;
const GREY: u32 = 0x9A_A3_B2;
const BLACK: u32 = 0x00_00_00;

/// A caption at the bottom of the picture: the step's number and its text.
pub fn caption(canvas: Canvas, number: usize, text: &str) -> String {
    let (width, height) = (f64::from(canvas.width), f64::from(canvas.height));
    let number = number.to_string();
    let (letters, lines) = fitting(&drawable(text), width * 0.8, width.min(height) * 0.05, 3);
    let em = letters.line_height() / 1.32;
    let gap = letters.width(&number) + 0.7 * em;
    let wide = lines.iter().map(|line| letters.width(line)).fold(0.0, f64::max);
    let size =
        (gap + wide + 1.5 * em, letters.line_height() * lines.len().max(1) as f64 + 0.7 * em);
    let place = ((width - size.0) / 2.0, height * 0.95 - size.1);
    let mut drawing = Drawing::new(canvas.width, canvas.height);
    drawing.rectangle(place, size, 0.42 * em, (BLACK, 0.74));
    let (left, top) = (place.0 + 0.75 * em, place.1 + 0.35 * em);
    drawing.line(&letters, (left, top), &number, (ACCENT, 1.0));
    for (i, line) in lines.iter().enumerate() {
        let top = top + i as f64 * letters.line_height();
        drawing.line(&letters, (left + gap, top), line, (WHITE, 1.0));
    }
    drawing.finish()
}

pub fn gap(canvas: Canvas, number: usize, text: &str) -> String {
    card(canvas, &format!("Step {number}"), text, "No video in this library shows this step")
}

pub fn title(canvas: Canvas, title: &str, steps: usize, sources: usize) -> String {
    let note = format!("{} from {}", count(steps, "step"), count(sources, "video"));
    card(canvas, "", title, &note)
}

/// A card: a small heading, the words, a line, a note. All of it stands in the middle.
fn card(canvas: Canvas, heading: &str, text: &str, note: &str) -> String {
    let (width, height) = (f64::from(canvas.width), f64::from(canvas.height));
    let base = width.min(height);
    let inset = base * 0.07;
    let inner = width - 2.0 * inset - base * 0.18;
    let (words, lines) = fitting(&drawable(text), inner, base * 0.08, 4);
    let small = Letters::new(Weight::SemiBold, base * 0.042);
    let (notes, note_lines) = noted(note, inner, base * 0.036);

    let mut drawing = Drawing::new(canvas.width, canvas.height);
    let panel = (width - 2.0 * inset, height - 2.0 * inset);
    drawing.rectangle((inset, inset), panel, base * 0.04, (PANEL, 1.0));

    let heading_height = if heading.is_empty() { 0.0 } else { small.line_height() * 1.5 };
    let text_height = words.line_height() * lines.len() as f64;
    let rule = base * 0.05;
    let notes_height = notes.line_height() * note_lines.len() as f64;
    let total = heading_height + text_height + 2.0 * rule + notes_height;
    let left = inset + base * 0.09;
    let mut top = (height - total) / 2.0;
    if !heading.is_empty() {
        drawing.line(&small, (left, top), heading, (ACCENT, 1.0));
    }
    top += heading_height;
    for (i, line) in lines.iter().enumerate() {
        let at = (left, top + i as f64 * words.line_height());
        drawing.line(&words, at, line, (WHITE, 1.0));
    }
    top += text_height + rule;
    let stroke = (base * 0.006).max(2.0);
    drawing.rectangle((left, top), (base * 0.11, stroke), stroke / 2.0, (ACCENT, 1.0));
    top += rule;
    for (i, line) in note_lines.iter().enumerate() {
        let at = (left, top + i as f64 * notes.line_height());
        drawing.line(&notes, at, line, (GREY, 1.0));
    }
    drawing.finish()
}

fn noted(note: &str, width: f64, em: f64) -> (Letters, Vec<String>) {
    let letters = Letters::new(Weight::Regular, em);
    let lines = letters.wrap(note, width);
    (letters, lines)
}

/// Letters smaller than this many pixels are not legible in a video.
const SMALLEST_EM: f64 = 13.0;

/// The largest letters up to `em` with which the text needs at most `most` lines; long texts end
/// at six tenths of it and take as many lines as they need.
fn fitting(text: &str, width: f64, em: f64, most: usize) -> (Letters, Vec<String>) {
    let sizes = [1.0, 0.9, 0.8, 0.7, 0.6];
    let try_size = |share: &f64| {
        let letters = Letters::new(Weight::SemiBold, (em * share).max(SMALLEST_EM));
        let lines = letters.wrap(text, width);
        (letters, lines)
    };
    let fits = sizes.iter().map(try_size).find(|(_, lines)| lines.len() <= most);
    fits.unwrap_or_else(|| try_size(&0.6))
}
