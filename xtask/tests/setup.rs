//! scripts/setup.sh on machines that lack things: played with a PATH that holds only what each
//! machine has.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What every machine has.
const ALWAYS: [&str; 8] = ["bash", "env", "sort", "head", "cut", "sed", "cat", "chmod"];

/// A machine: a folder of programs.
struct Machine(tempfile::TempDir);

impl Machine {
    /// One with everything that stitch needs, used by nobody special.
    fn complete() -> Self {
        let machine = Self(tempfile::tempdir().unwrap());
        for name in ALWAYS {
            symlink(real(name), machine.0.path().join(name)).unwrap();
        }
        for name in ["cargo", "cc", "python3", "ffprobe", "espeak-ng"] {
            machine.with(name, "exit 0");
        }
        machine
            .with("rustc", "echo 'rustc 1.95.0 (abc 2026-01-01)'")
            .with("ffmpeg", "echo 'ffmpeg version 5.1 Copyright'")
            .with("id", "echo 1000");
        machine
    }

    fn with(&self, name: &str, script: &str) -> &Self {
        let path = self.0.path().join(name);
        fs::write(&path, format!("#!{}\n{script}\n", real("bash").display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn without(&self, name: &str) -> &Self {
        fs::remove_file(self.0.path().join(name)).unwrap();
        self
    }

    /// An apt-get that notes what it was asked and brings the programs that are asked for.
    fn with_apt(&self) -> &Self {
        let folder = self.0.path().display();
        self.with(
            "apt-get",
            &format!(
                "echo \"apt-get $*\"\n\
                 case \"$*\" in *ffmpeg*)\n\
                 echo '#!{bash}' > {folder}/ffmpeg\n\
                 echo 'echo ffmpeg version 9' >> {folder}/ffmpeg\n\
                 chmod +x {folder}/ffmpeg;; esac",
                bash = real("bash").display()
            ),
        )
    }

    fn setup(&self, arguments: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/setup.sh");
        let mut command = Command::new(real("bash"));
        command.arg(script).args(arguments).env_clear().env("PATH", self.0.path());
        command.output().unwrap()
    }
}

fn real(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|p| p.is_file());
    found.unwrap_or_else(|| panic!("{name} is not on the PATH"))
}

fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(both).unwrap()
}

#[test]
fn needs_no_root_where_nothing_is_missing() {
    let output = Machine::complete().setup(&[]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("all there: ffmpeg version 5.1, rustc 1.95.0"));
}

#[test]
fn prints_the_exact_command_where_it_may_not_install() {
    let machine = Machine::complete();
    machine.with_apt().without("ffmpeg").without("ffprobe").without("espeak-ng");
    machine.with("sudo", "exit 1");
    let output = machine.setup(&[]);
    assert!(!output.status.success());
    let wanted = "sudo apt-get update && sudo apt-get install -y --no-install-recommends \
                  espeak-ng ffmpeg\n";
    assert!(said(&output).ends_with(wanted), "{}", said(&output));
    assert!(!said(&output).contains("installing"));
}

#[test]
fn installs_as_root_and_by_sudo_that_asks_nothing() {
    let as_root = Machine::complete();
    as_root.with_apt().without("ffmpeg").with("id", "echo 0");
    let by_sudo = Machine::complete();
    by_sudo.with_apt().without("ffmpeg");
    by_sudo.with("sudo", "[ \"$1\" = -n ] || exit 1; shift; [ \"$1\" = true ] || \"$@\"");
    for machine in [as_root, by_sudo] {
        let output = machine.setup(&[]);
        assert!(output.status.success(), "{}", said(&output));
        let text = said(&output);
        let update = text.find("apt-get update").unwrap();
        let install = text.find("apt-get install -q -y --no-install-recommends ffmpeg").unwrap();
        assert!(update < install, "{text}");
        assert!(machine.setup(&[]).status.success(), "the second run has nothing to do");
    }
}

#[test]
fn a_check_installs_nothing_even_as_root() {
    let machine = Machine::complete();
    machine.with_apt().without("ffmpeg").with("id", "echo 0");
    let output = machine.setup(&["--check"]);
    assert!(!output.status.success());
    assert!(said(&output).contains("missing: ffmpeg; on Debian and Ubuntu run: sudo apt-get"));
}

#[test]
fn old_or_absent_rust_is_told_first() {
    let old = Machine::complete();
    old.with("rustc", "echo 'rustc 1.9.0 (abc 2016-05-23)'");
    assert!(said(&old.setup(&[])).contains("1.9.0 is too old, 1.92 or later is needed"));
    let absent = Machine::complete();
    absent.without("cargo");
    assert!(said(&absent.setup(&[])).contains("https://rustup.rs"));
}
