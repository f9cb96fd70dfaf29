//! Shards: one video each, indexed by workers on any number of machines into a folder or bucket that all of them can
//! write to, and merged into a library later.
//!
//! ```text
//! URL/shards/<key>/manifest.json          the video, its sentences, clips and shots; names the features
//! URL/shards/<key>/<sha256>.safetensors   the features, as a library keeps them
//! URL/shards/<key>/<sha256>.mjpeg         the middle frame of each clip
//! ```
//!
//! The key is a hash of the video's bytes and of what it is indexed with. The manifest is written last, and only where
//! there is none: a shard without it does not count, and of two workers with the same video one wins.

mod error;
mod store;
#[cfg(feature = "cloud")]
mod cloud;
#[cfg(not(feature = "cloud"))]
mod no_cloud;
mod manifest;
mod share;
mod fetch;
mod worker;
mod merge;
#[cfg(test)]
mod tests;

use crate::library::sha256;
use crate::progress::Progress;
#[cfg(feature = "cloud")]
use cloud::{Bucket, BucketVideo};
pub use error::ShardError;
pub use fetch::{FetchCache, is_url};
pub use manifest::Made;
use manifest::{Shard, ShardManifest, ShardThumbnails};
pub use merge::{Merged, merge};
#[cfg(not(feature = "cloud"))]
use no_cloud::{NoBucket as Bucket, NoBucketVideo as BucketVideo};
pub use share::Share;
use store::{ShardFolder, ShardStore};
pub use worker::Worker;

type Result<T, E = ShardError> = std::result::Result<T, E>;

/// The shards under a URL.
pub struct Shards {
    url: String,
    store: Box<dyn ShardStore>,
}

/// What [`Shards::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Verified {
    pub shards: usize,
    /// Without a manifest: a worker writes it now, or was killed.
    pub unfinished: usize,
    /// What is wrong, by shard.
    pub damaged: Vec<String>,
}

impl Shards {
    /// A folder, or a bucket such as `s3://bucket/prefix` where the program is built with the feature `cloud`.
    pub fn open(url: &str) -> Result<Self> {
        let store: Box<dyn ShardStore> = match url.split_once("://") {
            None => Box::new(ShardFolder(url.into())),
            Some(("file", path)) => Box::new(ShardFolder(path.into())),
            Some(_) => Box::new(Bucket::open(url)?),
        };
        Ok(Self { url: url.into(), store })
    }

    /// Reads every byte and compares the checksums.
    pub fn verify(&self, progress: &dyn Progress) -> Result<Verified> {
        let keys = self.keys()?;
        progress.begin("verifying shards", keys.len() as u64);
        let mut verified = Verified::default();
        for key in keys {
            progress.check()?;
            let checked = self.shard(&key).and_then(|shard| match shard {
                Some(shard) => {
                    self.features(&key, &shard).and_then(|_| self.check_thumbnails(&key, &shard))
                }
                None => Ok(false),
            });
            match checked {
                Ok(true) => verified.shards += 1,
                Ok(false) => verified.unfinished += 1,
                Err(error @ (ShardError::Damaged { .. } | ShardError::OtherVersion { .. })) => {
                    verified.damaged.push(error.to_string());
                }
                Err(error) => return Err(error),
            }
            progress.advance(1);
        }
        Ok(verified)
    }

    /// All shards, also unfinished ones, sorted.
    fn keys(&self) -> Result<Vec<String>> {
        let mut keys = self.store.folders("shards")?;
        keys.sort();
        Ok(keys)
    }

    /// None while the shard is unfinished.
    fn shard(&self, key: &str) -> Result<Option<Shard>> {
        let bytes = self.store.get(&manifest_name(key))?;
        bytes.map(|bytes| ShardManifest::read(&bytes, &self.name(key))).transpose()
    }

    fn features(&self, key: &str, shard: &Shard) -> Result<Vec<u8>> {
        self.read(key, "features", &features_name(key, &shard.features), &shard.features)
    }

    /// Returns true, or an error if they are missing or damaged.
    fn check_thumbnails(&self, key: &str, shard: &Shard) -> Result<bool> {
        let Some(ShardThumbnails { sha256, .. }) = &shard.thumbnails else { return Ok(true) };
        self.read(key, "thumbnails", &thumbnails_name(key, sha256), sha256).map(|_| true)
    }

    /// A file of a finished shard.
    fn read(&self, key: &str, what: &str, name: &str, hash: &str) -> Result<Vec<u8>> {
        let damaged = |reason| ShardError::Damaged { shard: self.name(key), reason };
        match self.store.get(name)? {
            None => Err(damaged(format!("its {what} are missing"))),
            Some(bytes) if sha256(&bytes) != hash => Err(damaged(format!(
                "the bytes of its {what} have changed since they were written"
            ))),
            Some(bytes) => Ok(bytes),
        }
    }

    /// Returns false where another worker has written the shard meanwhile, whose manifest stays.
    fn write(&self, key: &str, shard: Shard, features: &[u8], pictures: &[u8]) -> Result<bool> {
        // The names are those of the bytes: a worker that loses never replaces what the winner's manifest names.
        self.store.put(&features_name(key, &shard.features), features)?;
        if let Some(thumbnails) = &shard.thumbnails {
            self.store.put(&thumbnails_name(key, &thumbnails.sha256), pictures)?;
        }
        self.store.put_new(&manifest_name(key), &ShardManifest::new(shard).to_bytes())
    }

    /// For messages.
    fn name(&self, key: &str) -> String {
        format!("{}/shards/{key}", self.url.trim_end_matches('/'))
    }
}

fn manifest_name(key: &str) -> String {
    format!("shards/{key}/manifest.json")
}

fn features_name(key: &str, sha256: &str) -> String {
    format!("shards/{key}/{sha256}.safetensors")
}

fn thumbnails_name(key: &str, sha256: &str) -> String {
    format!("shards/{key}/{sha256}.mjpeg")
}
