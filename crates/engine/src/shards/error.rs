//! Errors of shards, with what to do about them.

use crate::encoder::EncoderId;
use crate::files::FileError;
use crate::index::IndexError;
use crate::library::LibraryError;
use crate::progress::Stopped;

#[derive(Debug, thiserror::Error)]
pub enum ShardError {
    #[error("`{given}` is no share of the videos; write I/N with 1 <= I <= N, such as --shard 2/8")]
    NotAShare { given: String },
    #[error(
        "{url}: this program has no cloud stores; build it with `cargo build --release --features \
        cloud`, or name a folder"
    )]
    NoCloud { url: String },
    #[error("{url}: {reason}")]
    Store { url: String, reason: String },
    #[error("there are no shards in {urls}; write some with `stitch index PATHS… --out URL`")]
    NothingThere { urls: String },
    #[error(
        "the shard {shard} has format {found}, this program reads {expected}; use the version of \
        stitch that wrote it, or index its video again into another URL"
    )]
    OtherVersion { shard: String, found: u32, expected: u32 },
    #[error(
        "the shard {shard} was made with the encoder {made}, the others with {wanted}; merge shards of \
        one encoder, each into a library of its own"
    )]
    OtherEncoder { shard: String, made: Box<EncoderId>, wanted: Box<EncoderId> },
    #[error(
        "the texts of the shard {shard} were encoded by another sentence model than the others'; merge \
        shards of one sentence model, each into a library of its own"
    )]
    OtherSentenceModel { shard: String },
    #[error("the shard {shard} is damaged: {reason}; delete it, and index its video again")]
    Damaged { shard: String, reason: String },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}
