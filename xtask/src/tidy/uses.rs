//! Rules `printing`, `process`, `pure-core` and `unwrap`: what code outside tests may not use.

use super::breach::{Breach, external, in_manifests, in_source};
use crate::tree::Tree;
use crate::tree::facts::FactKind;
use crate::tree::files::SourceFile;

const MAY_PRINT: [&str; 2] = ["crates/cli", "xtask"];
const PRINTING_MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
const PRINTING_PATHS: [(&str, &str); 5] = [
    ("std::process::exit", "return an error instead"),
    ("std::process::abort", "return an error instead"),
    ("std::io::stdout", "report to `Progress` instead"),
    ("std::io::stderr", "report to `Progress` instead"),
    ("std::io::stdin", "take a reader as a parameter"),
];

const MAY_START: [&str; 2] = ["crates/engine/src/media", "xtask"];
/// Uses clap, which has a method `command` as well.
const CLI: &str = "crates/cli";
const INSTEAD: &str = "start processes with a function of crates/engine/src/media";

const CORE: &str = "crates/core";
/// The dependencies that core may have outside tests.
const CORE_DEPENDENCIES: [&str; 1] = ["thiserror"];
const NOT_IN_CORE: [&str; 9] = [
    "std::fs",
    "std::io",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "std::time",
    "serde",
    "candle_core",
];

const REASON: &str = "// cannot fail: ";

pub fn printing(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = external(tree, |file, path| {
        let (path, instead) = PRINTING_PATHS.iter().find(|(forbidden, _)| path == *forbidden)?;
        (!file.is_in(&MAY_PRINT)).then(|| format!("`{path}`: {instead}"))
    });
    found.extend(in_source(tree, |file, kind, _| match kind {
        FactKind::Macro(name)
            if PRINTING_MACROS.contains(&name.as_str()) && !file.is_in(&MAY_PRINT) =>
        {
            Some(format!("`{name}!`: report to `Progress`, or return the text"))
        }
        _ => None,
    }));
    Ok(found)
}

/// Reports `std::process::Command` and calls of `Program::command` outside `engine/media`, which has typed
/// errors for them.
pub fn processes(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = external(tree, |file, path| {
        let starts = is_below(path, "std::process::Command") || path == "Command::new";
        (starts && !file.is_in(&MAY_START)).then(|| format!("`{path}`: {INSTEAD}"))
    });
    found.extend(in_source(tree, |file, kind, _| {
        let called = matches!(kind, FactKind::Method(name) if name == "command");
        let allowed = file.is_in(&MAY_START) || file.is_in(&[CLI]);
        (called && !allowed).then(|| format!("`.command()`: {INSTEAD}"))
    }));
    Ok(found)
}

pub fn pure_core(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = external(tree, |file, path| {
        let top = NOT_IN_CORE.iter().find(|top| is_below(path, top))?;
        file.is_in(&[CORE]).then(|| format!("core may not use `{top}`; do this in the engine"))
    });
    found.extend(in_manifests(tree, |manifest, dependency| {
        let name = dependency.name.as_str();
        let allowed = dependency.dev || CORE_DEPENDENCIES.contains(&name);
        let wrong = manifest.folder == CORE && !allowed;
        wrong.then(|| format!("core may not depend on `{name}`"))
    }));
    Ok(found)
}

/// Reports `unwrap()` without a reason on its line or in the comment above it: bad input ends in an error
/// that says what to do next, never in a panic.
pub fn unwraps(tree: &Tree) -> Result<Vec<Breach>, String> {
    let message = "`unwrap()`: return an error, or give the reason: `// cannot fail: …`";
    Ok(in_source(tree, |file, kind, line| {
        let called = match kind {
            FactKind::Method(name) => name == "unwrap",
            FactKind::Path(path) => path.len() > 1 && path.ends_with(&["unwrap".to_owned()]),
            _ => false,
        };
        (called && !has_reason(file, line)).then(|| message.to_owned())
    }))
}

fn has_reason(file: &SourceFile, line: usize) -> bool {
    let lines: Vec<&str> = file.text.lines().take(line).collect();
    let comment = lines.iter().rev().skip(1).take_while(|line| line.trim_start().starts_with("//"));
    comment.chain(lines.last()).any(|line| line.contains(REASON))
}

/// Whether `path` is `top` or below it: `std::fs::File` is below `std::fs`.
fn is_below(path: &str, top: &str) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}
