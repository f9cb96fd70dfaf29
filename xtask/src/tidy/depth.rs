//! Rule `depth`: a package's folders are at most four deep, `src` included.

use super::breach::Breach;
use crate::tree::Tree;

/// `src/a/b/c/file.rs` is allowed.
const MAX_FOLDERS: usize = 4;

/// Reports source files in deeper folders.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = Vec::new();
    for manifest in &tree.manifests {
        for file in tree.files.iter().filter(|file| file.is_in(&[&manifest.folder])) {
            let folders = file.path[manifest.folder.len() + 1..].matches('/').count();
            if folders > MAX_FOLDERS {
                let message = format!("{folders} folders deep, at most {MAX_FOLDERS}");
                found.push(Breach::at(&file.path, 1, message));
            }
        }
    }
    Ok(found)
}
