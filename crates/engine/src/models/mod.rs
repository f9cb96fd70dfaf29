//! Models as folders: which are installed, how others are pulled, how weights are read.

pub mod manifest;
pub mod card;
mod fetch;
pub mod ctranslate;
mod packages;
pub mod hub;
pub mod store;

use std::path::PathBuf;

use crate::files::FileError;
use crate::media::MediaError;
use crate::progress::Stopped;
pub use card::Card;
pub use fetch::sha256;
pub use manifest::{HubEncoder, Manifest, Model, Role};
pub use stitch_nn::NnError;
pub use stitch_nn::weights::{self, Weights};
pub use store::{ModelInfo, Store, hash_of};

type Result<T, E = ModelError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("there is no model `{name}`; known are: {known}")]
    Unknown { name: String, known: String },
    #[error("the model `{name}` is not installed; get it with `stitch models pull {name}`")]
    NotInstalled { name: String },
    #[error("{}: {reason}; mend it with `stitch models pull {name}`", folder.display())]
    Damaged { name: String, folder: PathBuf, reason: String },
    #[error("the model `{name}` could not be fetched:{}\nwith a network at hand run `stitch \
        models pull {name}` again (it goes on where it stopped), or copy the model's files to {}",
        list(reasons), folder.display())]
    NotFetched { name: String, folder: PathBuf, reasons: Vec<(String, ModelError)> },
    #[error("another stitch is pulling `{name}` now; wait for it, then run this again")]
    Busy { name: String },
    #[error("{url}: {reason}")]
    Refused { url: String, reason: String },
    #[error("{url}: the transfer ended at {have} of {size} bytes; the same command goes on there")]
    Truncated { url: String, have: u64, size: u64 },
    #[error("{what} has {found} bytes there, not the {expected} of the manifest")]
    WrongSize { what: String, expected: u64, found: u64 },
    #[error("{what} has the hash {found}, not {expected} of the manifest; it was thrown away")]
    WrongHash { what: String, expected: String, found: String },
    #[error("{what}: {reason}")]
    Archive { what: String, reason: String },
    #[error(transparent)]
    Program(#[from] MediaError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

fn list(reasons: &[(String, ModelError)]) -> String {
    reasons.iter().map(|(place, reason)| format!("\n  {place}: {reason}")).collect()
}
