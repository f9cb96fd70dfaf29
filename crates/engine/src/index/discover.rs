//! Finding video files under the given paths, and identifying them by content.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::Result;
use crate::files::{FileError, content_hash};
use crate::library::Found;
use crate::progress::Progress;

/// Of files that are taken for videos when a folder is searched.
pub const EXTENSIONS: [&str; 16] = [
    "mp4", "mkv", "webm", "mov", "m4v", "avi", "mpg", "mpeg", "ts", "mts", "m2ts", "wmv", "flv",
    "ogv", "3gp", "mxf",
];

/// The video files under the paths, sorted. A file named outright is taken whatever its name.
pub fn discover(paths: &[PathBuf], progress: &dyn Progress) -> Result<Vec<Found>> {
    identify(files(paths, progress)?, progress)
}

/// The same without reading any.
pub(crate) fn files(paths: &[PathBuf], progress: &dyn Progress) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let path = fs::canonicalize(path).map_err(FileError::at(path))?;
        if path.is_dir() { walk(&path, &mut files, progress)? } else { files.push(path) }
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// What identifies the files; one that cannot be read is a warning.
pub(crate) fn identify(files: Vec<PathBuf>, progress: &dyn Progress) -> Result<Vec<Found>> {
    let mut found = Vec::with_capacity(files.len());
    for path in files {
        progress.check()?;
        match identify_one(&path) {
            Ok(file) => found.push(file),
            Err(error) => warn(&path, error, progress),
        }
    }
    Ok(found)
}

/// Collects the video files of a folder and the folders in it, without hidden ones. A folder that
/// cannot be read is a warning.
fn walk(folder: &Path, files: &mut Vec<PathBuf>, progress: &dyn Progress) -> Result<()> {
    progress.check()?;
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            warn(folder, error, progress);
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

fn warn(path: &Path, error: io::Error, progress: &dyn Progress) {
    progress.warn(&FileError::at(path)(error).to_string());
}

pub(crate) fn is_video_name(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    EXTENSIONS.contains(&extension.as_str())
}

fn identify_one(path: &Path) -> io::Result<Found> {
    if path.to_str().is_none() {
        return Err(io::Error::other("its name or folder's name is not UTF-8; rename it"));
    }
    let about = fs::metadata(path)?;
    // To open a pipe is to wait for whoever writes into it.
    if !about.is_file() {
        return Err(io::Error::other("is a device or pipe, not a file; copy it to a file first"));
    }
    found(path, &about, content_hash(path, about.len())?)
}

/// A file as the library enters it.
pub(super) fn found(path: &Path, about: &Metadata, content: String) -> io::Result<Found> {
    let modified = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified_ms = modified.as_millis() as i64;
    Ok(Found { path: path.into(), content, bytes: about.len(), modified_ms })
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
    fn a_name_that_is_not_utf_8_is_told() {
        use std::os::unix::ffi::OsStrExt;
        struct Warnings(std::sync::Mutex<Vec<String>>);
        impl Progress for Warnings {
            fn warn(&self, message: &str) {
                self.0.lock().unwrap().push(message.into());
            }
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9.mp4")), b"x").unwrap();
        let warnings = Warnings(Vec::new().into());
        assert!(discover(&[folder.path().into()], &warnings).unwrap().is_empty());
        let warnings = warnings.0.into_inner().unwrap().join("\n");
        assert!(
            warnings.contains("not UTF-8") && warnings.contains("caf\u{fffd}.mp4"),
            "{warnings}"
        );
    }

    #[test]
    fn a_path_that_is_not_there_is_named() {
        let error = discover(&["/no/such/folder".into()], &Silent).unwrap_err();
        assert!(error.to_string().contains("/no/such/folder"), "{error}");
    }
}
