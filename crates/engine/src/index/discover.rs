//! Finding video files under the given paths, and identifying them by content.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};

use super::IndexError;
use crate::files::{FileError, hex};
use crate::library::Found;
use crate::progress::Progress;

/// Of files that are taken for videos when a folder is searched.
pub const EXTENSIONS: [&str; 16] = [
    "mp4", "mkv", "webm", "mov", "m4v", "avi", "mpg", "mpeg", "ts", "mts", "m2ts", "wmv", "flv",
    "ogv", "3gp", "mxf",
];

/// The video files under the paths, sorted. A file named outright is taken whatever its name.
pub fn discover(paths: &[PathBuf], progress: &dyn Progress) -> Result<Vec<Found>, IndexError> {
    let mut files = Vec::new();
    for path in paths {
        let path = fs::canonicalize(path).map_err(FileError::at(path))?;
        if path.is_dir() { walk(&path, &mut files, progress)? } else { files.push(path) }
    }
    files.sort();
    files.dedup();
    let mut found = Vec::with_capacity(files.len());
    for path in files {
        progress.check()?;
        match identify(&path) {
            Ok(file) => found.push(file),
            Err(error) => progress.warn(&FileError::at(path)(error).to_string()),
        }
    }
    Ok(found)
}

/// Collects the video files of a folder and the folders in it, without hidden ones. A folder that
/// cannot be read is a warning.
fn walk(
    folder: &Path,
    files: &mut Vec<PathBuf>,
    progress: &dyn Progress,
) -> Result<(), IndexError> {
    progress.check()?;
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            progress.warn(&FileError::at(folder)(error).to_string());
            return Ok(());
        }
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        // Links to folders are not followed: they can lead in a circle.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !hidden {
            walk(&path, files, progress)?;
        } else if !hidden && is_video_name(&path) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn is_video_name(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    EXTENSIONS.contains(&extension.as_str())
}

fn identify(path: &Path) -> io::Result<Found> {
    let about = fs::metadata(path)?;
    // To open a pipe is to wait for whoever writes into it.
    if !about.is_file() {
        return Err(io::Error::other("is a device or pipe, not a file; copy it to a file first"));
    }
    found(path, &about, content(path, about.len())?)
}

/// A file as the library enters it.
pub(super) fn found(path: &Path, about: &Metadata, content: String) -> io::Result<Found> {
    let modified = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified_ms = modified.as_millis() as i64;
    Ok(Found { path: path.into(), content, bytes: about.len(), modified_ms })
}

/// A hash of the size and of sixteen blocks spread over the file; hashing a terabyte would take hours.
fn content(path: &Path, bytes: u64) -> io::Result<String> {
    const BLOCKS: u64 = 16;
    const BLOCK_BYTES: u64 = 64 * 1024;
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    hash.update(bytes.to_le_bytes());
    let mut block = Vec::with_capacity(BLOCK_BYTES as usize);
    for i in 0..BLOCKS {
        let start = if bytes <= BLOCKS * BLOCK_BYTES {
            i * BLOCK_BYTES
        } else {
            (bytes - BLOCK_BYTES) * i / (BLOCKS - 1)
        };
        file.seek(SeekFrom::Start(start))?;
        block.clear();
        (&mut file).take(BLOCK_BYTES).read_to_end(&mut block)?;
        hash.update(&block);
    }
    Ok(hex(&hash.finalize()[..16]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Silent;

    #[test]
    fn finds_videos_by_name_sorted_and_tells_bytes_apart() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("b.MP4", b"one");
        write("a/it's \"50%\"\n.mkv", b"one");
        write("c.webm", b"two");
        write("notes.txt", b"no");
        write(".hidden/d.mp4", b"no");
        let found = discover(&[folder.path().into()], &Silent).unwrap();
        let names: Vec<_> = found.iter().map(|f| f.path.file_name().unwrap()).collect();
        assert_eq!(names, ["it's \"50%\"\n.mkv", "b.MP4", "c.webm"]);
        assert_eq!(found[0].content, found[1].content);
        assert_ne!(found[1].content, found[2].content);
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.mp4");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert!(discover(&[pipe], &Silent).unwrap().is_empty());
    }

    #[test]
    fn a_change_anywhere_in_a_large_file_near_a_block_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.mp4");
        let mut bytes = vec![7u8; 3_000_000];
        fs::write(&path, &bytes).unwrap();
        let before = content(&path, 3_000_000).unwrap();
        *bytes.last_mut().unwrap() = 8;
        fs::write(&path, &bytes).unwrap();
        assert_ne!(before, content(&path, 3_000_000).unwrap());
    }

    #[test]
    fn a_path_that_is_not_there_is_named() {
        let error = discover(&["/no/such/folder".into()], &Silent).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
