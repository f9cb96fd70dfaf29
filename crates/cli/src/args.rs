//! The arguments of the program and its subcommands.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::command::{
    calibrate::CalibrateArguments, dataset::DatasetCommand, eval::EvalArguments,
    fetch::FetchArguments, index::IndexArguments, library::LibraryCommand, listen::ListenArguments,
    make::MakeArguments, mcp::McpArguments, models::ModelsCommand, search::SearchArguments,
    self_check::SelfCheckArguments, serve::ServeArguments, study::StudyCommand,
    train::TrainArguments, world::WorldCommand,
};
use crate::setup::Common;

/// Makes one video that shows every step of a written procedure, from a folder of instructional
/// videos, and reports the steps that no video shows.
#[derive(Parser)]
#[command(name = "stitch", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  stitch index ~/videos                      index the videos once
  stitch make recipe.txt -o demo.mp4         make one video for the recipe
  stitch make *.txt -o videos/               make a video for each
  stitch search 'chop an onion'              find the clips that show this

Exit codes:
  0  success
  1  error, or not every video of several was made; the message says why and what to do
  2  wrong use of the command line
  3  a step is a gap (make --strict), or all steps are
  130  stopped by Ctrl-C; the same command continues from there";

#[derive(Subcommand)]
pub enum Command {
    Fetch(FetchArguments),
    Index(IndexArguments),
    Make(Box<MakeArguments>),
    Search(SearchArguments),
    Serve(ServeArguments),
    Mcp(McpArguments),
    Listen(ListenArguments),
    /// List, show, remove and verify the videos of the library
    #[command(subcommand)]
    Library(LibraryCommand),
    /// List and download models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Create training data from the videos of the library
    #[command(subcommand)]
    Dataset(DatasetCommand),
    Train(Box<TrainArguments>),
    Calibrate(CalibrateArguments),
    Eval(EvalArguments),
    /// Compare methods in a preference study
    #[command(subcommand)]
    Study(StudyCommand),
    /// Render the made-up library of instructional videos
    #[command(subcommand)]
    World(WorldCommand),
    /// Check that everything stitch needs is installed
    Doctor,
    SelfCheck(SelfCheckArguments),
    /// Print a shell's completion script
    Completions {
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands into a folder
    Man {
        /// The folder
        #[arg(long, short, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}
