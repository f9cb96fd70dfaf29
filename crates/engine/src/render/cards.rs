//! Captions and cards as ASS scripts.

use stitch_core::format::count;

use super::options::Canvas;
use super::text::{AssScript, Font, Weight, drawable};
use crate::transcript::Sentence;

pub const BACKGROUND: u32 = 0x13_15_1A;
const PANEL: u32 = 0x1E_21_29;
const ACCENT: u32 = 0xFF_B4_54;
const WHITE: u32 = 0xFF_FF_FF;
const GREY: u32 = 0x9A_A3_B2;
const BLACK: u32 = 0x00_00_00;

/// A caption at the bottom of the picture: the step's number and its text.
pub fn caption(canvas: Canvas, number: usize, text: &str) -> String {
    let mut script = AssScript::new(canvas.width, canvas.height);
    draw_caption(&mut script, canvas, number, text);
    script.finish()
}

/// Captions at the bottom of the picture, one after the other.
pub fn timed_captions(canvas: Canvas, number: usize, lines: &[Sentence]) -> String {
    let mut script = AssScript::new(canvas.width, canvas.height);
    for Sentence { start_ms, end_ms, text } in lines {
        script.during(*start_ms, *end_ms);
        draw_caption(&mut script, canvas, number, text);
    }
    script.finish()
}

fn draw_caption(script: &mut AssScript, canvas: Canvas, number: usize, text: &str) {
    let (width, height) = (f64::from(canvas.width), f64::from(canvas.height));
    let number = number.to_string();
    let (font, lines) = fitting(&drawable(text), width * 0.8, width.min(height) * 0.05, 3);
    let em = font.line_height() / 1.32;
    let gap = font.width(&number) + 0.7 * em;
    let wide = lines.iter().map(|line| font.width(line)).fold(0.0, f64::max);
    let size = (gap + wide + 1.5 * em, font.line_height() * lines.len().max(1) as f64 + 0.7 * em);
    let place = ((width - size.0) / 2.0, height * 0.95 - size.1);
    script.rectangle(place, size, 0.42 * em, (BLACK, 0.74));
    let (left, top) = (place.0 + 0.75 * em, place.1 + 0.35 * em);
    script.lines(&font, (left, top), &[number], ACCENT);
    script.lines(&font, (left + gap, top), &lines, WHITE);
}

/// A card for a step that no video shows.
pub fn gap(canvas: Canvas, number: usize, text: &str) -> String {
    card(canvas, &format!("Step {number}"), text, "No video in this library shows this step")
}

pub fn title(canvas: Canvas, title: &str, steps: usize, sources: usize) -> String {
    let note = format!("{} from {}", count(steps, "step"), count(sources, "video"));
    card(canvas, "", title, &note)
}

/// A card: a small heading, the text, a rule and a note, centred vertically.
fn card(canvas: Canvas, heading: &str, text: &str, note: &str) -> String {
    let (width, height) = (f64::from(canvas.width), f64::from(canvas.height));
    let base = width.min(height);
    let inset = base * 0.07;
    let inner = width - 2.0 * inset - base * 0.18;
    let (words, lines) = fitting(&drawable(text), inner, base * 0.08, 4);
    let small = Font::new(Weight::SemiBold, base * 0.042);
    let notes = Font::new(Weight::Regular, base * 0.036);
    let note_lines = notes.wrap(note, inner);

    let mut script = AssScript::new(canvas.width, canvas.height);
    let panel = (width - 2.0 * inset, height - 2.0 * inset);
    script.rectangle((inset, inset), panel, base * 0.04, (PANEL, 1.0));

    let heading_height = if heading.is_empty() { 0.0 } else { small.line_height() * 1.5 };
    let text_height = words.line_height() * lines.len() as f64;
    let rule = base * 0.05;
    let notes_height = notes.line_height() * note_lines.len() as f64;
    let total = heading_height + text_height + 2.0 * rule + notes_height;
    let left = inset + base * 0.09;
    let mut top = (height - total) / 2.0;
    if !heading.is_empty() {
        script.lines(&small, (left, top), &[heading], ACCENT);
    }
    top += heading_height;
    script.lines(&words, (left, top), &lines, WHITE);
    top += text_height + rule;
    let stroke = (base * 0.006).max(2.0);
    script.rectangle((left, top), (base * 0.11, stroke), stroke / 2.0, (ACCENT, 1.0));
    top += rule;
    script.lines(&notes, (left, top), &note_lines, GREY);
    script.finish()
}

/// Smaller letters, in pixels, are not legible in a video. Chosen by hand.
const MIN_EM: f64 = 13.0;

/// The largest font up to `em` with which the text needs at most `max_lines`; long texts get six
/// tenths of it and as many lines as they need.
fn fitting(text: &str, width: f64, em: f64, max_lines: usize) -> (Font, Vec<String>) {
    let sizes = [1.0, 0.9, 0.8, 0.7, 0.6];
    let try_size = |share: &f64| {
        let font = Font::new(Weight::SemiBold, (em * share).max(MIN_EM));
        let lines = font.wrap(text, width);
        (font, lines)
    };
    let fits = sizes.iter().map(try_size).find(|(_, lines)| lines.len() <= max_lines);
    fits.unwrap_or_else(|| try_size(&0.6))
}
