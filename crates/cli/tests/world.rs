//! `stitch world`: refused options, missing programs, resumed runs.

mod common;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use common::Home;
use insta::assert_snapshot;

const ONE: [&str; 7] = ["world", "render", "--videos", "1", "--size", "160x90", "--out"];

#[test]
fn what_cannot_be_made_is_refused_with_the_way_out() {
    let home = Home::new();
    home.write("photos/holiday.jpg", "not ours");
    let said = |arguments: &[&str], code| home.fails(arguments, code);
    let render = |more: &[&'static str]| [&["world", "render", "--out", "new"][..], more].concat();
    assert_snapshot!("world_foreign_folder", said(&["world", "render", "--out", "photos"], 1));
    assert_snapshot!("world_odd_size", said(&render(&["--size", "101x77"]), 1));
    assert_snapshot!("world_no_size", said(&render(&["--size", "huge"]), 2));
    assert_snapshot!("world_no_videos", said(&render(&["--videos", "0"]), 1));
    assert_snapshot!("world_negative_seed", said(&render(&["--seed=-1"]), 2));
    assert!(home.path("photos/holiday.jpg").is_file());
    assert!(!home.path("new").exists(), "nothing is made before everything is checked");
}

#[test]
fn without_ffmpeg_nothing_is_made_and_the_message_says_how_to_get_it() {
    let home = Home::new();
    let mut command = home.command(&[&ONE[..], &["new"]].concat());
    command.env("STITCH_FFMPEG", "/nonexistent/ffmpeg");
    let done = assert_cmd::Command::from_std(command).assert().code(1);
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(said.contains("sudo apt-get install ffmpeg"), "{said}");
}

#[test]
fn without_a_voice_there_are_subtitles_and_it_says_so() {
    let home = Home::new();
    let mut command = home.command(&[&ONE[..], &["new"]].concat());
    command.env("STITCH_ESPEAK_NG", "/nonexistent/espeak-ng");
    let done = assert_cmd::Command::from_std(command).assert().success();
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(said.contains("espeak-ng"), "{said}");
    let files: Vec<String> = std::fs::read_dir(home.path("new"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(files.iter().any(|name| name.ends_with(".srt")), "{files:?}");
    assert!(files.iter().any(|name| name.ends_with(".mp4")), "{files:?}");
}

#[test]
fn stopped_in_the_middle_it_goes_on_and_ends_the_same() {
    let home = Home::new();
    let two = |out: &'static str| {
        ["world", "render", "--videos", "2", "--size", "160x90", "--json", "--out", out]
    };
    home.run(&two("whole")).success();
    for signal in ["-INT", "-KILL"] {
        let out = if signal == "-INT" { "stopped" } else { "killed" };
        let mut child =
            home.command(&two(out)).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("\"progress\"")));
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        lines.for_each(drop);
        child.wait().unwrap();
        home.run(&two(out)).success();
        for file in std::fs::read_dir(home.path("whole")).unwrap() {
            let name = file.unwrap().file_name();
            let read = |folder: &str| std::fs::read(home.path(folder).join(&name)).unwrap();
            assert!(read("whole") == read(out), "{name:?} after {signal}");
        }
    }
}
