//! Runs the two sides of a pair: a bench target of the workspace, and a Python script in a virtual
//! environment of its own. Each prints one JSON object.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};

use super::pairs::{Mode, Pair};
use crate::command::{cargo, output};

/// What a side printed, or why it was skipped.
pub type Values = Result<Value, String>;

const VENV_HINT: &str = "on Debian, `sudo apt-get install python3-venv` installs what is missing";

pub fn ours(root: &Path, pair: &Pair) -> Values {
    // The whole workspace is selected, so that features are those of every other build and no
    // dependency is compiled twice; the target filter leaves one thing to run.
    let mut command = cargo(root);
    command.args(["bench", "--quiet", "--workspace", "--bench", pair.ours]);
    match pair.mode {
        Mode::Separate => values(&mut command),
        Mode::WithModel(name) => values(command.arg("--").arg(model_folder(root, name)?)),
        Mode::Scripted => {
            output(command.arg("--no-run"))?;
            program(root).map(|_| Value::Object(Map::new()))
        }
    }
}

/// Installs what the script needs, once, and runs it.
pub fn theirs(root: &Path, pair: &Pair) -> Values {
    let script = format!("benches/{}.py", pair.name.replace('-', "_"));
    if !root.join(&script).is_file() {
        return Err(format!("{script} does not exist"));
    }
    let mut command = Command::new(python(root, pair.name)?);
    command.arg(root.join(script)).current_dir(root);
    if let Mode::WithModel(name) = pair.mode {
        command.arg(model_folder(root, name)?);
    }
    values(&mut command)
}

/// The interpreter of a virtual environment with the script's requirements.
fn python(root: &Path, name: &str) -> Result<PathBuf, String> {
    let requirements = format!("benches/requirements-{name}.txt");
    let wanted = std::fs::read_to_string(root.join(&requirements))
        .map_err(|e| format!("{requirements}: {e}"))?;
    let folder = target_folder(root).join("bench-venv").join(name);
    let python = folder.join("bin/python");
    let stamp = folder.join("installed.txt");
    // The stamp is written last: an interrupted installation starts again.
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    output(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        .map_err(|error| format!("{error}; {VENV_HINT}"))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    output(Command::new(&python).args(install).arg(root.join(requirements)))?;
    std::fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(python)
}

/// A model's folder, as `stitch` finds it.
fn model_folder(root: &Path, name: &str) -> Result<PathBuf, String> {
    let mut command = Command::new(program(root)?);
    let printed = output(command.args(["models", "path", name]).current_dir(root))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&printed).trim()))
}

/// Builds `stitch` and returns its path.
fn program(root: &Path) -> Result<PathBuf, String> {
    output(cargo(root).args(["build", "--quiet", "--release", "--workspace", "--bin", "stitch"]))?;
    Ok(target_folder(root).join("release/stitch"))
}

fn target_folder(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Runs a command and parses the JSON object it prints; `{"skipped": "why"}` is an error.
fn values(command: &mut Command) -> Values {
    let printed = output(command)?;
    let text = String::from_utf8_lossy(&printed);
    let object = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let object = object.ok_or("it printed no JSON object")?;
    let value: Value = serde_json::from_str(object).map_err(|e| format!("invalid JSON: {e}"))?;
    match value["skipped"].as_str() {
        Some(why) => Err(why.to_owned()),
        None => Ok(value),
    }
}
