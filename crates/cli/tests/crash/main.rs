//! Every write, sync and rename of a command fails once, or the command is killed at it, or the power is cut: then the
//! same command again ends as if nothing had happened, and `library verify` finds nothing wrong. The operations are
//! counted and made to fail by a library that is loaded before libc (`fault.c`), so SQLite's and ffmpeg's are among
//! them.
//!
//! `make crash` tries more: `STITCH_FAULTS=all` every operation (otherwise two), `STITCH_KILLS=n` and `STITCH_CUTS=n` so
//! many kills and power cuts of each command.

#![allow(clippy::print_stderr)]

#[path = "../common/mod.rs"]
mod common;
mod power_cut;
mod scenarios;
mod served;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use power_cut::{Lasts, cut};
use scenarios::*;
use tempfile::TempDir;

/// The library that counts and fails; none where there is no C compiler.
fn compiled() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let unfinished = tempfile::NamedTempFile::new_in(folder).unwrap().into_temp_path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash/fault.c");
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

/// What happens at an operation, counted from 1 on.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It reports an error.
    Fail,
    /// Half of a write is made, then the disk is full.
    Tear,
    Kill,
    /// As a kill, and only this lasts of what was not synced.
    Cut(Lasts),
}

impl Fault {
    fn kind(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Tear => "tear",
            Self::Kill | Self::Cut(_) => "kill",
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        match from.is_dir() {
            true => copy_folder(&from, &to),
            false => drop(std::fs::copy(from, to).unwrap()),
        }
    }
}

impl Scenario {
    /// As before the command.
    fn reset(&self) {
        for name in self.written {
            let path = self.home.path(name);
            let is_gone = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
            assert!(is_gone.is_ok() || !path.exists(), "{}", path.display());
        }
        if let Some((to, from)) = self.found {
            copy_folder(&self.home.path(from), &self.home.path(to));
        }
    }

    /// Runs the command from nothing; also returns how many operations there were.
    fn run_with(&self, library: &Path, fault: Fault, at: u64) -> (Output, u64) {
        self.reset();
        let folder = self.home.path(".").canonicalize().unwrap();
        let counter = self.home.write("counter", [0; 8]);
        let synced = TempDir::new().unwrap();
        let mut command = self.home.command(&self.arguments);
        command
            .env("LD_PRELOAD", library)
            .env("FAULT_FOLDER", &folder)
            .env("FAULT_COUNTER", &counter)
            .env("FAULT_AT", at.to_string())
            .env("FAULT_KIND", fault.kind())
            .env("STITCH_SANDBOX", "off"); // so that ffmpeg can load the library
        if matches!(fault, Fault::Cut(_)) {
            command.env("FAULT_SYNCED", synced.path());
        }
        let done = (self.drive)(command, &folder);
        let count = std::fs::read(counter).unwrap().try_into().unwrap();
        if let Fault::Cut(lasts) = fault {
            cut(&folder, synced.path(), lasts);
        }
        (done, u64::from_ne_bytes(count))
    }

    fn run_again(&self) {
        let done = (self.drive)(self.home.command(&self.arguments), &self.home.path("."));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// The result without a fault, and the number of operations.
    fn whole(&self, library: &Path) -> (Vec<Vec<u8>>, u64) {
        let (done, count) = self.run_with(library, Fault::Fail, 0);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(count > 0, "nothing is counted");
        ((self.result)(&self.home), count)
    }

    /// Something happens at an operation; what is left is no lie, and the same command again ends as it should.
    fn check(&self, library: &Path, fault: Fault, at: u64, whole: &[Vec<u8>]) {
        let case = format!("{} {fault:?} at {at}", self.arguments.join(" "));
        let (done, _) = self.run_with(library, fault, at);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(!said.contains("panicked"), "{case}: {said}");
        if self.asked_for && matches!(fault, Fault::Cut(_)) {
            self.run_again(); // what had been asked for is gone, not what the server keeps
        }
        match done.status.code() {
            Some(0) => assert!((self.result)(&self.home) == whole, "{case}: says it is done"),
            Some(1) => assert!(said.contains("error"), "{case}: {said}"),
            code => assert!(fault.kind() == "kill" && code.is_none(), "{case}: {code:?} {said}"),
        }
        if self.home.path("home/library/library.db").exists() {
            let verified = self.home.command(&["library", "verify"]).output().unwrap();
            assert!(verified.status.success(), "{case}: {verified:?}");
        }
        if self.kept.is_none_or(|name| !self.home.path(name).exists()) {
            self.run_again();
        }
        assert!((self.result)(&self.home) == whole, "{case}: another result");
        self.home.run(&["library", "verify"]).success();
    }
}

/// So many of something, from the environment.
fn wanted(variable: &str, at_least: u64) -> u64 {
    at_least.max(std::env::var(variable).map_or(0, |count| count.parse().unwrap()))
}

/// Operations that are spread evenly over all of them, whatever their number: multiples of the golden ratio.
fn spread(times: u64, count: u64) -> impl Iterator<Item = u64> {
    let part = |time: u64| u128::from(time.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    (0..times).map(move |time| 1 + ((part(time) * u128::from(count)) >> 64) as u64)
}

fn faults(scenario: fn() -> Scenario) {
    let Some(library) = compiled() else { return };
    let scenario = scenario();
    let (whole, count) = scenario.whole(&library);
    let all = std::env::var("STITCH_FAULTS").is_ok_and(|value| value == "all");
    let step = if all { 1 } else { count.div_ceil(2) };
    for at in (1..=count).step_by(step as usize) {
        scenario.check(&library, Fault::Fail, at, &whole);
        scenario.check(&library, Fault::Tear, at, &whole);
    }
    let faults = 2 * count.div_ceil(step);
    eprintln!("{}: {count} operations, {faults} faults", scenario.arguments[..2].join(" "));
}

/// The command is killed, with the programs that it has started.
fn kills(scenario: fn() -> Scenario, at_least: u64) {
    let kills = wanted("STITCH_KILLS", at_least);
    let Some(library) = compiled().filter(|_| kills > 0) else { return };
    let scenario = scenario();
    let (whole, count) = scenario.whole(&library);
    spread(kills, count).for_each(|at| scenario.check(&library, Fault::Kill, at, &whole));
    eprintln!("{}: {count} operations, {kills} kills", scenario.arguments[..2].join(" "));
}

/// The power is cut, also after a command has said that it is done.
fn power_cuts(scenario: fn() -> Scenario) {
    let cuts = wanted("STITCH_CUTS", 1);
    let Some(library) = compiled() else { return };
    let scenario = scenario();
    let (whole, count) = scenario.whole(&library);
    for (number, at) in (0..).zip(spread(cuts, count)) {
        let lasts = [Lasts::Nothing, Lasts::Names, Lasts::Some(number)][number as usize % 3];
        scenario.check(&library, Fault::Cut(lasts), at, &whole);
    }
    scenario.check(&library, Fault::Cut(Lasts::Nothing), 0, &whole);
    let name = scenario.arguments[..2].join(" ");
    eprintln!("{name}: {count} operations, {} power cuts", cuts + 1);
}

#[test]
fn any_operation_of_an_index_may_fail() {
    faults(index);
}

#[test]
fn any_operation_of_a_make_may_fail() {
    faults(make);
}

#[test]
fn an_index_survives_a_power_cut() {
    power_cuts(index);
}

#[test]
fn a_make_survives_a_power_cut() {
    power_cuts(make);
}

#[test]
fn an_optimised_library_survives_a_power_cut() {
    power_cuts(optimise);
}

#[test]
fn a_backup_survives_a_power_cut() {
    power_cuts(backup);
}

#[test]
fn what_a_server_has_accepted_survives_a_power_cut() {
    power_cuts(serve);
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
fn a_killed_optimisation_ends_the_same() {
    kills(optimise, 1);
}

#[test]
fn a_killed_server_goes_on_with_its_jobs_and_ends_the_same() {
    kills(serve, 1);
}

#[test]
fn a_killed_mix_ends_the_same() {
    kills(mix, 0);
}

#[test]
fn a_killed_training_ends_the_same() {
    kills(train, 0);
}

/// A command of which no operation need fail in the ordinary tests.
fn faults_if_asked(scenario: fn() -> Scenario) {
    if std::env::var_os("STITCH_FAULTS").is_some() {
        faults(scenario);
    }
}

#[test]
fn any_operation_of_an_optimisation_may_fail() {
    faults_if_asked(optimise);
}

#[test]
fn any_operation_of_a_backup_may_fail() {
    faults_if_asked(backup);
}

#[test]
fn any_operation_of_a_mix_may_fail() {
    faults_if_asked(mix);
}

#[test]
fn any_operation_of_a_training_may_fail() {
    faults_if_asked(train);
}

#[test]
fn any_operation_of_a_server_may_fail() {
    faults_if_asked(serve);
}
