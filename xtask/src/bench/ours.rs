//! Our side of a pair: a bench target of the workspace that prints one JSON object.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use super::pairs::{How, Pair};

/// The numbers, or why there are none.
pub type Numbers = Result<Value, String>;

/// Builds and runs our side.
pub fn run(root: &Path, pair: &Pair) -> Numbers {
    let (folder, target) = pair.ours;
    let source = format!("{folder}/benches/{target}.rs");
    if !root.join(&source).is_file() {
        return Err(format!("{source} is not there"));
    }
    // The whole workspace is selected, so that features are those of every other build and no
    // dependency is compiled twice; the target filter leaves one thing to run.
    let mut command = cargo(root);
    command.args(["bench", "--quiet", "--workspace", "--bench", target]);
    match pair.how {
        How::Alone => numbers(command),
        How::WithModel(name) => {
            command.arg("--").arg(model(root, name)?);
            numbers(command)
        }
        How::ByScript => {
            command.arg("--no-run");
            finished(command)?;
            program(root).map(|_| Value::Object(Map::new()))
        }
    }
}

/// The folder of a model, as the program itself finds it.
pub fn model(root: &Path, name: &str) -> Result<PathBuf, String> {
    let mut command = Command::new(program(root)?);
    command.args(["models", "path", name]).current_dir(root);
    let printed = finished(command)?;
    Ok(PathBuf::from(String::from_utf8_lossy(&printed).trim()))
}

/// The program itself, built.
fn program(root: &Path) -> Result<PathBuf, String> {
    let mut command = cargo(root);
    command.args(["build", "--quiet", "--release", "--workspace", "--bin", "stitch"]);
    finished(command)?;
    Ok(target(root).join("release/stitch"))
}

/// Where cargo puts what it builds.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}

/// Runs a command to its end and reads the JSON object it prints; `{"skipped": "why"}` is none.
pub fn numbers(command: Command) -> Numbers {
    let printed = finished(command)?;
    let text = String::from_utf8_lossy(&printed);
    let object = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let object = object.ok_or("it printed no JSON object")?;
    let value: Value =
        serde_json::from_str(object).map_err(|e| format!("its JSON is broken: {e}"))?;
    match value["skipped"].as_str() {
        Some(why) => Err(why.to_owned()),
        None => Ok(value),
    }
}

/// Runs a command to its end and returns what it printed, or the last thing it complained of.
pub fn finished(mut command: Command) -> Result<Vec<u8>, String> {
    let name = Path::new(command.get_program()).display().to_string();
    let done = command.stdin(Stdio::null()).output().map_err(|e| format!("{name}: {e}"))?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    Err(last_line(&done.stderr).unwrap_or_else(|| format!("{name}: {}", done.status)))
}

/// The last thing a program complained of.
fn last_line(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
