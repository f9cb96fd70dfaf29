//! Rule `module-order`: a module uses only modules declared before it, at every level of the tree.
//! A `mod.rs` may use all its children.

use std::collections::BTreeSet;

use super::breach::Breach;
use crate::tree::Tree;
use crate::tree::modules::{Crate, Reference, Target};

/// Reports the first use, in each file, of each module declared later.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = Vec::new();
    for krate in &tree.crates {
        for reference in &krate.references {
            if let Some((parent, user, later)) = later_sibling(krate, reference) {
                let file = |module: usize| &tree.files[krate.modules[module].file].path;
                let (user, later) = (krate.name(user), krate.name(later));
                let message = format!(
                    "`{user}` uses `{later}`, which {} declares after it; reorder the two \
                     declarations, or move the code that both need into an earlier module",
                    file(parent)
                );
                found.push(Breach::at(file(reference.from), reference.line, message));
            }
        }
    }
    found.sort();
    let mut reported = BTreeSet::new();
    found.retain(|breach| reported.insert((breach.file.clone(), breach.message.clone())));
    Ok(found)
}

/// If a reference leads to a module declared later: the closest common ancestor, its child that
/// holds the reference, and its later child that the reference leads to.
pub fn later_sibling(krate: &Crate, reference: &Reference) -> Option<(usize, usize, usize)> {
    let (Target::Module(to) | Target::Item(to)) = reference.to else { return None };
    let (from, to) = (krate.lineage(reference.from), krate.lineage(to));
    let fork = from.iter().zip(&to).position(|(a, b)| a != b)?;
    let (user, used) = (from[fork], to[fork]);
    let later = krate.modules[used].position > krate.modules[user].position;
    later.then_some((from[fork - 1], user, used))
}
