//! Files that are either whole or not there: written to a temporary name, synced, renamed.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

pub use stitch_nn::FileError;

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
