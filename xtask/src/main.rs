//! Commands for contributors: `cargo xtask tidy`, `size`, `licences`, `sbom` and `bench`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod command;
mod tree;
mod size;
mod sbom;
mod tidy;
mod bench;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  tidy [RULE…]    check the rules of ARCHITECTURE.md; prints file:line: rule: message
  tidy --rules    list the rules
  licences        check only the licences of all dependencies against deny.toml
  size            print the lines of Rust per crate, outside and inside tests
  sbom            print the crates that the program is built from, as CycloneDX JSON
  bench [NAME…]   run benchmarks and print the ratios; saves benches/results.json
  bench --list    list the benchmarks
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["tidy", "--rules"] => tidy::list(),
        ["tidy", rules @ ..] => tidy::run(&root(), rules),
        ["licences"] => tidy::run(&root(), &["licence"]),
        ["size"] => size::run(&root()),
        ["sbom"] => sbom::run(&root()),
        ["bench", "--list"] => bench::list(),
        ["bench", names @ ..] => bench::run(&root(), names),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        _ => Err(format!("no such command: {}\n\n{HELP}", words.join(" "))),
    };
    result.unwrap_or_else(|message| {
        eprintln!("error: {message}");
        ExitCode::from(2)
    })
}

fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
