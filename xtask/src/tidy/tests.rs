//! Every rule can fail: one breach of each is planted in a small tree and must be reported, at its
//! line and alone; what a rule exempts is planted as well and must pass.

use std::path::Path;

use super::{RULES, check};

/// A tree that keeps every rule: a file's path and its text.
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

/// What to plant (path and text) and the report that must come: `file:line: rule: …words`.
struct Case {
    plant: &'static [(&'static str, &'static str)],
    report: &'static [&'static str],
}

const fn case(
    plant: &'static [(&'static str, &'static str)],
    report: &'static [&'static str],
) -> Case {
    Case { plant, report }
}

const COVER: &str = "crates/core/src/cover.rs";
const FILES: &str = "crates/engine/src/files.rs";
const PROGRAM: &str = "crates/engine/src/media/program.rs";
const RENDER: &str = "crates/engine/src/render.rs";

#[test]
fn a_clean_tree_passes() {
    assert_eq!(reports(&[], true), Vec::<String>::new());
}

#[test]
fn every_rule_has_a_breach_below() {
    let cases = breaches();
    let named = |rule: &str| {
        cases
            .iter()
            .any(|case| case.report.iter().any(|line| line.contains(&format!(": {rule}: "))))
    };
    let unproved: Vec<&str> = RULES.iter().map(|rule| rule.0).filter(|rule| !named(rule)).collect();
    assert_eq!(unproved, ["licence"], "licences are planted in a test of their own");
}

#[test]
fn breaches_are_reported_at_their_line_and_alone() {
    for case in breaches() {
        let found = reports(case.plant, false);
        assert_eq!(found.len(), case.report.len(), "{:?} gave {found:#?}", case.plant);
        for (found, wanted) in found.iter().zip(case.report) {
            assert!(found.starts_with(wanted), "{:?} gave {found}", case.plant);
        }
    }
}

#[test]
fn a_licence_that_is_not_allowed_is_reported() {
    let plant = [("xtask/Cargo.toml", "[package]\nname = 'xtask'\nlicense = 'GPL-3.0'\n")];
    let found = reports(&plant, true);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with("deny.toml:1: licence: xtask 0.0.0 is under `GPL-3.0`"));
}

fn breaches() -> Vec<Case> {
    vec![
        case(
            &[("crates/core/src/lost.rs", "//! Nobody's file.\n")],
            &["crates/core/src/lost.rs:1: parse: no module declares"],
        ),
        case(
            &[(FILES, "//! Half a file.\npub fn write( {\n")],
            &["crates/engine/src/files.rs:2: parse: cannot be parsed"],
        ),
        case(&[(FILES, "pub fn write() {}\n")], &["crates/engine/src/files.rs:1: opening: "]),
        case(
            &[(FILES, "//! stub\npub fn write() {}\n")],
            &["crates/engine/src/files.rs:1: opening: "],
        ),
        // order: at the top, in a folder, through a facade, in a body, in a macro, by a glob
        case(
            &[(FILES, "//! Files.\nuse crate::media;\npub fn write() { media::probe() }\n")],
            &["crates/engine/src/files.rs:2: module-order: `files` uses `media`"],
        ),
        case(
            &[(FILES, "//! Files.\nuse super::render::render as go;\npub fn write() {}\n")],
            &["crates/engine/src/files.rs:2: module-order: `files` uses `render`"],
        ),
        case(
            &[(PROGRAM, "//! P.\n\npub struct Program;\npub fn x() { super::probe::probe() }\n")],
            &[
                "crates/engine/src/media/program.rs:4: module-order: `media::program` uses `media::probe`",
            ],
        ),
        case(
            &[(PROGRAM, "//! P.\nuse super::probe;\npub struct Program;\n")],
            &[
                "crates/engine/src/media/program.rs:2: module-order: `media::program` uses `media::probe`",
            ],
        ),
        case(
            &[(
                PROGRAM,
                "//! P.\npub struct Program;\npub fn x() { vec![(1, crate::render::A)]; }\n",
            )],
            &["crates/engine/src/media/program.rs:3: module-order: `media` uses `render`"],
        ),
        case(
            &[(FILES, "//! Files.\nuse super::*;\npub fn write() { media::probe() }\n")],
            &["crates/engine/src/files.rs:3: module-order: `files` uses `media`"],
        ),
        case(
            &[(
                FILES,
                "//! Files.\npub fn write() {}\npub mod a { use super::b::B; }\npub mod b { pub struct B; }\n",
            )],
            &["crates/engine/src/files.rs:3: module-order: `files::a` uses `files::b`"],
        ),
        // a mod.rs whose own code needs a child that needs it
        case(
            &[
                (FILES, "//! F.\nuse crate::explain;\npub fn write() { explain() }\n"),
                (
                    "crates/engine/src/lib.rs",
                    "//! W.\npub mod files;\npub mod media;\npub mod render;\npub fn explain() {}\npub fn all() { files::write() }\n",
                ),
            ],
            &[
                "crates/engine/src/lib.rs:6: module-cycle: `the crate root` uses `files` (crates/engine/src/lib.rs:6), `files` uses `the crate root` (crates/engine/src/files.rs:2); move",
            ],
        ),
        case(
            &[(RENDER, "//! R.\npub fn render() { println!(\"done\"); }\n")],
            &["crates/engine/src/render.rs:2: printing: `println!`"],
        ),
        case(
            &[(RENDER, "//! R.\nuse std::process;\npub fn render() { process::exit(1) }\n")],
            &["crates/engine/src/render.rs:3: printing: `std::process::exit`"],
        ),
        case(
            &[(RENDER, "//! R.\npub fn render() { Some(vec![dbg!(1)]); std::io::stderr(); }\n")],
            &[
                "crates/engine/src/render.rs:2: printing: `dbg!`",
                "crates/engine/src/render.rs:2: printing: `std::io::stderr`",
            ],
        ),
        case(
            &[(
                RENDER,
                "//! R.\nuse std::process::Command as C;\npub fn render() { C::new(\"ffmpeg\"); }\n",
            )],
            &[
                "crates/engine/src/render.rs:2: process: `std::process::Command`",
                "crates/engine/src/render.rs:3: process: `std::process::Command::new`",
            ],
        ),
        case(
            &[(
                RENDER,
                "//! R.\nuse crate::media::Program;\npub fn render() {\n    Program\n        .command();\n}\n",
            )],
            &["crates/engine/src/render.rs:5: process: `.command()`"],
        ),
        case(
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
        case(
            &[(COVER, "//! C.\n#[derive(serde::Serialize)]\npub struct Cover;\n")],
            &["crates/core/src/cover.rs:2: pure-core: core may not use `serde`"],
        ),
        case(
            &[(
                "crates/core/Cargo.toml",
                "[package]\nname = 'stitch-core'\n[target.'cfg(unix)'.dependencies]\nrayon = '1'\n",
            )],
            &["crates/core/Cargo.toml:4: pure-core: core may not depend on `rayon`"],
        ),
        case(
            &[(
                "crates/engine/Cargo.toml",
                "[package]\nname = 'stitch-engine'\n[dev-dependencies]\nlab = { package = 'stitch-lab', path = '../lab' }\n",
            )],
            &[
                "crates/engine/Cargo.toml:4: crate-arrow: crates/engine may not depend on `stitch-lab`",
            ],
        ),
        case(
            &[(
                "xtask/Cargo.toml",
                "[package]\nname = 'xtask'\n[dependencies]\nstitch-core.workspace = true\n",
            )],
            &["xtask/Cargo.toml:4: crate-arrow: xtask may not depend on `stitch-core`"],
        ),
        case(
            &[("xtask/Cargo.toml", "[package]\nname = 'xtask'\n[dependencies]\nlodash = '1'\n")],
            &["xtask/Cargo.toml:4: argued: ARCHITECTURE.md does not say why `lodash`"],
        ),
        case(
            &[("docs/page.md", "# A\n```\n[a](b)\n```\n[up](../deny.toml#x) [gone](b.md#c)\n")],
            &["docs/page.md:5: link: `b.md` is not there"],
        ),
        case(
            &[("crates/odd/Cargo.toml", "[package]\nname = 'odd'\n")],
            &["crates/odd/Cargo.toml:1: crate-arrow: this package has no place"],
        ),
        case(
            &[(RENDER, "//! R.\npub fn render() { todo!() }\n")],
            &["crates/engine/src/render.rs:2: leftover: `todo!`"],
        ),
        case(
            &[(RENDER, concat!("//! R.\n\n// FIX", "ME: later\n"))],
            &["crates/engine/src/render.rs:3: leftover: "],
        ),
        case(
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
    let fine: [&[(&str, &str)]; 9] = [
        // tests may look anywhere, print, unwrap and start programs
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
        // a word is not a call
        &[(
            RENDER,
            "//! R.\n/// Never `println!` here; see std::process::exit and crate::export.\npub fn render() { let unwrap = \"todo!()\"; let _ = unwrap.len(); }\n",
        )],
        // a child may use what its parent defines, as long as the parent does not use the child
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
        assert_eq!(reports(plant, false), Vec::<String>::new(), "{plant:?}");
    }
}

#[test]
fn printing_belongs_to_the_command_line() {
    let manifest = "[package]\nname = 'stitch-cli'\n";
    let main = "//! The program.\nfn main() { println!(\"x\"); std::process::exit(1) }\n";
    let plant = [("crates/cli/Cargo.toml", manifest), ("crates/cli/src/main.rs", main)];
    assert_eq!(reports(&plant, false), Vec::<String>::new());
}

/// The lines that tidy prints for the clean tree with these files planted in it.
fn reports(plant: &[(&str, &str)], with_licences: bool) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in CLEAN.iter().chain(plant) {
        write(folder.path(), path, text);
    }
    if with_licences {
        write(folder.path(), "xtask/src/main.rs", "//! The program.\nfn main() {}\n");
    }
    let rules: Vec<_> =
        RULES.into_iter().filter(|rule| with_licences || rule.0 != "licence").collect();
    check(folder.path(), &rules).unwrap().iter().map(ToString::to_string).collect()
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}
