//! A command of the user's, with their rights.

use std::ffi::OsStr;
use std::time::Duration;

use super::Result;
use super::program::Program;
use super::task::Task;
use crate::progress::Progress;

/// Runs a command in the shell with these environment variables, for at most so long.
pub fn run(
    command: &str,
    variables: &[(&str, &OsStr)],
    limit: Duration,
    progress: &dyn Progress,
) -> Result<()> {
    let task = Task::new(Program::Shell).args(["-c", command]).envs(variables).within(limit);
    task.run(progress).map(drop)
}
