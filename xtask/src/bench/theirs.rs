//! The other side of a pair: a Python script in a virtual environment of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::ours::{Numbers, numbers};
use super::pairs::Rival;

/// Installs what the script needs, once, and runs it.
pub fn run(root: &Path, rival: Rival) -> Numbers {
    for needed in [rival.script, rival.requirements] {
        if !root.join(needed).is_file() {
            return Err(format!("{needed} is not there"));
        }
    }
    let python = environment(root, rival)?;
    let mut command = Command::new(python);
    command.arg(root.join(rival.script)).current_dir(root);
    numbers(command)
}

/// The interpreter of an environment that has the requirements.
fn environment(root: &Path, rival: Rival) -> Result<PathBuf, String> {
    let wanted = std::fs::read_to_string(root.join(rival.requirements))
        .map_err(|e| format!("{}: {e}", rival.requirements))?;
    let name = rival.script.trim_start_matches("benches/").trim_end_matches(".py");
    let folder = target(root).join("bench-venv").join(name);
    let python = folder.join("bin/python");
    let stamp = folder.join("installed.txt");
    // The stamp is written last: an installation that was stopped is begun again.
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    step(Command::new("python3").args(["-m", "venv"]).arg(&folder), VENV)?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    step(Command::new(&python).args(pip).arg(root.join(rival.requirements)), "pip install")?;
    std::fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(python)
}

const VENV: &str = "python3 -m venv (on Debian: sudo apt-get install python3-venv)";

fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn step(command: &mut Command, what: &str) -> Result<(), String> {
    let done = command.output().map_err(|e| format!("{what}: {e}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it failed");
    Err(format!("{what}: {last}"))
}
