//! Encoded video parts and levelled audio, kept under a hash of what they are made of.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::files::{FileError, UNFINISHED, content_hash, hex, write_whole};
use crate::fonts;

/// Changes when the same description would give other bytes.
const VERSION: &str = "stitch render 2";
/// Unfinished files of a killed run are removed once they are this old.
const MAX_UNFINISHED_AGE: Duration = Duration::from_secs(24 * 3600);

/// The cache folder: `fonts`, `overlays` of sources, `pieces` (video) and `sound`.
pub struct Cache {
    pub folder: PathBuf,
}

impl Cache {
    /// Opens the folder, creates what is missing, and removes old unfinished files.
    pub fn open(folder: &Path) -> Result<Self, FileError> {
        let folder = std::path::absolute(folder).map_err(FileError::at(folder))?;
        for name in ["fonts", "overlays", "pieces", "sound"] {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(FileError::at(&path))?;
        }
        for (name, bytes) in
            [("Inter-Regular.ttf", fonts::REGULAR), ("Inter-SemiBold.ttf", fonts::SEMI_BOLD)]
        {
            let path = folder.join("fonts").join(name);
            if fs::metadata(&path).map_or(true, |there| there.len() != bytes.len() as u64) {
                write_whole(&path, bytes)?;
            }
        }
        let cache = Self { folder };
        cache.sweep();
        Ok(cache)
    }

    pub fn piece(&self, key: &str) -> PathBuf {
        self.folder.join("pieces").join(format!("{key}.mov"))
    }

    pub fn sound(&self, key: &str) -> PathBuf {
        self.folder.join("sound").join(format!("{key}.s16"))
    }

    pub fn overlays(&self, key: &str) -> PathBuf {
        self.folder.join("overlays").join(format!("{key}.json"))
    }

    /// Failing to remove a file harms nothing.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let ours = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            if ours && age.is_some_and(|age| age > MAX_UNFINISHED_AGE) {
                let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
            }
        }
    }
}

/// What was used since may be in use: the command line and the page share the cache.
const IN_USE: Duration = Duration::from_secs(3600);

/// Removes the least recently used cuts, thumbnails and `videos` until they have at most `budget` bytes together, but
/// nothing that may be in use; returns what it removed.
pub fn evict(cuts: &Path, videos: &Path, budget: u64) -> Vec<PathBuf> {
    let folders =
        ["overlays", "pieces", "sound", "thumbnails", "voice"].map(|name| cuts.join(name));
    let entries =
        folders.iter().map(PathBuf::as_path).chain([videos]).filter_map(|f| fs::read_dir(f).ok());
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .flat_map(|entries| entries.flatten())
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with(UNFINISHED))
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some((metadata.accessed().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    let in_use = SystemTime::now() - IN_USE;
    let mut removed = Vec::new();
    for (used, size, path) in files {
        if bytes <= budget || used > in_use {
            break;
        }
        if fs::remove_file(&path).is_ok() {
            bytes -= size;
            removed.push(path);
        }
    }
    removed
}

/// The key of what these words describe completely.
pub fn key(words: &[&str]) -> String {
    let mut hash = Sha256::new();
    for word in [VERSION].iter().chain(words) {
        hash.update((word.len() as u64).to_le_bytes());
        hash.update(word.as_bytes());
    }
    hex(&hash.finalize()[..16])
}

/// What identifies a source file: modification time, size and bytes. Its name does not matter, so a
/// library may move.
pub fn identity(path: &Path) -> Result<String, FileError> {
    let read = || -> io::Result<String> {
        let metadata = fs::metadata(path)?;
        let changed = metadata.modified()?.duration_since(SystemTime::UNIX_EPOCH);
        let changed = changed.map_or(0, |since| since.as_nanos());
        Ok(format!("{changed} {}", content_hash(path, metadata.len())?))
    };
    read().map_err(FileError::at(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::mark_used;

    #[test]
    fn the_least_recently_used_files_are_evicted_until_the_rest_fits() {
        let folder = tempfile::tempdir().unwrap();
        let (cuts, videos) = (folder.path().join("cuts"), folder.path().join("renders"));
        let file = |path: PathBuf, hours: u64| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, [0; 100]).unwrap();
            let used = SystemTime::now() - Duration::from_secs(hours * 3600);
            let times = fs::FileTimes::new().set_accessed(used);
            fs::File::options().write(true).open(&path).unwrap().set_times(times).unwrap();
            path
        };
        let oldest = file(videos.join("1.mp4"), 9);
        let used = file(cuts.join("sound/b.s16"), 8);
        let old = file(cuts.join("pieces/a.mov"), 7);
        let newer = file(cuts.join("thumbnails/c"), 6);
        file(videos.join(format!("{UNFINISHED}x.mp4")), 9);
        file(cuts.join("fonts/d.ttf"), 9);
        file(videos.join("2.mp4"), 0);
        mark_used(&used);
        assert_eq!(evict(&cuts, &videos, 500), [] as [PathBuf; 0]);
        assert_eq!(evict(&cuts, &videos, 300), [oldest, old]);
        assert_eq!(evict(&cuts, &videos, 0), [newer], "what may be in use stays");
        assert!(used.exists());
        assert_eq!(evict(&folder.path().join("none"), &folder.path().join("no"), 0).len(), 0);
    }
}
