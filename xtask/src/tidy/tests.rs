//! A breach of every rule, planted in a small workspace, is reported at its line and alone; what a
//! rule exempts passes.

use super::{RULES, check};
use crate::tree::plant;

/// Files to plant, as path and text.
type Plant = &'static [(&'static str, &'static str)];

/// A workspace that keeps every rule.
const CLEAN: [(&str, &str); 15] = [
    ("Cargo.toml", "[workspace]\nresolver = '3'\nmembers = ['crates/*', 'xtask']\n"),
    ("ARCHITECTURE.md", "[Core](crates/core), [web](https://x.y/z), `rayon`, `serde_json`.\n"),
    ("deny.toml", "[licenses]\nallow = ['MIT']\n"),
    ("crates/core/Cargo.toml", "[package]\nname = 'stitch-core'\nlicense = 'MIT'\n"),
    ("crates/core/src/lib.rs", "//! The method.\npub mod clip;\npub mod cover;\n"),
    ("crates/core/src/clip.rs", "//! A clip.\npub struct Clip;\n"),
    ("crates/core/src/cover.rs", "//! Covers.\nuse crate::clip::Clip;\npub fn all(_: Clip) {}\n"),
    (
        "crates/engine/Cargo.toml",
        "[package]\nname = 'stitch-engine'\nlicense = 'MIT'\n\
         [dependencies]\nstitch-core = { path = '../core' }\n",
    ),
    (
        "crates/engine/src/lib.rs",
        "//! The world.\npub mod files;\npub mod media;\npub mod render;\n",
    ),
    ("crates/engine/src/files.rs", "//! Whole files.\npub fn write() {}\n"),
    (
        "crates/engine/src/media/mod.rs",
        "//! Programs.\npub mod program;\npub mod probe;\n\
         pub use program::Program;\npub use probe::probe;\n",
    ),
    (
        "crates/engine/src/media/program.rs",
        "//! Starting them.\nuse std::process::Command;\npub struct Program;\n\
         impl Program { pub fn command(&self) -> Command { Command::new(\"x\") } }\n",
    ),
    (
        "crates/engine/src/media/probe.rs",
        "//! Looking into files.\nuse super::Program;\npub fn probe() { Program.command(); }\n",
    ),
    (
        "crates/engine/src/render.rs",
        "//! The video.\nuse crate::media::{self, Program};\n\
         pub fn render(_: Program) { media::probe(); crate::files::write(); }\n",
    ),
    ("xtask/Cargo.toml", "[package]\nname = 'xtask'\nlicense = 'MIT'\n"),
];

const COVER: &str = "crates/core/src/cover.rs";
const FILES: &str = "crates/engine/src/files.rs";
const PROGRAM: &str = "crates/engine/src/media/program.rs";
const RENDER: &str = "crates/engine/src/render.rs";
const ALLOW: &str = "xtask/allow.toml";
const LINES_121: &str = match str::from_utf8(&[b'\n'; 121]) {
    Ok(text) => text,
    Err(_) => "",
};

/// These rules look at the whole workspace and have tests of their own.
const SEPARATE: [&str; 2] = ["test-only", "licence"];

#[test]
fn a_clean_workspace_passes() {
    let rules: Vec<&str> = RULES.iter().map(|rule| rule.0).collect();
    assert_eq!(reports(&[], &rules), Vec::<String>::new());
}

#[test]
fn every_rule_has_a_breach_below() {
    let cases = breaches();
    let lines = || cases.iter().flat_map(|(_, report)| *report);
    let planted = |rule: &str| lines().any(|line| line.contains(&format!(": {rule}: ")));
    let missing = RULES.iter().map(|rule| rule.0).filter(|rule| !planted(rule));
    assert_eq!(missing.collect::<Vec<_>>(), SEPARATE);
}

#[test]
fn breaches_are_reported_at_their_line_and_alone() {
    for (plant, report) in breaches() {
        let found = reports(plant, &[]);
        assert_eq!(found.len(), report.len(), "{plant:?} gave {found:#?}");
        for (found, expected) in found.iter().zip(report) {
            assert!(found.starts_with(expected), "{plant:?} gave {found}");
        }
    }
}

#[test]
fn a_licence_that_is_not_allowed_is_reported() {
    let plant = [("xtask/Cargo.toml", "[package]\nname = 'xtask'\nlicense = 'GPL-3.0'\n")];
    let found = reports(&plant, &["licence"]);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with("deny.toml:1: licence: xtask 0.0.0 is under `GPL-3.0`"));
}

#[test]
fn items_that_only_tests_use_are_reported() {
    let table: [(&str, &[&str]); 5] = [
        // by tests, by nothing, by unused code, by itself, by a re-export
        (
            "pub fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { super::a() }\n}\n",
            &["3: test-only: `a` is not used"],
        ),
        (
            "fn a() { b() }\nconst B: u8 = 1;\nfn b() { a(); B; }\n",
            &[
                "3: test-only: `a` is not used",
                "4: test-only: `B` is not used",
                "5: test-only: `b` is not used",
            ],
        ),
        ("mod m { pub struct A; }\npub use m::A;\n", &["3: test-only: `A` is not used"]),
        // a type with what belongs to it, a function of a type
        (
            "struct A;\nimpl A {\n    fn a() -> Self { A }\n}\nimpl Default for A {\n    fn default() -> Self { A }\n}\n",
            &["3: test-only: `A` is not used"],
        ),
        (
            "struct A;\nimpl A {\n    fn all(&self) {}\n}\nimpl Clone for A {\n    fn clone(&self) -> A { A }\n}\nfn more(_: A) {}\n",
            &["5: test-only: `A::all` is not used"],
        ),
    ];
    for (text, report) in table {
        let text =
            format!("//! R.\npub fn render() {{ crate::files::write(); more(); probe() }}\n{text}");
        let found = reports(&[(RENDER, &text)], &["test-only"]);
        let report: Vec<String> = report.iter().map(|line| format!("{RENDER}:{line}")).collect();
        assert_eq!(found.len(), report.len(), "{text} gave {found:#?}");
        assert!(found.iter().zip(&report).all(|(a, b)| a.starts_with(b)), "{text} gave {found:#?}");
    }
}

#[test]
fn uses_that_are_no_calls_count() {
    let fine = [
        "use self::a as b;\nfn a() {}\nfn more() { b() }\n",
        "const WIDTH: u8 = 1;\nfn more() { format!(\"{WIDTH:?}\"); }\n",
        "fn a() -> u8 { 1 }\n#[derive(Deserialize)]\nstruct S { #[serde(default = \"a\")] b: u8 }\nfn more(_: S) {}\n",
        "macro_rules! a { () => { b() } }\nfn b() {}\nfn more() { a!() }\n",
        "trait A { fn a(&self) { b() } }\nimpl A for u8 {}\nfn b() {}\nfn more() { 1u8.a() }\n",
        "struct A;\nimpl Drop for A {\n    fn drop(&mut self) { b() }\n}\nfn b() {}\nfn more() -> A { vec![A] }\n",
        "fn a<T>() {}\nfn more() { vec![1].iter().map(a::<u8>); assert!(x.b::<u8>()); }\nstruct B;\nimpl B {\n    fn b<T>() -> B { B }\n}\nimpl From<u8> for B {}\nfn c(_: B) {}\nfn probe() { c() }\n",
    ];
    for text in fine {
        let text =
            format!("//! R.\npub fn render() {{ crate::files::write(); more(); probe() }}\n{text}");
        assert_eq!(reports(&[(RENDER, &text)], &["test-only"]), Vec::<String>::new(), "{text}");
    }
    let bench = ("crates/engine/benches/b.rs", "//! B.\nfn main() { spare() }\n");
    let spare = (
        "crates/core/src/cover.rs",
        "//! C.\nuse crate::clip::Clip;\npub fn all(_: Clip) {}\npub fn spare() {}\n",
    );
    assert_eq!(reports(&[bench, spare], &["test-only"]), Vec::<String>::new());
}

fn breaches() -> Vec<(Plant, &'static [&'static str])> {
    vec![
        (
            &[("crates/core/src/lost.rs", "//! Nobody's file.\n")],
            &["crates/core/src/lost.rs:1: parse: no module declares"],
        ),
        (
            &[(FILES, "//! Half a file.\npub fn write( {\n")],
            &["crates/engine/src/files.rs:2: parse: does not parse"],
        ),
        (&[(FILES, "pub fn write() {}\n")], &["crates/engine/src/files.rs:1: opening: "]),
        (&[(FILES, "//! stub\npub fn write() {}\n")], &["crates/engine/src/files.rs:1: opening: "]),
        // module order: in a `use`, in a folder, through a re-export, in a body, in a macro, by a glob
        (
            &[(FILES, "//! Files.\nuse crate::media;\npub fn write() { media::probe() }\n")],
            &["crates/engine/src/files.rs:2: module-order: `files` uses `media`"],
        ),
        (
            &[(FILES, "//! Files.\nuse super::render::render as go;\npub fn write() {}\n")],
            &["crates/engine/src/files.rs:2: module-order: `files` uses `render`"],
        ),
        (
            &[(PROGRAM, "//! P.\n\npub struct Program;\npub fn x() { super::probe::probe() }\n")],
            &[
                "crates/engine/src/media/program.rs:4: module-order: `media::program` uses `media::probe`",
            ],
        ),
        (
            &[(PROGRAM, "//! P.\nuse super::probe;\npub struct Program;\n")],
            &[
                "crates/engine/src/media/program.rs:2: module-order: `media::program` uses `media::probe`",
            ],
        ),
        (
            &[(
                PROGRAM,
                "//! P.\npub struct Program;\npub fn x() { vec![(1, crate::render::A)]; }\n",
            )],
            &["crates/engine/src/media/program.rs:3: module-order: `media` uses `render`"],
        ),
        (
            &[(FILES, "//! Files.\nuse super::*;\npub fn write() { media::probe() }\n")],
            &["crates/engine/src/files.rs:3: module-order: `files` uses `media`"],
        ),
        (
            &[(
                FILES,
                "//! Files.\npub fn write() {}\npub mod a { use super::b::B; }\npub mod b { pub struct B; }\n",
            )],
            &["crates/engine/src/files.rs:3: module-order: `files::a` uses `files::b`"],
        ),
        // the crate root comes after all its modules; other folders are one module with their `mod.rs`
        (
            &[
                (FILES, "//! F.\nuse crate::explain;\npub fn write() { explain() }\n"),
                (
                    "crates/engine/src/lib.rs",
                    "//! W.\npub mod files;\npub mod media;\npub mod render;\npub fn explain() {}\npub fn all() { files::write() }\n",
                ),
            ],
            &["crates/engine/src/files.rs:2: module-order: `files` uses an item of the crate root"],
        ),
        (
            &[(RENDER, "//! R.\npub fn render() { println!(\"done\"); }\n")],
            &["crates/engine/src/render.rs:2: printing: `println!`"],
        ),
        (
            &[(RENDER, "//! R.\nuse std::process;\npub fn render() { process::exit(1) }\n")],
            &["crates/engine/src/render.rs:3: printing: `std::process::exit`"],
        ),
        (
            &[(RENDER, "//! R.\npub fn render() { Some(vec![dbg!(1)]); std::io::stderr(); }\n")],
            &[
                "crates/engine/src/render.rs:2: printing: `dbg!`",
                "crates/engine/src/render.rs:2: printing: `std::io::stderr`",
            ],
        ),
        (
            &[(
                RENDER,
                "//! R.\nuse std::process::Command as C;\npub fn render() { C::new(\"ffmpeg\"); }\n",
            )],
            &[
                "crates/engine/src/render.rs:2: process: `std::process::Command`",
                "crates/engine/src/render.rs:3: process: `std::process::Command::new`",
            ],
        ),
        (
            &[(
                RENDER,
                "//! R.\nuse crate::media::Program;\npub fn render() {\n    Program\n        .command();\n}\n",
            )],
            &["crates/engine/src/render.rs:5: process: `.command()`"],
        ),
        (
            &[(
                COVER,
                "//! C.\nuse std::{fs::File, time};\npub fn all(_: File) { time::Instant::now(); }\n",
            )],
            &[
                "crates/core/src/cover.rs:2: pure-core: core may not use `std::fs`",
                "crates/core/src/cover.rs:2: pure-core: core may not use `std::time`",
                "crates/core/src/cover.rs:3: pure-core: core may not use `std::fs`",
                "crates/core/src/cover.rs:3: pure-core: core may not use `std::time`",
            ],
        ),
        (
            &[(COVER, "//! C.\n#[derive(serde::Serialize)]\npub struct Cover;\n")],
            &["crates/core/src/cover.rs:2: pure-core: core may not use `serde`"],
        ),
        (
            &[(
                "crates/core/Cargo.toml",
                "[package]\nname = 'stitch-core'\n[target.'cfg(unix)'.dependencies]\nrayon = '1'\n",
            )],
            &["crates/core/Cargo.toml:4: pure-core: core may not depend on `rayon`"],
        ),
        (
            &[(
                "crates/engine/Cargo.toml",
                "[package]\nname = 'stitch-engine'\n[dev-dependencies]\nlab = { package = 'stitch-lab', path = '../lab' }\n",
            )],
            &[
                "crates/engine/Cargo.toml:4: crate-arrow: crates/engine may not depend on `stitch-lab`",
            ],
        ),
        (
            &[(
                "xtask/Cargo.toml",
                "[package]\nname = 'xtask'\n[dependencies]\nstitch-core.workspace = true\n",
            )],
            &["xtask/Cargo.toml:4: crate-arrow: xtask may not depend on `stitch-core`"],
        ),
        (
            &[("xtask/Cargo.toml", "[package]\nname = 'xtask'\n[dependencies]\nlodash = '1'\n")],
            &["xtask/Cargo.toml:4: argued: ARCHITECTURE.md does not say why `lodash`"],
        ),
        (
            &[("docs/page.md", "# A\n```\n[a](b)\n```\n[up](../deny.toml#x) [gone](b.md#c)\n")],
            &["docs/page.md:5: link: `b.md` does not exist"],
        ),
        (&[("README.md", LINES_121)], &["README.md:121: readme: 121 lines, at most 120"]),
        (
            &[
                ("crates/core/tests/a/b/c/d.rs", "//! D.\n"),
                ("crates/core/tests/a/b/c/d/e.rs", "//! E.\n"),
            ],
            &["crates/core/tests/a/b/c/d/e.rs:1: depth: 5 folders deep, at most 4"],
        ),
        (
            &[(COVER, "//! C.\npub mod a { pub enum Clip {} }\npub(crate) trait Clip {}\n")],
            &[
                "crates/core/src/clip.rs:2: duplicate-type: `core::Clip` is also defined at crates/core/src/cover.rs:3, crates/core/src/cover.rs:2; merge",
            ],
        ),
        (
            &[
                (COVER, "//! C.\npub struct Clip;\n"),
                (ALLOW, "[duplicate-type]\n'core::Clip' = ' '\n'core::Cover' = 'gone'\n"),
            ],
            &[
                "xtask/allow.toml:2: duplicate-type: `core::Clip` has no reason",
                "xtask/allow.toml:3: duplicate-type: `core::Cover` is no longer an exception",
            ],
        ),
        (
            &[("crates/odd/Cargo.toml", "[package]\nname = 'odd'\n")],
            &["crates/odd/Cargo.toml:1: crate-arrow: the table of crate arrows lacks"],
        ),
        (
            &[(RENDER, "//! R.\npub fn render() { todo!() }\n")],
            &["crates/engine/src/render.rs:2: leftover: unfinished: `todo!`"],
        ),
        (
            &[(RENDER, concat!("//! R.\n\n// FIX", "ME: later\n"))],
            &["crates/engine/src/render.rs:3: leftover: "],
        ),
        (
            &[(
                RENDER,
                "//! R.\npub fn render() {\n    Some(1)\n        .unwrap();\n    let _ = format!(\"{}\", Some(1).unwrap());\n}\n",
            )],
            &["crates/engine/src/render.rs:4: unwrap: ", "crates/engine/src/render.rs:5: unwrap: "],
        ),
    ]
}

#[test]
fn what_the_rules_exempt_passes() {
    let fine: [Plant; 13] = [
        // the same name once under `#[cfg]`, private, in tests, in another package, with a reason
        &[(
            COVER,
            "//! C.\n#[cfg(unix)]\npub struct Cover;\n#[cfg(windows)]\npub struct Cover;\nstruct Clip;\n#[cfg(test)]\nmod tests { pub struct Clip; }\n",
        )],
        &[(FILES, "//! F.\npub struct Clip;\npub fn write() {}\n")],
        &[
            (COVER, "//! C.\npub struct Clip;\n"),
            (ALLOW, "[duplicate-type]\n'core::Clip' = 'why'\n"),
        ],
        // the order of crates
        &[
            (
                "crates/nn/Cargo.toml",
                "[package]\nname = 'stitch-nn'\n[dependencies]\nstitch-core.workspace = true\n",
            ),
            (
                "crates/lab/Cargo.toml",
                "[package]\nname = 'stitch-lab'\n[dependencies]\nstitch-world.workspace = true\n",
            ),
        ],
        // tests may use any module, print, unwrap and start processes
        &[(
            FILES,
            "//! F.\npub fn write() {}\n#[cfg(test)]\nmod tests {\n    use crate::render::render;\n    #[test]\n    fn it() { println!(\"x\"); Some(1).unwrap(); std::process::Command::new(\"x\"); }\n}\n",
        )],
        &[
            (FILES, "//! F.\npub fn write() {}\n#[cfg(all(test, unix))]\nmod checks;\n"),
            (
                "crates/engine/src/files/checks.rs",
                "//! Checks.\nuse crate::render::render;\nfn x() { Some(1).unwrap(); }\n",
            ),
        ],
        &[(
            "crates/engine/tests/all.rs",
            "//! Whole.\nfn x() { std::process::Command::new(\"x\"); }\n",
        )],
        &[("crates/engine/benches/b.rs", "//! Bench.\nfn main() { println!(\"{{}}\"); }\n")],
        &[(
            "crates/engine/build.rs",
            "//! Build.\nfn main() { println!(\"cargo::rerun-if-changed=x\"); }\n",
        )],
        // reasons
        &[(
            RENDER,
            "//! R.\npub fn render() {\n    Some(1).unwrap(); // cannot fail: it is there\n    // cannot fail: it is\n    // there\n    Some(1).unwrap();\n}\n",
        )],
        // a word that is no call
        &[(
            RENDER,
            "//! R.\n/// Never `println!` here; see std::process::exit and crate::export.\npub fn render() { let unwrap = \"todo!()\"; let _ = unwrap.len(); }\n",
        )],
        // a child may use what its parent defines, if the parent does not use the child
        &[
            (FILES, "//! F.\npub fn write() {}\npub struct Place;\npub mod deep;\n"),
            (
                "crates/engine/src/files/deep.rs",
                "//! D.\nuse super::Place;\npub fn deep(_: Place) {}\n",
            ),
        ],
        // dev-dependencies of core are tests
        &[(
            "crates/core/Cargo.toml",
            "[package]\nname = 'stitch-core'\n[dev-dependencies]\nserde_json = '1'\n",
        )],
    ];
    for plant in fine {
        assert_eq!(reports(plant, &[]), Vec::<String>::new(), "{plant:?}");
    }
}

#[test]
fn printing_belongs_to_the_command_line() {
    let manifest = "[package]\nname = 'stitch-cli'\n";
    let main = "//! The program.\nfn main() { println!(\"x\"); std::process::exit(1) }\n";
    let plant = [("crates/cli/Cargo.toml", manifest), ("crates/cli/src/main.rs", main)];
    assert_eq!(reports(&plant, &[]), Vec::<String>::new());
}

/// The breaches of these rules, or of all but `SEPARATE`, in the clean workspace with these files.
fn reports(files: &[(&str, &str)], names: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), CLEAN.iter().chain(files));
    let mut rules = RULES.to_vec();
    if names.is_empty() {
        rules.retain(|rule| !SEPARATE.contains(&rule.0));
    } else {
        rules.retain(|rule| names.contains(&rule.0));
        let main = ("xtask/src/main.rs", "//! Uses all.\nfn main() { render(); all() }\n");
        plant(folder.path(), &[main]);
    }
    check(folder.path(), &rules).unwrap().iter().map(ToString::to_string).collect()
}
