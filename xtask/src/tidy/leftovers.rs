//! Rule `leftover`: unfinished work is an issue, not a mark in the code.

use super::breach::Breach;
use crate::tree::Tree;
use crate::tree::facts::FactKind;

const MACROS: [&str; 2] = ["todo", "unimplemented"];
/// In two parts, so that this file does not report itself.
const MARK: &str = concat!("FIX", "ME");

/// Reports unfinished code, also in tests.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = Vec::new();
    for file in &tree.files {
        for fact in file.facts() {
            if let FactKind::Macro(name) = &fact.kind
                && MACROS.contains(&name.as_str())
            {
                found.push(Breach::at(&file.path, fact.line, format!("unfinished: `{name}!`")));
            }
        }
        let marked = file.text.lines().zip(1..).filter(|(line, _)| line.contains(MARK));
        found.extend(marked.map(|(_, line)| {
            Breach::at(&file.path, line, format!("{MARK}: fix it, or write an issue"))
        }));
    }
    Ok(found)
}
