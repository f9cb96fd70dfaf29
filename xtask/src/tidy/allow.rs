//! The exceptions to a rule, each with a reason, in `xtask/allow.toml`.

use toml::de::DeTable;

use super::breach::Breach;
use crate::tree::Tree;
use crate::tree::files::read_text;
use crate::tree::manifest::line_of;

const FILE: &str = "xtask/allow.toml";

/// Removes the breaches whose key the rule's table lists, and reports entries without a reason and
/// entries that no breach has as its key.
pub fn apply(
    tree: &Tree,
    rule: &str,
    mut found: Vec<(String, Breach)>,
) -> Result<Vec<Breach>, String> {
    let exists = tree.root.join(FILE).exists();
    let text = if exists { read_text(&tree.root, FILE)? } else { String::new() };
    let file = DeTable::parse(&text).map_err(|e| format!("{FILE}: {e}"))?;
    let entries = file.get_ref().get(rule).and_then(|value| value.get_ref().as_table());
    let mut wrong = Vec::new();
    for (key, reason) in entries.into_iter().flatten() {
        let (name, before) = (key.get_ref(), found.len());
        found.retain(|(key, _)| key != name);
        let message = if found.len() == before {
            format!("`{name}` is no longer an exception: delete this line")
        } else if reason.get_ref().as_str().unwrap_or_default().trim().is_empty() {
            format!("`{name}` has no reason")
        } else {
            continue;
        };
        wrong.push(Breach::at(FILE, line_of(key, &text), message));
    }
    Ok(found.into_iter().map(|(_, breach)| breach).chain(wrong).collect())
}
