//! Why a file could not be read or written, with its path.

use std::io;
use std::path::PathBuf;

/// A file or folder could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {}", path.display(), explain(source))]
pub struct FileError {
    /// Which one.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl FileError {
    /// Puts the path to an I/O error: `File::open(p).map_err(FileError::at(p))?`
    pub fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self { path, source }
    }
}

/// The system's words, and what to do where that is known.
fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => {
            "the disk is full; free some space and run the same command again".into()
        }
        io::ErrorKind::FileTooLarge | io::ErrorKind::QuotaExceeded => {
            "no file this large may be written here; raise the limit or the quota, and run the same \
             command again"
                .into()
        }
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        io::ErrorKind::NotFound => "there is no such file or folder; check the path".into(),
        io::ErrorKind::PermissionDenied => {
            "this may not be read or written here; check its permissions".into()
        }
        _ => error.to_string(),
    }
}
