//! Rule `test-only`: every item is used outside tests.
//!
//! The check follows names, not types. Starting from `main`, benchmarks, examples, build scripts and
//! fuzz targets, a name in used code makes every definition of that name used; an import alone is no
//! use. So an unused item can hide behind a common name, but a used one is not reported.

use std::collections::BTreeSet;

use super::breach::{Breach, without_allowed};
use crate::tree::Tree;
use crate::tree::facts::{DefinitionKind, Fact, FactKind};
use crate::tree::files::{Role, SourceFile};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Name<'a> {
    /// An item, by itself or in a path.
    Item(&'a str),
    /// A function or constant of a type or trait: `.name()` or `Type::name`.
    Associated(&'a str),
}

/// A definition, the names that make it used, and the names that it uses.
struct Node<'a> {
    file: &'a SourceFile,
    line: usize,
    /// `name`, or `Type::name`; none for impl blocks and imports, which are not reported.
    path: Option<String>,
    /// One of these must be used; empty is no condition.
    any: Vec<Name<'a>>,
    /// All of these must be used, if they are types or traits of the workspace.
    all: Vec<Name<'a>>,
    uses: Vec<Name<'a>>,
}

pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut used = BTreeSet::from([Name::Item("main")]);
    let mut nodes = Vec::new();
    for file in &tree.files {
        let mut node_of = vec![None; file.facts().len()];
        for (index, fact) in file.facts().iter().enumerate() {
            if fact.test || file.role == Role::Test {
                continue;
            }
            if let Some(node) = node(file, fact) {
                node_of[index] = (file.role == Role::Source).then_some(nodes.len());
                nodes.push(node);
            }
            match fact.owner.and_then(|owner| node_of[owner]) {
                Some(owner) => nodes[owner].uses.extend(uses(fact)),
                None => used.extend(uses(fact)),
            }
        }
    }
    let found = unused(&mut used, nodes).into_iter().filter_map(|node| {
        let path = node.path.filter(|_| node.file.role == Role::Source)?;
        let message = format!("`{path}` is not used outside tests: delete it, or move it there");
        let key = format!("{}::{path}", node.file.package());
        Some((key, Breach::at(&node.file.path, node.line, message)))
    });
    without_allowed(tree, "test-only", found.collect())
}

fn uses(fact: &Fact) -> Vec<Name<'_>> {
    match &fact.kind {
        FactKind::Path(path) => {
            let associated = path.iter().skip(1).map(|name| Name::Associated(name));
            path.iter().map(|name| Name::Item(name)).chain(associated).collect()
        }
        FactKind::Macro(name) => vec![Name::Item(name)],
        FactKind::Method(name) => vec![Name::Associated(name)],
        _ => Vec::new(),
    }
}

fn node<'a>(file: &'a SourceFile, fact: &'a Fact) -> Option<Node<'a>> {
    let node = |path, any, all, uses| Some(Node { file, line: fact.line, path, any, all, uses });
    let definition = match &fact.kind {
        FactKind::Definition(definition) => definition,
        // After `use a::b as c`, a use of `c` is one of `b`.
        FactKind::Import(import) => {
            let (name, original) = (import.name.as_deref()?, import.path.last()?);
            return node(None, vec![Name::Item(name)], vec![], vec![Name::Item(original)]);
        }
        FactKind::Impl { .. } => return node(None, vec![], impl_names(fact), vec![]),
        _ => return None,
    };
    let name = definition.name.as_str();
    let (path, item) = (Some(name.to_owned()), Name::Item(name));
    match &definition.kind {
        DefinitionKind::Type | DefinitionKind::Value | DefinitionKind::Macro => {
            node(path, vec![item], vec![], vec![])
        }
        // A call of its functions uses a trait without naming it.
        DefinitionKind::Trait(functions) => {
            let functions = functions.iter().map(|name| Name::Associated(name));
            node(path, functions.chain([item]).collect(), vec![], vec![item])
        }
        DefinitionKind::Associated => {
            let of = impl_names(&file.facts()[fact.owner?]);
            let Some(Name::Item(type_name)) = of.last() else { return None };
            let path = Some(format!("{type_name}::{name}"));
            node(path, vec![Name::Associated(name)], of, vec![])
        }
    }
}

/// The names of an impl block's trait and type.
fn impl_names(fact: &Fact) -> Vec<Name<'_>> {
    let FactKind::Impl { of_trait, self_type } = &fact.kind else { return Vec::new() };
    of_trait.iter().chain(self_type).map(|name| Name::Item(name)).collect()
}

/// Follows the uses until no node becomes used, and returns the other nodes.
fn unused<'a>(used: &mut BTreeSet<Name<'a>>, mut nodes: Vec<Node<'a>>) -> Vec<Node<'a>> {
    let defined: BTreeSet<Name> =
        nodes.iter().filter(|node| node.path.is_some()).flat_map(|node| node.any.clone()).collect();
    let types_used = |node: &Node, used: &BTreeSet<Name>| {
        node.all.iter().all(|name| used.contains(name) || !defined.contains(name))
    };
    let mut before = usize::MAX;
    while nodes.len() < before {
        before = nodes.len();
        nodes.retain(|node| {
            let named = node.any.is_empty() || node.any.iter().any(|name| used.contains(name));
            let is_used = named && types_used(node, used);
            if is_used {
                used.extend(&node.uses);
            }
            !is_used
        });
    }
    // The functions of an unused type are not reported beside it.
    nodes.retain(|node| types_used(node, used));
    nodes
}
