//! Rules `argued` and `link`: ARCHITECTURE.md has a word on every dependency, and what the documents
//! link to is there.

use super::breach::Found;
use crate::tree::Tree;

const ARCHITECTURE: &str = "ARCHITECTURE.md";

/// Dependencies of which ARCHITECTURE.md does not say why they are there.
pub fn argued(tree: &Tree) -> Result<Vec<Found>, String> {
    let page = tree.documents.iter().find(|page| page.path == ARCHITECTURE);
    let text = page.map_or("", |page| page.text.as_str());
    let mut found = Vec::new();
    for manifest in &tree.manifests {
        for one in &manifest.dependencies {
            if !one.name.starts_with("stitch") && !text.contains(&format!("`{}`", one.name)) {
                let message = format!("{ARCHITECTURE} does not say why `{}` is needed", one.name);
                found.push(Found::at(&manifest.path, one.line, message));
            }
        }
    }
    Ok(found)
}

/// Relative links of the documents that lead nowhere.
pub fn links(tree: &Tree) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for page in &tree.documents {
        let folder = tree.root.join(&page.path);
        let folder = folder.parent().unwrap_or(&tree.root);
        for (line, target) in relative_links(&page.text) {
            if !folder.join(target).exists() {
                found.push(Found::at(&page.path, line, format!("`{target}` is not there")));
            }
        }
    }
    Ok(found)
}

/// The file part of every `](…)` outside code blocks that stays in the tree, with its line.
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
