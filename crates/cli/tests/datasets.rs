//! `stitch dataset`: converts published annotations into a set, renders a procedure.

mod common;

use common::Home;
use serde_json::Value;

const COIN: &str = r#"{"database": {
    "a": {"class": "Tea", "duration": 60, "annotation": [
        {"id": "1", "segment": [2, 8], "label": "boil the water"},
        {"id": "2", "segment": [9, 14], "label": "pour the water"},
        {"id": "3", "segment": [70, 75], "label": "drink"}]},
    "b": {"class": "Tea", "duration": 60, "annotation": [
        {"id": "1", "segment": [1, 9], "label": "boil the water"},
        {"id": "2", "segment": [22, 29], "label": "stir in honey"}]}}}"#;

const DETOURS: &str = r#"[{"video1": "a", "video1_startends": 12, "video2": "b",
    "video2_startends": [21, 30], "question": "Can I use honey?"},
    {"video1": "a", "video1_startends": 12, "video2": "z", "video2_startends": [1, 2], "question": "?"}]"#;

#[test]
fn annotations_and_detours_become_a_set_that_can_be_measured_on() {
    let home = Home::new();
    home.write("coin.json", COIN);
    home.write("detours.json", DETOURS);
    let done = home
        .run(&["dataset", "convert", "coin", "coin.json", "-o", "set", "--detours", "detours.json"])
        .success();
    insta::assert_snapshot!(String::from_utf8_lossy(&done.get_output().stdout));
    let mixed = std::fs::read_to_string(home.path("set/mixed.jsonl")).unwrap();
    let mixed: Value = serde_json::from_str(&mixed).unwrap();
    assert_eq!(mixed["title"], "Can I use honey?");
    assert_eq!(mixed["steps"].as_array().unwrap().len(), 3);
    let videos = std::fs::read_to_string(home.path("set/videos.jsonl")).unwrap();
    assert_eq!(videos.lines().count(), 2);
}

#[test]
fn what_is_no_annotation_is_told() {
    let home = Home::new();
    home.write("coin.json", r#"{"database": {"odd": 7}}"#);
    let odd = home.run(&["dataset", "convert", "coin", "coin.json", "-o", "set"]).failure().code(1);
    let told = String::from_utf8_lossy(&odd.get_output().stderr).into_owned();
    assert!(told.contains("coin.json: no video with steps can be used"), "{told}");
    let told = home.fails(&["dataset", "convert", "coins", "coin.json", "-o", "set"], 2);
    assert!(told.contains("coin, crosstask, hirest"), "{told}");
    home.write("coin.json", COIN);
    home.write(
        "detours.json",
        r#"[{"video1": "y", "video1_startends": 12, "video2": "z",
        "video2_startends": [1, 2], "question": "?"}]"#,
    );
    let convert =
        ["dataset", "convert", "coin", "coin.json", "-o", "set", "--detours", "detours.json"];
    let told = home.fails(&convert, 1);
    assert!(told.contains("none of 1 detour leads from one of these videos"), "{told}");
    assert!(!home.path("set").exists(), "nothing is written unless all of it can be");
}

#[test]
fn a_procedure_becomes_a_video_of_its_own_clips() {
    let home = Home::indexed();
    home.mix();
    let show = ["dataset", "show", "procedures.jsonl", "--render", "1", "-o", "one.mp4", "--json"];
    let done = home.run(&show).success();
    let made: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert!(home.path("one.mp4").metadata().unwrap().len() > 1000);
    let steps = made["demonstration"]["steps"].as_array().unwrap();
    assert!(steps.len() >= 2);
    for step in steps {
        assert_eq!(step["text"], step["chosen"]["text"], "its own clip");
    }
    let beyond = ["dataset", "show", "procedures.jsonl", "--render", "99"];
    home.run(&beyond).failure().code(2);
}
