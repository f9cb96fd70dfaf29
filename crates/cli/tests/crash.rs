//! Every write, sync and rename of a command fails once, or the command is killed at it; then the same command again
//! ends as if nothing had happened, and `library verify` finds nothing wrong. The operations are counted and made
//! to fail by a library that is loaded before libc (`fault/fault.c`), so SQLite's and ffmpeg's are among them.
//!
//! `make crash` tries more: `STITCH_FAULTS=all` every operation (otherwise two), and `STITCH_KILLS=n` so many kills of
//! each command.

#![allow(clippy::print_stderr)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::Home;

/// A command whose effects are compared.
struct Scenario {
    home: Home,
    arguments: Vec<&'static str>,
    /// What the command writes, removed before each run.
    written: &'static [&'static str],
    /// What it never replaces: once it has its name, it is whole.
    kept: Option<&'static str>,
    /// What it has made, without times and names of temporary files.
    result: fn(&Home) -> Vec<Vec<u8>>,
}

fn words(text: &'static str) -> Vec<&'static str> {
    text.split(' ').collect()
}

fn read(home: &Home, names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| std::fs::read(home.path(name)).unwrap()).collect()
}

/// Two indexed videos and a procedure.
fn small_home() -> Home {
    let home = Home::new();
    home.video("videos/a.mp4", 0, &["Chop the onion."]);
    home.video("videos/b.mp4", 1, &["Peel the carrot."]);
    home.write("soup.txt", "Chop the onion\n");
    home.write("out/other", "");
    home.run(&["index", "videos"]).success();
    home
}

fn index() -> Scenario {
    let result = |home: &Home| {
        let (list, pool) = home.library_content();
        vec![list.into_bytes(), pool]
    };
    Scenario {
        home: small_home(),
        arguments: words("index videos"),
        written: &["home/library"],
        kept: None,
        result,
    }
}

fn shards() -> Scenario {
    Scenario {
        home: small_home(),
        arguments: words("index videos --shard 1/1 --out out/bucket"),
        written: &["out/bucket"],
        kept: None,
        result: |home| {
            let whole = home.prints(&["library", "verify", "out/bucket"]);
            home.run(&["library", "merge", "out/bucket", "--library", "out/bucket/merged"])
                .success();
            let list = ["library", "list", "--json", "--library", "out/bucket/merged"];
            vec![whole.into_bytes(), home.prints(&list).into_bytes()]
        },
    }
}

fn make() -> Scenario {
    Scenario {
        home: small_home(),
        arguments: words("make soup.txt --threshold=0 --size 64x64 -o out/soup.mp4"),
        written: &["out/soup.mp4", "out/soup.json", "home/cache"],
        kept: None,
        result: |home| read(home, &["out/soup.mp4", "out/soup.json"]),
    }
}

fn backup() -> Scenario {
    Scenario {
        home: small_home(),
        arguments: words("library backup out/backup"),
        written: &["out/backup"],
        kept: Some("out/backup"),
        result: |home| {
            home.run(&["library", "verify", "--library", "out/backup"]).success();
            vec![
                home.prints(&["library", "list", "--json", "--library", "out/backup"]).into_bytes(),
            ]
        },
    }
}

fn train() -> Scenario {
    let train = "train --also swapped,elsewhere --epochs 3 --batch 3 --width 16 --hidden 16 --held-out 4 --checkpoint-every 1 --precision f32 \
                 --out out/model";
    Scenario {
        home: Home::with_procedures(),
        arguments: words(train),
        written: &["out/model"],
        kept: None,
        result: |home| read(home, &["out/model/model.safetensors", "out/model/config.json"]),
    }
}

fn mix() -> Scenario {
    let home = Home::with_procedures();
    home.write("out/other", "");
    let seed = home.mix();
    let mut arguments = words("dataset mix --builder none --held-out 0.3 -o out/mix.jsonl --seed");
    arguments.push(seed);
    let result = |home: &Home| read(home, &["out/mix.jsonl"]);
    Scenario { home, arguments, written: &["out/mix.jsonl"], kept: None, result }
}

/// The library that counts and fails; none where there is no C compiler.
fn compiled() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let unfinished = tempfile::NamedTempFile::new_in(folder).unwrap().into_temp_path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fault/fault.c");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let flags = ["-shared", "-fPIC", "-O1", "-Wall", "-o"];
    let made =
        Command::new(compiler).args(flags).arg(&*unfinished).arg(source).arg("-ldl").status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no C compiler that makes fault.c a library");
        return None;
    }
    let library = folder.join("fault.so");
    unfinished.persist(&library).unwrap();
    Some(library)
}

/// A fault: `fail`, `tear` or `kill`, at an operation from 1 on.
#[derive(Clone, Copy, Debug)]
struct Fault {
    kind: &'static str,
    at: u64,
}

impl Scenario {
    /// Runs the command from nothing; also returns how many operations there were.
    fn run_with(&self, library: &Path, fault: Fault) -> (Output, u64) {
        for name in self.written {
            let path = self.home.path(name);
            let is_gone = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
            assert!(is_gone.is_ok() || !path.exists(), "{}", path.display());
        }
        let counter = self.home.write("counter", [0; 8]);
        let done = self
            .home
            .command(&self.arguments)
            .env("LD_PRELOAD", library)
            .env("FAULT_FOLDER", self.home.path(".").canonicalize().unwrap())
            .env("FAULT_COUNTER", &counter)
            .env("FAULT_AT", fault.at.to_string())
            .env("FAULT_KIND", fault.kind)
            .env("STITCH_SANDBOX", "off") // so that ffmpeg can load the library
            .output()
            .unwrap();
        let count = std::fs::read(counter).unwrap().try_into().unwrap();
        (done, u64::from_ne_bytes(count))
    }

    /// The result without a fault, and the number of operations.
    fn whole(&self, library: &Path) -> (Vec<Vec<u8>>, u64) {
        let (done, count) = self.run_with(library, Fault { kind: "fail", at: 0 });
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(count > 0, "nothing is counted");
        ((self.result)(&self.home), count)
    }

    /// One operation fails; what is left is no lie, and the same command again ends as it should.
    fn check(&self, library: &Path, fault: Fault, whole: &[Vec<u8>]) {
        let case = format!("{} {fault:?}", self.arguments.join(" "));
        let (done, _) = self.run_with(library, fault);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(!said.contains("panicked"), "{case}: {said}");
        match done.status.code() {
            Some(0) => assert!((self.result)(&self.home) == whole, "{case}: says it is done"),
            Some(1) => assert!(said.contains("error:"), "{case}: {said}"),
            code => assert!(fault.kind == "kill" && code.is_none(), "{case}: {code:?} {said}"),
        }
        if self.home.path("home/library/library.db").exists() {
            self.home.run(&["library", "verify"]).success();
        }
        if self.kept.is_none_or(|name| !self.home.path(name).exists()) {
            self.home.run(&self.arguments).success();
        }
        assert!((self.result)(&self.home) == whole, "{case}: another result");
        self.home.run(&["library", "verify"]).success();
    }
}

fn every_operation_fails(scenario: &Scenario) {
    let Some(library) = compiled() else { return };
    let (whole, count) = scenario.whole(&library);
    let all = std::env::var("STITCH_FAULTS").is_ok_and(|value| value == "all");
    let step = if all { 1 } else { count.div_ceil(2) };
    for at in (1..=count).step_by(step as usize) {
        scenario.check(&library, Fault { kind: "fail", at }, &whole);
        scenario.check(&library, Fault { kind: "tear", at }, &whole);
    }
    eprintln!("{}: {count} operations, {} faults", scenario.arguments[0], 2 * count.div_ceil(step));
}

#[test]
fn any_operation_of_an_index_may_fail() {
    every_operation_fails(&index());
}

#[test]
fn any_operation_of_a_make_may_fail() {
    every_operation_fails(&make());
}

/// The command is killed, with the programs that it has started, at operations that are spread over all of them.
fn kills(scenario: fn() -> Scenario, at_least: u64) {
    let wanted = std::env::var("STITCH_KILLS").map_or(0, |count| count.parse().unwrap());
    let kills = at_least.max(wanted);
    let Some(library) = compiled().filter(|_| kills > 0) else { return };
    let scenario = scenario();
    let (whole, count) = scenario.whole(&library);
    for kill in 0..kills {
        // Multiples of the golden ratio: spread evenly, whatever the number of kills.
        let part = u128::from(kill.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let at = 1 + ((part * u128::from(count)) >> 64) as u64;
        scenario.check(&library, Fault { kind: "kill", at }, &whole);
    }
    eprintln!("{}: {count} operations, {kills} kills", scenario.arguments[..2].join(" "));
}

#[test]
fn a_killed_index_goes_on_and_ends_the_same() {
    kills(index, 1);
}

#[test]
fn a_killed_worker_goes_on_and_its_shards_are_whole() {
    kills(shards, 1);
}

#[test]
fn a_killed_make_goes_on_and_ends_the_same() {
    kills(make, 1);
}

#[test]
fn a_killed_backup_leaves_nothing_in_the_way() {
    kills(backup, 1);
}

#[test]
fn a_killed_mix_ends_the_same() {
    kills(mix, 0);
}

#[test]
fn a_killed_training_ends_the_same() {
    kills(train, 0);
}
