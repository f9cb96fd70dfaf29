//! Rule `module-order`.
//!
//! A module uses only modules declared before it, at every level of the tree; a `mod.rs` may use all its
//! children. A folder is one module, so its files may use what its `mod.rs` defines; the crate root comes after
//! all its modules, so it may define nothing that they use. Thereby no module uses itself through others.
//! Re-exports do not count: a name resolves to the module that defines it.

use std::collections::BTreeSet;

use super::breach::Breach;
use crate::tree::Tree;
use crate::tree::modules::{Crate, Reference, Target};

/// The crate root's number among its modules.
const ROOT: usize = 0;

/// The first use, in each file, of each module declared later.
pub fn order(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = Vec::new();
    for krate in &tree.crates {
        for reference in &krate.references {
            if let Some((parent, user, later)) = used_before(krate, reference) {
                let file = |module: usize| &tree.files[krate.modules[module].file].path;
                let (user, place) = (krate.name(user), file(parent));
                let message = match later {
                    ROOT => format!(
                        "`{user}` uses an item of the crate root {place}, which comes after all its \
                         modules; move the item into a module declared before `{user}`"
                    ),
                    _ => format!(
                        "`{user}` uses `{}`, which comes after it in {place}; reorder the two \
                         declarations, or move the code that both need into an earlier module",
                        krate.name(later)
                    ),
                };
                found.push(Breach::at(file(reference.from), reference.line, message));
            }
        }
    }
    found.sort();
    let mut reported = BTreeSet::new();
    found.retain(|breach| reported.insert((breach.file.clone(), breach.message.clone())));
    Ok(found)
}

/// If a reference leads to a module declared later, or from a module to an item of the crate root: the closest
/// common ancestor, its child that holds the reference, and what the reference leads to.
fn used_before(krate: &Crate, reference: &Reference) -> Option<(usize, usize, usize)> {
    let (Target::Module(to) | Target::Item(to)) = reference.to else { return None };
    let from = krate.lineage(reference.from);
    if reference.to == Target::Item(ROOT) {
        return from.get(1).map(|user| (ROOT, *user, ROOT));
    }
    let to = krate.lineage(to);
    let fork = from.iter().zip(&to).position(|(a, b)| a != b)?;
    let (user, used) = (from[fork], to[fork]);
    let later = krate.modules[used].position > krate.modules[user].position;
    later.then_some((from[fork - 1], user, used))
}
