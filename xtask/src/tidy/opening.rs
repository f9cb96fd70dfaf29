//! Rule `opening`: a file says in its first line what its one subject is.

use super::breach::Found;
use crate::tree::Tree;

/// Files whose first line is not `//! something`.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let silent = tree.files.iter().filter(|file| !opens_well(&file.text));
    Ok(silent.map(|file| Found::at(&file.path, 1, MESSAGE)).collect())
}

const MESSAGE: &str = "the first line must be `//!` and say the file's one subject";

fn opens_well(text: &str) -> bool {
    let said = text.lines().next().and_then(|line| line.strip_prefix("//!"));
    said.is_some_and(|said| !matches!(said.trim(), "" | "stub"))
}
