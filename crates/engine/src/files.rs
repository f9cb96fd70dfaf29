//! Files that are either whole or not there: written to a temporary name, synced, renamed. Foreign
//! files: read up to a limit, and identified by their bytes.

use std::fs::{File, FileTimes};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use sha2::{Digest, Sha256};
use tempfile::NamedTempFile;

pub use stitch_nn::FileError;

/// What the names of unfinished files begin with.
pub const UNFINISHED: &str = ".writing-";

/// A file beside a video, of at most 16 MiB. What is no regular file is not opened: a pipe would wait for
/// its writer, a device never end.
pub fn read_side_file(path: &Path) -> Result<Vec<u8>, FileError> {
    const MAX_BYTES: u64 = 16 << 20;
    let read = || -> io::Result<Vec<u8>> {
        if !std::fs::metadata(path)?.is_file() {
            return Err(io::Error::other("is a folder, device or pipe, not a file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > MAX_BYTES {
            true => Err(io::Error::other("is larger than 16 MiB")),
            false => Ok(bytes),
        }
    };
    read().map_err(FileError::at(path))
}

/// Writes a file so that a reader sees the old bytes or all of the new ones, whatever happens.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    write_whole_with(path, |file| file.write_all(bytes))
}

/// As [`write_whole`], unless the file exists: of several writers one wins. Returns whether this one did.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<bool, FileError> {
    let mut file = temporary(folder_of(path), "").map_err(FileError::at(path))?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(FileError::at(path))?;
    match file.persist_noclobber(path) {
        Ok(_) => sync_folder(folder_of(path)).map(|()| true).map_err(FileError::at(path)),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(FileError::at(path)(error.error)),
    }
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
    let (file, mut temporary) = temporary.into_parts();
    let renamed = file.sync_all().and_then(|()| match std::fs::rename(&temporary, path) {
        Ok(()) => {
            temporary.disable_cleanup(true);
            sync_folder(folder_of(path)).map(|()| true)
        }
        Err(e) if e.kind() == io::ErrorKind::CrossesDevices => Ok(false),
        Err(e) => Err(e),
    });
    match renamed.map_err(FileError::at(path))? {
        true => Ok(()),
        false => copy_whole(&temporary, path),
    }
}

/// Copies a file as [`write_whole`] writes one.
pub fn copy_whole(from: &Path, to: &Path) -> Result<(), FileError> {
    let mut source = File::open(from).map_err(FileError::at(from))?;
    write_whole_with(to, |target| io::copy(&mut source, target).map(drop))
}

/// Sets a cached file's access time, by which the least recently used ones are evicted: not every disk keeps it. The
/// modification time stays, which browsers compare.
pub fn mark_used(path: &Path) {
    let now = FileTimes::new().set_accessed(SystemTime::now());
    // A cache on a read-only disk is used, too.
    let _ = File::open(path).and_then(|file| file.set_times(now));
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

/// The bytes that identify a file of this size: sixteen blocks spread over it; hashing a terabyte would take hours.
pub(crate) fn content_blocks(bytes: u64) -> impl Iterator<Item = Range<u64>> {
    const BLOCKS: u64 = 16;
    const BLOCK_BYTES: u64 = 64 * 1024;
    let start = move |i: u64| match bytes <= BLOCKS * BLOCK_BYTES {
        true => i * BLOCK_BYTES,
        false => (bytes - BLOCK_BYTES) * i / (BLOCKS - 1),
    };
    let blocks = (0..BLOCKS).map(start).filter(move |start| *start < bytes);
    blocks.map(move |start| start..(start + BLOCK_BYTES).min(bytes))
}

/// A hash of the size of a file and of its [`content_blocks`].
pub(crate) fn hash_blocks<B: AsRef<[u8]>>(
    bytes: u64,
    blocks: impl IntoIterator<Item = io::Result<B>>,
) -> io::Result<String> {
    let mut hash = Sha256::new();
    hash.update(bytes.to_le_bytes());
    for block in blocks {
        hash.update(block?);
    }
    Ok(hex(&hash.finalize()[..16]))
}

/// Makes a folder, and those that it lies in, so that it lasts through a power cut.
pub fn create_folder(folder: &Path) -> Result<(), FileError> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder_of(folder);
    create_folder(parent)?;
    match std::fs::create_dir(folder) {
        // Another process may have been faster.
        Err(_) if folder.is_dir() => Ok(()),
        made => made.and_then(|()| sync_folder(parent)).map_err(FileError::at(folder)),
    }
}

/// What identifies this file, which has so many bytes.
pub(crate) fn content_hash(path: &Path, bytes: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let blocks = content_blocks(bytes).map(|range| {
        let mut block = Vec::with_capacity((range.end - range.start) as usize);
        file.seek(SeekFrom::Start(range.start))?;
        (&mut file).take(range.end - range.start).read_to_end(&mut block)?;
        Ok(block)
    });
    hash_blocks(bytes, blocks)
}

/// Makes a rename in this folder last through a power cut.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_anywhere_in_a_large_file_near_a_block_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large.mp4");
        let mut bytes = vec![7u8; 3_000_000];
        std::fs::write(&path, &bytes).unwrap();
        let before = content_hash(&path, 3_000_000).unwrap();
        *bytes.last_mut().unwrap() = 8;
        std::fs::write(&path, &bytes).unwrap();
        assert_ne!(before, content_hash(&path, 3_000_000).unwrap());
    }

    #[test]
    fn side_files_are_regular_and_small() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::write(place("a.json"), "{}").unwrap();
        std::os::unix::fs::symlink(place("a.json"), place("link.json")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", place("zero.json")).unwrap();
        File::create(place("large.json")).unwrap().set_len((16 << 20) + 1).unwrap();
        let made = std::process::Command::new("mkfifo").arg(place("pipe.json")).status();
        assert!(made.unwrap().success());
        assert_eq!(read_side_file(&place("link.json")).unwrap(), b"{}");
        for (name, says) in
            [("zero", "device"), ("pipe", "pipe"), ("large", "16 MiB"), ("no", "no such file")]
        {
            let error = read_side_file(&place(&format!("{name}.json"))).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_new_file_is_written_once_and_leaves_no_litter() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        assert!(write_new(&path, b"first").unwrap());
        assert!(!write_new(&path, b"second").unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_is_made_with_those_above_it_or_the_one_that_cannot_be_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        create_folder(&deep).unwrap();
        create_folder(&deep).unwrap();
        assert!(deep.is_dir());
        std::fs::write(folder.path().join("file"), "").unwrap();
        let error = create_folder(&folder.path().join("file/below")).unwrap_err().to_string();
        assert!(error.contains("file"), "{error}");
    }

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
