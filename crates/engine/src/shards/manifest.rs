//! The manifest of a shard: JSON with a version and a checksum of what it says.

use serde::{Deserialize, Serialize};
use stitch_core::clip::{Clip, Span, VideoId};

use super::{Result, ShardError};
use crate::encoder::EncoderId;
use crate::library::{Found, Indexed, Video, VideoFeatures, VideoRecord, sha256};
use crate::transcript::Sentence;

/// Raised when the meaning of a field changes.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct ShardManifest {
    version: u32,
    /// Of the shard as JSON without spaces.
    sha256: String,
    shard: Shard,
}

/// What a video was indexed with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    pub encoder: EncoderId,
    /// The SHA-256 of the sentence model's weights.
    pub sentence_model: String,
    /// Whatever else the result depends on.
    pub options: String,
}

/// A video without its features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Shard {
    pub made: Made,
    pub file: Found,
    pub video: Video,
    sentences: Vec<Sentence>,
    /// Start and end in milliseconds, and the text.
    clips: Vec<(u64, u64, String)>,
    /// In milliseconds.
    shots: Vec<u64>,
    narration_by: Option<String>,
    steps_by: String,
    /// The SHA-256 of the features.
    pub features: String,
    /// None in shards of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thumbnails: Option<ShardThumbnails>,
}

/// The file with the middle frame of each clip: JPEGs, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ShardThumbnails {
    pub sha256: String,
    /// Of each JPEG; 0 for a frame that could not be decoded.
    bytes: Vec<usize>,
}

impl ShardThumbnails {
    pub fn of(pictures: &[Vec<u8>]) -> Self {
        let bytes = pictures.iter().map(Vec::len).collect();
        Self { sha256: sha256(&pictures.concat()), bytes }
    }
}

impl Made {
    /// The name of the shard of a video, given by what identifies its bytes.
    pub(super) fn key(&self, content: &str) -> String {
        sha256(&json(&(VERSION, content, self)))
    }
}

impl Shard {
    pub fn new(
        made: &Made,
        file: &Found,
        video: &Video,
        indexed: &Indexed,
        features: &[u8],
        thumbnails: ShardThumbnails,
    ) -> Self {
        let clip = |clip: &Clip| (clip.span.start(), clip.span.end(), clip.text.clone());
        Self {
            made: made.clone(),
            file: file.clone(),
            video: video.clone(),
            sentences: indexed.sentences.clone(),
            clips: indexed.clips.iter().map(clip).collect(),
            shots: indexed.shots.clone(),
            narration_by: indexed.narration_by.clone(),
            steps_by: indexed.steps_by.clone(),
            features: sha256(features),
            thumbnails: Some(thumbnails),
        }
    }

    /// As the video of a library; `name` is that of the shard.
    pub fn indexed(
        self,
        record: &VideoRecord,
        features: VideoFeatures,
        name: &str,
    ) -> Result<Indexed> {
        let clip = |(start, end, text): (u64, u64, String)| {
            let damaged = || ShardError::Damaged {
                shard: name.into(),
                reason: format!("a clip ends at {end} ms and begins at {start} ms"),
            };
            let span = Span::new(start, end).ok_or_else(damaged)?;
            Ok(Clip { video: VideoId(record.id), span, text })
        };
        Ok(Indexed {
            sentences: self.sentences,
            clips: self.clips.into_iter().map(clip).collect::<Result<_>>()?,
            features,
            shots: self.shots,
            narration_by: self.narration_by,
            steps_by: self.steps_by,
        })
    }
}

impl ShardManifest {
    pub fn new(shard: Shard) -> Self {
        Self { version: VERSION, sha256: sha256(&json(&shard)), shard }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        json(self)
    }

    /// The shard, if it is whole; `name` is for messages.
    pub fn read(bytes: &[u8], name: &str) -> Result<Shard> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let damaged = |reason: String| ShardError::Damaged { shard: name.into(), reason };
        let no_json = |error: serde_json::Error| damaged(format!("its manifest: {error}"));
        let Version { version } = serde_json::from_slice(bytes).map_err(no_json)?;
        if version != VERSION {
            let shard = name.into();
            return Err(ShardError::OtherVersion { shard, found: version, expected: VERSION });
        }
        let Self { sha256: written, shard, .. } = serde_json::from_slice(bytes).map_err(no_json)?;
        if sha256(&json(&shard)) != written {
            return Err(damaged("its manifest has changed since it was written".into()));
        }
        // They become names of files.
        let thumbnails = shard.thumbnails.iter().map(|thumbnails| &thumbnails.sha256);
        let is_checksum = |name: &String| name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let are_checksums = thumbnails.chain([&shard.features]).all(is_checksum);
        match are_checksums {
            true => Ok(shard),
            false => Err(damaged("a file of it is not named by a checksum".into())),
        }
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap() // cannot fail: every key is a text
}
