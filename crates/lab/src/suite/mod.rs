//! Measuring: how good the answers are, as tables with intervals.

pub mod metrics;
pub mod ranks;
#[cfg(test)]
pub(crate) mod fixture;
pub mod test_set;
pub mod plain;
pub mod annotations;
pub mod distractors;
pub mod baselines;
pub mod compare;
pub mod evaluators;
pub mod library_set;
pub mod mixing;
pub mod toy;
pub mod made_up;
pub mod answers;
pub mod equal_changes;
pub mod experiments;
pub mod report;
pub mod section;
pub mod speech;
pub mod speech_index;
pub mod clip_spans;
pub mod encoder;
pub mod reliability;
pub mod reading;
pub mod labels;
pub mod natural;
pub mod calibrate;

use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use stitch_core::map::MapError;
use stitch_core::procedure::ProcedureError;
use stitch_engine::demonstrate::DemonstrateError;
use stitch_engine::files::FileError;
use stitch_engine::library::LibraryError;
use stitch_engine::listen::ListenError;
use stitch_engine::progress::{Progress, Stopped};
use stitch_engine::recipe::RecipeError;
use stitch_engine::scorer::ScorerError;
use stitch_engine::transcript::TranscriptError;

#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    #[error("the set has no procedure to measure; videos with two steps or more make one")]
    NoProcedures,
    #[error("{name}: {source}")]
    Method { name: String, source: ScorerError },
    #[error("{}: holds no media file with a .srt beside it", folder.display())]
    NoSubtitles { folder: PathBuf },
    #[error("{}: {source}; give a file or folder of procedures (.jsonl)", path.display())]
    Set { path: PathBuf, source: io::Error },
    #[error(
        "{}, line {line} is no procedure with its steps ({source}); give a .jsonl file like \
             crates/lab/data/natural/development.jsonl", path.display()
    )]
    SetLine { path: PathBuf, line: usize, source: serde_json::Error },
    #[error("{} holds no procedure; give a file or folder of procedures (.jsonl)", .0.display())]
    EmptySet(PathBuf),
    #[error("the id `{0}` stands twice in the set; give every procedure an id of its own")]
    IdTwice(String),
    #[error("{0}: `accept` lists actions of a made-up library; give its folder by --world DIR")]
    NoWorld(String),
    #[error("{id}: the library has no video `{video}`; `stitch library list` shows the names")]
    NoSuchVideo { id: String, video: String },
    #[error("{id}: the library has several videos `{video}`; give more of the end of its path")]
    AmbiguousVideo { id: String, video: String },
    #[error(
        "the labels have {shown} steps that a clip shows and {unshown} that nothing shows, in {procedures} \
         procedures; at least 20, 5 and 2 are needed (steps that are not read as one do not count)"
    )]
    FewLabels { shown: usize, unshown: usize, procedures: usize },
    /// Steps and clips do not belong together.
    #[error(transparent)]
    Map(#[from] MapError),
    #[error(transparent)]
    Scorer(#[from] ScorerError),
    #[error(transparent)]
    Demonstrate(#[from] DemonstrateError),
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    #[error(transparent)]
    Procedure(#[from] ProcedureError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Transcript(#[from] TranscriptError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Does something with every item, on all cores, until told to stop.
fn par_map<T: Sync, R: Send>(
    what: &str,
    items: &[T],
    progress: &dyn Progress,
    of: impl Fn(&T) -> Result<R, MeasureError> + Sync,
) -> Result<Vec<R>, MeasureError> {
    progress.begin(what, items.len() as u64);
    let one = |item: &T| {
        progress.check()?;
        let result = of(item)?;
        progress.advance(1);
        Ok(result)
    };
    items.par_iter().map(one).collect()
}

/// The files of a folder with this extension, by name.
fn with_extension(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    Ok(paths)
}
