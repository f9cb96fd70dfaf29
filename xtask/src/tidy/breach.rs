//! What a rule is and what it reports.

use std::fmt;

use crate::tree::Tree;
use crate::tree::files::SourceFile;
use crate::tree::modules::Target;

/// A rule's name, what it says in one line, and the function that checks it.
pub type Rule = (&'static str, &'static str, fn(&Tree) -> Result<Vec<Found>, String>);

/// A place where a rule is broken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The file, from the root.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to do instead.
    pub message: String,
}

impl Found {
    /// Something wrong at a line of a file.
    pub fn at(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, message: message.into() }
    }
}

/// A broken rule: `file:line: rule: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// The rule's name.
    pub rule: &'static str,
    /// Where and how.
    pub found: Found,
}

impl PartialOrd for Breach {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Breach {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.found, self.rule).cmp(&(&other.found, other.rule))
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Found { file, line, message } = &self.found;
        write!(out, "{file}:{line}: {}: {message}", self.rule)
    }
}

/// Every shipped use of something from another crate for which `judge` has words, by its full
/// path: `use std::process::Command; Command::new(…)` is seen as `std::process::Command::new`.
pub fn external(tree: &Tree, judge: impl Fn(&SourceFile, &str) -> Option<String>) -> Vec<Found> {
    let mut found = Vec::new();
    for krate in &tree.crates {
        for reference in &krate.references {
            let Target::External(path) = &reference.to else { continue };
            let file = &tree.files[krate.modules[reference.from].file];
            if let Some(message) = judge(file, &path.join("::")) {
                found.push(Found::at(&file.path, reference.line, message));
            }
        }
    }
    found
}

/// Whether a path is this one or below it: `std::fs::File` is below `std::fs`.
pub fn is_below(path: &str, top: &str) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}
