//! Lines of Rust per package, outside and inside tests.

use std::path::Path;
use std::process::ExitCode;

use toml::de::DeTable;

use crate::tree::Tree;
use crate::tree::files::{Role, SourceFile, read_text};

/// The made-up library is counted apart, also while it is a module of lab.
const WORLD: (&str, [&str; 2]) = ("world", ["crates/world", "crates/lab/src/world"]);

/// One line of the table.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    code: usize,
    tests: usize,
}

/// Prints the table in Markdown.
pub fn run(root: &Path) -> Result<ExitCode, String> {
    print!("{}", markdown(&count(root)?));
    Ok(ExitCode::SUCCESS)
}

/// Counts the lines of each workspace member; benchmarks and examples count as tests.
fn count(root: &Path) -> Result<Vec<Row>, String> {
    let tree = Tree::read(root)?;
    let mut rows: Vec<Row> = Vec::new();
    for member in members(root)? {
        for file in tree.files.iter().filter(|file| file.is_in(&[&member])) {
            let name = if file.is_in(&WORLD.1) { WORLD.0 } else { last_part(&member) };
            let code = code_lines(file);
            let tests = file.text.lines().count() - code;
            match rows.iter_mut().find(|row| row.name == name) {
                Some(row) => (row.code, row.tests) = (row.code + code, row.tests + tests),
                None => rows.push(Row { name: name.to_owned(), code, tests }),
            }
        }
    }
    Ok(rows)
}

/// `workspace.members` of the root's Cargo.toml.
fn members(root: &Path) -> Result<Vec<String>, String> {
    let text = read_text(root, "Cargo.toml")?;
    let table = DeTable::parse(&text).map_err(|e| format!("Cargo.toml: {e}"))?;
    let workspace = table.get_ref().get("workspace");
    let members = workspace.and_then(|value| value.get_ref().get("members"));
    let members = members.and_then(|value| value.get_ref().as_array());
    let members = members.ok_or("Cargo.toml: workspace.members is missing")?;
    Ok(members.iter().filter_map(|value| value.get_ref().as_str()).map(str::to_owned).collect())
}

fn last_part(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

fn code_lines(file: &SourceFile) -> usize {
    match file.role {
        Role::Source => file.text.lines().count() - file.test_lines,
        Role::Test | Role::Auxiliary => 0,
    }
}

fn markdown(rows: &[Row]) -> String {
    let sum = |field: fn(&Row) -> usize| rows.iter().map(field).sum();
    let total =
        Row { name: "total".to_owned(), code: sum(|row| row.code), tests: sum(|row| row.tests) };
    let world = rows.iter().find(|row| row.name == WORLD.0).map_or(0, |row| row.code);
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
    fn counts_tests_apart_from_code_and_world_apart_from_lab() {
        let folder = tempfile::tempdir().unwrap();
        plant(
            folder.path(),
            &[
                ("Cargo.toml", "[workspace]\nmembers = ['crates/lab', 'xtask']\n"),
                ("crates/lab/src/lib.rs", "//! L.\nmod world;\n#[cfg(test)]\nmod checks;\n"),
                (
                    "crates/lab/src/world/mod.rs",
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
        assert_eq!(rows, [row("lab", 2, 6), row("world", 3, 5), row("xtask", 2, 0)]);
        let text = markdown(&rows);
        assert!(
            text.contains("| total | 7 | 11 | 18 |\n\noutside world and tests: 4 lines"),
            "{text}"
        );
    }
}
