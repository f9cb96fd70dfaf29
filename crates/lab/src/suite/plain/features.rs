//! Features that came with a set: one row a step, or rows of seconds with their rate.
//!
//! They lie in a folder `features` (a file per video by its name, or one file with an array per video)
//! or in one file `features.npy` (.npz, .h5, .safetensors) with the rows of all listed steps, video
//! after video. Features of the step texts may lie beside them under the name `texts`, one row a step.

use std::path::{Path, PathBuf};

use stitch_engine::encoder::precomputed::arrays::{self, ENDINGS, Rows};
use stitch_engine::encoder::precomputed::{About, Folder, PrecomputedError};

use super::set::{Set, VideoSteps};

/// A row for each usable step of each video, where there is one.
pub type StepRows = Vec<Vec<Option<Vec<f32>>>>;

/// How much the features of seconds may differ from the length of their video.
const LENGTH_TOLERANCE_S: f64 = 1.0;

pub enum StoredFeatures {
    /// In a folder, with their rate where they are of seconds.
    Folder(Folder, Option<f64>),
    /// In one file, a row for every listed step.
    Whole(PathBuf, Rows),
}

impl StoredFeatures {
    /// The features of this name beside the list; none if there are none.
    pub fn find(set: &Set, name: &str) -> Result<Option<Self>, PrecomputedError> {
        let folder = set.folder.join(name);
        if folder.is_dir() {
            return open_folder(&folder).map(Some);
        }
        let files = ENDINGS.iter().map(|ending| set.folder.join(format!("{name}.{ending}")));
        match files.into_iter().find(|file| file.is_file()) {
            Some(file) => open_file(&file, set).map(Some),
            None => Ok(None),
        }
    }

    /// The length of a row, and a row or none for each usable step of each video. What does not fit is
    /// reported.
    pub fn rows(&self, set: &mut Set, mut dim: Option<usize>) -> (usize, StepRows) {
        let (mut first, mut all) = (0, Vec::new());
        for at in 0..set.videos.len() {
            let video = &set.videos[at];
            let found = self.of_video(video, first, dim);
            first += video.listed;
            all.push(match found {
                Ok(rows) => {
                    dim = Some(rows.dim);
                    rows.data.chunks(rows.dim).map(non_zero).collect()
                }
                Err(reason) => {
                    let (id, missing) = (video.id.clone(), vec![None; video.steps.len()]);
                    set.report(id, reason);
                    missing
                }
            });
        }
        (dim.unwrap_or(1), all)
    }

    /// One row of `dim` numbers for each usable step of a video whose first listed step is this of all.
    fn of_video(
        &self,
        video: &VideoSteps,
        first: usize,
        dim: Option<usize>,
    ) -> Result<Rows, String> {
        let at = |path: &Path, why: &str| format!("{}: {why}", path.display());
        let (rows, path) = match self {
            Self::Whole(path, rows) => {
                (select(rows, video.steps.iter().map(|step| first + step.number)), path.as_path())
            }
            Self::Folder(folder, rate) => {
                let (rows, path) = folder.rows_of(&video.id).map_err(|error| error.to_string())?;
                let of_steps = match rate {
                    Some(rate) => by_seconds(&rows, *rate, video),
                    None => by_steps(&rows, video),
                };
                (of_steps.map_err(|why| at(path, &why))?, path)
            }
        };
        match dim {
            Some(dim) if dim != rows.dim => {
                let found = rows.dim;
                let why = format!("rows of {found} numbers where others and the texts have {dim}");
                Err(at(path, &why))
            }
            _ => Ok(rows),
        }
    }
}

fn non_zero(row: &[f32]) -> Option<Vec<f32>> {
    row.iter().any(|x| *x != 0.0).then(|| row.to_vec())
}

fn select(rows: &Rows, numbers: impl Iterator<Item = usize>) -> Rows {
    let row = |number: usize| &rows.data[number * rows.dim..(number + 1) * rows.dim];
    Rows { dim: rows.dim, data: numbers.flat_map(row).copied().collect() }
}

/// With any rate: rows of steps have none.
fn open_rows_of_steps(folder: &Path) -> Result<StoredFeatures, PrecomputedError> {
    let any = About { rate: Some(1.0), ..About::default() };
    Ok(StoredFeatures::Folder(Folder::open(folder, &any)?, None))
}

fn open_folder(folder: &Path) -> Result<StoredFeatures, PrecomputedError> {
    match Folder::open(folder, &About::default()) {
        Err(PrecomputedError::NoRate { .. }) => open_rows_of_steps(folder),
        Err(error) => Err(error),
        Ok(opened) => {
            let rate = opened.rate;
            Ok(StoredFeatures::Folder(opened, Some(rate)))
        }
    }
}

/// A file with an array per video, or one array with a row for every listed step.
fn open_file(file: &Path, set: &Set) -> Result<StoredFeatures, PrecomputedError> {
    let names = arrays::names(file);
    if set.videos.iter().any(|video| names.contains(&video.id)) {
        return open_rows_of_steps(file.parent().unwrap_or(Path::new(".")));
    }
    let rows = arrays::read(file, None)?;
    let found = rows.data.len() / rows.dim;
    let listed: usize = set.videos.iter().map(|video| video.listed).sum();
    if found != listed {
        let reason = format!(
            "it has {found} rows, the videos that can be used list {listed} steps; one row a step is \
             wanted, or a file per video in a folder `features`"
        );
        return Err(PrecomputedError::Unusable { path: file.into(), reason });
    }
    Ok(StoredFeatures::Whole(file.into(), rows))
}

fn by_steps(rows: &Rows, video: &VideoSteps) -> Result<Rows, String> {
    let found = rows.data.len() / rows.dim;
    if found != video.listed {
        return Err(format!(
            "it has {found} rows for {} steps; say how many rows a second has as `rate` in \
             features.toml if they are of seconds",
            video.listed
        ));
    }
    Ok(select(rows, video.steps.iter().map(|step| step.number)))
}

/// The mean of the seconds of each step.
fn by_seconds(rows: &Rows, rate: f64, video: &VideoSteps) -> Result<Rows, String> {
    let count = rows.data.len() / rows.dim;
    let seconds = count as f64 / rate;
    if let Some(length) = video.length_ms.map(|ms| ms as f64 / 1000.0)
        && (seconds - length).abs() > LENGTH_TOLERANCE_S.max(1.0 / rate)
    {
        return Err(format!(
            "{count} rows at {rate} a second are {seconds:.1} s, the video lasts {length:.1} s"
        ));
    }
    let mut data = Vec::new();
    for step in &video.steps {
        let span = step.span.ok_or("its features are of seconds, and a step has no span")?;
        let row = |ms: u64| ms as f64 / 1000.0 * rate;
        let from = row(span.start()).floor() as usize;
        let to = (row(span.end()).ceil() as usize).max(from + 1).min(count);
        if from >= to {
            return Err(format!("its {count} rows end before the step at {span}"));
        }
        let mean = (0..rows.dim).map(|column| {
            let sum: f32 = (from..to).map(|row| rows.data[row * rows.dim + column]).sum();
            sum / (to - from) as f32
        });
        data.extend(mean);
    }
    Ok(Rows { dim: rows.dim, data })
}

#[cfg(test)]
mod tests {
    use stitch_core::clip::Span;

    use super::*;
    use crate::suite::plain::set::PlainStep;

    fn video(spans: &[(u64, u64)], listed: usize) -> VideoSteps {
        let step = |(number, (from, to)): (usize, &(u64, u64))| PlainStep {
            number,
            span: Span::new(*from, *to),
            ..PlainStep::default()
        };
        let steps = spans.iter().enumerate().map(step).collect();
        VideoSteps { listed, steps, length_ms: Some(4000), ..VideoSteps::default() }
    }

    fn rows(count: usize) -> Rows {
        Rows { dim: 1, data: (0..count).map(|row| row as f32).collect() }
    }

    #[test]
    fn seconds_become_steps_and_lengths_are_checked() {
        let steps = video(&[(0, 2000), (2000, 4000), (3500, 3600)], 3);
        assert_eq!(by_seconds(&rows(4), 1.0, &steps).unwrap().data, [0.5, 2.5, 3.0]);
        assert_eq!(by_seconds(&rows(8), 2.0, &steps).unwrap().data, [1.5, 5.5, 7.0]);
        let short = by_seconds(&rows(2), 1.0, &steps).unwrap_err();
        assert_eq!(short, "2 rows at 1 a second are 2.0 s, the video lasts 4.0 s");
        let mut unknown = steps.clone();
        unknown.length_ms = None;
        let early = by_seconds(&rows(2), 1.0, &unknown).unwrap_err();
        assert_eq!(early, "its 2 rows end before the step at 0:02.0-0:04.0");
    }

    #[test]
    fn a_row_a_step_counts_the_listed_ones() {
        let mut steps = video(&[(0, 1), (1, 2)], 3);
        steps.steps[1].number = 2;
        assert_eq!(by_steps(&rows(3), &steps).unwrap().data, [0.0, 2.0]);
        assert!(by_steps(&rows(2), &steps).unwrap_err().starts_with("it has 2 rows for 3 steps"));
    }
}
