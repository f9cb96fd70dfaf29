//! Subtitles and watermarks in the pictures of the sources: told, cut off or covered.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Result;
use super::cache::{Cache, identity, key};
use super::options::Overlays;
use crate::demonstrate::Demonstration;
use crate::files::{mark_used, write_whole};
use crate::media::cut::{Area, Cleaning};
use crate::overlay::{self, Overlay};
use crate::progress::{Progress, Within};

/// At least this much of a picture is left by cutting off.
const LEAST_KEPT: f64 = 2.0 / 3.0;

/// Looks for overlays in the sources of all clips, enters them there and tells of them.
pub fn find_overlays(
    demonstration: &mut Demonstration,
    wanted: Overlays,
    cache: &Path,
    progress: &dyn Progress,
) -> Result<()> {
    let cache = Cache::open(cache)?;
    let filmed = demonstration.cuts().filter(|(_, choice)| choice.source.generated.is_none());
    let sources: BTreeMap<PathBuf, String> = filmed
        .map(|(_, choice)| (choice.source.path.clone(), choice.source.title.clone()))
        .collect();
    progress.begin("looking for subtitles and watermarks", sources.len() as u64);
    let mut found: BTreeMap<PathBuf, Vec<Overlay>> = BTreeMap::new();
    for (path, title) in sources {
        progress.check()?;
        let overlays = overlays(&path, &cache, progress)?;
        if !overlays.is_empty() && wanted == Overlays::Keep {
            let told: Vec<String> = overlays.iter().map(Overlay::told).collect();
            progress.warn(&format!(
                "{title} has {}; --overlays crop cuts them off, --overlays cover hides them",
                told.join(" and ")
            ));
        }
        found.insert(path, overlays);
        progress.advance(1);
    }
    for step in &mut demonstration.steps {
        let further = step.parts.iter_mut().filter_map(|part| part.clip.as_mut());
        for choice in step.chosen.iter_mut().chain(further) {
            choice.source.overlays = found.get(&choice.source.path).cloned().unwrap_or_default();
        }
    }
    Ok(())
}

/// Out of the cache where somebody has looked before.
fn overlays(path: &Path, cache: &Cache, progress: &dyn Progress) -> Result<Vec<Overlay>> {
    let kept = cache.overlays(&key(&["overlays", &identity(path)?]));
    let known = std::fs::read(&kept).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    if let Some(overlays) = known {
        mark_used(&kept);
        return Ok(overlays);
    }
    let found = overlay::find(path, &Within(progress))?;
    write_whole(&kept, serde_json::json!(found).to_string().as_bytes())?;
    Ok(found)
}

/// What is done to a picture with these overlays.
pub fn cleaning(wanted: Overlays, overlays: &[Overlay]) -> Cleaning {
    let area =
        |&Overlay { left, top, right, bottom, .. }: &Overlay| Area { left, top, right, bottom };
    let kept = overlays.iter().map(area).fold(WHOLE, without);
    let enough = (kept.right - kept.left) * (kept.bottom - kept.top) >= LEAST_KEPT;
    match wanted {
        _ if overlays.is_empty() => Cleaning::default(),
        Overlays::Keep => Cleaning::default(),
        Overlays::Crop if enough => Cleaning { kept: Some(kept), ..Cleaning::default() },
        Overlays::Crop | Overlays::Cover => {
            Cleaning { covered: overlays.iter().map(area).collect(), ..Cleaning::default() }
        }
    }
}

const WHOLE: Area = Area { left: 0.0, top: 0.0, right: 1.0, bottom: 1.0 };

/// What is left of a picture when the side that loses least is cut off with this part.
fn without(kept: Area, part: Area) -> Area {
    let sides = [
        Area { left: kept.left.max(part.right), ..kept },
        Area { right: kept.right.min(part.left), ..kept },
        Area { top: kept.top.max(part.bottom), ..kept },
        Area { bottom: kept.bottom.min(part.top), ..kept },
    ];
    let size = |area: &Area| (area.right - area.left).max(0.0) * (area.bottom - area.top).max(0.0);
    sides.into_iter().max_by(|a, b| size(a).total_cmp(&size(b))).unwrap_or(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlay::OverlayKind;

    fn overlay(left: f64, top: f64, right: f64, bottom: f64) -> Overlay {
        Overlay { kind: OverlayKind::Watermark, left, top, right, bottom }
    }

    #[test]
    fn the_side_that_loses_least_is_cut_off_and_large_losses_are_covered() {
        let kept = |overlays: &[Overlay]| cleaning(Overlays::Crop, overlays).kept;
        let (mark, line) = (overlay(0.85, 0.02, 0.98, 0.1), overlay(0.2, 0.85, 0.8, 0.95));
        assert_eq!(kept(&[mark]), Some(Area { top: 0.1, ..WHOLE }));
        assert_eq!(kept(&[line, mark]), Some(Area { top: 0.1, bottom: 0.85, ..WHOLE }));
        let large = overlay(0.1, 0.4, 0.9, 0.9);
        assert_eq!((kept(&[large]), kept(&[])), (None, None));
        assert_eq!(cleaning(Overlays::Crop, &[large]).covered.len(), 1);
        assert_eq!(cleaning(Overlays::Cover, &[mark, line]).covered.len(), 2);
        assert_eq!(cleaning(Overlays::Keep, &[mark]), Cleaning::default());
    }
}
