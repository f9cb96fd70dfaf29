//! Rule `unwrap`: foreign input ends in an error with a next step, never in a panic.

use super::breach::Found;
use crate::tree::Tree;
use crate::tree::facts::What;
use crate::tree::files::SourceFile;

const CHECKED: [&str; 4] = ["crates/engine", "crates/lab", "crates/server", "crates/cli"];
const REASON: &str = "// cannot fail: ";

/// `unwrap()` in shipped code without a reason on its line or in the comment above it.
pub fn check(tree: &Tree) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| CHECKED.iter().any(|part| file.is_in(part))) {
        let unwraps = file.shipped().filter(|fact| is_unwrap(&fact.what));
        let bare = unwraps.filter(|fact| !is_argued(file, fact.line));
        found.extend(bare.map(|fact| Found::at(&file.path, fact.line, MESSAGE)));
    }
    Ok(found)
}

const MESSAGE: &str = "`unwrap()`: return an error, or say why it holds: `// cannot fail: …`";

fn is_unwrap(what: &What) -> bool {
    match what {
        What::Method(name) => name == "unwrap",
        What::Path(path) => path.len() > 1 && path.last().is_some_and(|name| name == "unwrap"),
        _ => false,
    }
}

fn is_argued(file: &SourceFile, line: usize) -> bool {
    let lines: Vec<&str> = file.text.lines().collect();
    let above = lines[..line - 1].iter().rev();
    let comment = above.take_while(|line| line.trim_start().starts_with("//"));
    std::iter::once(&lines[line - 1]).chain(comment).any(|line| line.contains(REASON))
}
