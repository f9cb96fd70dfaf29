//! `stitch eval world --ranks`, a faultless answer among answers with faults that change the source as often, and
//! `stitch eval clips`, on a library of features alone.

mod common;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use common::{Home, npy};
use serde_json::{Value, json};
use stitch_world::catalogue::TaskSet;
use stitch_world::library::scripts;
use stitch_world::truth::{Truth, VideoTruth};

/// A row a second: numbers of what it shows, which are the same wherever that is shown.
fn rows(video: &VideoTruth) -> Vec<Vec<f32>> {
    let number = |what: &dyn Fn(&mut DefaultHasher), i: usize| {
        let mut hash = DefaultHasher::new();
        what(&mut hash);
        i.hash(&mut hash);
        (hash.finish() % 2001) as f32 / 1000.0 - 1.0
    };
    let row = |second: u64| {
        let shows = |at: u64| video.steps.iter().find(|s| (s.start_ms..s.end_ms).contains(&at));
        let step = shows(second * 1000 + 500).map_or("nothing", |step| step.key.as_str());
        (0..24).map(|i| number(&|hash| step.hash(hash), i)).collect()
    };
    (0..video.duration_ms.div_ceil(1000)).map(row).collect()
}

/// An indexed library of the development tasks, made of features alone.
fn library() -> Home {
    let home = Home::new();
    let mut truth = Truth::new(TaskSet::Development, 5, &scripts(TaskSet::Development, 5, 27));
    let mut lines = String::new();
    for video in &mut truth.videos {
        let name = video.file.trim_end_matches(".mp4").to_owned();
        home.write(&format!("features/{name}.npy"), npy(&rows(video)));
        let steps = video.steps.iter().map(|step| {
            let seconds = |ms: u64| ms as f64 / 1000.0;
            json!({"text": step.text, "start": seconds(step.start_ms), "end": seconds(step.end_ms)})
        });
        let steps: Vec<Value> = steps.collect();
        lines += &format!("{}\n", json!({"video": name, "title": video.title, "steps": steps}));
        video.file = format!("{name}.npy");
    }
    home.write("features/features.toml", "rate = 1.0\n");
    home.write("videos.jsonl", lines);
    home.write("world/truth.json", json!(truth).to_string());
    let tower = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data/tiny-clip");
    let mut index = vec!["index", "--annotations", "videos.jsonl", "--features", "features"];
    let tower = tower.display().to_string();
    index.extend(["--text-encoder", &tower]);
    home.run(&index).success();
    home
}

#[test]
fn clips_are_compared_with_the_actions() {
    let home = library();
    let done = home.run(&["eval", "clips", "world", "--json"]).success();
    let report: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    for share in ["iou", "half", "boundary_recall", "boundary_precision"] {
        let [value, low, high] = ["value", "low", "high"].map(|of| report[share][of].as_f64());
        assert!(value > Some(0.2) && low < value && value < high, "{share}: {report}");
    }
    assert_eq!((&report["videos"], &report["actions"]), (&27.into(), &report["clips"]));
    let said = home.fails(&["eval", "clips", "nowhere"], 1);
    assert!(said.contains("stitch world render"), "{said}");
}

#[test]
fn distractors_change_the_source_as_often_as_the_truth() {
    let home = library();
    let ranks = |more: &[&str]| -> Value {
        let all =
            ["eval", "world", "world", "--questions", "8", "--seed", "3", "--ranks", "--json"];
        let printed = home.prints(&[&all[..], more].concat());
        serde_json::from_str(printed.lines().last().unwrap()).unwrap()
    };
    let found = ranks(&["--scorer", "evaluator"]);
    let report = &found["report"];
    let asked = report["groups"][0]["questions"].as_u64().unwrap();
    assert_eq!(report["groups"][0]["name"], "all");
    assert!(asked >= 6, "{report}");
    let kinds = report["distractors"].as_object().unwrap();
    assert_eq!(kinds.values().filter_map(Value::as_u64).sum::<u64>(), 499 * asked);
    assert_eq!(kinds.len(), 4, "{kinds:?}");
    assert!(report["unanswerable"].as_u64().unwrap() > 0, "steps that nothing shows: {report}");
    assert_ne!(report["groups"][0]["ranks"][0], report["groups"][0]["ranks"][1]);
    // Where all candidates change the source as often, it does not matter what a change costs (up to rounding).
    let medians = |cost: &str| -> Vec<f64> {
        let found = ranks(&["--scorer", "similarity", "--switch-cost", cost]);
        let groups = found["report"]["groups"].as_array().unwrap().clone();
        groups.iter().map(|group| group["ranks"][0]["medr"].as_f64().unwrap()).collect()
    };
    let (free, dear) = (medians("0"), medians("4"));
    assert!(
        free.iter().zip(&dear).all(|(free, dear)| (free - dear).abs() < 2.0),
        "{free:?} {dear:?}"
    );
    let needs = home.fails(&["eval", "world", "world", "--ranks"], 2);
    assert!(needs.contains("--questions"), "{needs}");
}
