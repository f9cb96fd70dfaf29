//! Finds and reads the files of the workspace: Rust source, parsed, and Markdown documents.

use std::path::Path;

use super::facts::{self, Fact};

/// Folders without source code, at any depth.
const SKIPPED: [&str; 3] = ["target", "demo", "node_modules"];

pub struct SourceFile {
    /// From the workspace root, with `/`.
    pub path: String,
    pub text: String,
    /// The facts, or the line and message of a syntax error.
    pub facts: Result<Vec<Fact>, (usize, String)>,
    /// Lines in items compiled for tests only.
    pub test_lines: usize,
    pub role: Role,
}

/// What a file is compiled for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A library or binary.
    Source,
    Test,
    /// A benchmark, example, build script or fuzz target.
    Auxiliary,
}

impl SourceFile {
    /// All facts; none if the file does not parse.
    pub fn facts(&self) -> &[Fact] {
        self.facts.as_deref().unwrap_or_default()
    }

    /// The facts of code in a library or binary, without tests.
    pub fn source_facts(&self) -> impl Iterator<Item = &Fact> {
        self.facts().iter().filter(|fact| !fact.test && self.role == Role::Source)
    }

    pub fn is_in(&self, folders: &[&str]) -> bool {
        folders
            .iter()
            .any(|folder| self.path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    }

    /// The name of the package's folder: `engine` for `crates/engine/src/…`.
    pub fn package(&self) -> &str {
        let folder = self.path.split("/src/").next().unwrap_or_default();
        folder.rsplit('/').next().unwrap_or_default()
    }
}

pub struct Document {
    pub path: String,
    pub text: String,
}

/// Lists all files under `root` as sorted relative paths.
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

/// Reads a text file; the error names it.
pub fn read_text(root: &Path, path: &str) -> Result<String, String> {
    std::fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: {e}"))
}

pub fn read_sources(root: &Path, paths: &[String]) -> Result<Vec<SourceFile>, String> {
    let sources = paths.iter().filter(|path| path.ends_with(".rs"));
    let parse = |path: &String| {
        let text = read_text(root, path)?;
        let (facts, test_lines) = match syn::parse_file(&text).map(|file| facts::read(&file)) {
            Ok((facts, test_lines)) => (Ok(facts), test_lines),
            Err(error) => (Err((error.span().start().line, error.to_string())), 0),
        };
        Ok(SourceFile { path: path.clone(), text, facts, test_lines, role: role(path) })
    };
    sources.map(parse).collect()
}

pub fn read_documents(root: &Path, paths: &[String]) -> Result<Vec<Document>, String> {
    let documents = paths.iter().filter(|path| path.ends_with(".md"));
    documents
        .map(|path| Ok(Document { path: path.clone(), text: read_text(root, path)? }))
        .collect()
}

fn role(path: &str) -> Role {
    match path.split('/').find(|part| matches!(*part, "src" | "tests")) {
        Some("src") => Role::Source,
        Some(_) => Role::Test,
        None => Role::Auxiliary,
    }
}
