//! Where shards are kept: named bytes that are there whole or not at all.

use std::io::ErrorKind;
use std::path::PathBuf;

use super::Result;
use crate::files::{FileError, create_folder, write_new, write_whole};

/// A folder or a bucket. Names are relative and have slashes.
pub(super) trait ShardStore: Send + Sync {
    /// The names of the folders in a folder; none where it does not exist yet.
    fn folders(&self, name: &str) -> Result<Vec<String>>;
    /// None where nothing has this name.
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>>;
    fn put(&self, name: &str, bytes: &[u8]) -> Result<()>;
    /// Unless something has this name; returns whether the bytes were written.
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool>;
}

pub(super) struct ShardFolder(pub PathBuf);

impl ShardFolder {
    /// A path for a file that is to be written.
    fn prepare(&self, name: &str) -> Result<PathBuf, FileError> {
        let path = self.0.join(name);
        let folder = path.parent().unwrap_or(&self.0);
        create_folder(folder)?;
        Ok(path)
    }
}

impl ShardStore for ShardFolder {
    fn folders(&self, name: &str) -> Result<Vec<String>> {
        let path = self.0.join(name);
        let entries = match std::fs::read_dir(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(FileError::at(&path))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(FileError::at(&path))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let path = self.0.join(name);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::at(&path)(error).into()),
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        Ok(write_whole(&self.prepare(name)?, bytes)?)
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        Ok(write_new(&self.prepare(name)?, bytes)?)
    }
}
