//! A folder of features made elsewhere: a file per video by its name, or one file with an array per
//! video; and `features.toml` beside them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::arrays::{self, ArrayError, Rows};
use crate::files::{FileError, hex};

/// How much longer or shorter than the video its features may be, in seconds.
const TOLERANCE: f64 = 1.0;

/// What is wrong with features that came from elsewhere.
#[derive(Debug, thiserror::Error)]
pub enum PrecomputedError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: {reason}", path.display())]
    Description { path: PathBuf, reason: String },
    #[error("{}: no features here; they are files such as VIDEO.npy, in {}", folder.display(),
        arrays::ENDINGS.join(", "))]
    Nothing { folder: PathBuf },
    #[error("{}: how many rows a second has is not known; say it with --feature-rate, or as \
        `rate = 1.0` in features.toml", folder.display())]
    NoRate { folder: PathBuf },
    #[error("there are no features of `{name}` in {}", folder.display())]
    NoneOf { name: String, folder: PathBuf },
    #[error("{}: rows of {found} numbers, where texts have {expected}; they are of another encoder, \
        or `key` in features.toml names the wrong array", path.display())]
    WrongDim { path: PathBuf, found: usize, expected: usize },
    #[error("{}: {rows} rows at {rate} per second are {features_s:.1} s, but the video lasts \
        {video_s:.1} s; say the right rate with --feature-rate, or make the features again",
        path.display())]
    WrongLength { path: PathBuf, rows: usize, rate: f64, features_s: f64, video_s: f64 },
    #[error("features of videos are not computed here; index with --features DIR")]
    TextsOnly,
    #[error(transparent)]
    Array(#[from] ArrayError),
}

/// features.toml, or what was said on the command line.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Rows per second.
    pub rate: Option<f64>,
    pub dim: Option<usize>,
    pub key: Option<String>,
}

/// The features of a folder.
#[derive(Clone, Debug)]
pub struct Folder {
    folder: PathBuf,
    rate: f64,
    dim: Option<usize>,
    key: Option<String>,
    files: HashMap<String, PathBuf>,
    /// Files with an array per video, by the arrays' names.
    shared: HashMap<String, PathBuf>,
}

impl Folder {
    /// The description's name in a folder.
    pub const ABOUT: &str = "features.toml";

    /// Finds the files. What is said here goes before what features.toml says.
    pub fn open(folder: &Path, said: &About) -> Result<Self, PrecomputedError> {
        std::fs::read_dir(folder).map_err(FileError::at(folder))?;
        let written = read_about(folder)?;
        let rate = said.rate.or(written.rate);
        let rate = rate.ok_or_else(|| PrecomputedError::NoRate { folder: folder.into() })?;
        if !(rate.is_finite() && (1e-3..=1e3).contains(&rate)) {
            let reason = format!("{rate} rows per second; from 0.001 to 1000 can be");
            return Err(PrecomputedError::Description { path: folder.join(Self::ABOUT), reason });
        }
        let mut files = HashMap::new();
        walk(folder, 3, &mut files)?;
        if files.is_empty() {
            return Err(PrecomputedError::Nothing { folder: folder.into() });
        }
        let shared = files.values().flat_map(|path| {
            let names = arrays::names(path);
            names.into_iter().map(|name| (name, path.clone())).collect::<Vec<_>>()
        });
        let shared = if files.len() <= 16 { shared.collect() } else { HashMap::new() };
        let (dim, key) = (said.dim.or(written.dim), said.key.clone().or(written.key));
        Ok(Self { folder: folder.into(), rate, dim, key, files, shared })
    }

    /// How many rows a second has.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The length of a row, where it was said.
    pub fn dim(&self) -> Option<usize> {
        self.dim
    }

    /// The file with the features of the video of this name.
    pub fn file_of(&self, name: &str) -> Option<&Path> {
        self.files.get(name).or_else(|| self.shared.get(name)).map(PathBuf::as_path)
    }

    /// What tells these features of a video from others: the file's bytes.
    pub fn content_of(&self, name: &str) -> Result<String, PrecomputedError> {
        let path = self.file_of(name).ok_or_else(|| self.none_of(name))?;
        let bytes = std::fs::read(path).map_err(FileError::at(path))?;
        let mut hash = Sha256::new_with_prefix(name);
        hash.update(bytes);
        Ok(hex(&hash.finalize()))
    }

    fn none_of(&self, name: &str) -> PrecomputedError {
        PrecomputedError::NoneOf { name: name.into(), folder: self.folder.clone() }
    }

    /// The rows of a video, with the file they are from.
    pub fn rows_of(&self, name: &str) -> Result<(Rows, &Path), PrecomputedError> {
        let path = self.file_of(name).ok_or_else(|| self.none_of(name))?;
        let own = self.files.get(name).is_some_and(|own| own == path);
        let key = if own { self.key.as_deref() } else { Some(name) };
        Ok((arrays::read(path, key)?, path))
    }

    /// How long the features of a video say it is, in milliseconds.
    pub fn length_ms_of(&self, name: &str) -> Result<u64, PrecomputedError> {
        let (rows, _) = self.rows_of(name)?;
        Ok(((rows.data.len() / rows.dim) as f64 / self.rate * 1000.0).round() as u64)
    }

    /// One row per second of a video that lasts so long, of `dim` numbers.
    pub fn seconds_of(
        &self,
        name: &str,
        length_ms: u64,
        dim: usize,
    ) -> Result<Vec<f32>, PrecomputedError> {
        let (rows, path) = self.rows_of(name)?;
        let (path, count) = (path.to_owned(), rows.data.len() / rows.dim);
        if rows.dim != dim {
            return Err(PrecomputedError::WrongDim { path, found: rows.dim, expected: dim });
        }
        let (features_s, video_s) = (count as f64 / self.rate, length_ms as f64 / 1000.0);
        if (features_s - video_s).abs() > TOLERANCE.max(1.0 / self.rate) {
            let rate = self.rate;
            let rows = count;
            return Err(PrecomputedError::WrongLength { path, rows, rate, features_s, video_s });
        }
        Ok(spread(&rows, self.rate, length_ms.div_ceil(1000) as usize))
    }
}

/// The rows of a rate as rows of seconds: each second is the sum of the rows that lie in it, by how
/// much of them does. A second after the last row has the last one.
fn spread(rows: &Rows, rate: f64, seconds: usize) -> Vec<f32> {
    let count = rows.data.len() / rows.dim;
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

fn read_about(folder: &Path) -> Result<About, PrecomputedError> {
    let path = folder.join(Folder::ABOUT);
    if !path.exists() {
        return Ok(About::default());
    }
    let text = std::fs::read_to_string(&path).map_err(FileError::at(&path))?;
    toml::from_str(&text)
        .map_err(|error| PrecomputedError::Description { path, reason: error.to_string() })
}

/// The files with features in a folder and, some levels deep, the folders in it.
fn walk(
    folder: &Path,
    levels: usize,
    files: &mut HashMap<String, PathBuf>,
) -> Result<(), FileError> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(FileError::at(folder))?
        .flatten()
        .map(|entry| entry.path())
        .collect();
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
            let spread = spread(&rows(count), rate, seconds);
            assert_eq!(spread.len(), 2 * seconds, "{rate}");
            assert!(spread.chunks(2).all(|row| row[0] > 0.0 && row[1] == 0.0), "{rate} {spread:?}");
        }
        assert_eq!(spread(&rows(1), 1.0, 2), [1.0, 0.0, 1.0, 0.0], "the last row stays");
        assert!(spread(&Rows { dim: 2, data: vec![] }, 1.0, 1).iter().all(|x| *x == 0.0));
    }
}
