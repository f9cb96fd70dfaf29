//! Advisory locks: one writer of a library, one server of its page. The kernel releases a lock when its
//! process ends, however it ends.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use crate::files::FileError;

/// Holds a lock until it is dropped.
pub struct FileLock {
    _file: File,
}

#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("process {pid} holds the lock")]
    Held { pid: String },
    #[error(transparent)]
    File(#[from] FileError),
}

impl FileLock {
    /// Takes the lock, or names the process that has it. The file stays when the lock is released: deleting
    /// it would let two processes lock two files of the same name.
    pub fn take(path: &Path) -> Result<Self, LockError> {
        let open = File::options().write(true).create(true).truncate(false).open(path);
        let file = open.map_err(FileError::at(path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Held { pid: holder(path) }),
            Err(TryLockError::Error(error)) => return Err(no_locks(path, &error).into()),
        }
        // Only for the message to others: a full disk must not keep videos from being removed.
        let _ = write_own_pid(&file);
        Ok(Self { _file: file })
    }
}

fn write_own_pid(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(std::process::id().to_string().as_bytes())
}

/// Some network file systems have no locks.
fn no_locks(path: &Path, error: &io::Error) -> FileError {
    let message = format!("cannot be locked ({error}); keep the library on a local disk");
    FileError::at(path)(io::Error::other(message))
}

/// The file is empty for a moment after its process has locked it, and where the disk was full.
fn holder(path: &Path) -> String {
    let written = std::fs::read_to_string(path).unwrap_or_default();
    written.parse::<u32>().map_or("(unknown)".into(), |pid| pid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it_until_the_first_lets_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("writer.lock");
        let first = FileLock::take(&path).unwrap();
        let second = FileLock::take(&path).err().unwrap().to_string();
        assert!(second.contains(&std::process::id().to_string()), "{second}");
        drop(first);
        assert!(FileLock::take(&path).is_ok());
    }

    #[test]
    fn a_disk_without_locks_is_told_with_what_to_do() {
        let error = no_locks(Path::new("/mnt/writer.lock"), &io::ErrorKind::Unsupported.into());
        let said = error.to_string();
        assert!(said.contains("/mnt/writer.lock") && said.contains("on a local disk"), "{said}");
    }
}
