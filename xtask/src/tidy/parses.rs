//! Rule `parse`: every file parses, and every file under `src` belongs to a crate.

use std::collections::BTreeSet;

use super::breach::Breach;
use crate::tree::Tree;
use crate::tree::files::Role;

/// Reports syntax errors and files that no module declares.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let modules = tree.crates.iter().flat_map(|krate| &krate.modules);
    let declared: BTreeSet<usize> = modules.map(|module| module.file).collect();
    let mut found = Vec::new();
    for (index, file) in tree.files.iter().enumerate() {
        if let Err((line, message)) = &file.facts {
            found.push(Breach::at(&file.path, *line, format!("does not parse: {message}")));
        }
        if file.role == Role::Source && !declared.contains(&index) {
            found.push(Breach::at(&file.path, 1, "no module declares this file"));
        }
    }
    Ok(found)
}
