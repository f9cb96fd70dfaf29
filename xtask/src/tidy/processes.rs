//! Rule `process`: processes are started in one place, which has typed errors for them.

use super::breach::{Breach, external, in_source, is_below};
use crate::tree::Tree;
use crate::tree::facts::FactKind;

const MAY_START: [&str; 2] = ["crates/engine/src/media", "xtask"];
/// Uses clap, which has a method `command` as well.
const CLI: &str = "crates/cli";
const INSTEAD: &str = "start processes with a function of crates/engine/src/media";

/// Reports `std::process::Command` and calls of `Program::command` outside `engine/media`.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = external(tree, |file, path| {
        let starts = is_below(path, "std::process::Command") || path == "Command::new";
        (starts && !file.is_in(&MAY_START)).then(|| format!("`{path}`: {INSTEAD}"))
    });
    found.extend(in_source(tree, |file, fact| {
        let called = matches!(&fact.kind, FactKind::Method(name) if name == "command");
        let allowed = file.is_in(&MAY_START) || file.is_in(&[CLI]);
        (called && !allowed).then(|| format!("`.command()`: {INSTEAD}"))
    }));
    Ok(found)
}
