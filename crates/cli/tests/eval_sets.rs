//! `stitch eval --data` and `stitch eval reading`: valid and invalid sets.

mod common;

use std::path::Path;

use common::{Home, npy};
use serde_json::Value;

/// The small random model that the engine is tested with; its vectors have 24 numbers.
fn model() -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data/tiny-clip");
    data.display().to_string()
}

const STEPS: [&str; 3] = ["chop the onion", "fry the onion in a pan", "serve the soup"];

/// A row for a step of a video: the step's own numbers and the video's.
fn row(video: usize, step: usize, of_video: f32) -> Vec<f32> {
    let number = |i: usize, seed: usize| ((i * 37 + seed * 101) % 23) as f32 / 11.0 - 1.0;
    (0..24).map(|i| number(i, step + 3 * (video % 2)) + of_video * number(i, 50 + video)).collect()
}

/// Twelve videos of two tasks, three steps each, with a row for every step and text.
fn set(home: &Home) -> String {
    let (mut lines, mut seen, mut read) = (String::new(), Vec::new(), Vec::new());
    for video in 0..12 {
        let steps = STEPS.iter().enumerate().map(|(at, text)| {
            format!(
                r#"{{"text": "{text} {}", "start": {}, "end": {}}}"#,
                video % 2,
                at * 9,
                at * 9 + 5
            )
        });
        let steps: Vec<String> = steps.collect();
        lines += &format!(
            "{{\"video\": \"v{video}\", \"recipe_type\": \"{}\", \"duration\": 40, \"steps\": [{}]}}\n",
            video % 2,
            steps.join(", ")
        );
        seen.extend((0..3).map(|step| row(video, step, 0.8)));
        read.extend((0..3).map(|step| row(video, step, 0.0)));
    }
    home.write("set/videos.jsonl", lines);
    home.write("set/features.npy", npy(&seen));
    home.write("set/texts.npy", npy(&read));
    home.path("set").display().to_string()
}

fn json(home: &Home, arguments: &[&str]) -> Value {
    let done = home.run(arguments).success();
    serde_json::from_slice(&done.get_output().stdout).unwrap()
}

#[test]
fn every_method_is_in_one_object() {
    let home = Home::new();
    let set = set(&home);
    let found = json(&home, &["eval", "--data", &set, "--encoder", "narration", "--json"]);
    let methods = found["methods"].as_array().unwrap();
    let names: Vec<&str> = methods.iter().map(|m| m["name"].as_str().unwrap()).collect();
    let expected =
        ["similarity", "text-only", "recipe2video", "covr", "viddetours", "hirest", "k-best"];
    assert_eq!(names, expected);
    for method in methods {
        for key in ["medr", "r1", "r5", "r50", "mrr"] {
            let value = method[key].as_f64().unwrap();
            let ends = method["intervals"][key].as_array().unwrap();
            let (low, high) = (ends[0].as_f64().unwrap(), ends[1].as_f64().unwrap());
            assert!(low <= value + 1e-9 && value <= high + 1e-9, "{method}");
        }
    }
    // Nothing is said in these videos.
    assert_eq!(methods[1]["medr"], 250.5);
    assert!(found["absent"]["evaluator"].as_str().unwrap().contains("stitch train"));
    let kinds = found["distractors"].as_object().unwrap();
    let all: u64 = kinds.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!((all, found["procedures"].as_u64()), (12 * 499, Some(12)));
    assert_eq!(
        kinds.keys().collect::<Vec<_>>(),
        ["rs", "full", "other-pos", "rand-match", "sim-match"]
    );
    assert!(found["short"]["full"].as_u64().unwrap() > 0);
    let again = json(&home, &["eval", "--data", &set, "--encoder", "narration", "--json"]);
    for (a, b) in methods.iter().zip(again["methods"].as_array().unwrap()) {
        assert_eq!(
            (&a["medr"], &a["intervals"]),
            (&b["medr"], &b["intervals"]),
            "the seed decides"
        );
    }
}

#[test]
fn people_get_a_table() {
    let home = Home::new();
    let set = set(&home);
    let done = home.run(&["eval", "--data", &set, "--encoder", "narration"]).success();
    let said = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(said.starts_with("set: 12 procedures of 12 videos, 2 tasks, 36 clips"), "{said}");
    assert!(said.contains("R@50") && said.contains("evaluator: not measured"), "{said}");
}

#[test]
fn what_is_bad_is_listed_and_the_rest_is_measured() {
    let home = Home::new();
    let steps = |texts: &[&str]| {
        let step = |(at, text): (usize, &&str)| {
            format!(r#"{{"text": "{text}", "start": {}, "end": {}}}"#, at * 5, at * 5 + 4)
        };
        texts.iter().enumerate().map(step).collect::<Vec<_>>().join(", ")
    };
    let mut lines = String::new();
    for video in ["a", "b", "c"] {
        let steps = steps(&STEPS);
        lines += &format!("{{\"video\": \"{video}\", \"mood\": 3, \"steps\": [{steps}]}}\n");
        let number = video.len();
        let rows: Vec<Vec<f32>> = (0..3).map(|step| row(number, step, 0.5)).collect();
        home.write(&format!("set/features/{video}.npy"), npy(&rows));
    }
    lines += "{\"video\": \"a\", \"steps\": [{\"text\": \"again\"}]}\n";
    lines += "{\"video\": \"d\", \"steps\": []}\n";
    lines += "{\"video\": \"e\", \"duration\": 6, \"steps\": [{\"text\": \"x\", \"start\": 2, \"end\": 90}]}\n";
    lines += &format!("{{\"video\": \"f\", \"steps\": [{}]}}\n", steps(&STEPS[..2]));
    home.write("set/features/f.npy", npy(&[row(1, 1, 0.1)]));
    home.write("set/videos.jsonl", lines);
    let set = home.path("set").display().to_string();
    let found = json(&home, &["eval", "--data", &set, "--encoder", &model(), "--json"]);
    assert_eq!(found["procedures"], 3);
    let holdings = &found["holdings"];
    assert_eq!(holdings["unread_columns"], serde_json::json!(["mood"]));
    let said: Vec<&str> = holdings["complaints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|complaint| complaint["reason"].as_str().unwrap())
        .collect();
    let told = |what: &str| assert!(said.iter().any(|s| s.contains(what)), "{what}: {said:?}");
    told("came before");
    told("no usable step");
    told("ends at 90 s, the video at 6.0 s");
    told("it has 1 rows for 2 steps");
}

#[test]
fn a_set_without_anything_usable_is_an_error_that_shows_the_format() {
    let home = Home::new();
    home.write("set/videos.jsonl", "{\"video\": \"a\", \"steps\": [{\"text\": \"x\"}]}\n");
    let set = home.path("set").display().to_string();
    let said = home.fails(&["eval", "--data", &set, "--encoder", &model()], 1);
    assert!(said.contains("no video with two steps") && said.contains("videos.jsonl"), "{said}");
    let said = home.fails(&["eval", "--data", "nowhere"], 1);
    assert!(said.contains("nowhere"), "{said}");
    let said = home.fails(&["eval"], 2);
    assert!(said.contains("--data DIR"), "{said}");
}

#[test]
fn all_experiments_are_a_report_and_go_on_where_they_were() {
    let home = Home::new();
    let set = set(&home);
    let arguments = ["eval", "--all", "--data", &set, "--encoder", "narration", "--out", "report"];
    home.run(&arguments).success();
    for name in ["report.json", "report.md", "tables.tex", "index.html"] {
        assert!(home.path("report").join(name).is_file(), "{name}");
    }
    // How long a method took is never twice the same, unless its part was kept.
    let seconds = || -> Vec<f64> {
        let text = std::fs::read_to_string(home.path("report/report.json")).unwrap();
        let report: Value = serde_json::from_str(&text).unwrap();
        let methods = report["sections"][0]["comparison"]["methods"].as_array().unwrap().clone();
        methods.iter().map(|method| method["seconds"].as_f64().unwrap()).collect()
    };
    let first = seconds();
    home.run(&arguments).success();
    let again = seconds();
    assert_eq!(first.len(), again.len());
    assert!(first.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-12), "{first:?} {again:?}");
}

#[test]
fn reading_is_measured_by_source() {
    let home = Home::new();
    let one = r#"{"id": "a", "source": "one", "text": "1. Chop it.\n2. Fry it.\n3. Enjoy",
        "steps": [{"line": "chop it"}, {"line": "Fry it"}, {"line": "Whisk"}, {"line": "fry"}]}"#;
    let other =
        r#"{"id": "b", "name": "b.md", "text": "1. **Bake**", "steps": [{"line": "Bake"}]}"#;
    home.write("set.jsonl", format!("{}\n\n{other}\n", one.replace('\n', " ")));
    let found = json(&home, &["eval", "reading", "set.jsonl", "--rules", "--json"]);
    let group = |at: usize| {
        let group = &found["groups"][at];
        let value = |field: &str| group[field]["value"].as_f64().unwrap();
        let name = group["name"].as_str().unwrap();
        (name, group["texts"].as_u64(), group["steps"].as_u64(), value("missed"), value("extra"))
    };
    assert_eq!(group(0), ("one", Some(1), Some(4), 0.25, 0.25));
    assert_eq!(group(1), ("all", Some(2), Some(5), 0.2, 0.2));
    let said = home.prints(&["eval", "reading", "set.jsonl", "--errors"]);
    for line in ["  a: not read as a step: Whisk\n", "  a: wrongly read as a step: Enjoy\n"] {
        assert!(said.contains(line), "{said}");
    }
    assert!(home.fails(&["eval", "reading", "none.jsonl"], 1).contains("of procedures (.jsonl)"));
    home.write("odd.jsonl", "{}\n");
    assert!(home.fails(&["eval", "reading", "odd.jsonl"], 1).contains("odd.jsonl, line 1"));
}
