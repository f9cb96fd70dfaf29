//! In place of `cloud.rs` where the program is built without the feature `cloud`: there are no buckets.

use std::path::{Path, PathBuf};

use super::store::ShardStore;
use super::{Result, ShardError};
use crate::library::Found;

pub(super) enum NoBucket {}

pub(super) struct NoBucketVideo {
    bucket: NoBucket,
    pub url: String,
}

impl NoBucket {
    pub fn open(url: &str) -> Result<Self> {
        Err(ShardError::NoCloud { url: url.into() })
    }
}

impl NoBucketVideo {
    pub fn find(url: &str) -> Result<Vec<Self>> {
        NoBucket::open(url).map(|bucket| vec![Self { bucket, url: url.into() }])
    }

    pub fn identify(&self) -> Result<Found> {
        match self.bucket {}
    }

    pub fn fetch(&self, _content: &str, _folder: &Path) -> Result<PathBuf> {
        match self.bucket {}
    }
}

impl ShardStore for NoBucket {
    fn folders(&self, _name: &str) -> Result<Vec<String>> {
        match *self {}
    }
    fn get(&self, _name: &str) -> Result<Option<Vec<u8>>> {
        match *self {}
    }
    fn put(&self, _name: &str, _bytes: &[u8]) -> Result<()> {
        match *self {}
    }
    fn put_new(&self, _name: &str, _bytes: &[u8]) -> Result<bool> {
        match *self {}
    }
}
