//! Rule `printing`: only cli and xtask write to the terminal and exit.

use super::breach::{Breach, external};
use crate::tree::Tree;
use crate::tree::facts::FactKind;

const MAY_PRINT: [&str; 2] = ["crates/cli", "xtask"];
const MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
const PATHS: [(&str, &str); 5] = [
    ("std::process::exit", "return an error instead"),
    ("std::process::abort", "return an error instead"),
    ("std::io::stdout", "report to `Progress` instead"),
    ("std::io::stderr", "report to `Progress` instead"),
    ("std::io::stdin", "take a reader as a parameter"),
];

/// Reports printing and exiting in other crates.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = external(tree, |file, path| {
        let (path, instead) = PATHS.iter().find(|(forbidden, _)| path == *forbidden)?;
        (!file.is_in(&MAY_PRINT)).then(|| format!("`{path}`: {instead}"))
    });
    for file in tree.files.iter().filter(|file| !file.is_in(&MAY_PRINT)) {
        for fact in file.source_facts() {
            if let FactKind::Macro(name) = &fact.kind
                && MACROS.contains(&name.as_str())
            {
                let message = format!("`{name}!`: report to `Progress`, or return the text");
                found.push(Breach::at(&file.path, fact.line, message));
            }
        }
    }
    Ok(found)
}
