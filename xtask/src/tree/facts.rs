//! What a source file says, as a flat list of facts that the rules filter.

use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// One thing a file says.
pub struct Fact {
    /// Where, from 1.
    pub line: usize,
    /// The inline modules around it, outermost first.
    pub inside: Vec<String>,
    /// Whether only tests compile it.
    pub test: bool,
    /// What it says.
    pub what: What,
}

/// The kinds of fact.
pub enum What {
    /// A path in an expression, type, pattern or macro: `media::probe`.
    Path(Vec<String>),
    /// One name brought in by `use`.
    Import(Import),
    /// A macro call: `println`.
    Macro(String),
    /// A method call: `unwrap`.
    Method(String),
    /// A named item is defined here.
    Item(String),
    /// A module is declared here.
    Module(Declaration),
}

/// One leaf of a `use`.
pub struct Import {
    /// What is brought in; for a glob the module whose names are.
    pub path: Vec<String>,
    /// The name it gets here; none for a glob.
    pub name: Option<String>,
    /// Whether others may reach it from here (`pub use`).
    pub public: bool,
}

/// `mod name;` or `mod name { … }`.
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// Whether its body stands here.
    pub inline: bool,
    /// The file named by a `#[path]` attribute.
    pub path: Option<String>,
}

/// Reads all facts of a file, in the order in which they stand.
pub fn read(file: &syn::File) -> Vec<Fact> {
    let mut reader = Reader { inside: Vec::new(), test: false, facts: Vec::new() };
    reader.visit_file(file);
    reader.facts
}

struct Reader {
    inside: Vec<String>,
    test: bool,
    facts: Vec<Fact>,
}

impl Reader {
    fn say(&mut self, span: Span, what: What) {
        let (line, inside, test) = (span.start().line, self.inside.clone(), self.test);
        self.facts.push(Fact { line, inside, test, what });
    }

    /// Goes on with `walk`, knowing whether these attributes say that this is for tests.
    fn under(&mut self, attributes: &[Attribute], walk: impl FnOnce(&mut Self)) {
        let before = self.test;
        self.test |= attributes.iter().any(is_for_tests);
        walk(self);
        self.test = before;
    }

    fn import(&mut self, tree: &UseTree, before: &[String], public: bool) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(part) => self.import(&part.tree, &with(part.ident.to_string()), public),
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.import(item, before, public));
            }
            UseTree::Name(leaf) if leaf.ident == "self" => {
                let name = before.last().cloned();
                self.leaf(leaf.ident.span(), before.to_vec(), name, public);
            }
            UseTree::Name(leaf) => {
                let name = leaf.ident.to_string();
                self.leaf(leaf.ident.span(), with(name.clone()), Some(name), public);
            }
            UseTree::Rename(leaf) => {
                let path = if leaf.ident == "self" {
                    before.to_vec()
                } else {
                    with(leaf.ident.to_string())
                };
                self.leaf(leaf.ident.span(), path, Some(leaf.rename.to_string()), public);
            }
            UseTree::Glob(leaf) => {
                self.leaf(leaf.star_token.spans[0], before.to_vec(), None, public);
            }
        }
    }

    fn leaf(&mut self, span: Span, path: Vec<String>, name: Option<String>, public: bool) {
        self.say(span, What::Import(Import { path, name, public }));
    }

    /// Finds paths, macro calls and method calls in tokens that are not parsed, as in `vec![…]`.
    fn scan(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            at = match &trees[at] {
                TokenTree::Group(group) => {
                    self.scan(group.stream());
                    at + 1
                }
                TokenTree::Ident(first) => {
                    let after_dot = at > 0 && is_punct(&trees[at - 1], '.');
                    self.scan_path(first.span(), &trees, at, after_dot)
                }
                _ => at + 1,
            };
        }
    }

    /// Says what the path that starts at `at` is, and returns where it ends.
    fn scan_path(&mut self, span: Span, trees: &[TokenTree], at: usize, after_dot: bool) -> usize {
        let (path, end) = longest_path(trees, at);
        let last = path.last().cloned().unwrap_or_default();
        let group = |index: usize| match trees.get(index) {
            Some(TokenTree::Group(group)) => Some(group.delimiter()),
            _ => None,
        };
        let bang = trees.get(end).is_some_and(|tree| is_punct(tree, '!'));
        if bang && group(end + 1).is_some() {
            self.say(span, What::Macro(last));
        } else if after_dot {
            if group(end) == Some(Delimiter::Parenthesis) {
                self.say(span, What::Method(last));
            }
        } else {
            self.say(span, What::Path(path));
        }
        end
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = attributes_and_name(item);
        self.under(attributes, |reader| {
            if let Some(name) = name {
                reader.say(name.span(), What::Item(name.to_string()));
            }
            visit::visit_item(reader, item);
        });
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.under(&function.attrs, |reader| visit::visit_impl_item_fn(reader, function));
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let name = module.ident.to_string();
        let (inline, path) = (module.content.is_some(), path_attribute(&module.attrs));
        let declaration = Declaration { name: name.clone(), inline, path };
        self.say(module.ident.span(), What::Module(declaration));
        self.inside.push(name);
        visit::visit_item_mod(self, module);
        self.inside.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let public = !matches!(item.vis, Visibility::Inherited);
        self.import(&item.tree, &[], public);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        if let Some(first) = path.segments.first() {
            self.say(first.ident.span(), What::Path(names));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(last) = call.path.segments.last() {
            self.say(last.ident.span(), What::Macro(last.ident.to_string()));
        }
        self.visit_path(&call.path);
        self.scan(call.tokens.clone());
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.say(call.method.span(), What::Method(call.method.to_string()));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.scan(list.tokens.clone());
        }
    }

    // `pub(in crate::a)` opens a door; it imports nothing.
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

fn is_punct(tree: &TokenTree, sign: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`, but not `#[cfg(not(test))]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    if attribute.path().is_ident("test") {
        return true;
    }
    match &attribute.meta {
        syn::Meta::List(list) if list.path.is_ident("cfg") => needs_test(list.tokens.clone()),
        _ => false,
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

/// The file that `#[path = "…"]` names.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    match &attribute.meta.require_name_value().ok()?.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// An item's attributes, and the name it gives to its module (modules are told apart).
fn attributes_and_name(item: &Item) -> (&[Attribute], Option<&syn::Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::TraitAlias(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::ExternCrate(item) => (&item.attrs, None),
        Item::ForeignMod(item) => (&item.attrs, None),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, None),
        Item::Mod(item) => (&item.attrs, None),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}
