//! Rule `module-cycle`: no module needs itself through others. What `module-order` reports is left
//! to it; a folder counts as one module here, so a child may use what its `mod.rs` defines; the
//! crate root defines nothing and so may not be used.
//! Re-exports (`pub use`) do not count: a name that passes through one leads to where it is defined.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::breach::Found;
use super::module_order::looks_down;
use crate::tree::Tree;
use crate::tree::modules::{Crate, Target};

/// Who needs whom, and on which line first.
type Needs = BTreeMap<usize, BTreeMap<usize, usize>>;

/// One report per knot of modules, at the first line that ties it.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for krate in &tree.crates {
        let needs = needs(krate);
        let mut told = BTreeSet::new();
        for &module in needs.keys() {
            let Some(cycle) = shortest_cycle(&needs, module) else { continue };
            if told.is_disjoint(&cycle.iter().copied().collect()) {
                found.push(report(tree, krate, &needs, &cycle));
            }
            told.extend(cycle);
        }
    }
    Ok(found)
}

fn needs(krate: &Crate) -> Needs {
    let mut needs = Needs::new();
    for reference in &krate.references {
        let Target::Item(to) = reference.to else { continue };
        let own_folder = to != 0 && krate.line_of_descent(reference.from).contains(&to);
        if to != reference.from
            && !own_folder
            && !reference.facade
            && looks_down(krate, reference).is_none()
        {
            needs.entry(reference.from).or_default().entry(to).or_insert(reference.line);
        }
    }
    needs
}

/// The shortest way from a module back to it, both ends included.
fn shortest_cycle(needs: &Needs, start: usize) -> Option<Vec<usize>> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for &next in needs.get(way.last()?).into_iter().flat_map(BTreeMap::keys) {
            let longer = [way.as_slice(), &[next]].concat();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next) {
                ways.push_back(longer);
            }
        }
    }
    None
}

/// Tells the knot with the place of every thread in it, so that one can be cut.
fn report(tree: &Tree, krate: &Crate, needs: &Needs, cycle: &[usize]) -> Found {
    let file = |module: usize| &tree.files[krate.modules[module].file].path;
    let threads = cycle.windows(2).map(|pair| {
        let (user, used) = (pair[0], pair[1]);
        let line = needs[&user][&used];
        format!("`{}` uses `{}` ({}:{line})", krate.name(user), krate.name(used), file(user))
    });
    let threads: Vec<String> = threads.collect();
    let message = format!("{}; move what both need into a module of its own", threads.join(", "));
    Found::at(file(cycle[0]), needs[&cycle[0]][&cycle[1]], message)
}
