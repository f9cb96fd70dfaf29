//! Cargo.toml of every package: its dependencies; and what else is read from TOML files.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::files::read_text;

pub struct Manifest {
    pub path: String,
    /// The package's folder: `crates/core`.
    pub folder: String,
    pub dependencies: Vec<Dependency>,
}

/// One entry of a `…dependencies` table.
pub struct Dependency {
    /// The package's own name, if the entry renames it.
    pub name: String,
    pub line: usize,
    /// For tests and benchmarks only.
    pub dev: bool,
}

pub fn read(root: &Path, paths: &[String]) -> Result<Vec<Manifest>, String> {
    let packages = paths.iter().filter(|path| path.ends_with("/Cargo.toml"));
    packages.map(|path| read_one(root, path)).collect()
}

fn read_one(root: &Path, path: &str) -> Result<Manifest, String> {
    let text = read_text(root, path)?;
    let table = DeTable::parse(&text).map_err(|e| format!("{path}: {e}"))?;
    let mut dependencies = Vec::new();
    collect(table.get_ref(), &text, &mut dependencies);
    let folder = path.trim_end_matches("/Cargo.toml").to_owned();
    Ok(Manifest { path: path.to_owned(), folder, dependencies })
}

/// Dependencies are at the top and under `target.'cfg(…)'`.
fn collect(table: &DeTable<'_>, text: &str, found: &mut Vec<Dependency>) {
    for (key, value) in table {
        let DeValue::Table(inner) = value.get_ref() else { continue };
        if !key.get_ref().ends_with("dependencies") {
            collect(inner, text, found);
            continue;
        }
        let dev = key.get_ref().as_ref() == "dev-dependencies";
        found.extend(inner.iter().map(|(name, entry)| Dependency {
            name: package_name(name.get_ref(), entry.get_ref()),
            line: line_of(name, text),
            dev,
        }));
    }
}

/// `short = { package = "long" }` is `long`.
fn package_name(name: &str, entry: &DeValue<'_>) -> String {
    let package = entry.get("package").and_then(|value| value.get_ref().as_str());
    package.unwrap_or(name).to_owned()
}

/// Reads an array of strings in a table of a TOML file.
pub fn read_strings(
    root: &Path,
    file: &str,
    table: &str,
    key: &str,
) -> Result<Vec<String>, String> {
    let text = read_text(root, file)?;
    let top = DeTable::parse(&text).map_err(|e| format!("{file}: {e}"))?;
    let value = top.get_ref().get(table).and_then(|value| value.get_ref().get(key));
    let array = value.and_then(|value| value.get_ref().as_array());
    let array = array.ok_or_else(|| format!("{file}: {table}.{key} is missing"))?;
    Ok(array.iter().filter_map(|value| value.get_ref().as_str()).map(str::to_owned).collect())
}

/// The line of a TOML key or value, 1-based.
pub fn line_of<T>(spanned: &Spanned<T>, text: &str) -> usize {
    text[..spanned.span().start].matches('\n').count() + 1
}
