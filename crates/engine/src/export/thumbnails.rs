//! Thumbnails of clips for the page, kept in the cache.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use crate::demonstrate::{Choice, Demonstration, Step};
use crate::files::{FileError, mark_used, write_whole};
use crate::media::{MediaError, THUMBNAIL_WIDTH_PX, thumbnail};
use crate::progress::Progress;
use crate::render::cache::{identity, key};

/// Alternatives of a step on the page. Chosen by hand.
const MAX_ALTERNATIVES: usize = 4;
/// Alternatives to a chosen clip that would read as 0 % are left out.
const MIN_PROBABILITY: f32 = 0.005;

/// JPEG pictures by video file and time.
#[derive(Clone, Debug, Default)]
pub struct Thumbnails(BTreeMap<(PathBuf, u64), Vec<u8>>);

impl Thumbnails {
    /// The middle frame of every clip that the page shows. One that cannot be decoded is left out
    /// with a warning.
    pub fn gather(
        demonstration: &Demonstration,
        cache: &Path,
        progress: &dyn Progress,
    ) -> Result<Self, MediaError> {
        let choices: Vec<&Choice> = demonstration.steps.iter().flat_map(shown).collect();
        progress.begin("thumbnails", choices.len() as u64);
        let mut pictures = BTreeMap::new();
        for choice in choices {
            progress.check()?;
            let place = (choice.source.path.clone(), middle(choice));
            if let Entry::Vacant(empty) = pictures.entry(place) {
                let (path, at) = empty.key();
                match picture_at(cache, path, *at, progress) {
                    Ok(jpeg) => {
                        empty.insert(jpeg);
                    }
                    Err(e @ (MediaError::Stopped(_) | MediaError::Missing { .. })) => {
                        return Err(e);
                    }
                    Err(e) => progress.warn(&format!("no thumbnail: {e}")),
                }
            }
            progress.advance(1);
        }
        Ok(Self(pictures))
    }

    pub fn get(&self, choice: &Choice) -> Option<&[u8]> {
        self.0.get(&(choice.source.path.clone(), middle(choice))).map(Vec::as_slice)
    }
}

/// The alternatives of a step that the page shows.
pub fn alternatives(step: &Step) -> impl Iterator<Item = &Choice> {
    let likely = |choice: &&Choice| {
        step.chosen.is_none() || choice.similarity.probability >= MIN_PROBABILITY
    };
    step.alternatives.iter().filter(likely).take(MAX_ALTERNATIVES)
}

fn shown(step: &Step) -> impl Iterator<Item = &Choice> {
    step.clips().into_iter().chain(alternatives(step))
}

/// The middle of a clip, in milliseconds.
fn middle(choice: &Choice) -> u64 {
    choice.cut.start_ms + choice.cut.length_ms() / 2
}

/// The frame of a video at a time, as JPEG, kept in the cache.
pub fn picture_at(
    cache: &Path,
    path: &Path,
    at_ms: u64,
    progress: &dyn Progress,
) -> Result<Vec<u8>, MediaError> {
    let folder = cache.join("thumbnails");
    std::fs::create_dir_all(&folder).map_err(FileError::at(&folder))?;
    let kept =
        folder.join(key(&[&identity(path)?, &at_ms.to_string(), &THUMBNAIL_WIDTH_PX.to_string()]));
    if let Ok(jpeg) = std::fs::read(&kept) {
        mark_used(&kept);
        return Ok(jpeg);
    }
    let jpeg = thumbnail(path, at_ms, THUMBNAIL_WIDTH_PX, progress)?;
    write_whole(&kept, &jpeg)?;
    Ok(jpeg)
}
