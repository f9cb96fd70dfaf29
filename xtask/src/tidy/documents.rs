//! Rules `link` and `readme`: links between documents lead somewhere, and the README is short.

use super::breach::Breach;
use crate::tree::Tree;

pub const ARCHITECTURE: &str = "ARCHITECTURE.md";
const README: &str = "README.md";
const MAX_README_LINES: usize = 120;

pub fn text<'a>(tree: &'a Tree, path: &str) -> &'a str {
    let document = tree.documents.iter().find(|document| document.path == path);
    document.map_or("", |document| &document.text)
}

pub fn links(tree: &Tree) -> Result<Vec<Breach>, String> {
    let mut found = Vec::new();
    for document in &tree.documents {
        let path = tree.root.join(&document.path);
        let folder = path.parent().unwrap_or(&tree.root);
        for (line, target) in relative_links(&document.text) {
            if !folder.join(target).exists() {
                found.push(Breach::at(&document.path, line, format!("`{target}` does not exist")));
            }
        }
    }
    Ok(found)
}

/// The file part of every relative `](…)` outside code blocks, with its line.
fn relative_links(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut links = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        in_code ^= line.trim_start().starts_with("```");
        if in_code {
            continue;
        }
        for part in line.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                links.push((number, target));
            }
        }
    }
    links
}

pub fn readme(tree: &Tree) -> Result<Vec<Breach>, String> {
    let lines = text(tree, README).lines().count();
    let message = || format!("{lines} lines, at most {MAX_README_LINES}: move details into docs/");
    let breach = (lines > MAX_README_LINES).then(|| Breach::at(README, lines, message()));
    Ok(breach.into_iter().collect())
}
