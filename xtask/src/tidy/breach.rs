//! What a rule reports, what several rules share, and exceptions.

use std::fmt;

use toml::de::DeTable;

use crate::tree::Tree;
use crate::tree::facts::{Fact, FactKind};
use crate::tree::files::{SourceFile, read_text};
use crate::tree::manifest::{Dependency, Manifest, line_of};
use crate::tree::modules::Target;

/// A rule's name in messages, a one-line description, and its check.
pub type Rule = (&'static str, &'static str, fn(&Tree) -> Result<Vec<Breach>, String>);

/// A broken rule, printed as `file:line: rule: message`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    /// From the workspace root.
    pub file: String,
    /// 1-based.
    pub line: usize,
    /// Set by the caller of the check.
    pub rule: &'static str,
    /// What is wrong and what to do instead.
    pub message: String,
}

impl Breach {
    pub fn at(file: &str, line: usize, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, rule: "", message: message.into() }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, rule, message } = self;
        write!(out, "{file}:{line}: {rule}: {message}")
    }
}

/// Reports each use of another crate's item for which `judge` returns a message. Paths are full:
/// `use std::process::Command; Command::new(…)` is judged as `std::process::Command::new`.
pub fn external(tree: &Tree, judge: impl Fn(&SourceFile, &str) -> Option<String>) -> Vec<Breach> {
    let mut found = Vec::new();
    for krate in &tree.crates {
        for reference in &krate.references {
            let Target::External(path) = &reference.to else { continue };
            let file = &tree.files[krate.modules[reference.from].file];
            if let Some(message) = judge(file, &path.join("::")) {
                found.push(Breach::at(&file.path, reference.line, message));
            }
        }
    }
    found
}

/// Reports each fact of code outside tests for which `judge`, given its kind and line, returns a message.
pub fn in_source(
    tree: &Tree,
    judge: impl Fn(&SourceFile, &FactKind, usize) -> Option<String>,
) -> Vec<Breach> {
    let facts = tree.files.iter().flat_map(|f| f.source_facts().map(move |fact| (f, fact)));
    let breach = |(file, fact): (&SourceFile, &Fact)| {
        Some(Breach::at(&file.path, fact.line, judge(file, &fact.kind, fact.line)?))
    };
    facts.filter_map(breach).collect()
}

/// Reports each dependency for which `judge` returns a message.
pub fn in_manifests(
    tree: &Tree,
    judge: impl Fn(&Manifest, &Dependency) -> Option<String>,
) -> Vec<Breach> {
    let all = tree.manifests.iter().flat_map(|m| m.dependencies.iter().map(move |d| (m, d)));
    let breach = |(manifest, dependency): (&Manifest, &Dependency)| {
        Some(Breach::at(&manifest.path, dependency.line, judge(manifest, dependency)?))
    };
    all.filter_map(breach).collect()
}

/// The exceptions to a rule, each with a reason.
const ALLOWED: &str = "xtask/allow.toml";

/// Removes the breaches whose key the rule's table lists, and reports entries without a reason and
/// entries that no breach has as its key.
pub fn without_allowed(
    tree: &Tree,
    rule: &str,
    mut found: Vec<(String, Breach)>,
) -> Result<Vec<Breach>, String> {
    let exists = tree.root.join(ALLOWED).exists();
    let text = if exists { read_text(&tree.root, ALLOWED)? } else { String::new() };
    let file = DeTable::parse(&text).map_err(|e| format!("{ALLOWED}: {e}"))?;
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
        wrong.push(Breach::at(ALLOWED, line_of(key, &text), message));
    }
    Ok(found.into_iter().map(|(_, breach)| breach).chain(wrong).collect())
}
