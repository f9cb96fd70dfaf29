//! scripts/dist.sh with a small program in place of stitch.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

/// Answers as stitch does.
const STITCH: &str = r#"#!/bin/sh
case "$1" in
  --version) echo "stitch 1.2.3" ;;
  completions) echo "completions of $2" ;;
  man) mkdir -p "$3" && echo page > "$3/stitch.1" ;;
esac
"#;

fn dist(folder: &Path, out: &str) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/dist.sh");
    let mut command = Command::new(script);
    command.arg(folder.join(out)).env("STITCH", folder.join("stitch")).env("XTASK", "echo");
    command.output().unwrap()
}

fn run(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_tarball_has_everything_and_its_checksums_hold() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("stitch"), STITCH).unwrap();
    fs::set_permissions(folder.path().join("stitch"), fs::Permissions::from_mode(0o755)).unwrap();
    let name = format!("stitch-1.2.3-linux-{}", std::env::consts::ARCH);
    let tarball = format!("{name}.tar.gz");
    for out in ["one", "two"] {
        let done = dist(folder.path(), out);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let read = |out: &str| fs::read(folder.path().join(out).join(&tarball)).unwrap();
    assert!(read("one") == read("two"), "the same sources give the same bytes");
    let out = folder.path().join("one");
    run(Command::new("sha256sum").args(["-c", &format!("{tarball}.sha256")]).current_dir(&out));
    let source = "stitch-1.2.3.tar.gz";
    let sum = fs::read_to_string(out.join(format!("{source}.sha256"))).unwrap();
    run(Command::new("sha256sum").args(["-c", &format!("{source}.sha256")]).current_dir(&out));
    let formula = fs::read_to_string(out.join("stitch.rb")).unwrap();
    for part in [sum.split(' ').next().unwrap(), format!("/{source}\"\n").as_str()] {
        assert!(formula.contains(part), "{part} is not in {formula}");
    }
    assert!(!formula.contains("\"@"), "every placeholder is filled: {formula}");
    run(Command::new("tar").args(["-xf", &tarball]).current_dir(&out));
    let packed = out.join(&name);
    for file in [
        "bin/stitch",
        "lib/systemd/system/stitch.service",
        "share/bash-completion/completions/stitch",
        "share/doc/stitch/LICENSE-MIT",
        "share/doc/stitch/sbom.cdx.json",
        "share/fish/vendor_completions.d/stitch.fish",
        "share/man/man1/stitch.1",
        "share/zsh/site-functions/_stitch",
    ] {
        assert!(packed.join(file).is_file(), "{file}");
    }
    let sums = ["-c", "share/doc/stitch/SHA256SUMS"];
    let checked = run(Command::new("sha256sum").args(sums).current_dir(&packed));
    assert_eq!(checked.lines().count(), 12, "every file has a checksum: {checked}");
}

#[test]
fn a_program_that_was_not_built_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let done = dist(folder.path(), "out");
    assert!(!done.status.success() && !folder.path().join("out").exists());
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("run: make dist"), "{said}");
}
