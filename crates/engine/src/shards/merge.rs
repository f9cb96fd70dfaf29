//! A library out of shards: the same as if one process had indexed the videos.

use std::collections::HashMap;
use std::path::Path;

use rayon::prelude::*;

use super::manifest::Made;
use super::{Result, ShardError, Shards};
use crate::library::{Found, Library, VideoFeatures, VideoRecord};
use crate::progress::Progress;

/// What a merge did.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Merged {
    /// Finished ones.
    pub shards: usize,
    /// Videos that the library did not have.
    pub added: usize,
}

/// A finished shard; the rest of it is read when its video is added.
struct Listed<'a> {
    shards: &'a Shards,
    key: String,
    file: Found,
}

/// Adds the videos of the shards to the library in a folder, which is made where there is none. Nothing is
/// written if one of them has another encoder or version; one that was killed continues.
pub fn merge(all: &[Shards], folder: &Path, progress: &dyn Progress) -> Result<Merged> {
    let (made, listed) = list(all, progress)?;
    let library = Library::open_or_create(folder, &made.encoder)?;
    let _lock = library.lock_writer()?;
    library.fix_sentence_model(&made.sentence_model)?;
    let found: Vec<Found> = listed.iter().map(|listed| listed.file.clone()).collect();
    library.enter(&found)?;
    let by_file: HashMap<_, &Listed<'_>> =
        listed.iter().map(|listed| ((&*listed.file.path, &*listed.file.content), listed)).collect();
    let pending = library.pending(&found)?;
    progress.begin("merging", pending.len() as u64);
    let adding = |record: &VideoRecord| match by_file.get(&(&*record.path, &*record.content)) {
        Some(listed) => add(&library, record, listed, progress),
        None => Ok(()), // it waits for `stitch index`
    };
    pending.par_iter().try_for_each(adding)?;
    Ok(Merged { shards: listed.len(), added: pending.len() })
}

/// The finished shards in the order of their files, as one process would index them, and what all were made with.
fn list<'a>(all: &'a [Shards], progress: &dyn Progress) -> Result<(Made, Vec<Listed<'a>>)> {
    let mut first: Option<Made> = None;
    let mut listed = Vec::new();
    for shards in all {
        let keys = shards.keys()?;
        progress.begin("reading manifests", keys.len() as u64);
        for key in keys {
            progress.check()?;
            if let Some(shard) = shards.shard(&key)? {
                check(&shard.made, first.get_or_insert_with(|| shard.made.clone()), || {
                    shards.name(&key)
                })?;
                listed.push(Listed { shards, key, file: shard.file });
            }
            progress.advance(1);
        }
    }
    listed.sort_by(|a, b| a.file.path.cmp(&b.file.path));
    let urls = || all.iter().map(|shards| shards.url.as_str()).collect::<Vec<_>>().join(", ");
    let made = first.ok_or_else(|| ShardError::NothingThere { urls: urls() })?;
    Ok((made, listed))
}

fn check(made: &Made, first: &Made, name: impl Fn() -> String) -> Result<()> {
    if made.encoder != first.encoder {
        let (made, wanted) = (made.encoder.clone(), first.encoder.clone());
        let (made, wanted) = (Box::new(made), Box::new(wanted));
        return Err(ShardError::OtherEncoder { shard: name(), made, wanted });
    }
    match made.sentence_model == first.sentence_model {
        true => Ok(()),
        false => Err(ShardError::OtherSentenceModel { shard: name() }),
    }
}

fn add(
    library: &Library,
    record: &VideoRecord,
    Listed { shards, key, .. }: &Listed<'_>,
    progress: &dyn Progress,
) -> Result<()> {
    progress.check()?;
    let name = shards.name(key);
    let damaged = |reason: String| ShardError::Damaged { shard: name.clone(), reason };
    let shard = shards.shard(key)?.ok_or_else(|| damaged("its manifest is gone".into()))?;
    let bytes = shards.features(key, &shard)?;
    let features = VideoFeatures::from_bytes(&bytes).map_err(|error| damaged(error.to_string()))?;
    let video = shard.video.clone();
    let indexed = shard.indexed(record, features, &name)?;
    library.import(record, &video, &indexed, &bytes)?;
    progress.advance(1);
    Ok(())
}
