//! `stitch self-check`: from nothing to a video, and what it says where something is missing.

mod common;

use common::Home;

#[test]
fn every_check_passes_and_nothing_is_left_behind() {
    let home = Home::new();
    let temporary = home.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let mut command = home.command(&["self-check", "--json"]);
    command.env("TMPDIR", &temporary);
    let done = assert_cmd::Command::from_std(command).assert().success();
    let text = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    let checks: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(checks.len(), 8, "{text}");
    assert!(checks.iter().all(|check| check["passed"] == true), "{text}");
    assert_eq!(checks[1]["detail"].as_str().unwrap().split(',').next(), Some("3 videos"));
    assert_eq!(std::fs::read_dir(temporary).unwrap().count(), 0);
    assert!(!home.path("home/library").exists(), "the user's library is left alone");
}

#[test]
fn what_is_missing_is_named_with_the_command_that_gets_it() {
    let home = Home::new();
    for (variable, value, wanted) in [
        ("STITCH_FFPROBE", "/nonexistent/ffprobe", "sudo apt-get install ffmpeg"),
        ("STITCH_SENTENCE_MODEL", "all-mpnet-base-v2", "stitch models pull all-mpnet-base-v2"),
    ] {
        let mut command = home.command(&["self-check"]);
        command.env(variable, value);
        let done = assert_cmd::Command::from_std(command).assert().code(1);
        let output = done.get_output();
        let (table, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(table.contains("programs and models  failed"), "{table}");
        assert!(!table.contains("draw videos"), "it stops there: {table}");
        assert!(error.contains(wanted), "{error}");
    }
}
