//! Parses a source file into a flat list of facts (definitions, paths, imports, calls) for the rules.

use proc_macro2::{Delimiter, Literal, Spacing, Span, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, ImplItem, Item, TraitItem, Type, UseTree, Visibility};

pub struct Fact {
    /// 1-based.
    pub line: usize,
    /// The enclosing inline modules, outermost first.
    pub inside: Vec<String>,
    /// Compiled for tests only.
    pub test: bool,
    /// The innermost enclosing definition, as an index into the file's facts.
    pub owner: Option<usize>,
    pub kind: FactKind,
}

pub enum FactKind {
    /// A path in an expression, type, pattern, attribute or macro: `media::probe`.
    Path(Vec<String>),
    Import(Import),
    /// A macro call: `println`.
    Macro(String),
    /// A method call: `unwrap`.
    Method(String),
    Definition(Definition),
    /// An impl block: the last names of its trait and of its type.
    Impl {
        of_trait: Option<String>,
        self_type: Option<String>,
    },
    /// `mod name;` or `mod name { … }`.
    Module {
        name: String,
        inline: bool,
    },
}

/// One leaf of a `use`.
pub struct Import {
    /// The imported path; for a glob, the module.
    pub path: Vec<String>,
    /// The name it gets here; none for a glob.
    pub name: Option<String>,
}

/// An item, or an associated function or constant.
pub struct Definition {
    pub name: String,
    pub kind: DefinitionKind,
    /// `pub`, with any visibility.
    pub public: bool,
}

#[derive(PartialEq, Eq)]
pub enum DefinitionKind {
    /// A struct, enum or type alias.
    Type,
    /// A trait, with the names of its functions.
    Trait(Vec<String>),
    /// A function, constant or static.
    Value,
    /// A function or constant of an inherent impl.
    Associated,
    Macro,
}

/// Returns a file's facts in source order, and the number of lines in items compiled for tests only.
pub fn read(file: &syn::File) -> (Vec<Fact>, usize) {
    let mut reader = Reader::default();
    reader.visit_file(file);
    (reader.facts, reader.test_lines)
}

#[derive(Default)]
struct Reader {
    inside: Vec<String>,
    test: bool,
    owner: Option<usize>,
    facts: Vec<Fact>,
    test_lines: usize,
}

impl Reader {
    fn push(&mut self, span: Span, kind: FactKind) {
        let (line, inside) = (span.start().line, self.inside.clone());
        self.facts.push(Fact { line, inside, test: self.test, owner: self.owner, kind });
    }

    /// Pushes a definition or impl block; until the end of the current scope, facts belong to it.
    fn define(&mut self, span: Span, kind: FactKind) {
        self.push(span, kind);
        self.owner = Some(self.facts.len() - 1);
    }

    /// Runs `walk` over an item with these attributes, then restores the state from before.
    fn scoped(&mut self, attributes: &[Attribute], item: Span, walk: impl FnOnce(&mut Self)) {
        let before = (self.test, self.owner);
        if !self.test && attributes.iter().any(is_for_tests) {
            self.test = true;
            self.test_lines += item.end().line + 1 - item.start().line;
        }
        walk(self);
        (self.test, self.owner) = before;
    }

    fn import(&mut self, tree: &UseTree, before: &[String]) {
        let extended = |name: &Ident| match name {
            name if name == "self" => before.to_vec(),
            name => [before, &[name.to_string()]].concat(),
        };
        let (span, path, name) = match tree {
            UseTree::Path(part) => return self.import(&part.tree, &extended(&part.ident)),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.import(item, before));
            }
            UseTree::Name(leaf) => {
                let path = extended(&leaf.ident);
                let name = path.last().cloned();
                (leaf.ident.span(), path, name)
            }
            UseTree::Rename(leaf) => {
                (leaf.ident.span(), extended(&leaf.ident), Some(leaf.rename.to_string()))
            }
            UseTree::Glob(leaf) => (leaf.star_token.spans[0], before.to_vec(), None),
        };
        self.push(span, FactKind::Import(Import { path, name }));
    }

    /// Finds paths, macro calls and method calls in unparsed tokens, as in `vec![…]`.
    fn scan(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Ident(first) => {
                    at = self.scan_path(first.span(), &trees, at);
                    continue;
                }
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Literal(literal) => self.scan_format_string(literal),
                TokenTree::Punct(_) => {}
            }
            at += 1;
        }
    }

    /// Pushes the path that starts at `at`, and returns where it ends.
    fn scan_path(&mut self, span: Span, trees: &[TokenTree], at: usize) -> usize {
        let (path, end) = longest_path(trees, at);
        let last = path.last().cloned().unwrap_or_default();
        let group = |index: usize| match trees.get(index) {
            Some(TokenTree::Group(group)) => Some(group.delimiter()),
            _ => None,
        };
        let punct = |index: usize, sign: char| matches!(trees.get(index), Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
        let is_call = group(end) == Some(Delimiter::Parenthesis) || punct(end, ':');
        if punct(end, '!') && group(end + 1).is_some() {
            self.push(span, FactKind::Macro(last));
        } else if at == 0 || !punct(at - 1, '.') {
            self.push(span, FactKind::Path(path));
        } else if is_call {
            self.push(span, FactKind::Method(last));
        }
        end
    }

    /// Pushes the names that a format string captures: `"{WIDTH}"`.
    fn scan_format_string(&mut self, literal: &Literal) {
        for part in literal.to_string().split('{').skip(1) {
            let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
            if end > 0 && part[end..].starts_with(['}', ':']) {
                self.push(literal.span(), FactKind::Path(vec![part[..end].to_owned()]));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, definition) = describe(item);
        self.scoped(attributes, item.span(), |reader| {
            if let Some((span, kind)) = definition {
                reader.define(span, kind);
            }
            visit::visit_item(reader, item);
        });
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let (attributes, vis, name) = match item {
            ImplItem::Fn(function) => (&function.attrs, &function.vis, &function.sig.ident),
            ImplItem::Const(constant) => (&constant.attrs, &constant.vis, &constant.ident),
            _ => return visit::visit_impl_item(self, item),
        };
        let owner = self.owner.map(|owner| &self.facts[owner].kind);
        let inherent = matches!(owner, Some(FactKind::Impl { of_trait: None, .. }));
        self.scoped(attributes, item.span(), |reader| {
            if inherent {
                reader.define(name.span(), definition(name, DefinitionKind::Associated, vis));
            }
            visit::visit_impl_item(reader, item);
        });
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let (name, inline) = (module.ident.to_string(), module.content.is_some());
        self.push(module.ident.span(), FactKind::Module { name: name.clone(), inline });
        self.inside.push(name);
        visit::visit_item_mod(self, module);
        self.inside.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.import(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(first) = path.segments.first() {
            let names = path.segments.iter().map(|part| part.ident.to_string()).collect();
            self.push(first.ident.span(), FactKind::Path(names));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(last) = call.path.segments.last() {
            self.push(last.ident.span(), FactKind::Macro(last.ident.to_string()));
        }
        self.visit_path(&call.path);
        self.scan(call.tokens.clone());
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.push(call.method.span(), FactKind::Method(call.method.to_string()));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        let syn::Meta::List(list) = &attribute.meta else { return };
        self.scan(list.tokens.clone());
        if list.path.is_ident("serde") {
            // `#[serde(default = "path::to::function")]`
            let strings = list.tokens.clone().into_iter().map(|tree| syn::parse2(tree.into()));
            let paths = strings.flat_map(|it| it.and_then(|it: syn::LitStr| it.parse()));
            paths.for_each(|path| self.visit_path(&path));
        }
    }

    // `pub(in crate::a)` is no use of `crate::a`.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

/// The names joined by `::` from `at` on, and where they end.
fn longest_path(trees: &[TokenTree], at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    let mut end = at;
    while let Some(TokenTree::Ident(name)) = trees.get(end) {
        path.push(name.to_string());
        end += 1;
        let joined = matches!(trees.get(end), Some(TokenTree::Punct(first))
            if first.as_char() == ':' && first.spacing() == Spacing::Joint)
            && matches!(trees.get(end + 2), Some(TokenTree::Ident(_)));
        if !joined {
            break;
        }
        end += 2;
    }
    (path, end)
}

fn is_public(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

/// `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`, but not `#[cfg(not(test))]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => needs_test(list.tokens.clone()),
        meta => meta.path().is_ident("test"),
    }
}

fn needs_test(tokens: TokenStream) -> bool {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let named = |index: usize, name: &str| matches!(trees.get(index), Some(TokenTree::Ident(ident)) if ident == name);
    (0..trees.len()).any(|index| match &trees[index] {
        TokenTree::Group(group) => {
            index > 0 && named(index - 1, "all") && needs_test(group.stream())
        }
        _ => named(index, "test"),
    })
}

fn definition(name: &Ident, kind: DefinitionKind, visibility: &Visibility) -> FactKind {
    FactKind::Definition(Definition { name: name.to_string(), kind, public: is_public(visibility) })
}

/// An item's attributes and what it defines; modules and imports have facts of their own.
fn describe(item: &Item) -> (&[Attribute], Option<(Span, FactKind)>) {
    use DefinitionKind::{Macro, Trait, Type, Value};
    let (attributes, vis, name, kind) = match item {
        Item::Const(item) => (&item.attrs, &item.vis, &item.ident, Value),
        Item::Fn(item) => (&item.attrs, &item.vis, &item.sig.ident, Value),
        Item::Static(item) => (&item.attrs, &item.vis, &item.ident, Value),
        Item::Enum(item) => (&item.attrs, &item.vis, &item.ident, Type),
        Item::Struct(item) => (&item.attrs, &item.vis, &item.ident, Type),
        Item::Type(item) => (&item.attrs, &item.vis, &item.ident, Type),
        Item::Trait(item) => (&item.attrs, &item.vis, &item.ident, Trait(function_names(item))),
        Item::Macro(item) => match &item.ident {
            Some(name) => (&item.attrs, &Visibility::Inherited, name, Macro),
            None => return (&item.attrs, None),
        },
        Item::Impl(block) => {
            let of_trait = block.trait_.as_ref().and_then(|(_, path, _)| last_name(path));
            let kind = FactKind::Impl { of_trait, self_type: type_name(&block.self_ty) };
            return (&block.attrs, Some((block.span(), kind)));
        }
        Item::Mod(item) => return (&item.attrs, None),
        Item::Use(item) => return (&item.attrs, None),
        _ => return (&[], None),
    };
    (attributes, Some((name.span(), definition(name, kind, vis))))
}

fn function_names(item: &syn::ItemTrait) -> Vec<String> {
    let functions = item.items.iter().filter_map(|item| match item {
        TraitItem::Fn(function) => Some(function.sig.ident.to_string()),
        _ => None,
    });
    functions.collect()
}

fn last_name(path: &syn::Path) -> Option<String> {
    path.segments.last().map(|part| part.ident.to_string())
}

fn type_name(of: &Type) -> Option<String> {
    match of {
        Type::Path(path) => last_name(&path.path),
        Type::Reference(reference) => type_name(&reference.elem),
        Type::Slice(slice) => type_name(&slice.elem),
        Type::Array(array) => type_name(&array.elem),
        _ => None,
    }
}
