//! The commands of docs/src/paper.md on a small made-up set: captions and features in, tables out, without a
//! video file.

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Home, chat_endpoint, npy};
use serde_json::{Value, json};

/// The small random model that the engine is tested with; its vectors have 24 numbers.
fn text_tower() -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data/tiny-clip");
    data.display().to_string()
}

const THINGS: [&str; 12] = [
    "onion", "carrot", "potato", "tomato", "pepper", "leek", "turnip", "pumpkin", "celery",
    "fennel", "garlic", "mushroom",
];

const ACTIONS: [&str; 4] = ["wash the", "chop the", "fry the", "serve the"];

/// Seconds of a step.
const SECONDS: usize = 5;

/// HowTo100M's files: captions of twelve cooking videos and of one about something else.
fn write_captions(home: &Home) {
    let start: Vec<usize> = (0..ACTIONS.len()).map(|step| step * SECONDS).collect();
    let end: Vec<usize> = start.iter().map(|start| start + SECONDS - 1).collect();
    let mut captions = serde_json::Map::new();
    let mut list = "video_id,category_1,category_2,rank,task_id\n".to_owned();
    for (video, thing) in THINGS.iter().enumerate() {
        let text: Vec<String> =
            ACTIONS.iter().map(|action| format!("Now {action} {thing} well.")).collect();
        captions.insert(format!("v{video}"), json!({"start": start, "end": end, "text": text}));
        list += &format!("v{video},Food and Entertaining,Soups,1,{}\n", video % 3);
    }
    captions
        .insert("other".into(), json!({"start": start, "end": end, "text": ["a", "b", "c", "d"]}));
    list += "other,Cars,Repair,1,7\n";
    home.write("raw_caption.json", Value::from(captions).to_string());
    home.write("HowTo100M_v1.csv", list);
    home.write("task_ids.csv", "0\tMake Soup\n1\tMake Stew\n2\tMake Curry\n");
}

/// A row a second for each video: of its step, and a little of the video.
fn write_features(home: &Home, folder: &str, videos: &[String]) {
    let number = |i: usize, seed: usize| ((i * 37 + seed * 101) % 23) as f32 / 11.0 - 1.0;
    for (at, video) in videos.iter().enumerate() {
        let row = |second: usize| {
            (0..24).map(|i| number(i, second / SECONDS) + 0.5 * number(i, 50 + at)).collect()
        };
        let rows: Vec<Vec<f32>> = (0..ACTIONS.len() * SECONDS).map(row).collect();
        home.write(&format!("{folder}/{video}.npy"), npy(&rows));
    }
    home.write(&format!("{folder}/features.toml"), "rate = 1.0\n");
}

/// Answers as a language model does: steps are the sentences themselves, a mixture takes the first half of the
/// first recipe and the second half of the others.
fn language_model(question: &str) -> String {
    if !question.contains("Recipe 1:") {
        let lines = question.lines().filter(|line| line.starts_with('['));
        return format!("Title: x\n{}", lines.collect::<Vec<_>>().join("\n"));
    }
    let steps = question.lines().filter_map(|line| line.strip_suffix(')')?.rsplit_once(" ("));
    let wanted = |place: &str| {
        let (step, recipe) = place.split_once(" in ").unwrap();
        let second_half = step == "Step 3" || step == "Step 4";
        second_half != (recipe == "Recipe 1")
    };
    let used: Vec<(&str, &str)> = steps.filter(|(_, place)| wanted(place)).collect();
    let line = |(number, (text, place)): (usize, &(&str, &str))| {
        format!("Step {}: {text} ({place})", number + 1)
    };
    used.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

fn summarise<'a>(url: &'a str, parallel: &'a str) -> Vec<&'a str> {
    let mut arguments = vec!["dataset", "summarise", "raw_caption.json"];
    arguments.extend(["--videos", "HowTo100M_v1.csv", "--category", "Food and Entertaining"]);
    arguments.extend(["--tasks", "task_ids.csv", "--domain", "cooking", "-o", "videos.jsonl"]);
    arguments.extend(["--llm-url", url, "--parallel", parallel, "--json"]);
    arguments
}

fn printed(home: &Home, arguments: &[&str]) -> Value {
    let printed = home.prints(arguments);
    serde_json::from_str(printed.lines().last().unwrap()).unwrap()
}

#[test]
fn from_captions_and_features_to_tables() {
    let home = Home::new();
    write_captions(&home);
    let url = chat_endpoint(|question| Some(language_model(question)));
    let made = printed(&home, &summarise(&url, "4"));
    assert_eq!(made["report"]["videos"], 12, "{made}");
    let lines = std::fs::read_to_string(home.path("videos.jsonl")).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["video"], &first["task"], &first["domain"], &first["spoken"]),
        (&json!("v0"), &json!("Make Soup"), &json!("cooking"), &json!(true))
    );
    assert_eq!(first["steps"][1]["narration"], "Now chop the onion well.");

    let ids: Vec<String> = (0..THINGS.len()).map(|video| format!("v{video}")).collect();
    write_features(&home, "features", &ids);
    let tower = text_tower();
    let mut index = vec!["index", "--annotations", "videos.jsonl", "--features", "features"];
    index.extend(["--text-encoder", &tower, "--json"]);
    let indexed = printed(&home, &index);
    assert_eq!(indexed["indexed"], 12, "{indexed}");
    assert!(indexed["clips"].as_u64() > Some(40), "{indexed}");

    let mut mix = vec!["dataset", "mix", "--builder", "language-model", "--llm-url", &url];
    mix.extend(["--similarity=-1", "--most", "25", "--held-out", "0.4", "--domain", "cooking"]);
    mix.push("--json");
    let alone = printed(&home, &[&mix[..], &["-o", "alone.jsonl", "--parallel", "1"]].concat());
    let mixed =
        printed(&home, &[&mix[..], &["-o", "procedures.jsonl", "--parallel", "8"]].concat());
    assert_eq!(alone["report"], mixed["report"]);
    assert!(mixed["report"]["examples"]["train, language-model"].as_u64() > Some(10), "{mixed}");
    let read = |name: &str| std::fs::read(home.path(name)).unwrap();
    assert_eq!(read("alone.jsonl"), read("procedures.jsonl"), "whichever answer comes first");

    let mut train = vec!["train", "--preset", "paper", "--epochs", "2", "--hidden", "32"];
    train.extend(["--held-out", "6", "--domain", "cooking", "--out", "fr"]);
    home.run(&train).success();
    let config: Value = serde_json::from_slice(&read("fr/config.json")).unwrap();
    assert_eq!(
        (&config["layers"], &config["heads"], &config["width"]),
        (&json!(4), &json!(8), &json!(24))
    );
    let metrics = String::from_utf8(read("fr/metrics.jsonl")).unwrap();
    let rates = metrics.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert!(rates.clone().count() > 2);
    assert!(rates.clone().all(|event| event["rate"] == 3e-4), "Adam at a constant rate: {metrics}");

    let all = ["eval", "--all", "--procedures", "procedures.jsonl", "--evaluator", "fr"];
    home.run(&[&all[..], &["--untrained", "--out", "report"]].concat()).success();
    let table = String::from_utf8(read("report/report.md")).unwrap();
    assert!(table.contains("evaluator") && table.contains("text-only"), "{table}");

    let coin: Vec<(String, Value)> = (0..6)
        .map(|video| {
            let step = |at: usize| json!({"segment": [at * 5, at * 5 + 4], "label": ACTIONS[at]});
            let steps: Vec<Value> = (0..4).map(step).collect();
            (format!("c{video}"), json!({"class": "Soup", "duration": 20, "annotation": steps}))
        })
        .collect();
    let ids: Vec<String> = coin.iter().map(|(id, _)| id.clone()).collect();
    let database: serde_json::Map<String, Value> = coin.into_iter().collect();
    home.write("coin.json", json!({"database": database}).to_string());
    home.run(&["dataset", "convert", "coin", "coin.json", "-o", "coin"]).success();
    write_features(&home, "coin/features", &ids);
    let mut eval = vec!["eval", "--data", "coin", "--encoder", &tower, "--evaluator", "fr"];
    eval.extend(["--untrained", "--json"]);
    let found = printed(&home, &eval);
    assert_eq!((&found["procedures"], &found["holdings"]["steps"]), (&json!(6), &json!(24)));
    assert_eq!(found["methods"][0]["name"], "evaluator", "{}", found["absent"]);
}

#[test]
fn what_was_answered_is_not_asked_again() {
    let home = Home::new();
    write_captions(&home);
    let asked = Arc::new(AtomicUsize::new(0));
    let endpoint = |most: usize| {
        let asked = asked.clone();
        asked.store(0, Ordering::SeqCst);
        chat_endpoint(move |question| {
            (asked.fetch_add(1, Ordering::SeqCst) < most).then(|| language_model(question))
        })
    };
    let told = home.fails(&summarise(&endpoint(5), "1"), 1);
    assert!(told.contains("STITCH_LLM_KEY") && told.contains("goes on from there"), "{told}");
    assert!(!home.path("videos.jsonl").exists());
    let made = printed(&home, &summarise(&endpoint(usize::MAX), "3"));
    assert_eq!((&made["report"]["videos"], asked.load(Ordering::SeqCst)), (&json!(12), 7));
    let again = printed(&home, &summarise(&endpoint(0), "3"));
    assert_eq!((&again, asked.load(Ordering::SeqCst)), (&made, 0));
}

#[test]
fn captions_that_cannot_be_used_are_told() {
    let home = Home::new();
    write_captions(&home);
    let told = |arguments: &[&str], code| {
        home.fails(&[&["dataset", "summarise"][..], arguments].concat(), code)
    };
    assert!(told(&["none.json"], 1).contains("there is no such file"));
    assert!(told(&["task_ids.csv"], 1).contains("columns start, end and text"));
    assert!(told(&["raw_caption.json", "--category", "Cars"], 2).contains("--videos"));
    let missing = ["raw_caption.json", "--videos", "HowTo100M_v1.csv", "--category", "Boats"];
    assert!(told(&missing, 1).contains("no video has the category `Boats`"));
    home.write("silent.csv", "video_id,start,end,text\na,0,3,hello\n");
    let silent = told(&["silent.csv"], 1);
    assert!(silent.contains("no step was found in what is said in 1 videos"), "{silent}");
    // Without a language model, rules find the steps.
    let made = printed(&home, &["dataset", "summarise", "raw_caption.json", "--json"]);
    assert_eq!(made["report"]["videos"], 12, "{made}");
}
