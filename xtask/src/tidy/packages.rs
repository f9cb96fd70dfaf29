//! Rules `crate-arrow`, `argued` and `licence`: what a package may depend on, that ARCHITECTURE.md says why,
//! and that the licence of every dependency is allowed. cargo-deny checks more but must be installed.

use std::path::Path;

use serde_json::Value;

use super::breach::{Breach, in_manifests};
use super::documents::{ARCHITECTURE, text};
use crate::command::{cargo, output};
use crate::tree::Tree;
use crate::tree::manifest::read_strings;

/// Each package's folder and the packages it may depend on, without their prefix.
const ARROWS: [(&str, &[&str]); 10] = [
    ("crates/core", &[]),
    ("crates/nn", &["core"]),
    ("crates/engine", &["core", "nn"]),
    ("crates/world", &["core", "nn", "engine"]),
    ("crates/lab", &["core", "nn", "engine", "world"]),
    ("crates/server", &["core", "nn", "engine"]),
    ("crates/cli", &["core", "nn", "engine", "world", "lab", "server"]),
    ("fuzz", &["core", "nn", "engine", "lab", "server"]),
    ("python", &["core", "engine"]),
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

pub fn argued(tree: &Tree) -> Result<Vec<Breach>, String> {
    let text = text(tree, ARCHITECTURE);
    Ok(in_manifests(tree, |_, dependency| {
        let name = &dependency.name;
        let argued = name.starts_with("stitch") || text.contains(&format!("`{name}`"));
        (!argued).then(|| format!("{ARCHITECTURE} does not say why `{name}` is needed"))
    }))
}

const DENY: &str = "deny.toml";
/// The platform of the released binary; dependencies of other platforms are not in it.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

pub fn licences(tree: &Tree) -> Result<Vec<Breach>, String> {
    let allowed = read_strings(&tree.root, DENY, "licenses", "allow")?;
    let packages = packages(&tree.root)?;
    let refused = packages.iter().filter_map(|package| refused(package, &allowed));
    Ok(refused.map(|message| Breach::at(DENY, 1, message)).collect())
}

/// The packages of the lock file, from `cargo metadata`.
fn packages(root: &Path) -> Result<Vec<Value>, String> {
    let arguments = ["metadata", "--format-version=1", "--filter-platform", PLATFORM];
    let printed = output(cargo(root).args(arguments))?;
    let metadata: Value =
        serde_json::from_slice(&printed).map_err(|e| format!("cargo metadata: {e}"))?;
    Ok(metadata["packages"].as_array().cloned().unwrap_or_default())
}

fn refused(package: &Value, allowed: &[String]) -> Option<String> {
    let name = format!("{} {}", package["name"].as_str()?, package["version"].as_str()?);
    let Some(licence) = package["license"].as_str() else {
        return Some(format!("{name} declares no licence"));
    };
    (!is_allowed(licence, allowed))
        .then(|| format!("{name} is under `{licence}`, which licenses.allow does not list"))
}

/// Whether an SPDX expression holds: licences joined by OR, AND, which binds more tightly, and parentheses.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    const HOLDS: &str = "holds";
    // The last parenthesis that opens has no other inside.
    if let Some((before, rest)) = expression.rsplit_once('(')
        && let Some((inside, after)) = rest.split_once(')')
    {
        let value = if is_allowed(inside, allowed) { HOLDS } else { "" };
        return is_allowed(&format!("{before}{value}{after}"), allowed);
    }
    let holds = |name: &str| name == HOLDS || allowed.iter().any(|allowed| allowed == name);
    let expression = expression.replace('/', " OR ");
    let mut parts = expression.split(" OR ");
    parts.any(|part| part.split(" AND ").all(|name| holds(name.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_licence_expressions() {
        let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        let table = [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(GPL-3.0 OR MIT) AND Zlib", true),
            ("(GPL-3.0 OR MIT) AND Unlicense", false),
            ("GPL-3.0 OR MIT AND Zlib", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0", false),
            ("", false),
            ("(MIT", false),
        ];
        for (text, fine) in table {
            assert_eq!(is_allowed(text, &allowed), fine, "{text}");
        }
    }
}
