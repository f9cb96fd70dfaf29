//! Files that are either whole or not there: written to a temporary name, synced, renamed.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

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

/// Writes a file so that a reader sees the old bytes or all of the new ones, whatever happens.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_whole_with(path, |file| file.write_all(bytes))
}

/// As [`write_whole`], for content that is written piece by piece.
pub fn write_whole_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), FileError> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let attempt = || {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".writing-");
        #[cfg(unix)] // temporary files are private by default, what is written here need not be
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut temporary = builder.tempfile_in(folder)?;
        write(temporary.as_file_mut())?;
        temporary.as_file().sync_all()?;
        temporary.persist(path)?;
        sync_folder(folder)
    };
    attempt().map_err(FileError::at(path))
}

/// Bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes a rename in this folder last through a power cut.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_litter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_whole(&path, b"old").unwrap();
        let failed = write_whole_with(&path, |file| {
            file.write_all(b"half")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert!(failed.unwrap_err().to_string().contains("the disk is full"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
