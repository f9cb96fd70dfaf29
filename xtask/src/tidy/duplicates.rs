//! Rule `duplicate-type`: in one package a public type name means one thing.

use std::collections::BTreeMap;

use super::breach::{Breach, without_allowed};
use crate::tree::Tree;
use crate::tree::facts::{DefinitionKind, FactKind};

/// Reports public structs, enums, traits and type aliases of the same name in several modules.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut places: BTreeMap<String, BTreeMap<_, (&str, usize)>> = BTreeMap::new();
    for file in &tree.files {
        for fact in file.source_facts() {
            if let FactKind::Definition(definition) = &fact.kind
                && let DefinitionKind::Type | DefinitionKind::Trait(_) = definition.kind
                && definition.public
            {
                let key = format!("{}::{}", file.package(), definition.name);
                // In one module, two of the same name are alternatives under `#[cfg]`.
                let module = (&file.path, &fact.inside);
                places.entry(key).or_default().entry(module).or_insert((&file.path, fact.line));
            }
        }
    }
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    let found = repeated.map(|(key, places)| {
        let mut places = places.into_values();
        let (file, line) = places.next().unwrap_or_default();
        let others: Vec<String> = places.map(|(file, line)| format!("{file}:{line}")).collect();
        let message = format!("`{key}` is also defined at {}; merge or rename", others.join(", "));
        (key, Breach::at(file, line, message))
    });
    without_allowed(tree, "duplicate-type", found.collect())
}
