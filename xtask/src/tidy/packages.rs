//! Rules `crate-arrow` and `argued`: what a package may depend on, and that ARCHITECTURE.md says why.

use super::breach::{Breach, in_manifests};
use super::documents::{ARCHITECTURE, text};
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

/// Reports dependencies between workspace packages that the table does not list, and packages that it lacks.
pub fn arrows(tree: &Tree) -> Result<Vec<Breach>, String> {
    let allowed = |folder: &str| ARROWS.iter().find(|arrow| arrow.0 == folder).map(|arrow| arrow.1);
    let mut found = in_manifests(tree, |manifest, dependency| {
        let ours = dependency.name.strip_prefix("stitch-")?;
        let wrong = !allowed(&manifest.folder)?.contains(&ours);
        wrong.then(|| format!("{} may not depend on `{}`", manifest.folder, dependency.name))
    });
    let unknown = tree.manifests.iter().filter(|manifest| allowed(&manifest.folder).is_none());
    let message = "the table of crate arrows lacks this package";
    found.extend(unknown.map(|manifest| Breach::at(&manifest.path, 1, message)));
    Ok(found)
}

/// Reports dependencies without a reason in ARCHITECTURE.md.
pub fn argued(tree: &Tree) -> Result<Vec<Breach>, String> {
    let text = text(tree, ARCHITECTURE);
    Ok(in_manifests(tree, |_, dependency| {
        let name = &dependency.name;
        let argued = name.starts_with("stitch") || text.contains(&format!("`{name}`"));
        (!argued).then(|| format!("{ARCHITECTURE} does not say why `{name}` is needed"))
    }))
}
