//! What contributors run: `cargo xtask tidy`, `cargo xtask bench`, `cargo xtask licences`.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod tree;
mod tidy;
mod bench;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  tidy [RULE…]    check the rules of ARCHITECTURE.md; prints file:line: rule: message
  tidy --rules    list the rules
  licences        check only the licences of all dependencies against deny.toml
  bench [NAME…]   run the benchmark pairs and print the ratios; saves benches/results.json
  bench --list    list the pairs
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["tidy", "--rules"] => tidy::list(),
        ["tidy", rules @ ..] => tidy::run(&root(), rules),
        ["licences"] => tidy::run(&root(), &["licence"]),
        ["bench", "--list"] => bench::list(),
        ["bench", names @ ..] => bench::run(&root(), names),
        _ => return help(&words),
    };
    done.unwrap_or_else(|message| {
        eprintln!("error: {message}");
        ExitCode::from(2)
    })
}

/// The help, as an answer where it was asked for and as a complaint where it was not.
fn help(words: &[&str]) -> ExitCode {
    match words {
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("error: no such command: {}\n\n{HELP}", words.join(" "));
            ExitCode::from(2)
        }
    }
}

/// The folder of the workspace.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}
