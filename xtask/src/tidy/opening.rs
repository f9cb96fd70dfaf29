//! Rule `opening`: the first line of a file says what it is about.

use super::breach::Breach;
use crate::tree::Tree;

/// Reports files that do not begin with `//! something`.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let silent = tree.files.iter().filter(|file| !opens_with_subject(&file.text));
    Ok(silent.map(|file| Breach::at(&file.path, 1, MESSAGE)).collect())
}

const MESSAGE: &str = "the first line must be `//!` and say what the file is about";

fn opens_with_subject(text: &str) -> bool {
    let subject = text.lines().next().and_then(|line| line.strip_prefix("//!"));
    subject.is_some_and(|subject| !matches!(subject.trim(), "" | "stub"))
}
