//! The options of every command.

use std::path::PathBuf;

use clap::Args;

/// Options of every command.
#[derive(Args, Clone)]
pub struct Common {
    /// The library's folder [default: ~/.local/share/stitch/library]
    #[arg(
        long,
        global = true,
        env = "STITCH_LIBRARY",
        value_name = "DIR",
        help_heading = "Common"
    )]
    pub library: Option<PathBuf>,
    /// Print results and progress as lines of JSON
    #[arg(long, global = true, help_heading = "Common")]
    pub json: bool,
    /// Print no progress
    #[arg(long, short, global = true, help_heading = "Common")]
    pub quiet: bool,
    /// Print what happens in detail
    #[arg(long, short, global = true, help_heading = "Common")]
    pub verbose: bool,
}
