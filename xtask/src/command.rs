//! What several commands share: running programs, and choosing entries of a table by name.

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// The cargo that runs this program, in the workspace's folder.
pub fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a command and returns its standard output, or all of its standard error.
pub fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let name = Path::new(command.get_program()).display().to_string();
    let done = command.stdin(Stdio::null()).output().map_err(|e| format!("{name}: {e}"))?;
    let errors = String::from_utf8_lossy(&done.stderr);
    match (done.status.success(), errors.trim()) {
        (true, _) => Ok(done.stdout),
        (false, "") => Err(format!("{name}: {}", done.status)),
        (false, errors) => Err(format!("{name}: {errors}")),
    }
}

/// The entries with these names, in the order of the names; all where none is named.
pub fn select<T: Copy>(
    entries: &[T],
    name_of: fn(&T) -> &'static str,
    names: &[&str],
) -> Result<Vec<T>, String> {
    if names.is_empty() {
        return Ok(entries.to_vec());
    }
    let find = |name: &&str| entries.iter().find(|entry| name_of(entry) == *name).copied();
    let known = || entries.iter().map(name_of).collect::<Vec<_>>().join(", ");
    let unknown = |name: &&str| format!("no `{name}`; there are {}", known());
    names.iter().map(|name| find(name).ok_or_else(|| unknown(name))).collect()
}

/// Prints names with their descriptions.
pub fn list(
    entries: impl Iterator<Item = (&'static str, &'static str)>,
) -> Result<ExitCode, String> {
    entries.for_each(|(name, description)| println!("{name:14} {description}"));
    Ok(ExitCode::SUCCESS)
}
