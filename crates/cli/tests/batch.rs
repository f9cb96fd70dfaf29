//! Several procedures in one run: a table, nothing made twice, and one bad procedure stops no other.

mod common;

use std::process::Command;

use common::Home;
use serde_json::Value;

const OPTIONS: [&str; 6] = ["--threshold=0", "--size", "160x90", "-o", "out/", "--json"];

/// Three procedures; the first two share all their steps.
fn procedures(home: &Home) {
    home.write("soup.txt", "Chop the onion\nBoil the carrot\n");
    home.write("stew.txt", "# Stew\n\n1. Chop the onion\n2. Boil the carrot\n");
    home.write("board.txt", "Sand the board\nPaint the board\n");
}

/// The lines of `stitch make --json` for these files.
fn make(home: &Home, files: &[&str], code: i32) -> Vec<Value> {
    let done = home.run(&[&["make"], files, &OPTIONS].concat()).code(code);
    let lines = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn modified(home: &Home, name: &str) -> std::time::SystemTime {
    home.path(name).metadata().unwrap().modified().unwrap()
}

#[test]
fn every_procedure_gets_a_video_and_shared_cuts_are_encoded_once() {
    let home = Home::indexed();
    procedures(&home);
    let rows = make(&home, &["soup.txt"], 0);
    assert_eq!(rows.len(), 1, "a folder for one procedure");
    let pieces = || std::fs::read_dir(home.path("home/cache/cuts/pieces")).unwrap().count();
    let alone = pieces();
    let rows = make(&home, &["soup.txt", "stew.txt"], 0);
    assert_eq!(pieces(), alone, "the cuts of the first procedure serve the second");
    let field = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(field("procedure"), ["soup.txt", "stew.txt"]);
    assert_eq!(field("steps"), [2, 2]);
    assert_eq!(field("unchanged"), [true, false]);
    for name in ["soup.mp4", "soup.json", "stew.mp4", "stew.json"] {
        assert!(home.path("out").join(name).is_file(), "{name}");
    }
    home.run(&["make", "stew.txt", "--threshold=0", "--size", "160x90", "-o", "one.mp4"]).success();
    let read = |name: &str| std::fs::read(home.path(name)).unwrap();
    assert!(read("one.mp4") == read("out/stew.mp4"), "as when it is made alone");
}

#[test]
fn a_bad_procedure_is_told_in_the_table_and_stops_no_other() {
    let home = Home::indexed();
    procedures(&home);
    home.write("empty.txt", "\n");
    let files = ["nowhere.txt", "empty.txt", "board.txt"];
    let arguments =
        [&["make"], &files[..], &["--no-video", "--threshold=0", "-o", "out/"]].concat();
    let done = home.run(&arguments).code(1);
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (table, error) = (said(&done.get_output().stdout), said(&done.get_output().stderr));
    let line = |name: &str| table.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("procedure").contains("steps  shown  perhaps  gaps  sources"), "{table}");
    assert!(line("nowhere.txt").contains("error: nowhere.txt: there is no such file"), "{table}");
    assert!(line("empty.txt").contains("error: there is no text in it"), "{table}");
    assert!(line("board.txt").ends_with("out/board.json"), "{table}");
    assert!(error.contains("2 of 3 videos not made; the table says why"), "{error}");
    home.write("nothing.txt", "Paint the board\n");
    let nothing =
        ["make", "nothing.txt", "board.txt", "--no-video", "--threshold=1", "-o", "none/"];
    assert!(home.fails(&nothing, 3).contains("2 of 2 videos not made"), "only gaps");
}

#[test]
fn a_second_run_makes_what_has_changed() {
    let home = Home::indexed();
    procedures(&home);
    let files = ["soup.txt", "board.txt"];
    make(&home, &files, 0);
    let before = modified(&home, "out/soup.mp4");
    home.write("board.txt", "Saw the board\n");
    let unchanged =
        |rows: Vec<Value>| rows.iter().map(|row| row["unchanged"] == true).collect::<Vec<_>>();
    assert_eq!(unchanged(make(&home, &files, 0)), [true, false]);
    assert_eq!(unchanged(make(&home, &files, 0)), [true, true]);
    assert_eq!(modified(&home, "out/soup.mp4"), before, "not written again");
    std::fs::remove_file(home.path("out/soup.json")).unwrap();
    assert_eq!(unchanged(make(&home, &files, 0)), [false, true], "a file is missing");
    let cropped = [&["--aspect", "crop"], &files[..]].concat();
    assert_eq!(unchanged(make(&home, &cropped, 0)), [false, false], "another option");
    make(&home, &files, 0);
    home.run(&["library", "remove", "video 0.mp4"]).success();
    assert_eq!(unchanged(make(&home, &files, 0)), [false, false], "another library");
    home.write("out/batch.jsonl", "no JSON");
    assert_eq!(unchanged(make(&home, &files, 0)), [false, false], "no record");
}

#[test]
fn an_interrupted_run_continues() {
    let home = Home::indexed();
    procedures(&home);
    let files = ["soup.txt", "stew.txt", "board.txt"];
    let arguments = [&["make"], &files[..], &OPTIONS[..5]].concat();
    // "making videos" advances when the first video is there.
    let ended = home.interrupt(&arguments, "making videos", "-INT");
    // A run that was quick enough to end well is no failure of this test.
    assert!(ended.code().is_some_and(|code| [0, 130].contains(&code)));
    let made = modified(&home, "out/soup.mp4");
    let rows = make(&home, &files, 0);
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["unchanged"], true, "made before the interruption");
    assert_eq!(modified(&home, "out/soup.mp4"), made);
}

#[test]
fn options_of_sound_and_exports_hold_for_every_video() {
    let home = Home::indexed();
    procedures(&home);
    let song = home.path("song.wav");
    let tone = ["-v", "error", "-f", "lavfi", "-i", "sine=frequency=880:duration=2"];
    assert!(Command::new("ffmpeg").args(tone).arg(&song).status().unwrap().success());
    let sound =
        ["--music", "song.wav", "--source-sound", "off", "--with", "srt,otio", "--handles", "1"];
    let files = [&["soup.txt", "board.txt"], &sound[..]].concat();
    let unchanged =
        |rows: Vec<Value>| rows.iter().map(|row| row["unchanged"] == true).collect::<Vec<_>>();
    let rows = make(&home, &files, 0);
    assert!(rows.iter().all(|row| row["files"].as_array().unwrap().len() == 4), "{rows:?}");
    assert_eq!(unchanged(rows), [false, false]);
    assert_eq!(unchanged(make(&home, &files, 0)), [true, true]);
    let longer = [&files[..8], &["--handles", "2"]].concat();
    assert_eq!(unchanged(make(&home, &longer, 0)), [false, false], "another option");
    assert!(
        Command::new("ffmpeg")
            .arg("-y")
            .args(tone)
            .args(["-af", "volume=0.5"])
            .arg(&song)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(unchanged(make(&home, &longer, 0)), [false, false], "another song of that name");
    let recording = [&["make"], &files[..2], &["--voice", "song.wav", "-o", "out/"]].concat();
    let said = home.fails(&recording, 2);
    assert!(said.contains("a recording speaks one procedure"), "{said}");
}

#[test]
fn wrong_use_is_told_before_anything_is_made() {
    let home = Home::indexed();
    procedures(&home);
    home.write("other/soup.md", "Chop the onion\n");
    let table: [(&[&str], &str); 5] = [
        (&["soup.txt", "stew.txt"], "give the folder of the videos"),
        (&["soup.txt", "stew.txt", "-o", "out.mp4"], "give the folder of the videos"),
        (&["soup.txt", "other/soup.md", "-o", "out/"], "would both become out/soup.mp4"),
        (&["soup.txt", "-", "-o", "out/"], "standard input has no name for its video"),
        (&["soup.txt", "stew.txt", "--show-reading"], "--show-reading takes one procedure"),
    ];
    for (arguments, expected) in table {
        let said = home.fails(&[&["make"], arguments].concat(), 2);
        assert!(said.contains(expected), "{said}");
    }
    assert!(!home.path("out").exists());
}
