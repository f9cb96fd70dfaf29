//! Rule `pure-core`: the method itself touches nothing of the world.

use super::breach::{Found, external, is_below};
use crate::tree::Tree;

const CORE: &str = "crates/core";
/// The packages that core may depend on outside its tests.
const CORE_MAY_USE: [&str; 1] = ["thiserror"];
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

/// Worldly paths in core's code, and packages it has no business with.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let mut found = external(tree, |file, path| {
        let top = FORBIDDEN.iter().find(|top| is_below(path, top))?;
        file.is_in(CORE).then(|| format!("core may not use `{top}`; that is the engine's side"))
    });
    for manifest in tree.manifests.iter().filter(|manifest| manifest.folder == CORE) {
        let shipped = manifest.dependencies.iter().filter(|dependency| !dependency.dev);
        let foreign = shipped.filter(|one| !CORE_MAY_USE.contains(&one.name.as_str()));
        found.extend(foreign.map(|one| {
            let message = format!("core may not depend on `{}`", one.name);
            Found::at(&manifest.path, one.line, message)
        }));
    }
    Ok(found)
}
