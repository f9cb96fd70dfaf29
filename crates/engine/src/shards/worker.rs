//! A worker: indexes its share of the videos, each into a shard of its own.

use std::path::PathBuf;
use std::str::FromStr;

use rayon::prelude::*;

use super::manifest::{Made, Shard};
use super::{Result, ShardError, Shards};
use crate::index::{IndexError, Indexer, Report, discover};
use crate::library::{Found, Outcome, VideoRecord};
use crate::progress::{Progress, Within};

/// Every N-th video of the sorted list, from the I-th on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// From 1 to the number of shares.
    number: usize,
    of: usize,
}

impl Share {
    pub const ALL: Self = Self { number: 1, of: 1 };

    pub(super) fn select<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.number - 1).step_by(self.of).collect()
    }
}

impl FromStr for Share {
    type Err = ShardError;

    /// `I/N`
    fn from_str(given: &str) -> Result<Self> {
        let parts = given.split_once('/').map(|(number, of)| (number.parse(), of.parse()));
        match parts {
            Some((Ok(number), Ok(of))) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err(ShardError::NotAShare { given: given.into() }),
        }
    }
}

pub struct Worker<'a> {
    pub indexer: &'a Indexer<'a>,
    pub made: Made,
    pub shards: &'a Shards,
}

/// What became of a video.
enum Done {
    Unchanged,
    Indexed(usize),
    Failed(PathBuf, String),
}

impl Worker<'_> {
    /// Indexes those videos of the share that have no shard yet.
    pub fn run(&self, paths: &[PathBuf], share: Share, progress: &dyn Progress) -> Result<Report> {
        progress.begin("looking for videos", 0);
        let files = discover::files(paths, progress)?;
        if files.is_empty() {
            return Err(IndexError::NothingFound { paths: paths.to_vec() }.into());
        }
        let found = discover::identify(share.select(files), progress)?;
        progress.begin("indexing", found.len() as u64);
        let index = |file: &Found| {
            let done = self.index(file, progress);
            progress.advance(1);
            done
        };
        let all: Vec<Done> = found.par_iter().map(index).collect::<Result<_>>()?;
        let mut report = Report { found: found.len(), ..Report::default() };
        for done in all {
            match done {
                Done::Unchanged => report.unchanged += 1,
                Done::Failed(path, reason) => report.failed.push((path, reason)),
                Done::Indexed(clips) => {
                    report.indexed += 1;
                    report.clips += clips;
                }
            }
        }
        Ok(report)
    }

    fn index(&self, file: &Found, progress: &dyn Progress) -> Result<Done> {
        progress.check()?;
        let key = self.made.key(&file.content);
        if self.shards.shard(&key)?.is_some() {
            return Ok(Done::Unchanged);
        }
        match self.indexer.outcome(&VideoRecord::pending(file), &Within(progress))? {
            Outcome::Failed(reason) => {
                progress.warn(&format!("{}: {reason}", file.path.display()));
                Ok(Done::Failed(file.path.clone(), reason))
            }
            Outcome::Ready(video, indexed) => {
                let features = indexed.features.to_bytes()?;
                let shard = Shard::new(&self.made, file, &video, &indexed, &features);
                Ok(match self.shards.write(&key, shard, &features)? {
                    true => Done::Indexed(indexed.clips.len()),
                    false => Done::Unchanged,
                })
            }
        }
    }
}
