//! The videos of a share: files, and those in buckets, which are copied here while they are indexed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::share::Share;
use super::{BucketVideo, Result};
use crate::files::FileError;
use crate::index::{IndexError, discover};
use crate::library::{FileLock, Found, LockError};
use crate::progress::Progress;

/// Where copies of videos in buckets are kept, and how many of their bytes at a time; one video may have more.
pub struct FetchCache {
    pub folder: PathBuf,
    pub bytes: u64,
}

pub(super) struct ShareVideo {
    pub file: Found,
    remote: Option<(BucketVideo, Arc<WorkerFolder>)>,
}

/// A file to read; that of a copy is deleted when this is dropped.
pub(super) struct LocalVideo {
    pub path: PathBuf,
    _copy: Option<TempDir>,
}

/// A folder that no other living worker has.
struct WorkerFolder {
    folder: PathBuf,
    _lock: FileLock,
}

impl WorkerFolder {
    /// Removes what a killed worker left there.
    fn take(cache: &Path) -> Result<Self> {
        std::fs::create_dir_all(cache).map_err(FileError::at(cache))?;
        let mut number = 1;
        let lock = loop {
            match FileLock::take(&cache.join(format!("{number}.lock"))) {
                Err(LockError::Held { .. }) => number += 1,
                Err(LockError::File(error)) => return Err(error.into()),
                Ok(lock) => break lock,
            }
        };
        let folder = cache.join(number.to_string());
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(FileError::at(&folder))?;
        }
        std::fs::create_dir(&folder).map_err(FileError::at(&folder))?;
        Ok(Self { folder, _lock: lock })
    }
}

impl Drop for WorkerFolder {
    fn drop(&mut self) {
        // The next worker that takes it tries again.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Those of the share, in the order of their paths and URLs. What cannot be read is a warning.
pub(super) fn find(
    given: &[PathBuf],
    share: Share,
    cache: &FetchCache,
    progress: &dyn Progress,
) -> Result<Vec<ShareVideo>> {
    let (urls, paths): (Vec<_>, Vec<_>) = given.iter().cloned().partition(|path| is_url(path));
    let files = discover::files(&paths, progress)?.into_iter();
    let mut all: Vec<(PathBuf, Option<BucketVideo>)> = files.map(|path| (path, None)).collect();
    for url in &urls {
        let found = BucketVideo::find(&url.to_string_lossy())?.into_iter();
        all.extend(found.map(|video| (video.url.clone().into(), Some(video))));
    }
    if all.is_empty() {
        return Err(IndexError::NothingFound { paths: given.to_vec() }.into());
    }
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all.dedup_by(|(a, _), (b, _)| a == b);
    let folder = match urls.is_empty() {
        true => None,
        false => Some(Arc::new(WorkerFolder::take(&cache.folder)?)),
    };
    let mut videos = Vec::new();
    for (path, remote) in share.select(all) {
        progress.check()?;
        videos.extend(match remote.zip(folder.clone()) {
            None => {
                let found = discover::identify(vec![path], progress)?.pop();
                found.map(|file| ShareVideo { file, remote: None })
            }
            Some(remote) => match remote.0.identify() {
                Ok(file) => Some(ShareVideo { file, remote: Some(remote) }),
                Err(error) => {
                    progress.warn(&error.to_string());
                    None
                }
            },
        });
    }
    Ok(videos)
}

pub fn is_url(path: &Path) -> bool {
    path.to_string_lossy().contains("://")
}

/// Parts of the list, one after the other, whose copies fit into the cache together.
pub(super) fn batches(videos: &[ShareVideo], bytes: u64) -> impl Iterator<Item = &[ShareVideo]> {
    let mut taken = 0;
    videos.chunk_by(move |last, next| {
        taken += last.bytes_to_fetch();
        let fits = taken + next.bytes_to_fetch() <= bytes;
        if !fits {
            taken = 0;
        }
        fits
    })
}

impl ShareVideo {
    fn bytes_to_fetch(&self) -> u64 {
        if self.remote.is_some() { self.file.bytes } else { 0 }
    }

    pub fn local(&self) -> Result<LocalVideo> {
        let Some((video, folder)) = &self.remote else {
            return Ok(LocalVideo { path: self.file.path.clone(), _copy: None });
        };
        let copy = TempDir::new_in(&folder.folder).map_err(FileError::at(&folder.folder))?;
        let path = video.fetch(&self.file.content, copy.path())?;
        Ok(LocalVideo { path, _copy: Some(copy) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_workers_until_it_ends_and_then_empty() {
        let cache = tempfile::tempdir().unwrap();
        let (one, two) =
            (WorkerFolder::take(cache.path()).unwrap(), WorkerFolder::take(cache.path()).unwrap());
        assert_ne!(one.folder, two.folder);
        std::fs::write(one.folder.join("soup.mp4"), "x").unwrap();
        let folder = one.folder.clone();
        drop(one);
        assert!(!folder.exists());
        // As a killed worker leaves it.
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("soup.mp4"), "x").unwrap();
        let next = WorkerFolder::take(cache.path()).unwrap();
        assert_eq!((&next.folder, next.folder.read_dir().unwrap().count()), (&folder, 0));
    }
}
