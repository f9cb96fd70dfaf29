//! Finding and parsing the source files.

use std::path::Path;

use super::facts::{self, Fact};

/// Folders that hold no source of ours, wherever they stand.
const SKIPPED: [&str; 3] = ["target", "demo", "node_modules"];

/// One `.rs` file.
pub struct SourceFile {
    /// Its path from the root, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
    /// What it says, or why it cannot be parsed.
    pub facts: Result<Vec<Fact>, (usize, String)>,
    /// Whether it is compiled only for tests, benchmarks, examples or the build.
    pub aside: bool,
}

impl SourceFile {
    /// The facts that end up in the library or program, which the rules are about.
    pub fn shipped(&self) -> impl Iterator<Item = &Fact> {
        let facts = self.facts.as_deref().unwrap_or_default();
        facts.iter().filter(|fact| !fact.test && !self.aside)
    }

    /// Whether the file stands under this folder.
    pub fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    }
}

/// All files below a folder, as sorted paths from it.
pub fn find(root: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    find_below(root, "", &mut found)?;
    found.sort();
    Ok(found)
}

fn find_below(root: &Path, folder: &str, found: &mut Vec<String>) -> Result<(), String> {
    let place = root.join(folder);
    let entries = std::fs::read_dir(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    for entry in entries {
        let entry = entry.map_err(|e| format!("{}: {e}", place.display()))?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with('.') || SKIPPED.contains(&name.as_str()) {
            continue;
        }
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => find_below(root, &path, found)?,
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
    Ok(())
}

/// Reads and parses every `.rs` file among the paths.
pub fn read(root: &Path, paths: &[String]) -> Result<Vec<SourceFile>, String> {
    paths.iter().filter(|path| path.ends_with(".rs")).map(|path| read_one(root, path)).collect()
}

fn read_one(root: &Path, path: &str) -> Result<SourceFile, String> {
    let text = std::fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: {e}"))?;
    let facts = match syn::parse_file(&text) {
        Ok(file) => Ok(facts::read(&file)),
        Err(error) => Err((error.span().start().line, error.to_string())),
    };
    Ok(SourceFile { path: path.to_owned(), text, facts, aside: is_aside(path) })
}

/// Files beside `src`: tests, benchmarks, examples, build scripts, fuzz targets.
fn is_aside(path: &str) -> bool {
    !path.split('/').any(|part| part == "src")
}
