//! Rule `crate-arrow`: {core, nn} <- engine <- {world, lab, server} <- cli, lab may use world, and xtask imports none of them.

use super::breach::Found;
use crate::tree::Tree;

/// Each package's folder and the packages of ours it may depend on.
const ARROWS: [(&str, &[&str]); 9] = [
    ("crates/core", &[]),
    ("crates/nn", &[]),
    ("crates/engine", &["stitch-core", "stitch-nn"]),
    ("crates/world", &["stitch-core", "stitch-engine"]),
    ("crates/lab", &["stitch-core", "stitch-engine", "stitch-world"]),
    ("crates/server", &["stitch-core", "stitch-engine"]),
    (
        "crates/cli",
        &["stitch-core", "stitch-engine", "stitch-world", "stitch-lab", "stitch-server"],
    ),
    ("fuzz", &["stitch-engine"]),
    ("xtask", &[]),
];

/// Dependencies between our packages that the table does not have.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for manifest in &tree.manifests {
        let Some((_, allowed)) = ARROWS.iter().find(|(folder, _)| *folder == manifest.folder)
        else {
            let message = "this package has no place in the table of crate arrows";
            found.push(Found::at(&manifest.path, 1, message));
            continue;
        };
        for one in &manifest.dependencies {
            if one.name.starts_with("stitch") && !allowed.contains(&one.name.as_str()) {
                let message = format!("{} may not depend on `{}`", manifest.folder, one.name);
                found.push(Found::at(&manifest.path, one.line, message));
            }
        }
    }
    Ok(found)
}
