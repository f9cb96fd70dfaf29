//! `stitch calibrate`: labels of a small library become weights that every command uses.

mod common;

use common::Home;
use serde_json::{Value, json};

/// Lines that the test videos show, with video and second.
const SHOWN: [(&str, usize, usize); 6] = [
    ("Chop the onion", 0, 0),
    ("Peel the carrot", 1, 0),
    ("Saw the board", 2, 0),
    ("Fry the onion in a pan", 0, 2),
    ("Chop the carrot", 1, 2),
    ("Paint the board", 2, 4),
];

/// Procedures of four lines that are shown and one that is not.
fn labels(procedures: usize) -> String {
    let procedure = |number: usize| {
        let shown = (0..4).map(|i| SHOWN[(number + i) % SHOWN.len()]);
        let step = |(line, video, start): (&str, usize, usize)| {
            let clip = json!({"video": format!("video {video}.mp4"), "start_s": start, "end_s": start + 2});
            json!({"line": line, "clips": [clip]})
        };
        let mut steps: Vec<Value> = shown.map(step).collect();
        steps.push(json!({"line": "Knead the dough", "clips": []}));
        let lines: Vec<&str> = steps.iter().map(|step| step["line"].as_str().unwrap()).collect();
        json!({"id": number.to_string(), "text": lines.join("\n"), "steps": steps}).to_string()
    };
    (0..procedures).map(procedure).collect::<Vec<_>>().join("\n")
}

/// The calibration of the library, with the same log-odds for every clip and thresholds of a half, as version 1
/// without a checksum.
fn with_log_odds(written: &Value, log_odds: f32) -> String {
    let mut file = written.clone();
    (file["version"], file["sha256"]) = (json!(1), Value::Null);
    let weights = [0.0; 7];
    file["calibration"]["gaps"] = json!({"bias": log_odds, "weights": weights});
    for evidence in ["both", "text", "clip"] {
        file["calibration"][evidence]["threshold"] = json!(0.5);
    }
    file.to_string()
}

#[test]
fn labels_become_weights_that_are_used_until_they_are_removed() {
    let home = Home::indexed();
    home.write("labels.jsonl", labels(6));
    home.write("two.txt", "Sand the board\nKnead the dough\n");
    let file = home.path("home/library/calibration.json");
    // What is printed, and the warnings.
    let make = || {
        let done = home.run(&["make", "two.txt", "--no-video"]).success();
        let output = done.get_output();
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned())
    };
    let built_in = make();

    let printed = home.prints(&["calibrate", "labels.jsonl", "--out", "other.json", "--json"]);
    let fitted: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&fitted["procedures"], &fitted["folds"]), (&json!(6), &json!(5)), "{fitted}");
    for when in ["before", "after"] {
        let steps = |of: &str| fitted[when][of]["steps"].clone();
        assert_eq!((steps("shown"), steps("unshown")), (json!(24), json!(6)), "{fitted}");
    }
    assert!(home.path("other.json").is_file() && !file.exists());
    assert_eq!(fitted["answers"], Value::Null, "the library does not use it");

    let printed = home.prints(&["calibrate", "labels.jsonl"]);
    let words = ["6 procedures", "steps that nothing shows, before", "whole answers, in-sample"];
    for words in words.into_iter().chain(["calibration error: "]) {
        assert!(printed.contains(words), "{printed}");
    }
    let written: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(written["encoder"]["name"], "narration");
    let from = written["calibration"]["from"].as_str().unwrap();
    assert!(from.contains("30 steps of 6 procedures in labels.jsonl"), "{from}");
    let again = home.prints(&["calibrate", "labels.jsonl", "--out", "other.json", "--json"]);
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["before"], fitted["before"], "still by the built-in weights");

    std::fs::write(&file, with_log_odds(&written, 1.0)).unwrap();
    let [printed, warning] = make();
    assert!(printed.contains("2 of 2 steps shown") && warning.is_empty(), "{printed} {warning}");
    home.run(&["make", "two.txt", "--no-video", "--gaps", "strict"]).code(3);
    std::fs::write(&file, with_log_odds(&written, -1.0)).unwrap();
    home.run(&["make", "two.txt", "--no-video"]).code(3);

    let other = with_log_odds(&written, -1.0).replace("\"version\":1", "\"version\":9");
    std::fs::write(&file, other).unwrap();
    let [printed, warning] = make();
    assert_eq!(printed, built_in[0]);
    assert!(warning.contains("warning: "), "{warning}");
    assert!(warning.contains("calibration.json has version 9"), "{warning}");

    let reset = |removed: bool| {
        let printed = home.prints(&["calibrate", "--reset", "--json"]);
        assert_eq!(printed.trim(), json!({"removed": removed}).to_string());
    };
    reset(true);
    assert!(!file.exists());
    reset(false);
    assert_eq!(make(), built_in);
}

#[test]
fn labels_are_checked_before_anything_is_fitted() {
    let home = Home::indexed();
    home.write("few.jsonl", labels(4));
    let said = home.fails(&["calibrate", "few.jsonl"], 1);
    assert!(said.contains("16 steps that a clip shows") && said.contains("at least 20"), "{said}");
    home.write("typo.jsonl", labels(6).replace("video 2.mp4", "video two.mp4"));
    let said = home.fails(&["calibrate", "typo.jsonl"], 1);
    assert!(said.contains("`video two.mp4`") && said.contains("stitch library list"), "{said}");
    home.fails(&["calibrate"], 2);
    home.fails(&["calibrate", "few.jsonl", "--reset"], 2);
}

#[test]
fn own_labels_are_evaluated_without_a_world_and_drawn() {
    let home = Home::indexed();
    home.write("labels.jsonl", labels(2));
    let arguments = ["eval", "natural", "labels.jsonl", "--reliability", "bins.svg"];
    let printed = home.prints(&arguments);
    assert!(printed.contains("2 natural procedures, 10 steps"), "{printed}");
    assert!(printed.contains("calibration error"), "{printed}");
    let drawn = std::fs::read_to_string(home.path("bins.svg")).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains(">all: "), "{drawn}");
    let accept = "{\"id\": \"a\", \"text\": \"Chop the onion\", \"steps\": [{\"line\": \"Chop the \
                  onion\", \"accept\": [[\"chop\", \"onion\"]]}]}";
    home.write("labels.jsonl", accept);
    let said = home.fails(&arguments, 1);
    assert!(said.contains("--world DIR"), "{said}");
}
