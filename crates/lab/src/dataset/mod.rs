//! D_w: procedures mixed out of the videos of a library, each with the clips that show it, as training data
//! without labels made by hand.

pub mod captions;
pub mod summarise;
pub mod recipes;
pub mod mine;
pub mod mix;
pub mod rules;
pub mod language;
pub mod examples;
pub mod build;

use std::path::PathBuf;

use stitch_core::pool::PoolError;
use stitch_engine::encoder::EncoderError;
use stitch_engine::files::FileError;
use stitch_engine::library::LibraryError;
use stitch_engine::progress::Stopped;
use stitch_engine::sentence::SentenceError;
use stitch_engine::summarise::chat::ChatError;

pub use build::{Build, BuildReport, build};
pub use examples::{Example, Split, read, write};
pub use mine::{MineOptions, groups};
pub use mix::{MixedStep, Mixer, Rejected};
pub use recipes::Recipe;

#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    #[error("{}: line {line}: {reason}; make it again with `stitch dataset mix`", path.display())]
    Line { path: PathBuf, line: usize, reason: String },
    #[error("{}: there is no example in it; make some with `stitch dataset mix`", path.display())]
    Empty { path: PathBuf },
    #[error(
        "{videos} videos of the library name two steps or more; procedures are mixed out of at least \
         two, so index more videos with narration"
    )]
    TooFewVideos { videos: usize },
    #[error(
        "no procedure of at least three steps could be made for the {part} part ({why}); lower \
         `--similarity`, index more videos, or change `--held-out`"
    )]
    EmptyPart { part: &'static str, why: String },
    #[error(
        "the language model answered for none of {groups} groups; check --llm-url and --llm-model \
         (`--verbose` shows what it said), or mix with `--builder rules`"
    )]
    NoAnswer { groups: usize },
    #[error(
        "the language model cannot be reached any more; check --llm-url and STITCH_LLM_KEY (`--verbose` \
         shows why): what was answered for {groups} groups so far is kept, and the same command goes on \
         from there"
    )]
    Unreachable { groups: usize },
    #[error(
        "`{title}` is in the train and in the held-out part, so that what is measured would have been \
         learnt; make the parts anew with `stitch dataset mix`"
    )]
    InBothParts { title: String },
    #[error(
        "none of {examples} procedures can be used ({why}); make them anew with `stitch dataset mix` \
         from this library"
    )]
    NoneUsable { examples: usize, why: String },
    #[error(
        "{}: {reason}; give HowTo100M's caption.json, a .csv file with the columns video_id, start, end \
         and text, or a folder with a subtitle file per video", path.display()
    )]
    Captions { path: PathBuf, reason: String },
    #[error(
        "no step was found in what is said in {videos} videos{}; check the captions, and --llm-model \
         where a language model is asked",
        because(why)
    )]
    NoSteps { videos: usize, why: String },
    #[error("{0}; what was answered so far is kept, and the same command goes on from there")]
    Chat(#[from] ChatError),
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Library(#[from] LibraryError),
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

fn because(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(" ({why})") }
}
