//! A worker: indexes its share of the videos, each into a shard of its own.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::fetch::{FetchCache, ShareVideo, batches, find};
use super::manifest::{Made, Shard, ShardThumbnails};
use super::share::Share;
use super::{Result, ShardError, Shards};
use crate::index::{IndexError, Indexer, Report};
use crate::library::{Indexed, Outcome, VideoRecord};
use crate::media::{MediaError, THUMBNAIL_WIDTH_PX, thumbnail};
use crate::progress::{Progress, Within};

pub struct Worker<'a> {
    pub indexer: &'a Indexer<'a>,
    pub made: Made,
    pub shards: &'a Shards,
    pub cache: FetchCache,
}

/// What became of a video.
enum Done {
    Unchanged,
    Indexed(usize),
    Failed(PathBuf, String),
}

impl Worker<'_> {
    /// Indexes those videos of the share that have no shard yet. Videos in buckets are given by URLs.
    pub fn run(&self, given: &[PathBuf], share: Share, progress: &dyn Progress) -> Result<Report> {
        progress.begin("looking for videos", 0);
        let found = find(given, share, &self.cache, progress)?;
        progress.begin("indexing", found.len() as u64);
        let mut report = Report { found: found.len(), ..Report::default() };
        for batch in batches(&found, self.cache.bytes) {
            let index = |video: &ShareVideo| {
                let done = self.index(video, progress);
                progress.advance(1);
                done
            };
            let all: Vec<Done> = batch.par_iter().map(index).collect::<Result<_>>()?;
            all.into_iter().for_each(|done| done.count(&mut report));
        }
        Ok(report)
    }

    fn index(&self, video: &ShareVideo, progress: &dyn Progress) -> Result<Done> {
        progress.check()?;
        let file = &video.file;
        let key = self.made.key(&file.content);
        if self.shards.shard(&key)?.is_some() {
            return Ok(Done::Unchanged);
        }
        let failed = |reason: String| {
            progress.warn(&format!("{}: {reason}", file.path.display()));
            Ok(Done::Failed(file.path.clone(), reason))
        };
        let local = match video.local() {
            Err(ShardError::Store { reason, .. }) => return failed(reason),
            local => local?,
        };
        let record = VideoRecord { path: local.path.clone(), ..VideoRecord::pending(file) };
        match self.indexer.outcome(&record, &Within(progress))? {
            Outcome::Failed(reason) => failed(reason),
            Outcome::Ready(video, indexed) => {
                let features = indexed.features.to_bytes()?;
                let pictures = pictures(&local.path, &indexed, &Within(progress))?;
                let thumbnails = ShardThumbnails::of(&pictures);
                let shard = Shard::new(&self.made, file, &video, &indexed, &features, thumbnails);
                Ok(match self.shards.write(&key, shard, &features, &pictures.concat())? {
                    true => Done::Indexed(indexed.clips.len()),
                    false => Done::Unchanged,
                })
            }
        }
    }
}

impl Done {
    fn count(self, report: &mut Report) {
        match self {
            Self::Unchanged => report.unchanged += 1,
            Self::Failed(path, reason) => report.failed.push((path, reason)),
            Self::Indexed(clips) => {
                report.indexed += 1;
                report.clips += clips;
            }
        }
    }
}

/// The middle frame of each clip as JPEG; empty where it cannot be decoded.
fn pictures(path: &Path, indexed: &Indexed, progress: &dyn Progress) -> Result<Vec<Vec<u8>>> {
    let picture = |at_ms: u64| match thumbnail(path, at_ms, THUMBNAIL_WIDTH_PX, progress) {
        Err(error @ (MediaError::Stopped(_) | MediaError::Missing { .. })) => {
            Err(IndexError::Media(error).into())
        }
        Err(error) => {
            progress.warn(&format!("no thumbnail: {error}"));
            Ok(Vec::new())
        }
        Ok(jpeg) => Ok(jpeg),
    };
    let middles = indexed.clips.iter().map(|clip| clip.span.start().midpoint(clip.span.end()));
    middles.map(picture).collect()
}
