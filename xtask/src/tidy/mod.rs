//! The rules of ARCHITECTURE.md as a program.

mod breach;
mod files;
mod modules;
mod uses;
mod duplicates;
mod test_only;
mod documents;
mod packages;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::command;
use crate::tree::Tree;
use breach::{Breach, Rule};

const RULES: [Rule; 16] = [
    ("parse", "every file parses and belongs to a module", files::parses),
    ("opening", "every file opens with a `//!` line that says what it is about", files::opening),
    ("depth", "at most four folders below a package's root", files::depth),
    ("module-order", "modules use only modules declared before them", modules::order),
    ("printing", "only cli and xtask print and exit", uses::printing),
    ("process", "processes are started only in engine/media and xtask", uses::processes),
    ("pure-core", "core has no files, processes, threads, clock, serde, tensors", uses::pure_core),
    ("crate-arrow", "core <- nn <- engine <- {world <- lab, server} <- cli", packages::arrows),
    ("leftover", "no unfinished code", files::leftovers),
    ("unwrap", "no `unwrap()` outside tests without `// cannot fail: why`", uses::unwraps),
    ("duplicate-type", "public type names are unique in a package", duplicates::check),
    ("test-only", "every item is used outside tests", test_only::check),
    ("argued", "ARCHITECTURE.md gives a reason for each dependency", packages::argued),
    ("link", "links between documents lead somewhere", documents::links),
    ("readme", "README.md has at most 120 lines", documents::readme),
    ("licence", "every dependency's licence is in deny.toml", packages::licences),
];

/// Checks the named rules, or all, and prints the breaches.
pub fn run(root: &Path, names: &[&str]) -> Result<ExitCode, String> {
    let rules = command::select(&RULES, |rule| rule.0, names)?;
    let breaches = check(root, &rules)?;
    let lines: String = breaches.iter().map(|breach| format!("{breach}\n")).collect();
    let verdict = match breaches.len() {
        0 => format!("tidy: {} rules hold", rules.len()),
        count => format!("tidy: {count} breaches; ARCHITECTURE.md explains the rules"),
    };
    // A closed pipe (`| head`) is no error.
    _ = writeln!(std::io::stdout(), "{lines}{verdict}");
    Ok(if breaches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub fn list() -> Result<ExitCode, String> {
    command::list(RULES.iter().map(|rule| (rule.0, rule.1)))
}

/// The breaches of these rules, sorted by file and line.
fn check(root: &Path, rules: &[Rule]) -> Result<Vec<Breach>, String> {
    let tree = Tree::read(root)?;
    let mut breaches = Vec::new();
    for (rule, _, check) in rules {
        breaches.extend(check(&tree)?.into_iter().map(|breach| Breach { rule, ..breach }));
    }
    breaches.sort();
    breaches.dedup();
    Ok(breaches)
}
