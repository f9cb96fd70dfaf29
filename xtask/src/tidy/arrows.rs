//! Rule `crate-arrow`: core <- nn <- engine <- {world, lab, server} <- cli; lab may import world.

use super::breach::Breach;
use crate::tree::Tree;

/// Each package's folder and the packages it may depend on, without their prefix.
const ARROWS: [(&str, &[&str]); 9] = [
    ("crates/core", &[]),
    ("crates/nn", &["core"]),
    ("crates/engine", &["core", "nn"]),
    ("crates/world", &["core", "nn", "engine"]),
    ("crates/lab", &["core", "nn", "engine", "world"]),
    ("crates/server", &["core", "nn", "engine"]),
    ("crates/cli", &["core", "nn", "engine", "world", "lab", "server"]),
    ("fuzz", &["engine"]),
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
            let name = &dependency.name;
            let ours = name.strip_prefix("stitch-");
            if ours.is_some_and(|ours| !allowed.contains(&ours)) {
                let message = format!("{} may not depend on `{name}`", manifest.folder);
                found.push(Breach::at(&manifest.path, dependency.line, message));
            }
        }
    }
    Ok(found)
}
