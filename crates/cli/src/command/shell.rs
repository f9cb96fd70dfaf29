//! `stitch completions` and `stitch man`.

use std::io::Write;
use std::path::Path;

use clap::Command;
use stitch_engine::files::FileError;

use crate::failure::Failure;

pub fn completions(shell: clap_complete::Shell, mut stitch: Command) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut stitch, "stitch", &mut script);
    print(&script)
}

/// Prints the manual page, or writes the pages of all commands into a folder.
pub fn man(out: Option<&Path>, stitch: Command) -> Result<u8, Failure> {
    match out {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
            clap_mangen::generate_to(stitch, folder).map_err(FileError::at(folder))?;
            Ok(0)
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(stitch).render(&mut page)?;
            print(&page)
        }
    }
}

/// Writes to standard output; a closed pipe is not an error.
fn print(bytes: &[u8]) -> Result<u8, Failure> {
    match std::io::stdout().write_all(bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(0),
    }
}
