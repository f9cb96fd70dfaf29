//! The source tree as the rules see it: files, what they say, modules, manifests.

pub mod facts;
pub mod files;
pub mod modules;
pub mod manifest;
pub mod document;

use std::path::{Path, PathBuf};

use document::Document;
use files::SourceFile;
use manifest::Manifest;
use modules::Crate;

/// Everything a rule may look at.
pub struct Tree {
    /// The workspace's folder.
    pub root: PathBuf,
    /// Every `.rs` file, sorted by path.
    pub files: Vec<SourceFile>,
    /// The module trees of all libraries and programs.
    pub crates: Vec<Crate>,
    /// Every package's Cargo.toml.
    pub manifests: Vec<Manifest>,
    /// Every Markdown page.
    pub documents: Vec<Document>,
}

impl Tree {
    /// Reads the tree under a folder.
    pub fn read(root: &Path) -> Result<Self, String> {
        let paths = files::find(root)?;
        let mut files = files::read(root, &paths)?;
        let crates = modules::build(&mut files);
        let manifests = manifest::read(root, &paths)?;
        let documents = document::read(root, &paths)?;
        Ok(Self { root: root.to_owned(), files, crates, manifests, documents })
    }
}
