//! scripts/setup.sh on machines with missing programs, simulated by a PATH with few programs.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// On every machine.
const ALWAYS: [&str; 8] = ["bash", "env", "sort", "head", "cut", "sed", "cat", "chmod"];

/// A folder of programs, used as the PATH.
struct Machine(tempfile::TempDir);

impl Machine {
    /// Has everything that stitch needs; the user is not root.
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

    /// Adds an apt-get that prints its arguments and installs ffmpeg on request.
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

fn text(output: &Output) -> String {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(both).unwrap()
}

#[test]
fn needs_no_root_if_nothing_is_missing() {
    let output = Machine::complete().setup(&[]);
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("all installed: ffmpeg version 5.1, rustc 1.95.0"));
}

#[test]
fn prints_the_command_if_it_may_not_install() {
    let machine = Machine::complete();
    machine.with_apt().without("ffmpeg").without("ffprobe").without("espeak-ng");
    machine.with("sudo", "exit 1");
    let output = machine.setup(&[]);
    assert!(!output.status.success());
    let wanted = "sudo apt-get update && sudo apt-get install -y --no-install-recommends \
                  espeak-ng ffmpeg\n";
    assert!(text(&output).ends_with(wanted), "{}", text(&output));
    assert!(!text(&output).contains("installing"));
}

#[test]
fn installs_as_root_and_with_sudo_without_password() {
    let as_root = Machine::complete();
    as_root.with_apt().without("ffmpeg").with("id", "echo 0");
    let with_sudo = Machine::complete();
    with_sudo.with_apt().without("ffmpeg");
    with_sudo.with("sudo", "[ \"$1\" = -n ] || exit 1; shift; [ \"$1\" = true ] || \"$@\"");
    for machine in [as_root, with_sudo] {
        let output = machine.setup(&[]);
        assert!(output.status.success(), "{}", text(&output));
        let text = text(&output);
        let update = text.find("apt-get update").unwrap();
        let install = text.find("apt-get install -q -y --no-install-recommends ffmpeg").unwrap();
        assert!(update < install, "{text}");
        assert!(machine.setup(&[]).status.success(), "the second run has nothing to do");
    }
}

#[test]
fn check_installs_nothing_even_as_root() {
    let machine = Machine::complete();
    machine.with_apt().without("ffmpeg").with("id", "echo 0");
    let output = machine.setup(&["--check"]);
    assert!(!output.status.success());
    assert!(text(&output).contains("missing: ffmpeg; on Debian and Ubuntu run: sudo apt-get"));
}

#[test]
fn old_or_missing_rust_is_reported_first() {
    let old = Machine::complete();
    old.with("rustc", "echo 'rustc 1.9.0 (abc 2016-05-23)'");
    assert!(text(&old.setup(&[])).contains("1.9.0 is too old, 1.92 or later is needed"));
    let missing = Machine::complete();
    missing.without("cargo");
    assert!(text(&missing.setup(&[])).contains("https://rustup.rs"));
}
