//! A folder of precomputed features: a file per video, or one file with an array per video; and
//! `features.toml`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::arrays::{self, Rows};
use super::{PrecomputedError, Result, check_dim, unusable};
use crate::files::{FileError, hex};

/// By how much the lengths of a video and of its features may differ.
const TOLERANCE_S: f64 = 1.0;

/// features.toml, or the options of the command line.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Rows per second.
    pub rate: Option<f64>,
    pub dim: Option<usize>,
    pub key: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Folder {
    folder: PathBuf,
    /// Rows per second.
    pub rate: f64,
    pub(super) dim: Option<usize>,
    /// By the video's name: the file, and the array's name in it.
    arrays: HashMap<String, (PathBuf, Option<String>)>,
}

impl Folder {
    /// The description's name in a folder.
    pub const ABOUT: &str = "features.toml";

    /// Finds the files. `options` take precedence over features.toml.
    pub fn open(folder: &Path, options: &About) -> Result<Self> {
        std::fs::read_dir(folder).map_err(FileError::at(folder))?;
        let written = read_about(folder)?;
        let rate = options.rate.or(written.rate);
        let rate = rate.ok_or_else(|| PrecomputedError::NoRate { folder: folder.into() })?;
        if !(rate.is_finite() && (1e-3..=1e3).contains(&rate)) {
            let reason = format!("{rate} rows per second; from 0.001 to 1000 can be");
            return Err(unusable(&folder.join(Self::ABOUT), reason));
        }
        let mut files = HashMap::new();
        walk(folder, 3, &mut files)?;
        if files.is_empty() {
            let endings = arrays::ENDINGS.join(", ");
            let reason =
                format!("no features here; they are files such as VIDEO.npy, in {endings}");
            return Err(unusable(folder, reason));
        }
        let key = options.key.as_ref().or(written.key.as_ref());
        let own = files.iter().map(|(name, path)| (name.clone(), (path.clone(), key.cloned())));
        let mut arrays: HashMap<_, _> = own.collect();
        // Few files may hold an array per video.
        for path in files.values().filter(|_| files.len() <= 16) {
            for name in arrays::names(path) {
                arrays.entry(name.clone()).or_insert_with(|| (path.clone(), Some(name)));
            }
        }
        Ok(Self { folder: folder.into(), rate, dim: options.dim.or(written.dim), arrays })
    }

    pub fn file_of(&self, name: &str) -> Option<&Path> {
        self.arrays.get(name).map(|(path, _)| path.as_path())
    }

    fn array_of(&self, name: &str) -> Result<&(PathBuf, Option<String>)> {
        self.arrays.get(name).ok_or_else(|| PrecomputedError::NoneOf {
            name: name.into(),
            folder: self.folder.clone(),
        })
    }

    /// A hash of the name and of the file's bytes.
    pub fn content_of(&self, name: &str) -> Result<String> {
        let (path, _) = self.array_of(name)?;
        let bytes = std::fs::read(path).map_err(FileError::at(path))?;
        Ok(hex(&Sha256::new_with_prefix(name).chain_update(bytes).finalize()))
    }

    /// The rows of a video, with the file they are from.
    pub fn rows_of(&self, name: &str) -> Result<(Rows, &Path)> {
        let (path, key) = self.array_of(name)?;
        Ok((arrays::read(path, key.as_deref())?, path))
    }

    pub fn length_ms_of(&self, name: &str) -> Result<u64> {
        let (rows, _) = self.rows_of(name)?;
        Ok((rows.count() as f64 / self.rate * 1000.0).round() as u64)
    }

    /// One row of `dim` numbers per second of a video of this length.
    pub fn seconds_of(&self, name: &str, length_ms: u64, dim: usize) -> Result<Vec<f32>> {
        let (rows, path) = self.rows_of(name)?;
        check_dim(path, rows.dim, dim)?;
        let (features_s, video_s) = (rows.count() as f64 / self.rate, length_ms as f64 / 1000.0);
        if (features_s - video_s).abs() > TOLERANCE_S.max(1.0 / self.rate) {
            let reason = format!(
                "{} rows at {} per second are {features_s:.1} s, but the video lasts {video_s:.1} s; \
                 say the right rate with --feature-rate, or make the features again",
                rows.count(),
                self.rate
            );
            return Err(unusable(path, reason));
        }
        Ok(resample(&rows, self.rate, length_ms.div_ceil(1000) as usize))
    }
}

/// Resamples rows to one per second: the sum of the rows in it, weighted by overlap. A second after the
/// last row has the last one.
fn resample(rows: &Rows, rate: f64, seconds: usize) -> Vec<f32> {
    let count = rows.count();
    let mut sums = vec![0.0; seconds * rows.dim];
    for (second, sum) in sums.chunks_exact_mut(rows.dim).enumerate() {
        let (from, to) = (second as f64 * rate, (second + 1) as f64 * rate);
        let last = count.saturating_sub(1);
        let first = (from.floor() as usize).min(last);
        for row in first..(to.ceil() as usize).clamp(first + 1, count.max(first + 1)) {
            let share = ((row + 1) as f64).min(to) - (row as f64).max(from);
            let share = if share > 0.0 { share as f32 } else { 1.0 };
            let Some(row) = rows.data.get(row * rows.dim..(row + 1) * rows.dim) else { continue };
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
            sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += share * x / length);
        }
    }
    sums
}

fn read_about(folder: &Path) -> Result<About> {
    let path = folder.join(Folder::ABOUT);
    if !path.exists() {
        return Ok(About::default());
    }
    let text = std::fs::read_to_string(&path).map_err(FileError::at(&path))?;
    toml::from_str(&text).map_err(|error| unusable(&path, error))
}

/// The files with features in a folder and its subfolders, some levels deep.
fn walk(
    folder: &Path,
    levels: usize,
    files: &mut HashMap<String, PathBuf>,
) -> Result<(), FileError> {
    let entries = std::fs::read_dir(folder).map_err(FileError::at(folder))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && levels > 0 {
            walk(&path, levels - 1, files)?;
        } else if arrays::ENDINGS.contains(&arrays::ending(&path).as_str()) {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.entry(stem).or_insert(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize) -> Rows {
        Rows { dim: 2, data: (0..count).flat_map(|i| [i as f32 + 1.0, 0.0]).collect() }
    }

    #[test]
    fn rows_of_any_rate_become_seconds() {
        // Rows are brought to length 1 first, so a second's sum is the time its rows cover.
        for (rate, count, seconds) in [(1.0, 5, 5), (2.0, 10, 5), (0.5, 3, 5), (4.0 / 3.0, 7, 5)] {
            let resampled = resample(&rows(count), rate, seconds);
            assert_eq!(resampled.len(), 2 * seconds, "{rate}");
            assert!(
                resampled.chunks(2).all(|row| row[0] > 0.0 && row[1] == 0.0),
                "{rate} {resampled:?}"
            );
        }
        assert_eq!(resample(&rows(1), 1.0, 2), [1.0, 0.0, 1.0, 0.0], "the last row stays");
        assert!(resample(&Rows { dim: 2, data: vec![] }, 1.0, 1).iter().all(|x| *x == 0.0));
    }
}
