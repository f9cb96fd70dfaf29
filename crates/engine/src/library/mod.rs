//! The library on disk: small data in SQLite, features beside it.
//!
//! ```text
//! LIBRARY/library.db                      videos, sentences, steps, clips; names what is current
//! LIBRARY/features/<content>.safetensors  per video: seconds, clip texts, pictures and appearance (f16)
//! LIBRARY/pool-<checksum>.safetensors     segments: clips of many videos with the same rows and their 8-bit codes
//! LIBRARY/calibration.json                weights fitted on labels of this library, if there are any
//! LIBRARY/writer.lock                     held by the process that writes
//! ```
//!
//! Files are written atomically, and a video's record after its features, so that a killed run leaves
//! a library that opens and can be resumed.

pub mod error;
mod lock;
mod checksum;
mod schema;
mod features;
mod segment;
mod rows;
mod scan;
mod store;
mod segments;
mod calibration;
mod verify;
mod backup;
mod mapped;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rusqlite::Connection;
use stitch_core::clip::{Clip, VideoId};

use crate::encoder::EncoderId;
use crate::files::create_folder;
use crate::footage::Footage;
use crate::transcript::Sentence;
pub(crate) use checksum::sha256;
pub use error::LibraryError;
pub use features::VideoFeatures;
pub use lock::{FileLock, LockError};
pub use mapped::{MappedFeatures, MappedMatrix};
pub use store::{Found, KnownVideo, Outcome, Stats, Video, VideoRecord, VideoStatus};
pub use verify::Damage;

/// An open library. Readers and one writer may share it between threads.
pub struct Library {
    folder: PathBuf,
    database: Mutex<Connection>,
    encoder: EncoderId,
}

impl Library {
    /// Opens a library made by any encoder.
    pub fn open(folder: &Path) -> Result<Self, LibraryError> {
        let file = folder.join("library.db");
        if !file.is_file() {
            return Err(LibraryError::NotThere { folder: folder.into() });
        }
        let database = schema::open(&file)?;
        let encoder = schema::encoder(&database, &file)?;
        Ok(Self { folder: folder.into(), database: Mutex::new(database), encoder })
    }

    /// Opens the library for adding videos with this encoder; makes it where there is none.
    pub fn open_or_create(folder: &Path, encoder: &EncoderId) -> Result<Self, LibraryError> {
        let file = folder.join("library.db");
        if !file.is_file() {
            let features = folder.join("features");
            create_folder(&features)?;
            let _lock = lock_writer(folder)?;
            // Another process may have been faster.
            if !file.is_file() {
                schema::create(&file, encoder)?;
            }
        }
        let library = Self::open(folder)?;
        library.check_encoder(encoder)?;
        Ok(library)
    }

    /// Held while the library is written to: one writer at a time. Readers need no lock.
    pub fn lock_writer(&self) -> Result<FileLock, LibraryError> {
        lock_writer(&self.folder)
    }

    /// An error unless the library was made by this encoder.
    pub fn check_encoder(&self, encoder: &EncoderId) -> Result<(), LibraryError> {
        if self.encoder == *encoder {
            return Ok(());
        }
        Err(LibraryError::OtherEncoder {
            folder: self.folder.clone(),
            made: Box::new(self.encoder.clone()),
            wanted: Box::new(encoder.clone()),
        })
    }

    /// An error if the texts were encoded by a sentence model of other weights, which an encoder with a text
    /// tower of its own does not show. Libraries from before this was stored are trusted.
    pub fn check_sentence_model(&self, weights: &str) -> Result<(), LibraryError> {
        match self.sentence_model()? {
            Some(made) if made != weights => Err(LibraryError::OtherSentenceModel {
                folder: self.folder.clone(),
                made,
                wanted: weights.into(),
            }),
            _ => Ok(()),
        }
    }

    /// The same before videos are added: the sentence model of the first ones stays.
    pub fn fix_sentence_model(&self, weights: &str) -> Result<(), LibraryError> {
        if self.sentence_model()?.is_none() {
            self.store_sentence_model(weights)?;
        }
        self.check_sentence_model(weights)
    }

    pub fn encoder(&self) -> &EncoderId {
        &self.encoder
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Per-second features of one video.
    pub fn seconds(&self, video: VideoId) -> Result<stitch_core::features::Features, LibraryError> {
        Ok(features::read(&self.folder, &self.feature_file(video)?)?.seconds)
    }

    /// Empty if the encoder decodes no frames.
    pub fn footage(&self, video: VideoId) -> Result<Footage, LibraryError> {
        features::footage(&self.folder, &self.video(video)?.content)
    }
}

fn lock_writer(folder: &Path) -> Result<FileLock, LibraryError> {
    FileLock::take(&folder.join("writer.lock")).map_err(|error| match error {
        LockError::Held { pid } => LibraryError::Locked { folder: folder.into(), pid },
        LockError::File(error) => error.into(),
    })
}

/// The result of indexing one video.
pub struct Indexed {
    pub sentences: Vec<Sentence>,
    /// The steps it shows, each with where.
    pub clips: Vec<Clip>,
    /// Its features; row i of text and clip belongs to clip i.
    pub features: VideoFeatures,
    /// Where new shots begin, in milliseconds.
    pub shots: Vec<u64>,
    /// Where the narration came from (a subtitle file, a stream, speech).
    pub narration_by: Option<String>,
    /// What made the steps (rules, a language model, a person's list).
    pub steps_by: String,
}
