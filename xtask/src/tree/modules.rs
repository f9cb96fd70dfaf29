//! The module tree of each crate, with every path resolved to the module that defines it.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::DefinitionKind::{Trait, Type, Value};
use super::facts::{Definition, Fact, FactKind, Import};
use super::files::{Role, SourceFile};

/// Imports followed for one name before resolution gives up.
const MAX_IMPORTS: usize = 16;

/// A library or binary target.
pub struct Crate {
    /// The root first, parents before children.
    pub modules: Vec<Module>,
    /// The references of code outside tests.
    pub references: Vec<Reference>,
}

/// One module, in a file or inline.
pub struct Module {
    /// From the crate root: `["media", "probe"]`.
    pub path: Vec<String>,
    /// An index into the tree's files.
    pub file: usize,
    /// The enclosing inline modules in that file, itself included.
    inside: Vec<String>,
    /// None for the root.
    pub parent: Option<usize>,
    /// Position among its siblings, in order of declaration.
    pub position: usize,
    children: Vec<usize>,
    /// Compiled for tests only.
    test: bool,
}

/// What a path resolves to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A module of this crate.
    Module(usize),
    /// An item defined in this module of the crate.
    Item(usize),
    /// The full path of an item in another crate.
    External(Vec<String>),
}

/// A path in a module, resolved.
pub struct Reference {
    pub from: usize,
    pub to: Target,
    pub line: usize,
}

/// Builds the module tree of every crate, and marks files declared under `#[cfg(test)]` as tests.
pub fn build(files: &mut [SourceFile]) -> Vec<Crate> {
    let roots = (0..files.len()).filter(|&file| is_root(&files[file].path));
    let crates: Vec<Crate> = roots.map(|file| Builder::build(files, file)).collect();
    for module in crates.iter().flat_map(|krate| &krate.modules) {
        if module.test && module.inside.is_empty() {
            files[module.file].role = Role::Test;
        }
    }
    crates
}

/// `src/lib.rs`, `src/main.rs` and `src/bin/*.rs`.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    matches!(parts.as_slice(), [.., "src", "lib.rs" | "main.rs"] | [.., "src", "bin", _])
}

struct Builder<'a> {
    files: &'a [SourceFile],
    modules: Vec<Module>,
}

impl Builder<'_> {
    fn build(files: &[SourceFile], root: usize) -> Crate {
        let mut builder = Builder { files, modules: Vec::new() };
        builder.add(root, None, "", false);
        builder.read_file(0);
        let references = Resolver::new(&builder.modules, files).references();
        Crate { modules: builder.modules, references }
    }

    fn add(&mut self, file: usize, parent: Option<usize>, name: &str, test: bool) -> usize {
        let index = self.modules.len();
        let (mut path, mut position, mut inside) = (Vec::new(), 0, Vec::new());
        if let Some(parent) = parent {
            let above = &mut self.modules[parent];
            position = above.children.len();
            above.children.push(index);
            path = [above.path.as_slice(), &[name.to_owned()]].concat();
            if above.file == file {
                inside = [above.inside.as_slice(), &[name.to_owned()]].concat();
            }
        }
        let children = Vec::new();
        self.modules.push(Module { path, file, inside, parent, position, children, test });
        index
    }

    /// Adds the modules that the file of this module declares, recursively.
    fn read_file(&mut self, top: usize) {
        let (files, file, of_test) = (self.files, self.modules[top].file, self.modules[top].test);
        for fact in files[file].facts() {
            let FactKind::Module { name, inline } = &fact.kind else { continue };
            let mut inside = fact.inside.iter();
            let parent = inside.try_fold(top, |module, part| child(&self.modules, module, part));
            let Some(parent) = parent else { continue };
            let test = fact.test || of_test;
            if *inline {
                self.add(file, Some(parent), name, test);
            } else if let Some(found) = self.find_file(file, &fact.inside, name) {
                let child = self.add(found, Some(parent), name, test);
                self.read_file(child);
            }
        }
    }

    /// The file of `mod name;`, declared in a file inside these inline modules.
    fn find_file(&self, from: usize, inside: &[String], name: &str) -> Option<usize> {
        let path = &self.files[from].path;
        let base = match path.rsplit_once('/')? {
            (folder, "lib.rs" | "main.rs" | "mod.rs") => folder,
            _ => path.trim_end_matches(".rs"),
        };
        let base = [&[base.to_owned()], inside].concat().join("/");
        let candidates = [format!("{base}/{name}.rs"), format!("{base}/{name}/mod.rs")];
        self.files.iter().position(|file| candidates.contains(&file.path))
    }
}

fn child(modules: &[Module], of: usize, name: &str) -> Option<usize> {
    let children = &modules[of].children;
    children.iter().copied().find(|&child| modules[child].path.last().is_some_and(|n| n == name))
}

impl Crate {
    /// A module's name in messages: `media::probe`.
    pub fn name(&self, module: usize) -> String {
        self.modules[module].path.join("::")
    }

    /// A module's ancestors, from the root to the module itself.
    pub fn lineage(&self, module: usize) -> Vec<usize> {
        let parent = |&at: &usize| self.modules[at].parent;
        let mut lineage: Vec<usize> = std::iter::successors(Some(module), parent).collect();
        lineage.reverse();
        lineage
    }
}

/// Resolves names as the compiler does, as far as the rules need it.
struct Resolver<'a> {
    modules: &'a [Module],
    bodies: Vec<Body<'a>>,
}

/// The facts of one module, without those of inline modules in it.
#[derive(Default)]
struct Body<'a> {
    facts: Vec<&'a Fact>,
    items: BTreeSet<&'a str>,
    imports: BTreeMap<&'a str, &'a [String]>,
    globs: Vec<&'a [String]>,
}

impl<'a> Resolver<'a> {
    fn new(modules: &'a [Module], files: &'a [SourceFile]) -> Self {
        let bodies = modules.iter().map(|module| Body::read(module, &files[module.file]));
        Self { modules, bodies: bodies.collect() }
    }

    fn references(&self) -> Vec<Reference> {
        let outside_tests = (0..self.modules.len()).filter(|&module| !self.modules[module].test);
        let facts = outside_tests
            .flat_map(|from| self.bodies[from].facts.iter().map(move |fact| (from, *fact)));
        let reference = |(from, fact): (usize, &Fact)| {
            let (FactKind::Path(path) | FactKind::Import(Import { path, .. })) = &fact.kind else {
                return None;
            };
            Some(Reference { from, to: self.resolve(from, path, MAX_IMPORTS), line: fact.line })
        };
        facts.filter(|(_, fact)| !fact.test).filter_map(reference).collect()
    }

    /// Resolves a path that occurs in a module.
    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Target {
        let external = || Target::External(path.to_vec());
        let Some((first, rest)) = path.split_first() else { return external() };
        let start = match first.as_str() {
            _ if depth == 0 => None,
            "crate" | "$crate" => Some(Target::Module(0)),
            "self" => Some(Target::Module(from)),
            "super" => self.modules[from].parent.map(Target::Module),
            name => self.look_up(from, name, path, depth - 1),
        };
        start.map_or_else(external, |start| self.walk(start, rest, depth))
    }

    /// Resolves the rest of a path after its first name.
    fn walk(&self, start: Target, rest: &[String], depth: usize) -> Target {
        let Some((name, after)) = rest.split_first() else { return start };
        match start {
            Target::Item(module) => Target::Item(module),
            Target::External(path) => Target::External([path.as_slice(), rest].concat()),
            Target::Module(module) if depth == 0 => Target::Item(module),
            Target::Module(module) => {
                let next = match name.as_str() {
                    "super" => self.modules[module].parent.map(Target::Module),
                    _ => self.look_up(module, name, rest, depth - 1),
                };
                next.map_or(Target::Item(module), |next| self.walk(next, after, depth - 1))
            }
        }
    }

    /// Resolves a name in a module: a child module, an item or an import.
    fn look_up(&self, module: usize, name: &str, path: &[String], depth: usize) -> Option<Target> {
        if let Some(child) = child(self.modules, module, name) {
            return Some(Target::Module(child));
        }
        if self.bodies[module].items.contains(name) {
            return Some(Target::Item(module));
        }
        if let Some(import) = self.bodies[module].imports.get(name) {
            // `use png;` names the crate `png`; resolving `png` again would not terminate.
            let circular = import.len() == 1 && import.first() == path.first();
            return (!circular).then(|| self.resolve(module, import, depth));
        }
        let depth = depth.checked_sub(1)?;
        let mut globs = self.bodies[module].globs.iter();
        globs.find_map(|glob| match self.resolve(module, glob, depth) {
            Target::Module(other) if other != module => self.look_up(other, name, path, depth),
            _ => None,
        })
    }
}

impl<'a> Body<'a> {
    fn read(module: &Module, file: &'a SourceFile) -> Self {
        let mut body = Self::default();
        for fact in file.facts().iter().filter(|fact| fact.inside == module.inside) {
            body.facts.push(fact);
            match &fact.kind {
                FactKind::Definition(Definition {
                    name, kind: Type | Trait(_) | Value, ..
                }) => {
                    body.items.insert(name);
                }
                FactKind::Import(import) => match &import.name {
                    Some(name) => _ = body.imports.insert(name, &import.path),
                    None => body.globs.push(&import.path),
                },
                _ => {}
            }
        }
        body
    }
}
