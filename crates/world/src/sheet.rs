//! The contact sheet: every task as a row of pictures, one a step, with its words beneath.

use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;
use stitch_engine::files::{FileError, write_whole};
use stitch_engine::fonts;
use stitch_engine::progress::Progress;
use tiny_skia::{Color, Pixmap, PixmapPaint, Transform};

use super::lettering::Lettering;
use super::library::scripts;
use super::picture::png;
use super::script::{Role, Script, Shot};
use super::settings::{Settings, WorldError};
use super::stage::{Place, draw};
use super::task::tasks;

const PANEL: (u32, u32) = (288, 162);
const GAP: u32 = 14;
const CAPTION: u32 = 44;
const NAME: u32 = 190;
const INK: [u8; 3] = [34, 34, 38];
const PALE_INK: [u8; 3] = [110, 110, 118];
/// How far a step has come in its panel: the tool at work, both states to be seen.
const MOMENT: f32 = 0.62;

/// What was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SheetSummary {
    /// Rows.
    pub tasks: usize,
    /// Panels in all.
    pub panels: usize,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
}

/// Draws the first video of every task of the library of this seed into one PNG file.
pub fn sheet(path: &Path, seed: u64, progress: &dyn Progress) -> Result<SheetSummary, WorldError> {
    let settings = Settings { seed, videos: tasks().count(), ..Settings::DEFAULT };
    settings.check()?;
    let scripts = scripts(seed, settings.videos);
    progress.begin("drawing", scripts.len() as u64);
    let sheet = compose(&scripts, progress)?;
    let bytes = png(&sheet, png::Compression::High).map_err(FileError::at(path))?;
    write_whole(path, &bytes)?;
    let panels = scripts.iter().map(|script| steps(script).count()).sum();
    let (width, height) = (sheet.width(), sheet.height());
    Ok(SheetSummary { tasks: scripts.len(), panels, width, height })
}

fn steps(script: &Script) -> impl Iterator<Item = &Shot> {
    script.shots.iter().filter(|shot| shot.role == Role::Step)
}

fn compose(scripts: &[Script], progress: &dyn Progress) -> Result<Pixmap, WorldError> {
    let columns = scripts.iter().map(|script| steps(script).count()).max().unwrap_or(0) as u32;
    let width = GAP + NAME + columns * (PANEL.0 + GAP);
    let height = GAP + scripts.len() as u32 * (PANEL.1 + CAPTION + GAP);
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
    let letters = Letters::new()?;
    for (row, (script, panels)) in scripts.iter().zip(&panels).enumerate() {
        let top = GAP + row as u32 * (PANEL.1 + CAPTION + GAP);
        letters.name(script, top, &mut sheet);
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
        let seconds = MOMENT * shot.length_ms() as f32 / 1000.0;
        draw(&place, &shot.scene, MOMENT, seconds, &mut panel);
        Ok(panel)
    };
    steps(script).map(panel).collect()
}

fn put_row(script: &Script, panels: &[Pixmap], top: u32, letters: &Letters, sheet: &mut Pixmap) {
    for (column, (shot, panel)) in steps(script).zip(panels).enumerate() {
        let left = GAP + NAME + column as u32 * (PANEL.0 + GAP);
        let (x, y) = (left as i32, top as i32);
        let paint = PixmapPaint::default();
        sheet.draw_pixmap(x, y, panel.as_ref(), &paint, Transform::identity(), None);
        letters.caption(&format!("{}. {}", column + 1, shot.text), left, top + PANEL.1, sheet);
    }
}

/// The sheet's two sizes of letters.
struct Letters {
    large: Lettering,
    small: Lettering,
}

impl Letters {
    fn new() -> Result<Self, WorldError> {
        let large = Lettering::new(fonts::SEMI_BOLD, 22.0).ok_or(WorldError::Typeface)?;
        Ok(Self { large, small: Lettering::new(fonts::REGULAR, 14.5).ok_or(WorldError::Typeface)? })
    }

    /// The video's title and presenter, to the left of its row.
    fn name(&self, script: &Script, top: u32, sheet: &mut Pixmap) {
        let mut y = top as f32 + 24.0;
        for line in self.large.lines(&script.title, NAME as f32 - 12.0) {
            self.large.draw(&line, GAP as f32, y, INK, sheet);
            y += 28.0;
        }
        let presenter = format!("with {}", script.presenter);
        self.small.draw(&presenter, GAP as f32, y, PALE_INK, sheet);
    }

    /// A step's words, beneath its panel.
    fn caption(&self, text: &str, left: u32, top: u32, sheet: &mut Pixmap) {
        for (number, line) in self.small.lines(text, PANEL.0 as f32).iter().take(2).enumerate() {
            let y = top as f32 + 19.0 + number as f32 * 18.0;
            self.small.draw(line, left as f32, y, INK, sheet);
        }
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
        let summary = sheet(&path, 1, &Silent).unwrap();
        assert_eq!(summary.tasks, 12);
        assert!(summary.panels >= 60);
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000);
    }
}
