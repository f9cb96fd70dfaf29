//! The rules of ARCHITECTURE.md as a program that can fail.

mod breach;
mod parses;
mod opening;
mod module_order;
mod cycles;
mod printing;
mod processes;
mod purity;
mod arrows;
mod leftovers;
mod unwraps;
mod documents;
mod licences;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::tree::Tree;
use breach::{Breach, Rule};

/// All rules: the name in messages, what it says, and the check.
pub const RULES: [Rule; 13] = [
    ("parse", "every file is Rust and some module declares it", parses::check),
    ("opening", "every file opens with a `//!` line that says its subject", opening::check),
    ("module-order", "modules import only those declared before them", module_order::check),
    ("module-cycle", "no module needs, through others, itself", cycles::check),
    ("printing", "only the command line prints and exits", printing::check),
    ("process", "processes are started only in engine/media", processes::check),
    ("pure-core", "core has no files, processes, threads, clock, serde, tensors", purity::check),
    ("crate-arrow", "core <- engine <- {lab, server} <- cli; xtask imports none", arrows::check),
    ("leftover", "nothing is left to be done in the code", leftovers::check),
    ("unwrap", "no `unwrap()` outside tests without `// cannot fail: why`", unwraps::check),
    ("argued", "ARCHITECTURE.md says why each dependency is there", documents::argued),
    ("link", "what the documents link to is there", documents::links),
    ("licence", "every dependency's licence is in deny.toml", licences::check),
];

/// Checks the rules of these names (all, where none is named), prints the breaches and says whether
/// there were any.
pub fn run(root: &Path, names: &[&str]) -> Result<ExitCode, String> {
    let rules = named(names)?;
    let breaches = check(root, &rules)?;
    let lines: String = breaches.iter().map(|breach| format!("{breach}\n")).collect();
    let verdict = match breaches.len() {
        0 => format!("tidy: {} rules hold", rules.len()),
        many => format!("tidy: {many} breaches; ARCHITECTURE.md says what each rule is for"),
    };
    // A reader that has seen enough (`| head`) is no error.
    _ = writeln!(std::io::stdout(), "{lines}{verdict}");
    Ok(if breaches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the rules.
pub fn list() -> Result<ExitCode, String> {
    for (name, says, _) in RULES {
        println!("{name:14} {says}");
    }
    Ok(ExitCode::SUCCESS)
}

fn named(names: &[&str]) -> Result<Vec<Rule>, String> {
    if names.is_empty() {
        return Ok(RULES.to_vec());
    }
    let find = |name: &&str| RULES.into_iter().find(|rule| rule.0 == *name);
    let unknown = |name: &&str| format!("no rule `{name}`; `cargo xtask tidy --rules` lists them");
    names.iter().map(|name| find(name).ok_or_else(|| unknown(name))).collect()
}

/// All breaches of these rules, sorted by place.
fn check(root: &Path, rules: &[Rule]) -> Result<Vec<Breach>, String> {
    let tree = Tree::read(root)?;
    let mut breaches = Vec::new();
    for (rule, _, check) in rules {
        let found = check(&tree)?;
        breaches.extend(found.into_iter().map(|found| Breach { rule, found }));
    }
    breaches.sort();
    breaches.dedup();
    Ok(breaches)
}
