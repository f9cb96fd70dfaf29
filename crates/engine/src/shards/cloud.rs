//! Shards in a bucket: S3 and what speaks its protocol, Google Cloud Storage, Azure.

use std::future::Future;

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, parse_url_opts};
use tokio::runtime::{Builder, Runtime};

use super::store::ShardStore;
use super::{Result, ShardError};

pub(super) struct Bucket {
    url: String,
    store: Box<dyn ObjectStore>,
    prefix: Path,
    /// The client is asynchronous; workers wait for it in threads of their own.
    runtime: Runtime,
}

/// What variables begin with that say where the bucket is and who asks.
const ENVIRONMENT: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];

impl Bucket {
    /// An error unless the bucket is there and may be listed, so that nothing is indexed in vain.
    pub fn open(url: &str) -> Result<Self> {
        let wrong = |reason: String| ShardError::Store { url: url.into(), reason };
        let parsed = url::Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        let variables = std::env::vars()
            .filter(|(name, _)| ENVIRONMENT.iter().any(|prefix| name.starts_with(prefix)));
        let (store, prefix) =
            parse_url_opts(&parsed, variables).map_err(|error| wrong(explain(&error)))?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| wrong(error.to_string()))?;
        let bucket = Self { url: url.into(), store, prefix, runtime };
        bucket.wait(bucket.store.list(Some(&bucket.path("shards"))).try_next())?;
        Ok(bucket)
    }

    fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T> {
        self.runtime.block_on(work).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &Error) -> ShardError {
        ShardError::Store { url: self.url.clone(), reason: explain(error) }
    }
}

/// What to do about an error.
fn explain(error: &Error) -> String {
    match error {
        Error::NotFound { .. } => "there is no such bucket; make it, or correct the URL".into(),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            "access is denied; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3://, \
             GOOGLE_SERVICE_ACCOUNT for gs://, AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY for az://, \
             and look up what they may read and write"
                .into()
        }
        error => error.to_string(),
    }
}

impl ShardStore for Bucket {
    fn folders(&self, name: &str) -> Result<Vec<String>> {
        let path = self.path(name);
        let found = self.wait(self.store.list_with_delimiter(Some(&path)))?;
        let names = found.common_prefixes.iter().filter_map(|folder| folder.filename());
        Ok(names.map(str::to_owned).collect())
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.path(name);
        let read = async { self.store.get(&path).await?.bytes().await };
        match self.runtime.block_on(read) {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.wait(self.store.put(&self.path(name), bytes.to_vec().into())).map(drop)
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        let path = self.path(name);
        let put = self.store.put_opts(&path, bytes.to_vec().into(), PutMode::Create.into());
        match self.runtime.block_on(put) {
            Ok(_) => Ok(true),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(false),
            Err(error) => Err(self.failed(&error)),
        }
    }
}
