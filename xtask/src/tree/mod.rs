//! The workspace as the rules see it: source files and their facts, modules, manifests, documents.

pub mod facts;
pub mod files;
pub mod modules;
pub mod manifest;

use std::path::{Path, PathBuf};

use files::{Document, SourceFile};
use manifest::Manifest;
use modules::Crate;

pub struct Tree {
    pub root: PathBuf,
    /// Every `.rs` file, sorted by path.
    pub files: Vec<SourceFile>,
    /// Every library and binary.
    pub crates: Vec<Crate>,
    pub manifests: Vec<Manifest>,
    pub documents: Vec<Document>,
}

impl Tree {
    pub fn read(root: &Path) -> Result<Self, String> {
        let paths = files::find(root)?;
        let mut files = files::read_sources(root, &paths)?;
        let crates = modules::build(&mut files);
        let manifests = manifest::read(root, &paths)?;
        let documents = files::read_documents(root, &paths)?;
        Ok(Self { root: root.to_owned(), files, crates, manifests, documents })
    }
}

/// Writes files, given as path and text, under `root`.
#[cfg(test)]
pub fn plant<'a>(root: &Path, files: impl IntoIterator<Item = &'a (&'a str, &'a str)>) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}
