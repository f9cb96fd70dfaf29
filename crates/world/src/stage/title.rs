//! Title scenes: large letters on a plate over the place at rest.

use super::brush::{Brush, Colour, SHADE, WHITE, rgb};
use super::dice::ease;
use super::look::Look;
use super::text::{self, Weight};

/// The plate with its letters, sliding in at the start and out at the end.
pub fn plate(b: &mut Brush, look: &Look, title: &str, subtitle: &str, progress: f32) {
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
            b.slab(
                x - grow,
                y + 14.0 - grow * 0.3,
                width + 2.0 * grow,
                height + grow,
                36.0 + grow,
                SHADE.fade(0.10),
            );
        });
        b.slab(x, y, width, height, 30.0, paper.fade(0.96));
        b.slab(x + 46.0, y + 38.0, 96.0 * ease(progress, 0.08, 0.3), 10.0, 5.0, look.accent);
        let mut base = y + 62.0 + size;
        for line in &lines {
            text::write(b, line, Weight::SemiBold, size, (x + 46.0, base), letters);
            base += size * 1.08;
        }
        let small = letters.mix(paper, 0.28);
        text::write(b, subtitle, Weight::Regular, 40.0, (x + 48.0, base - size + 52.0), small);
    });
}

/// The largest size at which the title stands on at most three lines.
fn fit(title: &str) -> (f32, Vec<String>) {
    for size in [112.0, 96.0, 84.0, 72.0] {
        let lines = text::wrap(title, Weight::SemiBold, size, 1120.0);
        if lines.len() <= 2 {
            return (size, balanced(title, size, lines.len()));
        }
    }
    (60.0, text::wrap(title, Weight::SemiBold, 60.0, 1120.0).into_iter().take(4).collect())
}

/// The lines of the narrowest column that needs no more of them, so that none ends in a lone word.
fn balanced(title: &str, size: f32, count: usize) -> Vec<String> {
    let narrow = (4..=11).map(|i| text::wrap(title, Weight::SemiBold, size, 100.0 * i as f32));
    let widest = text::wrap(title, Weight::SemiBold, size, 1120.0);
    narrow.into_iter().find(|lines| lines.len() == count).unwrap_or(widest)
}

fn plate_width(lines: &[String], size: f32, subtitle: &str) -> f32 {
    let widest = lines.iter().map(|l| text::measure(l, Weight::SemiBold, size)).fold(0.0, f32::max);
    widest.max(text::measure(subtitle, Weight::Regular, 40.0)).clamp(420.0, 1300.0) + 96.0
}

/// Dark letters on paper, or light ones on the front's colour, by the seed.
fn colours(look: &Look) -> (Colour, Colour) {
    match look.seed % 3 {
        0 => (look.front.dark(0.35), rgb(0xfff8ec)),
        1 => (WHITE.mix(look.accent2, 0.08), rgb(0x2a2230)),
        _ => (rgb(0xfff9ef), look.front.dark(0.55)),
    }
}
