//! Finished pieces, kept by what they are made of.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::files::{FileError, sync_folder, write_whole};
use crate::fonts;

/// Changes when the same description would give other bytes.
const VERSION: &str = "stitch render 2";
/// How much is read at the beginning, the middle and the end of a file to know it again.
const SAMPLE: u64 = 64 * 1024;
/// Half-written files of a killed run are removed once they are this old.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// A folder of finished pieces.
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens the folder, making what is missing, and clears away what killed runs left.
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

    /// The folder itself: fonts and scripts are named from here.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn piece(&self, key: &str) -> PathBuf {
        self.folder.join("pieces").join(format!("{key}.mov"))
    }

    pub fn sound(&self, key: &str) -> PathBuf {
        self.folder.join("sound").join(format!("{key}.s16"))
    }

    /// A file to write into that goes away unless [`Self::keep`] is called.
    pub fn temporary(&self, ending: &str) -> Result<tempfile::NamedTempFile, FileError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".writing-").suffix(ending);
        readable(&mut builder);
        builder.tempfile_in(&self.folder).map_err(FileError::at(&self.folder))
    }

    /// Gives a finished temporary file its name. On another disk it is copied there whole.
    pub fn keep(&self, temporary: tempfile::NamedTempFile, path: &Path) -> Result<(), FileError> {
        temporary.as_file().sync_all().map_err(FileError::at(path))?;
        match temporary.persist(path) {
            Ok(_) => {
                let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                sync_folder(folder.unwrap_or(Path::new("."))).map_err(FileError::at(path))
            }
            Err(e) if e.error.kind() == io::ErrorKind::CrossesDevices => {
                copy_whole(e.file.path(), path)
            }
            Err(e) => Err(FileError { path: path.to_owned(), source: e.error }),
        }
    }

    /// Removes old half-written files; failing to do so harms nothing.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let ours = entry.file_name().to_string_lossy().starts_with(".writing-");
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            if ours && age.is_some_and(|age| age > STALE) {
                let _ = fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()));
            }
        }
    }
}

#[cfg(unix)]
fn readable(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    // A video is for showing to others; the user's mask still applies.
    builder.permissions(fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn readable(_builder: &mut tempfile::Builder<'_, '_>) {}

fn copy_whole(from: &Path, to: &Path) -> Result<(), FileError> {
    let mut source = File::open(from).map_err(FileError::at(from))?;
    crate::files::write_whole_with(to, |file| io::copy(&mut source, file).map(|_| ()))
}

/// The key of something described by these words, which must tell all that matters.
pub fn key(words: &[&str]) -> String {
    let mut hash = Sha256::new();
    for word in [VERSION].iter().chain(words) {
        hash.update((word.len() as u64).to_le_bytes());
        hash.update(word.as_bytes());
    }
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// What a source file is known by: size, time of change, and samples of its bytes. Its name does not
/// matter, so a library may move.
pub fn identity(path: &Path) -> Result<String, FileError> {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let size = metadata.len();
        let changed = metadata.modified()?.duration_since(SystemTime::UNIX_EPOCH);
        let mut hash = Sha256::new();
        for start in [0, size / 2, size.saturating_sub(SAMPLE)] {
            let mut sample = Vec::new();
            file.seek(SeekFrom::Start(start))?;
            file.by_ref().take(SAMPLE).read_to_end(&mut sample)?;
            hash.update(&sample);
        }
        let changed = changed.map_or(0, |since| since.as_nanos());
        Ok(format!("{size} {changed} {}", hex(&hash.finalize())))
    };
    read().map_err(FileError::at(path))
}
