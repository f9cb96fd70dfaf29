//! Rule `pure-core`: core has no input, output, threads or clock.

use super::breach::{Breach, external, is_below};
use crate::tree::Tree;

const CORE: &str = "crates/core";
/// The dependencies that core may have outside tests.
const DEPENDENCIES: [&str; 1] = ["thiserror"];
const FORBIDDEN: [&str; 9] = [
    "std::fs",
    "std::io",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "std::time",
    "serde",
    "candle_core",
];

/// Reports forbidden paths and dependencies of core.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = external(tree, |file, path| {
        let top = FORBIDDEN.iter().find(|top| is_below(path, top))?;
        file.is_in(&[CORE]).then(|| format!("core may not use `{top}`; do this in the engine"))
    });
    for manifest in tree.manifests.iter().filter(|manifest| manifest.folder == CORE) {
        for dependency in manifest.dependencies.iter().filter(|dependency| !dependency.dev) {
            let name = dependency.name.as_str();
            if !DEPENDENCIES.contains(&name) {
                let message = format!("core may not depend on `{name}`");
                found.push(Breach::at(&manifest.path, dependency.line, message));
            }
        }
    }
    Ok(found)
}
