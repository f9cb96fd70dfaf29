//! Rules `parse`, `opening`, `depth` and `leftover`, which look at one file at a time.

use std::collections::BTreeSet;

use super::breach::Breach;
use crate::tree::Tree;
use crate::tree::facts::FactKind;
use crate::tree::files::Role;

/// `src/a/b/c/file.rs` is allowed.
const MAX_FOLDERS: usize = 4;
const UNFINISHED: [&str; 2] = ["todo", "unimplemented"];
/// In two parts, so that this file does not report itself.
const MARK: &str = concat!("FIX", "ME");

pub fn parses(tree: &Tree) -> Result<Vec<Breach>, String> {
    let modules = tree.crates.iter().flat_map(|krate| &krate.modules);
    let declared: BTreeSet<usize> = modules.map(|module| module.file).collect();
    let mut found = Vec::new();
    for (index, file) in tree.files.iter().enumerate() {
        if let Err((line, message)) = &file.facts {
            found.push(Breach::at(&file.path, *line, format!("does not parse: {message}")));
        }
        if file.role == Role::Source && !declared.contains(&index) {
            found.push(Breach::at(&file.path, 1, "no module declares this file"));
        }
    }
    Ok(found)
}

pub fn opening(tree: &Tree) -> Result<Vec<Breach>, String> {
    let says_nothing = |text: &str| {
        let subject = text.lines().next().and_then(|line| line.strip_prefix("//!"));
        subject.is_none_or(|subject| matches!(subject.trim(), "" | "stub"))
    };
    let message = "the first line must be `//!` and say what the file is about";
    let silent = tree.files.iter().filter(|file| says_nothing(&file.text));
    Ok(silent.map(|file| Breach::at(&file.path, 1, message)).collect())
}

pub fn depth(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = Vec::new();
    for manifest in &tree.manifests {
        for file in tree.files.iter().filter(|file| file.is_in(&[&manifest.folder])) {
            let folders = file.path[manifest.folder.len() + 1..].matches('/').count();
            if folders > MAX_FOLDERS {
                let message = format!("{folders} folders deep, at most {MAX_FOLDERS}");
                found.push(Breach::at(&file.path, 1, message));
            }
        }
    }
    Ok(found)
}

/// Reports unfinished code, also in tests: it belongs into an issue.
pub fn leftovers(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = Vec::new();
    for file in &tree.files {
        for fact in file.facts() {
            if let FactKind::Macro(name) = &fact.kind
                && UNFINISHED.contains(&name.as_str())
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
