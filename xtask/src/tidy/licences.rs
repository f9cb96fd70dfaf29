//! Rule `licence`: what we build on may be passed on. cargo-deny checks more, this needs nothing.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::breach::Found;
use crate::tree::Tree;

const FILE: &str = "deny.toml";

/// Packages whose licence is not in deny.toml's list.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let allowed = allowed(&tree.root)?;
    let packages = packages(&tree.root)?;
    let refused = packages.iter().filter_map(|package| refused(package, &allowed));
    Ok(refused.map(|message| Found::at(FILE, 1, message)).collect())
}

/// `licenses.allow` of deny.toml.
fn allowed(root: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root.join(FILE)).map_err(|e| format!("{FILE}: {e}"))?;
    let table = DeTable::parse(&text).map_err(|e| format!("{FILE}: {e}"))?;
    let list = match table.get_ref().get("licenses").map(|value| value.get_ref()) {
        Some(DeValue::Table(licences)) => licences.get("allow").map(|value| value.get_ref()),
        _ => None,
    };
    let Some(DeValue::Array(list)) = list else {
        return Err(format!("{FILE}: licenses.allow is missing"));
    };
    let names = list.iter().filter_map(|value| match value.get_ref() {
        DeValue::String(name) => Some(name.to_string()),
        _ => None,
    });
    Ok(names.collect())
}

/// Every package that the lock file names, as `cargo metadata` describes it.
fn packages(root: &Path) -> Result<Vec<Value>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--format-version=1", "--filter-platform", HOST];
    let done = Command::new(cargo).args(arguments).current_dir(root).output();
    let done = done.map_err(|e| format!("cargo metadata: {e}"))?;
    if !done.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&done.stderr).trim()));
    }
    let described: Value =
        serde_json::from_slice(&done.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    Ok(described["packages"].as_array().cloned().unwrap_or_default())
}

/// The platform we ship for; packages of others are not in what we pass on.
const HOST: &str = "x86_64-unknown-linux-gnu";

fn refused(package: &Value, allowed: &[String]) -> Option<String> {
    let name = format!("{} {}", package["name"].as_str()?, package["version"].as_str()?);
    let Some(licence) = package["license"].as_str() else {
        return Some(format!("{name} does not say its licence"));
    };
    let fine = Expression::new(licence, allowed).any();
    (!fine).then(|| format!("{name} is under `{licence}`, which licenses.allow does not cover"))
}

/// An SPDX expression, read from left to right: OR of ANDs of licences and brackets.
struct Expression<'a> {
    words: std::iter::Peekable<std::vec::IntoIter<String>>,
    allowed: &'a [String],
}

impl<'a> Expression<'a> {
    fn new(text: &str, allowed: &'a [String]) -> Self {
        let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let words: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
        Self { words: words.into_iter().peekable(), allowed }
    }

    fn any(&mut self) -> bool {
        let mut fine = self.all();
        while self.words.next_if(|word| word == "OR").is_some() {
            fine |= self.all();
        }
        fine
    }

    fn all(&mut self) -> bool {
        let mut fine = self.one();
        while self.words.next_if(|word| word == "AND").is_some() {
            fine &= self.one();
        }
        fine
    }

    fn one(&mut self) -> bool {
        let Some(mut name) = self.words.next() else { return false };
        if name == "(" {
            let fine = self.any();
            return self.words.next().is_some_and(|word| word == ")") && fine;
        }
        if self.words.next_if(|word| word == "WITH").is_some() {
            name = format!("{name} WITH {}", self.words.next().unwrap_or_default());
        }
        self.allowed.contains(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_licence_expressions() {
        let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
        let table = [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(GPL-3.0 OR MIT) AND Zlib", true),
            ("(GPL-3.0 OR MIT) AND Unlicense", false),
            ("GPL-3.0 OR MIT AND Zlib", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0", false),
            ("", false),
            ("(MIT", false),
        ];
        for (text, fine) in table {
            assert_eq!(Expression::new(text, &allowed).any(), fine, "{text}");
        }
    }
}
