//! Shards: one video each, indexed by workers on any number of machines into a folder or bucket that all of them can
//! write to, and merged into a library later.
//!
//! ```text
//! URL/shards/<key>/manifest.json          the video, its sentences, clips and shots; names the features
//! URL/shards/<key>/<sha256>.safetensors   the features, as a library keeps them
//! ```
//!
//! The key is a hash of the video's bytes and of what it is indexed with. The manifest is written last, and only where
//! there is none: a shard without it does not count, and of two workers with the same video one wins.

mod error;
mod store;
#[cfg(feature = "cloud")]
mod cloud;
mod manifest;
mod worker;
mod merge;
#[cfg(test)]
mod tests;

use crate::library::sha256;
use crate::progress::Progress;
pub use error::ShardError;
pub use manifest::Made;
use manifest::{Shard, ShardManifest};
pub use merge::{Merged, merge};
use store::{ShardFolder, ShardStore};
pub use worker::{Share, Worker};

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
            #[cfg(feature = "cloud")]
            Some(_) => Box::new(cloud::Bucket::open(url)?),
            #[cfg(not(feature = "cloud"))]
            Some(_) => return Err(ShardError::NoCloud { url: url.into() }),
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
                Some(shard) => self.features(&key, &shard).map(|_| true),
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
        let bytes = self.store.get(&features_name(key, &shard.features))?;
        let damaged = |reason| ShardError::Damaged { shard: self.name(key), reason };
        match bytes {
            None => Err(damaged("its features are missing".into())),
            Some(bytes) if sha256(&bytes) != shard.features => Err(damaged(
                "the bytes of its features have changed since they were written".into(),
            )),
            Some(bytes) => Ok(bytes),
        }
    }

    /// Returns false where another worker has written the shard meanwhile, whose manifest stays.
    fn write(&self, key: &str, shard: Shard, features: &[u8]) -> Result<bool> {
        // Its name is that of its bytes: a worker that loses never replaces what the winner's manifest names.
        self.store.put(&features_name(key, &shard.features), features)?;
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
