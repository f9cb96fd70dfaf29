//! All experiments on one set, kept part by part so that a run that was stopped goes on where it was.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use stitch_engine::files::{FileError, hex, write_whole};
use stitch_engine::progress::Progress;

use super::compare::{CompareError, Extra, Options, compare};
use super::distractors::DistractorsError;
use super::experiments::capture::capture;
use super::experiments::consistency::{Edges, consistency};
use super::report::Section;
use super::test_set::TestSet;

/// Where finished parts are kept, by a digest of what they are made from.
pub struct Kept {
    folder: PathBuf,
}

/// Why a part is not there.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It could not be kept.
    #[error(transparent)]
    File(#[from] FileError),
    /// The methods could not be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// Truths could not be looked for.
    #[error(transparent)]
    Capture(#[from] DistractorsError),
}

impl Kept {
    /// In this folder, which is made if need be.
    pub fn new(folder: &Path) -> Result<Self, FileError> {
        std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
        Ok(Self { folder: folder.into() })
    }

    fn path(&self, made_from: &str) -> PathBuf {
        let digest = Sha256::digest(made_from.as_bytes());
        self.folder.join(format!("{}.json", hex(&digest[..12])))
    }

    /// What was made from this before; nothing if it was not, or cannot be read any more.
    pub fn find<T: DeserializeOwned>(&self, made_from: &str) -> Option<T> {
        let text = std::fs::read_to_string(self.path(made_from)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Keeps what was made from this.
    pub fn keep<T: Serialize>(&self, made_from: &str, made: &T) -> Result<(), FileError> {
        let text = serde_json::to_string(made).unwrap_or_default();
        write_whole(&self.path(made_from), text.as_bytes())
    }
}

/// What a section is called and measured with.
pub struct Part<'a> {
    /// The set's name.
    pub set: &'a str,
    /// The domain, where the set is divided.
    pub domain: Option<&'a str>,
    /// Whole videos, or mixed procedures.
    pub whole: bool,
    /// Scorers beside the baselines.
    pub extra: &'a [Extra<'a>],
    /// How methods are compared.
    pub options: &'a Options,
}

/// The main table, capture and consistency of one set.
pub fn section(
    set: &TestSet,
    part: &Part<'_>,
    edges: (&Edges, &str),
    progress: &dyn Progress,
) -> Result<Section, RunError> {
    let measured = set.measuring(part.whole);
    let comparison = compare(&measured, part.extra, part.options, progress)?;
    let seed = part.options.seed;
    let capture = capture(&measured, seed, progress)?;
    let consistency = consistency(&comparison, edges.0, edges.1, seed);
    Ok(Section {
        set: part.set.into(),
        domain: part.domain.map(str::to_owned),
        of: if part.whole { "whole videos" } else { "mixed" }.into(),
        comparison,
        capture,
        consistency: Some(consistency),
    })
}

/// What a set is made from, for [`Kept`]: the clips, the procedures and everything they were made with.
pub fn fingerprint(set: &TestSet, about: &[&str]) -> String {
    let mut hash = Sha256::new();
    for clip in set.collection.pool.clips() {
        hash.update(clip.video.0.to_le_bytes());
        hash.update(clip.span.start().to_le_bytes());
        hash.update(clip.span.end().to_le_bytes());
        hash.update(&clip.text);
    }
    for row in set.seen.clip_features().as_slice() {
        hash.update(row.to_le_bytes());
    }
    for instance in &set.collection.instances {
        instance.texts.iter().for_each(|text| hash.update(text));
        instance.truth.iter().for_each(|clip| hash.update(clip.0.to_le_bytes()));
    }
    set.collection.labels.iter().for_each(|label| hash.update(label));
    about.iter().for_each(|word| hash.update(word));
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use stitch_core::features::Features;
    use stitch_engine::encoder::EncoderId;

    use super::*;
    use crate::suite::fixture::{DIM, Made, collection};

    #[test]
    fn other_labels_make_another_part() {
        let made = collection(&Made { tasks: 1, videos: 2, steps: 2, seed: 1 });
        let count = made.pool.len();
        let said =
            (vec![String::new(); count], Features::new(DIM, vec![0.0; DIM * count]).unwrap());
        let encoder = EncoderId { name: "x".into(), dim: DIM, weights: String::new() };
        let mut set = TestSet::new("all", made, said, encoder).unwrap();
        let before = fingerprint(&set, &[]);
        assert_eq!(fingerprint(&set, &[]), before);
        set.collection.labels[0] = "cut".into();
        assert_ne!(fingerprint(&set, &[]), before);
    }

    #[test]
    fn what_is_kept_is_found_by_what_it_was_made_from() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::new(&folder.path().join("parts")).unwrap();
        kept.keep("this", &vec![1, 2]).unwrap();
        assert_eq!(kept.find::<Vec<u8>>("this"), Some(vec![1, 2]));
        assert_eq!(kept.find::<Vec<u8>>("that"), None);
        assert_eq!(kept.find::<String>("this"), None, "of another shape");
    }
}
