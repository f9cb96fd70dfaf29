//! The Markdown pages.

use std::path::Path;

/// One `.md` file.
pub struct Document {
    /// Its path from the root.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Reads every Markdown page among the paths.
pub fn read(root: &Path, paths: &[String]) -> Result<Vec<Document>, String> {
    let pages = paths.iter().filter(|path| path.ends_with(".md"));
    let read = |path: &String| {
        let text = std::fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: {e}"))?;
        Ok(Document { path: path.clone(), text })
    };
    pages.map(read).collect()
}
