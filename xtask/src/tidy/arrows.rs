//! Rule `crate-arrow`: core <- nn <- engine <- {world, lab, server} <- cli; lab may import world.

use super::breach::Breach;
use crate::tree::Tree;

/// Each package's folder and the workspace packages it may depend on.
const ARROWS: [(&str, &[&str]); 9] = [
    ("crates/core", &[]),
    ("crates/nn", &["stitch-core"]),
    ("crates/engine", &["stitch-core", "stitch-nn"]),
    ("crates/world", &["stitch-core", "stitch-nn", "stitch-engine"]),
    ("crates/lab", &["stitch-core", "stitch-nn", "stitch-engine", "stitch-world"]),
    ("crates/server", &["stitch-core", "stitch-nn", "stitch-engine"]),
    (
        "crates/cli",
        &[
            "stitch-core",
            "stitch-nn",
            "stitch-engine",
            "stitch-world",
            "stitch-lab",
            "stitch-server",
        ],
    ),
    ("fuzz", &["stitch-engine"]),
    ("xtask", &[]),
];

/// Reports dependencies between workspace packages that the table does not list.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = Vec::new();
    for manifest in &tree.manifests {
        let Some((_, allowed)) = ARROWS.iter().find(|(folder, _)| *folder == manifest.folder)
        else {
            found.push(Breach::at(
                &manifest.path,
                1,
                "the table of crate arrows lacks this package",
            ));
            continue;
        };
        for dependency in &manifest.dependencies {
            let name = dependency.name.as_str();
            if name.starts_with("stitch") && !allowed.contains(&name) {
                let message = format!("{} may not depend on `{name}`", manifest.folder);
                found.push(Breach::at(&manifest.path, dependency.line, message));
            }
        }
    }
    Ok(found)
}
