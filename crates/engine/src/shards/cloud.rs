//! Buckets: S3 and what speaks its protocol, Google Cloud Storage, Azure. Shards are kept in them, and videos read from them.

use std::future::Future;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, parse_url_opts};
use tokio::runtime::{Builder, Runtime};
use url::Url;

use super::store::ShardStore;
use super::{Result, ShardError};
use crate::files::{FileError, content_blocks, content_hash, hash_blocks};
use crate::index::discover::is_video_name;
use crate::library::Found;

pub(super) struct Bucket {
    url: Url,
    store: Box<dyn ObjectStore>,
    prefix: Path,
    /// The client is asynchronous; workers wait for it in threads of their own.
    runtime: Runtime,
}

/// What variables begin with that say where the bucket is and who asks.
const ENVIRONMENT: [&str; 3] = ["AWS_", "GOOGLE_", "AZURE_"];
const SCHEMES: [&str; 7] = ["s3", "s3a", "gs", "az", "azure", "abfs", "abfss"];

impl Bucket {
    /// An error unless the bucket is there and may be listed, so that nothing is indexed in vain.
    pub fn open(given: &str) -> Result<Self> {
        let wrong = |reason: String| ShardError::Store { url: given.into(), reason };
        let url = Url::parse(given).map_err(|error| wrong(error.to_string()))?;
        if !SCHEMES.contains(&url.scheme()) {
            return Err(wrong("is neither a folder nor s3://, gs:// or az://".into()));
        }
        let (store, prefix) =
            parse_url_opts(&url, variables()).map_err(|error| wrong(explain(&error)))?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| wrong(error.to_string()))?;
        let bucket = Self { url, store, prefix, runtime };
        bucket.wait(bucket.store.list(Some(&bucket.path("shards"))).try_next())?;
        Ok(bucket)
    }

    fn path(&self, name: &str) -> Path {
        name.split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }

    /// The name of an object as the bucket lists it.
    fn parse(&self, name: &str) -> Result<Path> {
        Path::parse(name).map_err(|error| self.failed(&error.into()))
    }

    /// Of an object of the bucket.
    fn url_of(&self, object: &Path) -> String {
        let mut url = self.url.clone();
        url.set_path(object.as_ref());
        url.into()
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T> {
        self.runtime.block_on(work).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &Error) -> ShardError {
        ShardError::Store { url: self.url.to_string(), reason: explain(error) }
    }
}

fn variables() -> impl Iterator<Item = (String, String)> {
    let named = |name: &String| ENVIRONMENT.iter().any(|prefix| name.starts_with(prefix));
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(move |(name, _)| named(name))
}

/// What to do about an error. Those of lists are not typed: their text has the server's answer.
fn explain(error: &Error) -> String {
    let said = error.to_string();
    let says = |parts: [&str; 2]| parts.iter().any(|part| said.contains(part));
    match error {
        _ if says(["RequestTimeTooSkewed", "RequestExpired"]) => {
            "the clock of this machine differs from the server's; set it, for instance by NTP"
                .into()
        }
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => DENIED.into(),
        _ if says(["code: 403", "code: 401"]) => DENIED.into(),
        Error::NotFound { .. } => NO_BUCKET.into(),
        _ if says(["code: 404", "NoSuchBucket"]) => NO_BUCKET.into(),
        _ => without_secrets(said, variables()),
    }
}

const NO_BUCKET: &str = "there is no such bucket; make it, or correct the URL";
const DENIED: &str = "access is denied; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3://, \
     GOOGLE_SERVICE_ACCOUNT for gs://, AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY for az://, \
     and look up what they may read and write";

/// Answers of servers can repeat the request that they refuse, with its keys and tokens.
fn without_secrets(said: String, variables: impl Iterator<Item = (String, String)>) -> String {
    let is_secret = |name: &str| ["KEY", "SECRET", "TOKEN"].iter().any(|part| name.contains(part));
    let secrets = variables.filter(|(name, value)| is_secret(name) && !value.is_empty());
    secrets.fold(said, |said, (name, value)| said.replace(&value, &format!("${name}")))
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

/// A video in a bucket.
pub(super) struct BucketVideo {
    bucket: Arc<Bucket>,
    object: ObjectMeta,
    pub url: String,
}

impl BucketVideo {
    /// The video with this URL, or those whose URLs begin with it.
    pub fn find(url: &str) -> Result<Vec<Self>> {
        let bucket = Arc::new(Bucket::open(url)?);
        let objects = match bucket.runtime.block_on(bucket.store.head(&bucket.prefix)) {
            Ok(object) => vec![object],
            Err(_) => {
                let all = bucket.store.list(Some(&bucket.prefix));
                let is_video =
                    |object: &ObjectMeta| is_video_name(object.location.as_ref().as_ref());
                bucket.wait(all.try_collect::<Vec<_>>())?.into_iter().filter(is_video).collect()
            }
        };
        if objects.is_empty() {
            let reason = "there is no video of this name, and none in a folder of this name".into();
            return Err(ShardError::Store { url: url.into(), reason });
        }
        let video = |object: ObjectMeta| {
            let url = bucket.url_of(&object.location);
            Self { bucket: bucket.clone(), object, url }
        };
        Ok(objects.into_iter().map(video).collect())
    }

    /// Reads only the bytes that identify it.
    pub fn identify(&self) -> Result<Found> {
        let bytes = self.object.size;
        let ranges: Vec<_> = content_blocks(bytes).collect();
        let read = self.bucket.store.get_ranges(&self.object.location, &ranges);
        let blocks = self.bucket.wait(read)?;
        let content =
            hash_blocks(bytes, blocks.iter().map(Ok)).map_err(FileError::at(&self.url))?;
        let modified_ms = self.object.last_modified.timestamp_millis();
        Ok(Found { path: PathBuf::from(&self.url), content, bytes, modified_ms })
    }

    /// Copies the video and the files beside it, such as subtitles, to a folder; `content` is what identifies it.
    pub fn fetch(&self, content: &str, folder: &std::path::Path) -> Result<PathBuf> {
        let location = &self.object.location;
        let file = self.copy(location, folder)?;
        let bytes = std::fs::metadata(&file).map_err(FileError::at(&file))?.len();
        if content_hash(&file, bytes).map_err(FileError::at(&file))? != content {
            let reason = "was changed while it was read; run the command again".into();
            return Err(ShardError::Store { url: self.url.clone(), reason });
        }
        for beside in self.beside()? {
            self.copy(&beside.location, folder)?;
        }
        Ok(file)
    }

    /// The files whose names differ in the extension only, without other videos.
    fn beside(&self) -> Result<Vec<ObjectMeta>> {
        let name = self.object.location.as_ref();
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let folder = self.bucket.parse(name.rsplit_once('/').map_or("", |(folder, _)| folder))?;
        // Names are listed in their order: those with the stem come next to each other.
        let offset = self.bucket.parse(&format!("{stem}."))?;
        let listed = self.bucket.store.list_with_offset(Some(&folder), &offset);
        let has_stem = |object: &ObjectMeta| object.location.as_ref().starts_with(offset.as_ref());
        let next = listed.try_take_while(|object| std::future::ready(Ok(has_stem(object))));
        let is_beside = |object: &ObjectMeta| !is_video_name(object.location.as_ref().as_ref());
        Ok(self.bucket.wait(next.try_collect::<Vec<_>>())?.into_iter().filter(is_beside).collect())
    }

    fn copy(&self, object: &Path, folder: &std::path::Path) -> Result<PathBuf> {
        let path = folder.join(object.filename().unwrap_or_default());
        let mut file = std::fs::File::create(&path).map_err(FileError::at(&path))?;
        let bucket = &self.bucket;
        let mut parts = bucket.wait(bucket.store.get(object))?.into_stream();
        while let Some(part) = bucket.wait(parts.try_next())? {
            file.write_all(&part).map_err(FileError::at(&path))?;
        }
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_left_out_of_messages() {
        let variables = [
            ("AWS_SECRET_ACCESS_KEY", "hidden/1"),
            ("AWS_SESSION_TOKEN", "hidden2"),
            ("AWS_REGION", "us-east-1"),
            ("AZURE_CLIENT_SECRET", ""),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let said = "refused in us-east-1: x-amz-security-token:hidden2 hidden/1".to_owned();
        assert_eq!(
            without_secrets(said, variables.into_iter()),
            "refused in us-east-1: x-amz-security-token:$AWS_SESSION_TOKEN $AWS_SECRET_ACCESS_KEY"
        );
    }

    #[test]
    fn a_list_that_is_refused_is_explained() {
        let refused = |said: &str| explain(&Error::Generic { store: "S3", source: said.into() });
        let answer = "Server returned non-2xx status code: ";
        assert_eq!(
            refused(&format!("{answer}404 Not Found: <Code>NoSuchBucket</Code>")),
            NO_BUCKET
        );
        assert_eq!(refused(&format!("{answer}403 Forbidden: <Code>AccessDenied</Code>")), DENIED);
        let skewed = refused(&format!("{answer}403 Forbidden: <Code>RequestTimeTooSkewed</Code>"));
        assert!(skewed.starts_with("the clock"), "{skewed}");
        assert!(refused("no route to host").contains("no route to host"));
    }

    #[test]
    fn what_is_no_bucket_is_told() {
        for url in ["memory://x", "http://host/x", "s3:"] {
            assert!(Bucket::open(url).is_err(), "{url}");
        }
    }
}
