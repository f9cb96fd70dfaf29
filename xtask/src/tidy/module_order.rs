//! Rule `module-order`: modules stand in flow order, and a module names only what was declared
//! before it, at every level of the tree. A folder's own `mod.rs` may name all its children.

use std::collections::BTreeSet;

use super::breach::Found;
use crate::tree::Tree;
use crate::tree::modules::{Crate, Reference, Target};

/// The first reference in each file to each module that is declared later.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for krate in &tree.crates {
        for reference in &krate.references {
            if let Some((above, user, later)) = looks_down(krate, reference) {
                let file = &tree.files[krate.modules[reference.from].file].path;
                let declared = &tree.files[krate.modules[above].file].path;
                let (user, later) = (krate.name(user), krate.name(later));
                let message = format!(
                    "`{user}` uses `{later}`, which {declared} declares after it; \
                     move one of the two declarations, or the code that both need into an \
                     earlier module"
                );
                found.push(Found::at(file, reference.line, message));
            }
        }
    }
    found.sort();
    let mut told = BTreeSet::new();
    found.retain(|found: &Found| told.insert((found.file.clone(), found.message.clone())));
    Ok(found)
}

/// Where the two lines of descent part: the common ancestor, its child that holds the reference,
/// and its later child that the reference leads to.
pub fn looks_down(krate: &Crate, reference: &Reference) -> Option<(usize, usize, usize)> {
    let (Target::Module(to) | Target::Item(to)) = reference.to else { return None };
    let (from, to) = (krate.line_of_descent(reference.from), krate.line_of_descent(to));
    let parting = from.iter().zip(&to).position(|(a, b)| a != b)?;
    let (user, used) = (from[parting], to[parting]);
    let later = krate.modules[used].position > krate.modules[user].position;
    later.then_some((from[parting - 1], user, used))
}
