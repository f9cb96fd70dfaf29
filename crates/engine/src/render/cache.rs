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

/// The cache folder: `fonts`, `pieces` (video) and `sound`.
pub struct Cache {
    pub folder: PathBuf,
}

impl Cache {
    /// Opens the folder, creates what is missing, and removes old unfinished files.
    pub fn open(folder: &Path) -> Result<Self, FileError> {
        let folder = std::path::absolute(folder).map_err(FileError::at(folder))?;
        for name in ["fonts", "pieces", "sound"] {
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
