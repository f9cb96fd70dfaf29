//! A copy of a library, also while another process writes to it.

use std::fs;
use std::io;
use std::path::Path;

use rusqlite::Connection;

use super::store::ready_feature_files;
use super::{Library, LibraryError, features, schema};
use crate::files::{FileError, UNFINISHED, folder_of, sync_folder};

/// A writer that replaces a file in between is met once, damage every time.
const MAX_ATTEMPTS: usize = 3;

impl Library {
    /// Copies the library into a new folder: the database as of one moment, the features that it names, the
    /// calibration, and what the page keeps. The folder gets its name when all is in it.
    pub fn backup(&self, to: &Path) -> Result<(), LibraryError> {
        if to.exists() {
            let error = io::Error::other("exists already; name a new folder");
            return Err(FileError::at(to)(error).into());
        }
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED);
        #[cfg(unix)] // temporary folders are private by default, a backup need not be
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let mut copy = builder.tempdir_in(folder_of(to)).map_err(FileError::at(to))?;
        self.copy_all(copy.path())?;
        fs::rename(copy.path(), to).map_err(FileError::at(to))?;
        copy.disable_cleanup(true);
        Ok(sync_folder(folder_of(to)).map_err(FileError::at(to))?)
    }

    fn copy_all(&self, to: &Path) -> Result<(), LibraryError> {
        self.copy_page(to)?;
        if self.calibration_file().exists() {
            copy_file(&self.calibration_file(), &to.join("calibration.json"))?;
        }
        let mut copied = self.copy_videos(to);
        for _ in 1..MAX_ATTEMPTS {
            if copied.is_ok() {
                break;
            }
            copied = self.copy_videos(to);
        }
        copied
    }

    fn copy_videos(&self, to: &Path) -> Result<(), LibraryError> {
        let (copy, file) = (to.join("library.copy"), to.join("library.db"));
        let _ = fs::remove_file(&copy);
        self.read(|database| copy_database(database, &copy))?;
        let named = schema::read_only(&copy).and_then(|database| ready_feature_files(&database));
        let named =
            named.map_err(|source| LibraryError::Database { file: copy.clone(), source })?;
        let folder = to.join("features");
        fs::create_dir_all(&folder).map_err(FileError::at(&folder))?;
        for features in named {
            copy_file(&features.path(&self.folder), &features.path(to))?;
            features::read_checked(to, self.encoder.dim, &features)?;
        }
        let name = || {
            sync_folder(&folder)?;
            fs::File::open(&copy)?.sync_all()?;
            fs::rename(&copy, &file)?;
            sync_folder(to)
        };
        Ok(name().map_err(FileError::at(&file))?)
    }

    fn copy_page(&self, to: &Path) -> Result<(), LibraryError> {
        let (page, to) = (self.folder.join("page"), to.join("page"));
        let (file, copy) = (page.join("page.db"), to.join("page.db"));
        if !file.is_file() {
            return Ok(());
        }
        let (renders, copies) = (page.join("renders"), to.join("renders"));
        fs::create_dir_all(&copies).map_err(FileError::at(&copies))?;
        schema::recovered(&file)
            .and_then(|database| copy_database(&database, &copy))
            .map_err(|source| LibraryError::Database { file, source })?;
        for render in fs::read_dir(&renders).into_iter().flatten().flatten() {
            if !render.file_name().to_string_lossy().starts_with(UNFINISHED) {
                copy_file(&render.path(), &copies.join(render.file_name()))?;
            }
        }
        let sync = || {
            fs::File::open(&copy)?.sync_all()?;
            sync_folder(&copies)?;
            sync_folder(&to)
        };
        Ok(sync().map_err(FileError::at(&to))?)
    }
}

/// Copies what is committed at this moment.
fn copy_database(database: &Connection, to: &Path) -> rusqlite::Result<()> {
    database.execute("VACUUM INTO ?", [to.to_string_lossy()]).map(drop)
}

fn copy_file(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::copy(from, to).and_then(|_| fs::File::open(to)?.sync_all()).map_err(FileError::at(from))
}
