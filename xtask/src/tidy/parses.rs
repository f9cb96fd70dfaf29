//! Rule `parse`: every file is Rust, and every file under `src` belongs to a module tree.

use std::collections::BTreeSet;

use super::breach::Found;
use crate::tree::Tree;

/// Files that cannot be parsed, and files that nothing compiles.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let compiled: BTreeSet<usize> = tree.crates.iter().flat_map(|krate| krate.files()).collect();
    let mut found = Vec::new();
    for (index, file) in tree.files.iter().enumerate() {
        if let Err((line, message)) = &file.facts {
            found.push(Found::at(&file.path, *line, format!("cannot be parsed: {message}")));
        }
        if !file.aside && !compiled.contains(&index) {
            found.push(Found::at(&file.path, 1, "no module declares this file; nothing uses it"));
        }
    }
    Ok(found)
}
