//! Rule `leftover`: what is not done is an issue, not a mark in the code.

use super::breach::Found;
use crate::tree::Tree;
use crate::tree::facts::What;

const MACROS: [&str; 2] = ["todo", "unimplemented"];
/// Put together so that this file does not report itself.
const MARK: &str = concat!("FIX", "ME");

/// Unfinished code, tests included.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for file in &tree.files {
        for fact in file.facts.as_deref().unwrap_or_default() {
            if let What::Macro(name) = &fact.what
                && MACROS.contains(&name.as_str())
            {
                found.push(Found::at(&file.path, fact.line, format!("`{name}!` is left")));
            }
        }
        let marked = file.text.lines().zip(1..).filter(|(line, _)| line.contains(MARK));
        found.extend(marked.map(|(_, line)| {
            Found::at(&file.path, line, format!("{MARK}: mend it, or write an issue"))
        }));
    }
    Ok(found)
}
