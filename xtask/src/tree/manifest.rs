//! Packages and what they depend on, from their Cargo.toml.

use std::path::Path;

use toml::de::{DeTable, DeValue};

/// One package's Cargo.toml.
pub struct Manifest {
    /// Its path from the root.
    pub path: String,
    /// The folder of the package from the root: `crates/core`.
    pub folder: String,
    /// Everything it depends on.
    pub dependencies: Vec<Dependency>,
}

/// One line of a `…dependencies` table.
pub struct Dependency {
    /// The package's name.
    pub name: String,
    /// Where it stands.
    pub line: usize,
    /// Whether only tests and benchmarks need it.
    pub dev: bool,
}

/// Reads the Cargo.toml of every package among the paths.
pub fn read(root: &Path, paths: &[String]) -> Result<Vec<Manifest>, String> {
    let packages = paths.iter().filter(|path| path.ends_with("/Cargo.toml"));
    packages.map(|path| read_one(root, path)).collect()
}

fn read_one(root: &Path, path: &str) -> Result<Manifest, String> {
    let text = std::fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: {e}"))?;
    let table = DeTable::parse(&text).map_err(|e| format!("{path}: {e}"))?;
    let mut dependencies = Vec::new();
    collect(table.get_ref(), &text, &mut dependencies);
    let folder = path.trim_end_matches("/Cargo.toml").to_owned();
    Ok(Manifest { path: path.to_owned(), folder, dependencies })
}

/// Tables of dependencies stand at the top and under `target.'cfg(…)'`.
fn collect(table: &DeTable<'_>, text: &str, found: &mut Vec<Dependency>) {
    for (key, value) in table {
        let DeValue::Table(inner) = value.get_ref() else { continue };
        if !key.get_ref().ends_with("dependencies") {
            collect(inner, text, found);
            continue;
        }
        let dev = key.get_ref().as_ref() == "dev-dependencies";
        found.extend(inner.iter().map(|(name, how)| Dependency {
            name: real_name(name.get_ref(), how.get_ref()),
            line: text[..name.span().start].matches('\n').count() + 1,
            dev,
        }));
    }
}

/// `short = { package = "long" }` is about `long`.
fn real_name(name: &str, how: &DeValue<'_>) -> String {
    match how {
        DeValue::Table(table) => match table.get("package").map(|value| value.get_ref()) {
            Some(DeValue::String(package)) => package.to_string(),
            _ => name.to_owned(),
        },
        _ => name.to_owned(),
    }
}
