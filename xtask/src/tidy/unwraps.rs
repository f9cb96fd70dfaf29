//! Rule `unwrap`: bad input ends in an error that says what to do next, never in a panic.

use super::breach::{Breach, in_source};
use crate::tree::Tree;
use crate::tree::facts::FactKind;
use crate::tree::files::SourceFile;

const REASON: &str = "// cannot fail: ";
const MESSAGE: &str = "`unwrap()`: return an error, or give the reason: `// cannot fail: …`";

/// Reports `unwrap()` without a reason on its line or in the comment above it.
pub fn check(tree: &Tree) -> Result<Vec<Breach>, String> {
    Ok(in_source(tree, |file, fact| {
        let bare = is_unwrap(&fact.kind) && !has_reason(file, fact.line);
        bare.then(|| MESSAGE.to_owned())
    }))
}

fn is_unwrap(kind: &FactKind) -> bool {
    match kind {
        FactKind::Method(name) => name == "unwrap",
        FactKind::Path(path) => path.len() > 1 && path.last().is_some_and(|name| name == "unwrap"),
        _ => false,
    }
}

fn has_reason(file: &SourceFile, line: usize) -> bool {
    let lines: Vec<&str> = file.text.lines().take(line).collect();
    let comment = lines.iter().rev().skip(1).take_while(|line| line.trim_start().starts_with("//"));
    comment.chain(lines.last()).any(|line| line.contains(REASON))
}
