//! Rule `printing`: only the command line and xtask talk to the terminal and end the program.

use super::breach::Found;
use crate::tree::Tree;
use crate::tree::facts::What;

const MAY_PRINT: [&str; 2] = ["crates/cli", "xtask"];
const MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
const PATHS: [(&str, &str); 5] = [
    ("std::process::exit", "return an error instead of ending the program"),
    ("std::process::abort", "return an error instead of ending the program"),
    ("std::io::stdout", "report to `Progress` instead of writing to the terminal"),
    ("std::io::stderr", "report to `Progress` instead of writing to the terminal"),
    ("std::io::stdin", "take a reader as a parameter"),
];

/// Printing and exiting outside the crates that may.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| !MAY_PRINT.iter().any(|part| file.is_in(part))) {
        for fact in file.shipped() {
            if let What::Macro(name) = &fact.what
                && MACROS.contains(&name.as_str())
            {
                let message = format!("`{name}!`: report to `Progress`, or return what is to say");
                found.push(Found::at(&file.path, fact.line, message));
            }
        }
    }
    found.extend(super::breach::external(tree, |file, path| {
        let (path, instead) = PATHS.iter().find(|(wanted, _)| path == *wanted)?;
        let allowed = MAY_PRINT.iter().any(|part| file.is_in(part));
        (!allowed).then(|| format!("`{path}`: {instead}"))
    }));
    Ok(found)
}
