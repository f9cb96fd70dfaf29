//! What can be typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::command::{
    dataset::DatasetCommand, eval::EvalArguments, index::IndexArguments, library::LibraryCommand,
    listen::ListenArguments, make::MakeArguments, models::ModelsCommand, search::SearchArguments,
    serve::ServeArguments, study::StudyCommand, train::TrainArguments, world::WorldCommand,
};
use crate::common::Common;

/// Makes one video that shows every step of a written procedure, out of a folder of instructional
/// videos, and says which steps nothing in the folder shows.
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
  stitch index ~/videos                      read the videos once
  stitch make recipe.txt -o demo.mp4         one video for the recipe
  stitch search 'chop an onion'              where is this shown?

Exit codes:
  0  done
  1  failed; the message says why and what to do
  2  wrong use of the command line
  3  a step is shown by nothing (make --strict), or no step is
  130  stopped by Ctrl-C; the same command goes on from there";

#[derive(Subcommand)]
pub enum Command {
    Index(IndexArguments),
    Make(Box<MakeArguments>),
    Search(SearchArguments),
    Serve(ServeArguments),
    Listen(ListenArguments),
    /// Look at the library, remove from it, check it
    #[command(subcommand)]
    Library(LibraryCommand),
    /// List and fetch the models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Mix procedures to learn from, out of the library's videos
    #[command(subcommand)]
    Dataset(DatasetCommand),
    Train(Box<TrainArguments>),
    Eval(EvalArguments),
    /// Ask people which of two methods' videos they prefer
    #[command(subcommand)]
    Study(StudyCommand),
    /// Draw the made-up library of instructional videos
    #[command(subcommand)]
    World(WorldCommand),
    /// Tell what is missing on this machine and how to get it
    Doctor,
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands into a folder
    Man {
        /// The folder
        #[arg(long, short, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}
