//! Rule `process`: programs are started in one place, where their errors are typed.

use super::breach::{Found, external, is_below};
use crate::tree::Tree;
use crate::tree::facts::What;
use crate::tree::files::SourceFile;

const MAY_START: [&str; 2] = ["crates/engine/src/media", "xtask"];
/// Where `.command()` can only be `Program::command`; elsewhere clap has one as well.
const NO_COMMAND_METHOD: [&str; 4] =
    ["crates/core", "crates/engine", "crates/lab", "crates/server"];

/// `std::process::Command`, and commands taken from `Program`, outside `engine/media`.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let mut found = external(tree, |file, path| {
        let starts = is_below(path, "std::process::Command") || path == "Command::new";
        (starts && !may_start(file)).then(|| format!("`{path}`: {INSTEAD}"))
    });
    for file in tree.files.iter().filter(|file| !may_start(file)) {
        if !NO_COMMAND_METHOD.iter().any(|part| file.is_in(part)) {
            continue;
        }
        let calls = file.shipped().filter(|fact| is_command_call(&fact.what));
        found.extend(
            calls.map(|fact| Found::at(&file.path, fact.line, format!("`.command()`: {INSTEAD}"))),
        );
    }
    Ok(found)
}

const INSTEAD: &str = "start programs by a function of crates/engine/src/media";

fn may_start(file: &SourceFile) -> bool {
    MAY_START.iter().any(|part| file.is_in(part))
}

fn is_command_call(what: &What) -> bool {
    matches!(what, What::Method(name) if name == "command")
}
