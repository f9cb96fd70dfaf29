//! The section of a report on one set, with a cache so that an evaluation that was stopped continues.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use stitch_engine::calibration::Calibration;
use stitch_engine::files::{FileError, hex, write_whole};
use stitch_engine::progress::Progress;

use super::MeasureError;
use super::compare::{CompareOptions, Extra, compare};
use super::experiments::capture::capture;
use super::experiments::consistency::{Edges, consistency};
use super::report::Section;
use super::test_set::TestSet;

/// Raise it when a baseline changes, so that no result of the old one is taken from a cache.
const BASELINES: &str = "baselines 1";

/// The result that a folder has under a key; made and kept there where it is missing or cannot be read any more.
pub fn cached<T: Serialize + DeserializeOwned>(
    folder: &Path,
    key: &str,
    make: impl FnOnce() -> Result<T, MeasureError>,
) -> Result<T, MeasureError> {
    let digest = Sha256::digest(key.as_bytes());
    let path = folder.join(format!("{}.json", hex(&digest[..12])));
    let known = std::fs::read_to_string(&path).ok();
    if let Some(known) = known.and_then(|text| serde_json::from_str(&text).ok()) {
        return Ok(known);
    }
    let made = make()?;
    std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
    write_whole(&path, serde_json::to_string(&made).unwrap_or_default().as_bytes())?;
    Ok(made)
}

/// What a section is called and measured with.
pub struct Part<'a> {
    pub set: &'a str,
    pub domain: Option<&'a str>,
    /// Whole videos, or mixed procedures.
    pub whole: bool,
    pub extra: &'a [Extra<'a>],
    pub options: &'a CompareOptions,
}

/// The main table, capture and consistency of one set.
pub fn section(
    set: &TestSet,
    part: &Part<'_>,
    edges: &Edges,
    progress: &dyn Progress,
) -> Result<Section, MeasureError> {
    let measured = set.measuring(part.whole);
    let comparison = compare(&measured, part.extra, part.options, progress)?;
    let of = if part.whole { "whole videos" } else { "mixed" };
    let seed = part.options.seed;
    let capture = capture(&measured, of, seed, progress)?;
    let consistency = consistency(&comparison, edges, seed);
    Ok(Section {
        set: part.set.into(),
        domain: part.domain.map(str::to_owned),
        of: of.into(),
        comparison,
        capture: vec![capture],
        consistency: Some(consistency),
    })
}

/// A key for [`cached`]: the clips, features and procedures of a set, the calibration of its encoder,
/// the versions of the program and of the baselines, and whatever else matters.
pub fn fingerprint(set: &TestSet, also: &[&str]) -> String {
    let mut hash = Sha256::new();
    for clip in set.collection.pool.clips() {
        hash.update(clip.video.0.to_le_bytes());
        hash.update(clip.span.start().to_le_bytes());
        hash.update(clip.span.end().to_le_bytes());
        hash.update(&clip.text);
    }
    let appearance = set.seen.appearance_features().map(|rows| &**rows);
    for rows in [Some(set.seen.clip_features()), appearance].into_iter().flatten() {
        for row in 0..rows.len() {
            rows.row(row).iter().for_each(|number| hash.update(number.to_le_bytes()));
        }
    }
    for instance in &set.collection.instances {
        instance.texts.iter().for_each(|text| hash.update(text));
        instance.truth.iter().for_each(|clip| hash.update(clip.0.to_le_bytes()));
    }
    set.collection.labels.iter().for_each(|label| hash.update(label));
    let calibration = format!("{:?}", Calibration::of(&set.encoder.name));
    let program = [env!("CARGO_PKG_VERSION"), BASELINES, &calibration];
    program.iter().chain(also).for_each(|word| hash.update(word));
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::fixture::{Made, test_set};

    #[test]
    fn other_labels_make_another_part() {
        let mut set = test_set(&Made { tasks: 1, videos: 2, steps: 2, seed: 1 });
        let before = fingerprint(&set, &[]);
        assert_eq!(fingerprint(&set, &[]), before);
        set.collection.labels[0] = "cut".into();
        assert_ne!(fingerprint(&set, &[]), before);
    }

    #[test]
    fn what_is_kept_is_found_by_what_it_was_made_from() {
        let folder = tempfile::tempdir().unwrap();
        let of =
            |key: &str, text: &str| cached(folder.path(), key, || Ok(text.to_owned())).unwrap();
        assert_eq!(of("this", "made"), "made");
        assert_eq!(of("this", "made again"), "made");
        assert_eq!(of("that", "other"), "other");
        let numbers = cached(folder.path(), "this", || Ok(vec![1, 2])).unwrap();
        assert_eq!(numbers, [1, 2], "of another shape");
    }
}
