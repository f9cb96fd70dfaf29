//! What a power cut leaves of a folder: of every file the bytes, and of every folder the names, either as they were last
//! synced or as they were when the power went. Nothing that was not synced may be counted on, whatever came after it.

use std::collections::HashMap;
use std::fs::{self, File, FileTimes};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use tempfile::TempDir;

/// What lasts although it was not synced.
#[derive(Clone, Copy, Debug)]
pub enum Lasts {
    Nothing,
    /// Renames and new files overtake their bytes.
    Names,
    /// Some files and some folders, by this seed.
    Some(u64),
}

/// A file by its number and birth, as fault.c writes it.
type Id = String;

fn id(path: &Path) -> Id {
    let about = path.symlink_metadata().unwrap();
    let birth = about.created().unwrap().duration_since(UNIX_EPOCH).unwrap();
    format!("{}-{}-{}", about.ino(), birth.as_secs(), birth.subsec_nanos())
}

/// Every file and folder below a folder, with itself.
fn all(path: &Path, found: &mut HashMap<Id, PathBuf>) {
    found.insert(id(path), path.to_owned());
    if path.is_dir() {
        entries(path).for_each(|entry| all(&entry, found));
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path())
}

struct Cut<'a> {
    /// What fault.c kept.
    synced: &'a Path,
    /// As it is now.
    now: HashMap<Id, PathBuf>,
    lasts: Lasts,
}

impl Cut<'_> {
    fn lasts(&self, id: &Id, is_folder: bool) -> bool {
        match self.lasts {
            Lasts::Nothing => false,
            Lasts::Names => is_folder,
            Lasts::Some(seed) => {
                let mut hash = DefaultHasher::new();
                (id, seed).hash(&mut hash);
                hash.finish().is_multiple_of(2)
            }
        }
    }

    /// The names in a folder, each with whether it is a folder's.
    fn names(&self, folder: &Id) -> Vec<(bool, Id, String)> {
        if let Some(path) = self.now.get(folder).filter(|_| self.lasts(folder, true)) {
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            return entries(path).map(|entry| (entry.is_dir(), id(&entry), name(&entry))).collect();
        }
        let synced = fs::read_to_string(self.synced.join(folder)).unwrap_or_default();
        let entry = |line: &str| {
            let mut words = line.splitn(3, ' ');
            Some((words.next()? == "d", words.next()?.into(), words.next()?.into()))
        };
        synced.lines().filter_map(entry).collect()
    }

    fn write_folder(&self, folder: &Id, to: &Path) {
        for (is_folder, id, name) in self.names(folder) {
            let (synced, to) = (self.synced.join(&id), to.join(name));
            match self.now.get(&id).filter(|_| self.lasts(&id, false)) {
                _ if is_folder => {
                    fs::create_dir(&to).unwrap();
                    self.write_folder(&id, &to);
                }
                Some(path) => copy(path, &to),
                None if synced.exists() => copy(&synced, &to),
                None => drop(File::create(to).unwrap()),
            }
        }
    }
}

/// With its time, by which files are told from changed ones.
fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
    let times = FileTimes::new().set_modified(from.metadata().unwrap().modified().unwrap());
    File::options().write(true).open(to).unwrap().set_times(times).unwrap();
}

/// Leaves of the folder what lasts.
pub fn cut(folder: &Path, synced: &Path, lasts: Lasts) {
    let mut now = HashMap::new();
    all(folder, &mut now);
    let left = TempDir::new_in(folder.parent().unwrap()).unwrap();
    Cut { synced, now, lasts }.write_folder(&id(folder), left.path());
    for entry in entries(folder) {
        let removed =
            if entry.is_dir() { fs::remove_dir_all(entry) } else { fs::remove_file(entry) };
        removed.unwrap();
    }
    for entry in entries(left.path()) {
        fs::rename(&entry, folder.join(entry.file_name().unwrap())).unwrap();
    }
}
