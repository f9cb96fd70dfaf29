//! Title scenes: large text on a plate over the place at rest.

use super::brush::{Brush, Colour, SHADE, WHITE, rgb};
use super::easing::ease;
use super::look::Look;
use crate::text::{Font, Weight};

/// The plate with its text, which slides in at the start.
pub fn draw(b: &mut Brush, look: &Look, title: &str, subtitle: &str, progress: f32) {
    let come = ease(progress, 0.0, 0.14);
    let (size, lines) = fit(title);
    let (paper, letters) = colours(look);
    let height =
        92.0 + lines.len() as f32 * size * 1.08 + if subtitle.is_empty() { 0.0 } else { 66.0 };
    let width = plate_width(&lines, size, subtitle);
    let (x, y) = (800.0 - width / 2.0, 400.0 - height / 2.0 + 40.0 * (1.0 - come));
    b.faded(come, |b| {
        (0..3).for_each(|i| {
            let grow = 8.0 * i as f32;
            b.rect(
                x - grow,
                y + 14.0 - grow * 0.3,
                width + 2.0 * grow,
                height + grow,
                36.0 + grow,
                SHADE.fade(0.10),
            );
        });
        b.rect(x, y, width, height, 30.0, paper.fade(0.96));
        b.rect(x + 46.0, y + 38.0, 96.0 * ease(progress, 0.08, 0.3), 10.0, 5.0, look.accent);
        let mut base = y + 62.0 + size;
        for line in &lines {
            b.text(&Font::new(Weight::SemiBold, size), line, (x + 46.0, base), letters);
            base += size * 1.08;
        }
        let small = letters.mix(paper, 0.28);
        b.text(&Font::new(Weight::Regular, 40.0), subtitle, (x + 48.0, base - size + 52.0), small);
    });
}

/// The size and lines of the title: the largest size at which it stands on at most two lines, or the
/// smallest size on at most four.
fn fit(title: &str) -> (f32, Vec<String>) {
    for size in [112.0, 96.0, 84.0, 72.0] {
        let lines = wrap(title, size, 1120.0);
        if lines.len() <= 2 {
            return (size, balanced(title, size, lines));
        }
    }
    (60.0, wrap(title, 60.0, 1120.0).into_iter().take(4).collect())
}

/// The lines of the narrowest column that needs no more of them, so that none ends in a lone word.
fn balanced(title: &str, size: f32, widest: Vec<String>) -> Vec<String> {
    let mut columns = (4..=11).map(|i| wrap(title, size, 100.0 * i as f32));
    columns.find(|lines| lines.len() == widest.len()).unwrap_or(widest)
}

fn wrap(title: &str, size: f32, width: f32) -> Vec<String> {
    Font::new(Weight::SemiBold, size).wrap(title, width)
}

fn plate_width(lines: &[String], size: f32, subtitle: &str) -> f32 {
    let font = Font::new(Weight::SemiBold, size);
    let widest = lines.iter().map(|line| font.width(line)).fold(0.0, f32::max);
    widest.max(Font::new(Weight::Regular, 40.0).width(subtitle)).clamp(420.0, 1300.0) + 96.0
}

/// Dark letters on paper, or light ones on the front's colour, by the seed.
fn colours(look: &Look) -> (Colour, Colour) {
    match look.seed % 3 {
        0 => (look.front.dark(0.35), rgb(0xfff8ec)),
        1 => (WHITE.mix(look.accent2, 0.08), rgb(0x2a2230)),
        _ => (rgb(0xfff9ef), look.front.dark(0.55)),
    }
}
