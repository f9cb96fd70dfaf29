//! Lines of Rust per package, outside and inside tests.

use std::path::Path;
use std::process::ExitCode;

use crate::tree::Tree;
use crate::tree::files::Role;
use crate::tree::manifest::read_strings;

/// The made-up library is not part of the summary.
const WORLD: &str = "world";

#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    code: usize,
    tests: usize,
}

pub fn run(root: &Path) -> Result<ExitCode, String> {
    print!("{}", markdown(&count(root)?));
    Ok(ExitCode::SUCCESS)
}

/// Counts the lines of each workspace member; benchmarks and examples count as tests.
fn count(root: &Path) -> Result<Vec<Row>, String> {
    let tree = Tree::read(root)?;
    let mut rows = Vec::new();
    for member in read_strings(root, "Cargo.toml", "workspace", "members")? {
        let name = member.rsplit('/').next().unwrap_or_default().to_owned();
        let mut row = Row { name, code: 0, tests: 0 };
        for file in tree.files.iter().filter(|file| file.is_in(&[&member])) {
            let lines = file.text.lines().count();
            let tests = if file.role == Role::Source { file.test_lines } else { lines };
            row.code += lines - tests;
            row.tests += tests;
        }
        rows.push(row);
    }
    Ok(rows)
}

fn markdown(rows: &[Row]) -> String {
    let sum = |field: fn(&Row) -> usize| rows.iter().map(field).sum();
    let total =
        Row { name: "total".to_owned(), code: sum(|row| row.code), tests: sum(|row| row.tests) };
    let world = rows.iter().find(|row| row.name == WORLD).map_or(0, |row| row.code);
    let mut text = "| crate | code | tests | total |\n|---|---:|---:|---:|\n".to_owned();
    for Row { name, code, tests } in rows.iter().chain([&total]) {
        text += &format!("| {name} | {code} | {tests} | {} |\n", code + tests);
    }
    text + &format!("\noutside world and tests: {} lines\n", total.code - world)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::plant;

    #[test]
    fn counts_tests_and_world_apart() {
        let folder = tempfile::tempdir().unwrap();
        plant(
            folder.path(),
            &[
                ("Cargo.toml", "[workspace]\nmembers = ['crates/lab', 'crates/world', 'xtask']\n"),
                ("crates/lab/src/lib.rs", "//! L.\n#[cfg(test)]\nmod checks;\n"),
                (
                    "crates/world/src/lib.rs",
                    "//! W.\n\nfn a() {}\n/// Tests.\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n",
                ),
                ("crates/lab/src/checks.rs", "//! C.\nfn c() {}\n"),
                ("crates/lab/tests/all.rs", "//! A.\n"),
                ("crates/lab/benches/all.rs", "//! B.\n"),
                ("xtask/src/main.rs", "//! X.\nfn main() {}\n"),
                ("fuzz/src/main.rs", "//! No member.\n"),
            ],
        );
        let row = |name: &str, code, tests| Row { name: name.to_owned(), code, tests };
        let rows = count(folder.path()).unwrap();
        assert_eq!(rows, [row("lab", 1, 6), row("world", 3, 5), row("xtask", 2, 0)]);
        let text = markdown(&rows);
        assert!(
            text.contains("| total | 6 | 11 | 17 |\n\noutside world and tests: 3 lines"),
            "{text}"
        );
    }
}
