//! Our side of a pair: a bench target of the workspace that prints one JSON object.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::pairs::Pair;

/// The numbers, or why there are none.
pub type Numbers = Result<Value, String>;

/// Builds and runs our side.
pub fn run(root: &Path, pair: &Pair) -> Numbers {
    let (folder, target) = pair.ours;
    let source = format!("{folder}/benches/{target}.rs");
    if !root.join(&source).is_file() {
        return Err(format!("{source} is not there"));
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // The whole workspace is selected, so that features are those of every other build and no
    // dependency is compiled twice; the target filter leaves one thing to run.
    command.args(["bench", "--quiet", "--workspace", "--bench", target]).current_dir(root);
    numbers(command)
}

/// Runs a command to its end and reads the JSON object it prints.
pub fn numbers(mut command: Command) -> Numbers {
    let done = command.stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
    if !done.status.success() {
        return Err(last_line(&done.stderr).unwrap_or_else(|| done.status.to_string()));
    }
    let text = String::from_utf8_lossy(&done.stdout);
    let object = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let object = object.ok_or("it printed no JSON object")?;
    serde_json::from_str(object).map_err(|e| format!("its JSON is broken: {e}"))
}

/// The last thing a program complained of.
fn last_line(stderr: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stderr);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
