//! A disk that fills up while an index, a video or its pieces are written: a message, nothing lost,
//! and the same command goes on once there is room. The disk is a real, small file system, mounted
//! where only the command sees it; where the machine does not allow that, these tests say so and
//! pass.

#![allow(clippy::print_stderr)]

mod common;

use std::process::{Command, Output};

use common::Home;

/// Runs `stitch` while `folder` lies on a disk of so many kilobytes, whose content is what was in
/// `folder` and goes back there afterwards. None where the machine mounts nothing for us.
fn on_small_disk(home: &Home, folder: &str, kilobytes: u32, arguments: &[&str]) -> Option<Output> {
    let stitch = home.command(arguments);
    let script = r#"
        set -e
        mkdir -p "$1" "$1.kept"
        cp -a "$1/." "$1.kept/"
        mount -t tmpfs -o size="$2"k tmpfs "$1" || exit 99
        cp -a "$1.kept/." "$1/"
        folder=$1; shift 2
        set +e
        "$@"; code=$?
        rm -rf "$folder.kept"; cp -a "$folder" "$folder.kept"
        exit $code
    "#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    command.arg(home.path(folder)).arg(kilobytes.to_string());
    command.arg(stitch.get_program()).args(stitch.get_args());
    command.current_dir(home.path("."));
    for (key, value) in stitch.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    let done = command.output().ok().filter(|done| {
        let told = String::from_utf8_lossy(&done.stderr);
        done.status.code() != Some(99) && !told.contains("unshare failed")
    });
    if done.is_none() {
        eprintln!("skipped: this machine mounts no small disk for a test");
        return None;
    }
    let (path, kept) = (home.path(folder), home.path(&format!("{folder}.kept")));
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::rename(kept, path).unwrap();
    done
}

fn told_full(done: &Output) -> String {
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("the disk is full"), "{said}");
    said
}

#[test]
fn an_index_on_a_full_disk_goes_on_when_there_is_room() {
    let whole = Home::indexed().library_content().1;
    let home = Home::with_videos();
    let Some(done) = on_small_disk(&home, "home/library", 120, &["index", "videos"]) else {
        return;
    };
    told_full(&done);
    home.run(&["index", "videos"]).success();
    assert_eq!(home.library_content().1, whole);
}

#[test]
fn a_video_on_a_full_disk_leaves_what_was_there_and_goes_on() {
    let home = Home::indexed();
    home.write("soup.txt", "Chop the onion\nBoil the carrot\nPaint the board\nSand the board\n");
    let make = ["make", "soup.txt", "--threshold=0", "--size", "320x180", "-o", "out/soup.mp4"];
    home.write("out/soup.mp4", "an older video");
    // Where the video goes, then where its pieces are kept.
    for (folder, kilobytes) in [("out", 40), ("home/cache", 60)] {
        let Some(done) = on_small_disk(&home, folder, kilobytes, &make) else { return };
        told_full(&done);
        assert_eq!(std::fs::read(home.path("out/soup.mp4")).unwrap(), b"an older video");
        let left = std::fs::read_dir(home.path("out")).unwrap().count();
        assert_eq!(left, 1, "nothing half written is left");
        let _ = std::fs::remove_dir_all(home.path("home/cache"));
    }
    home.run(&make).success();
    assert!(std::fs::metadata(home.path("out/soup.mp4")).unwrap().len() > 10_000);
}
