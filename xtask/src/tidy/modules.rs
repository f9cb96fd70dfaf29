//! Rules `module-order` and `module-cycle`.
//!
//! A module uses only modules declared before it, at every level of the tree; a `mod.rs` may use all its
//! children. No module uses itself through others: breaches of `module-order` are not repeated. A folder is
//! one module, so its files may use what its `mod.rs` defines; the crate root is not, so it may define
//! nothing that its modules use. Re-exports do not count: a name resolves to the module that defines it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::breach::Breach;
use crate::tree::Tree;
use crate::tree::modules::{Crate, Reference, Target};

/// Reports the first use, in each file, of each module declared later.
pub fn order(tree: &Tree) -> Result<Vec<Breach>, String> {
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
fn later_sibling(krate: &Crate, reference: &Reference) -> Option<(usize, usize, usize)> {
    let (Target::Module(to) | Target::Item(to)) = reference.to else { return None };
    let (from, to) = (krate.lineage(reference.from), krate.lineage(to));
    let fork = from.iter().zip(&to).position(|(a, b)| a != b)?;
    let (user, used) = (from[fork], to[fork]);
    let later = krate.modules[used].position > krate.modules[user].position;
    later.then_some((from[fork - 1], user, used))
}

/// For each module the modules it uses, with the first line that does.
type Uses = BTreeMap<usize, BTreeMap<usize, usize>>;

/// Reports one cycle per group of modules that use one another, at its first use.
pub fn cycles(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = Vec::new();
    for krate in &tree.crates {
        let uses = uses(krate);
        let mut reported = BTreeSet::new();
        for &module in uses.keys() {
            let Some(cycle) = shortest_cycle(&uses, module) else { continue };
            if cycle.iter().all(|module| !reported.contains(module)) {
                found.push(breach(tree, krate, &uses, &cycle));
            }
            reported.extend(cycle);
        }
    }
    Ok(found)
}

fn uses(krate: &Crate) -> Uses {
    let mut uses = Uses::new();
    for reference in &krate.references {
        let Target::Item(to) = reference.to else { continue };
        let own_folder = to != 0 && krate.lineage(reference.from).contains(&to);
        if to != reference.from
            && !own_folder
            && !reference.reexport
            && later_sibling(krate, reference).is_none()
        {
            uses.entry(reference.from).or_default().entry(to).or_insert(reference.line);
        }
    }
    uses
}

/// The shortest cycle through a module; it is both the first and the last element.
fn shortest_cycle(uses: &Uses, start: usize) -> Option<Vec<usize>> {
    let mut paths = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(path) = paths.pop_front() {
        for &next in uses.get(path.last()?).into_iter().flat_map(BTreeMap::keys) {
            let longer = [path.as_slice(), &[next]].concat();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next) {
                paths.push_back(longer);
            }
        }
    }
    None
}

fn breach(tree: &Tree, krate: &Crate, uses: &Uses, cycle: &[usize]) -> Breach {
    let file = |module: usize| &tree.files[krate.modules[module].file].path;
    let edges = cycle.windows(2).map(|pair| {
        let (user, used) = (pair[0], pair[1]);
        let line = uses[&user][&used];
        format!("`{}` uses `{}` ({}:{line})", krate.name(user), krate.name(used), file(user))
    });
    let edges: Vec<String> = edges.collect();
    let message = format!("{}; move what both need into a module of its own", edges.join(", "));
    Breach::at(file(cycle[0]), uses[&cycle[0]][&cycle[1]], message)
}
