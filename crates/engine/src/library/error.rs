//! Errors of a library, with what to do about them.

use std::path::{Path, PathBuf};

use crate::encoder::EncoderId;
use crate::files::FileError;

#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    #[error("there is no library in {}; make one with `stitch index PATHS… --library {}`",
        folder.display(), folder.display())]
    NotThere { folder: PathBuf },
    #[error("the library in {} was made with the encoder `{}` ({} dimensions, weights {}), not \
        with `{}` ({} dimensions, weights {}); {}",
        folder.display(), made.name, made.dim, short(&made.weights), wanted.name, wanted.dim,
        short(&wanted.weights), instead_of(made, wanted))]
    OtherEncoder { folder: PathBuf, made: Box<EncoderId>, wanted: Box<EncoderId> },
    #[error("the texts in {} were encoded by another sentence model (weights {}, now {}); set \
        STITCH_SENTENCE_MODEL to that model, or index the videos again: {}",
        folder.display(), short(made), short(wanted), INDEX_AGAIN)]
    OtherSentenceModel { folder: PathBuf, made: String, wanted: String },
    #[error("{} has library format {found}, this program reads {expected}; {}", file.display(),
        upgrade(*found, *expected))]
    OtherVersion { file: PathBuf, found: i64, expected: i64 },
    #[error("{}: {}", file.display(), explain(source))]
    Database { file: PathBuf, source: rusqlite::Error },
    #[error("the library in {} has no clips yet; add videos with `stitch index PATHS… --library \
        {}`, and see `stitch library list` for what failed", folder.display(), folder.display())]
    Empty { folder: PathBuf },
    #[error("the library has no video {wanted}; `stitch library list` shows what it has")]
    NoSuchVideo { wanted: String },
    #[error("process {pid} is writing to the library in {}; wait until it has ended, or stop it, and \
        try again", folder.display())]
    Locked { folder: PathBuf, pid: String },
    #[error("{}: {reason}; `stitch library verify --repair --library '{}'` drops it, and indexing the \
        video again brings it back", file.display(), library_of(file).display())]
    Features { file: PathBuf, reason: String },
    #[error("{} {reason}; the built-in weights are used; `stitch calibrate` with your labels writes it \
        anew, `stitch calibrate --reset` removes it", file.display())]
    Calibration { file: PathBuf, reason: String },
    #[error(transparent)]
    File(#[from] FileError),
}

const INDEX_AGAIN: &str = "`STITCH_SENTENCE_MODEL=FOLDER stitch index PATHS… --library NEW`";

/// What to do with a damaged database.
pub(super) const RESTORE: &str =
    "restore a backup made by `stitch library backup`, or index the videos into a new folder";

/// The library that a file of features or a pool is in.
fn library_of(file: &Path) -> &Path {
    let folder = file.parent().unwrap_or(file);
    folder.parent().filter(|_| folder.ends_with("features")).unwrap_or(folder)
}

/// What to do with a library of another encoder; weights cannot be chosen by name.
fn instead_of(made: &EncoderId, wanted: &EncoderId) -> String {
    if made.name == wanted.name {
        return format!(
            "another model in STITCH_SENTENCE_MODEL also makes another encoder of `{}`: use the one that \
             it was made with, or index the videos again into a new folder: {INDEX_AGAIN}",
            made.name
        );
    }
    format!(
        "use `--encoder {}`, or encode its videos into a new library with `stitch index --from OLD \
         --encoder {} --library NEW`",
        made.name, wanted.name
    )
}

/// What to do with a library of another version.
fn upgrade(found: i64, expected: i64) -> &'static str {
    match found {
        _ if found > expected => "a newer stitch wrote it: update this one",
        2 => "open it once where it can be written, which brings it up to date",
        _ => "index the videos again into a new folder",
    }
}

/// The first letters of a hash, enough to tell two apart.
fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

/// SQLite's words, and what to do where that is known.
fn explain(error: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode::*;
    match error.sqlite_error_code() {
        Some(ReadOnly | CannotOpen | PermissionDenied) => {
            format!("the library cannot be written here ({error}); check the folder's permissions")
        }
        Some(DiskFull) => "the disk is full; free some space and run the same command again".into(),
        Some(DatabaseBusy | DatabaseLocked) => {
            "another stitch is writing to this library; wait for it to end".into()
        }
        Some(NotADatabase | DatabaseCorrupt) => {
            format!("this is not a library database, or it is damaged ({error}); {RESTORE}")
        }
        _ => error.to_string(),
    }
}
