//! Indexing: from video files to clips in the pool. Once per video, resumable, and one bad video
//! never stops the others.

pub mod discover;
mod metadata;
mod similarity;
mod steps;
pub mod spans;
mod video_list;
mod corrections;
mod video;
mod reencode;

use std::path::PathBuf;

use rayon::prelude::*;

use crate::encoder::{Encoder, EncoderError};
use crate::files::FileError;
use crate::library::{Library, LibraryError, Outcome, VideoRecord, VideoStatus};
use crate::listen::Listener;
use crate::media::MediaError;
use crate::progress::{Progress, Stopped, Within};
use crate::screen_text::ScreenTextReader;
use crate::sentence::SentenceEncoder;
use crate::summarise::PromptDomain;
use crate::summarise::chat::Chat;
pub use metadata::hint;
pub use reencode::files_of;
pub use video_list::VideoList;

/// What indexing works with.
pub struct Indexer<'a> {
    /// F_M.
    pub encoder: &'a dyn Encoder,
    /// For the texts of the steps.
    pub sentence: &'a SentenceEncoder,
    /// Summarises narration; without it, rules do.
    pub chat: Option<(&'a Chat, PromptDomain)>,
    /// For videos without subtitles; without it they have no narration.
    pub speech: Option<&'a Listener>,
    /// For videos in which nobody speaks.
    pub screen_text: Option<&'a ScreenTextReader>,
    /// Videos without files.
    pub list: Option<&'a VideoList>,
    /// A library of another encoder, which narration, steps and spans of the same videos are copied from.
    pub from: Option<&'a Library>,
}

/// What an index run did.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Videos found under the paths.
    pub found: usize,
    /// Indexed now.
    pub indexed: usize,
    /// In the library already.
    pub unchanged: usize,
    /// Same bytes as another video.
    pub duplicates: usize,
    /// File and reason.
    pub failed: Vec<(PathBuf, String)>,
    /// Of the videos indexed now.
    pub clips: usize,
}

type Result<T, E = IndexError> = std::result::Result<T, E>;

/// Why an index run ended early; what is wrong with one video is in [`Report::failed`].
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    #[error("no video files under {}; stitch looks for {} and the like", list(paths),
        discover::EXTENSIONS[..4].join(", "))]
    NothingFound { paths: Vec<PathBuf> },
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// A program is missing, or the disk is full.
    #[error(transparent)]
    Media(MediaError),
    /// A model is not there, or its files cannot be opened.
    #[error(transparent)]
    Encoder(EncoderError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

impl Indexer<'_> {
    /// Indexes every video under the paths that the library does not have yet.
    pub fn run(
        &self,
        library: &Library,
        paths: &[PathBuf],
        progress: &dyn Progress,
    ) -> Result<Report> {
        let _lock = library.lock_writer()?;
        progress.begin("looking for videos", 0);
        let mut found = discover::discover(paths, progress)?;
        found.extend(self.list.iter().flat_map(|list| list.found.iter().cloned()));
        if found.is_empty() {
            return Err(IndexError::NothingFound { paths: paths.to_vec() });
        }
        library.enter(&found)?;
        let mut outcomes: Vec<Option<usize>> = Vec::new();
        loop {
            let pending = library.pending(&found)?;
            if pending.is_empty() {
                break;
            }
            progress.begin("indexing", pending.len() as u64);
            let index = |record| self.index_and_record(library, record, progress);
            outcomes.extend(pending.par_iter().map(index).collect::<Result<Vec<_>, _>>()?);
        }
        let mut report = report(library, &found)?;
        report.indexed = outcomes.iter().flatten().count();
        report.clips = outcomes.iter().flatten().sum();
        report.unchanged -= report.indexed.min(report.unchanged);
        Ok(report)
    }

    /// Indexes one video and records how it ended; the number of clips if it ended well.
    fn index_and_record(
        &self,
        library: &Library,
        record: &VideoRecord,
        progress: &dyn Progress,
    ) -> Result<Option<usize>> {
        progress.check()?;
        let outcome = self.outcome(record, &Within(progress))?;
        library.record(record, &outcome)?;
        progress.advance(1);
        match outcome {
            Outcome::Ready(_, indexed) => Ok(Some(indexed.clips.len())),
            Outcome::Failed(reason) => {
                progress.warn(&format!("{}: {reason}", record.path.display()));
                Ok(None)
            }
        }
    }

    /// Indexes one video; nothing is recorded.
    pub(crate) fn outcome(&self, record: &VideoRecord, progress: &dyn Progress) -> Result<Outcome> {
        let known = self.from.map(|from| from.known(&record.content)).transpose()?.flatten();
        match known {
            Some(known) => self.reencode_video(record, known, progress),
            None => self.index_video(record, progress),
        }
    }
}

fn report(library: &Library, found: &[crate::library::Found]) -> Result<Report> {
    let paths: std::collections::HashSet<_> = found.iter().map(|f| f.path.clone()).collect();
    let mut report = Report { found: found.len(), ..Report::default() };
    for video in library.videos()?.into_iter().filter(|v| paths.contains(&v.path)) {
        match video.status {
            VideoStatus::Ready => report.unchanged += 1,
            VideoStatus::Duplicate(_) => report.duplicates += 1,
            VideoStatus::Failed(reason) => report.failed.push((video.path, reason)),
            VideoStatus::Pending => {}
        }
    }
    Ok(report)
}
