//! The contact sheet: every task as a row of pictures, one for each step, with its text beneath.

use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;
use stitch_engine::files::{FileError, write_whole};
use stitch_engine::progress::Progress;
use tiny_skia::{Color, FillRule, Paint, Pixmap, PixmapPaint, Transform};

use crate::catalogue::{TaskSet, catalogue};
use crate::drawing::{Place, draw};
use crate::library::scripts;
use crate::picture::png;
use crate::script::{Script, Shot};
use crate::settings::{Settings, WorldError};
use crate::text::{Font, Weight};

/// Sizes in pixels.
const PANEL: (u32, u32) = (288, 162);
const GAP: u32 = 14;
const CAPTION_HEIGHT: u32 = 44;
const TITLE_WIDTH: u32 = 190;
const INK: [u8; 3] = [34, 34, 38];
const PALE_INK: [u8; 3] = [110, 110, 118];
/// The progress of a step in its panel: the tool is at work and both states are in sight.
const PROGRESS: f32 = 0.62;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SheetSummary {
    /// One row each.
    pub tasks: usize,
    pub panels: usize,
    /// Of the sheet, in pixels.
    pub width: u32,
    pub height: u32,
}

/// Draws the first video of every task of a set, in the library of this seed, into one PNG file.
pub fn sheet(
    path: &Path,
    tasks: TaskSet,
    seed: u64,
    progress: &dyn Progress,
) -> Result<SheetSummary, WorldError> {
    let videos = catalogue(tasks).tasks().count();
    let settings = Settings { tasks, seed, videos, ..Settings::DEFAULT };
    settings.check()?;
    let scripts = scripts(tasks, seed, videos);
    progress.begin("drawing", scripts.len() as u64);
    let sheet = compose(&scripts, progress)?;
    let bytes = png(&sheet, png::Compression::High).map_err(FileError::at(path))?;
    write_whole(path, &bytes)?;
    let panels = scripts.iter().map(|script| script.steps().count()).sum();
    let (width, height) = (sheet.width(), sheet.height());
    Ok(SheetSummary { tasks: scripts.len(), panels, width, height })
}

fn compose(scripts: &[Script], progress: &dyn Progress) -> Result<Pixmap, WorldError> {
    let columns = scripts.iter().map(|script| script.steps().count()).max().unwrap_or(0) as u32;
    let width = GAP + TITLE_WIDTH + columns * (PANEL.0 + GAP);
    let height = GAP + scripts.len() as u32 * (PANEL.1 + CAPTION_HEIGHT + GAP);
    let mut sheet = Pixmap::new(width, height).ok_or(WorldError::Size { width, height })?;
    sheet.fill(Color::WHITE);
    let panels: Vec<Vec<Pixmap>> = scripts
        .par_iter()
        .map(|script| {
            progress.check()?;
            let panels = panels(script)?;
            progress.advance(1);
            Ok::<_, WorldError>(panels)
        })
        .collect::<Result<_, _>>()?;
    let letters = Letters::new();
    for (row, (script, panels)) in scripts.iter().zip(&panels).enumerate() {
        let top = GAP + row as u32 * (PANEL.1 + CAPTION_HEIGHT + GAP);
        letters.title(script, top, &mut sheet);
        put_row(script, panels, top, &letters, &mut sheet);
    }
    Ok(sheet)
}

/// One picture for every step.
fn panels(script: &Script) -> Result<Vec<Pixmap>, WorldError> {
    let place = Place::new(script.domain, script.place_seed);
    let panel = |shot: &Shot| {
        let (width, height) = PANEL;
        let mut panel = Pixmap::new(width, height).ok_or(WorldError::Size { width, height })?;
        let seconds = PROGRESS * shot.length_ms() as f32 / 1000.0;
        draw(&place, &shot.scene, PROGRESS, seconds, &mut panel);
        Ok(panel)
    };
    script.steps().map(panel).collect()
}

fn put_row(script: &Script, panels: &[Pixmap], top: u32, letters: &Letters, sheet: &mut Pixmap) {
    for (column, (shot, panel)) in script.steps().zip(panels).enumerate() {
        let left = GAP + TITLE_WIDTH + column as u32 * (PANEL.0 + GAP);
        let (x, y) = (left as i32, top as i32);
        let paint = PixmapPaint::default();
        sheet.draw_pixmap(x, y, panel.as_ref(), &paint, Transform::identity(), None);
        letters.caption(&format!("{}. {}", column + 1, shot.text), left, top + PANEL.1, sheet);
    }
}

/// The sheet's two fonts.
struct Letters {
    large: Font,
    small: Font,
}

impl Letters {
    fn new() -> Self {
        Self { large: Font::new(Weight::SemiBold, 22.0), small: Font::new(Weight::Regular, 14.5) }
    }

    /// The video's title and presenter, to the left of its row.
    fn title(&self, script: &Script, top: u32, sheet: &mut Pixmap) {
        let mut y = top as f32 + 24.0;
        for line in self.large.wrap(&script.title, TITLE_WIDTH as f32 - 12.0) {
            write(&self.large, &line, (GAP as f32, y), INK, sheet);
            y += 28.0;
        }
        let presenter = format!("with {}", script.presenter);
        write(&self.small, &presenter, (GAP as f32, y), PALE_INK, sheet);
    }

    /// A step's text, beneath its panel.
    fn caption(&self, text: &str, left: u32, top: u32, sheet: &mut Pixmap) {
        for (number, line) in self.small.wrap(text, PANEL.0 as f32).iter().take(2).enumerate() {
            let y = top as f32 + 19.0 + number as f32 * 18.0;
            write(&self.small, line, (left as f32, y), INK, sheet);
        }
    }
}

/// Draws a line of text whose baseline begins at `at`.
fn write(font: &Font, text: &str, at: (f32, f32), colour: [u8; 3], sheet: &mut Pixmap) {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(colour[0], colour[1], colour[2], 255);
    if let Some(path) = font.path(text) {
        let there = Transform::from_translate(at.0, at.1);
        sheet.fill_path(&path, &paint, FillRule::Winding, there, None);
    }
}

#[cfg(test)]
mod tests {
    use stitch_engine::progress::Silent;

    use super::*;

    #[test]
    fn every_task_has_its_row() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sheet.png");
        let summary = sheet(&path, TaskSet::Demonstration, 1, &Silent).unwrap();
        assert_eq!(summary.tasks, 12);
        assert!(summary.panels >= 60);
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000);
    }
}
