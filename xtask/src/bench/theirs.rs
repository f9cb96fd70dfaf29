//! The other side of a pair: a Python script in a virtual environment of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::ours::{Numbers, finished, model, numbers, target};
use super::pairs::{How, Rival};

/// Installs what the script needs, once, and runs it.
pub fn run(root: &Path, rival: Rival, how: How) -> Numbers {
    for needed in [rival.script, rival.requirements] {
        if !root.join(needed).is_file() {
            return Err(format!("{needed} is not there"));
        }
    }
    let python = environment(root, rival)?;
    let mut command = Command::new(python);
    command.arg(root.join(rival.script)).current_dir(root);
    if let How::WithModel(name) = how {
        command.arg(model(root, name)?);
    }
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
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&folder);
    finished(venv).map_err(|why| format!("{why}; {VENV}"))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    pip.arg(root.join(rival.requirements));
    finished(pip)?;
    std::fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(python)
}

const VENV: &str = "on Debian `sudo apt-get install python3-venv` brings what is missing";
