//! A copy of a library, also while another process writes to it.

use std::fs;
use std::io;
use std::path::Path;

use rusqlite::Connection;

use super::features::FeatureFile;
use super::store::{FEATURE_FILES, read_feature_file};
use super::{Library, LibraryError, features, schema};
use crate::files::{FileError, UNFINISHED, sync_folder};

/// Further attempts at copying: a writer that replaces a file in between is met once, damage every time.
const MAX_ATTEMPTS: usize = 2;

impl Library {
    /// Copies the library into a new folder: the database as of one moment, the features that it names, and
    /// what the page keeps.
    pub fn backup(&self, to: &Path) -> Result<(), LibraryError> {
        fs::create_dir(to).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                FileError::at(to)(io::Error::other("exists already; name a new folder"))
            }
            _ => FileError::at(to)(error),
        })?;
        let copied = self.copy_page(to).and_then(|()| {
            let mut attempts = (0..MAX_ATTEMPTS).map(|_| self.copy_videos(to));
            attempts.find(Result::is_ok).unwrap_or_else(|| self.copy_videos(to))
        });
        copied.inspect_err(|_| {
            let _ = fs::remove_dir_all(to);
        })
    }

    /// The database gets its name last, so that a copy that was interrupted is no library.
    fn copy_videos(&self, to: &Path) -> Result<(), LibraryError> {
        let (copy, file) = (to.join("library.copy"), to.join("library.db"));
        let _ = fs::remove_file(&copy);
        self.read(|database| copy_database(database, &copy))?;
        let named = schema::read_only(&copy).and_then(|database| feature_files(&database));
        let named =
            named.map_err(|source| LibraryError::Database { file: copy.clone(), source })?;
        let folder = to.join("features");
        fs::create_dir_all(&folder).map_err(FileError::at(&folder))?;
        for features in named {
            copy_file(&features.path(&self.folder), &features.path(to))?;
            features::read_checked(to, self.encoder.dim, &features)?;
        }
        let name = || {
            fs::File::open(&copy)?.sync_all()?;
            fs::rename(&copy, &file)?;
            sync_folder(to)
        };
        Ok(name().map_err(FileError::at(&file))?)
    }

    fn copy_page(&self, to: &Path) -> Result<(), LibraryError> {
        let (page, to) = (self.folder.join("page"), to.join("page"));
        let file = page.join("page.db");
        if !file.is_file() {
            return Ok(());
        }
        let (renders, copies) = (page.join("renders"), to.join("renders"));
        fs::create_dir_all(&copies).map_err(FileError::at(&copies))?;
        schema::read_only(&file)
            .and_then(|database| copy_database(&database, &to.join("page.db")))
            .map_err(|source| LibraryError::Database { file, source })?;
        for render in fs::read_dir(&renders).into_iter().flatten().flatten() {
            if !render.file_name().to_string_lossy().starts_with(UNFINISHED) {
                copy_file(&render.path(), &copies.join(render.file_name()))?;
            }
        }
        Ok(())
    }
}

/// Copies what is committed at this moment.
fn copy_database(database: &Connection, to: &Path) -> rusqlite::Result<()> {
    database.execute("VACUUM INTO ?", [to.to_string_lossy()]).map(drop)
}

fn feature_files(database: &Connection) -> rusqlite::Result<Vec<FeatureFile>> {
    let sql = format!("{FEATURE_FILES} WHERE status = 'ready'");
    database.prepare(&sql)?.query_map([], read_feature_file)?.collect()
}

fn copy_file(from: &Path, to: &Path) -> Result<(), FileError> {
    fs::copy(from, to).and_then(|_| fs::File::open(to)?.sync_all()).map_err(FileError::at(from))
}
