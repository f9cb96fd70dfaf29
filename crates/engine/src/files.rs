//! Files that are either whole or not there: written to a temporary name, synced, renamed.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

pub use stitch_nn::FileError;

/// What the names of unfinished files begin with.
pub const UNFINISHED: &str = ".writing-";

/// Writes a file so that a reader sees the old bytes or all of the new ones, whatever happens.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_whole_with(path, |file| file.write_all(bytes))
}

/// As [`write_whole`], for content that is written in parts.
pub fn write_whole_with(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), FileError> {
    let mut file = temporary(folder_of(path), "").map_err(FileError::at(path))?;
    write(file.as_file_mut()).map_err(FileError::at(path))?;
    persist(file, path)
}

/// A new file that is removed when dropped, unless [`persist`] gives it its name.
pub fn temporary(folder: &Path, suffix: &str) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED).suffix(suffix);
    #[cfg(unix)] // temporary files are private by default, what is written here need not be
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

/// Syncs a finished temporary file and gives it its name. To another disk it is copied.
pub fn persist(temporary: NamedTempFile, path: &Path) -> Result<(), FileError> {
    let renamed = temporary.as_file().sync_all().and_then(|()| match temporary.persist(path) {
        Ok(_) => sync_folder(folder_of(path)).map(|()| None),
        Err(e) if e.error.kind() == io::ErrorKind::CrossesDevices => Ok(Some(e.file)),
        Err(e) => Err(e.error),
    });
    match renamed.map_err(FileError::at(path))? {
        None => Ok(()),
        Some(file) => {
            let mut source = file.reopen().map_err(FileError::at(path))?;
            write_whole_with(path, |target| io::copy(&mut source, target).map(drop))
        }
    }
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
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
