//! Rule `printing`: only cli and xtask write to the terminal and exit.

use super::breach::{Breach, external, in_source};
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
    found.extend(in_source(tree, |file, fact| match &fact.kind {
        FactKind::Macro(name) if MACROS.contains(&name.as_str()) && !file.is_in(&MAY_PRINT) => {
            Some(format!("`{name}!`: report to `Progress`, or return the text"))
        }
        _ => None,
    }));
    Ok(found)
}
