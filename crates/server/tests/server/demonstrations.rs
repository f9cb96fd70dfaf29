//! Demonstrations: parsed, searched, changed, undone, rendered, exported.

use serde_json::{Value, json};
use stitch_server::demonstrations;
use stitch_server::jobs::JobKind;
use stitch_server::worker;

use crate::site::Site;

const STEPS: [&str; 3] = ["Peel the carrot", "Chop the carrot", "Boil the carrot in water"];

#[test]
fn texts_become_steps() {
    let site = Site::new();
    let read = |name: &str, text: &str| {
        let request = crate::site::request("POST", &format!("/api/procedures/read?name={name}"));
        site.send(request.body(axum::body::Body::from(text.to_owned())).unwrap())
    };
    let found = read("", "Tea\n\n1. Boil water\n2. Steep").json();
    assert_eq!(found["steps"], json!(["Boil water", "Steep"]));
    let page = r#"<html><script type="application/ld+json">{"@type": "Recipe", "name": "Tea",
        "recipeInstructions": ["Boil water", "Steep it"]}</script></html>"#;
    assert_eq!(read("tea.html", page).json()["steps"], json!(["Boil water", "Steep it"]));
    assert_eq!(read("", "").status, 422);
}

#[test]
fn a_language_that_the_model_does_not_know_is_told() {
    let site = Site::indexed();
    let german = [
        "Die Zwiebeln schälen und in kleine Würfel schneiden.",
        "Das Öl in einer großen Pfanne erhitzen und die Zwiebeln darin anbraten.",
    ];
    let request = crate::site::request("POST", "/api/procedures/read");
    let text = axum::body::Body::from(german.join("\n"));
    let read = site.send(request.body(text).unwrap()).json();
    let id = site.demonstration(&german);
    let found = site.get(&format!("/api/demonstrations/{id}")).json();
    for note in [&read["warnings"][0], &found["language_note"]] {
        let note = note.as_str().unwrap();
        assert!(note.contains("German") && note.contains("STITCH_LLM_URL"), "{note}");
    }
    let page = site.get(&format!("/demonstrations/{id}")).text();
    assert!(page.contains("STITCH_LLM_URL"), "{page}");
    let english = [
        "Peel the onions and cut them into small dice.",
        "Heat the oil in a large pan and fry the onions in it.",
    ];
    let english = site.demonstration(&english);
    let found = site.get(&format!("/api/demonstrations/{english}")).json();
    assert!(found.get("language_note").is_none(), "{found}");
}

#[test]
fn what_a_text_leaves_out_is_told() {
    let site = Site::new();
    let read = |text: &str| {
        let request = crate::site::request("POST", "/api/procedures/read");
        site.send(request.body(axum::body::Body::from(text.to_owned())).unwrap()).json()
    };
    let found = read("Tea\n\nServes 2\n\nMethod\n1. Boil water\n2. Steep");
    let expected = json!({"title": "Tea", "steps": ["Boil water", "Steep"],
        "left_out": ["Serves 2", "Method"], "warnings": []});
    assert_eq!(found, expected);
    let recipe =
        |title: &str| format!("{title}\n\nIngredients\n- 1 leaf\n\nMethod\n1. Boil {title}\n");
    let found = read(&format!("{}\n{}", recipe("Mint tea"), recipe("Sage tea")));
    assert_eq!(found["steps"], json!(["Boil Mint tea", "Boil Sage tea"]));
    assert!(found["warnings"][0].as_str().unwrap().contains("2 recipes"), "{found}");
    let page = site.get("/new").text();
    assert!(page.contains("id=\"left-out\"") && page.contains("data-action=\"make-step\""));
}

#[test]
fn it_is_found_and_shown() {
    let site = Site::indexed();
    let id = site.demonstration(&STEPS);
    let found = site.get(&format!("/api/demonstrations/{id}")).json();
    let texts: Vec<&Value> =
        found["steps"].as_array().unwrap().iter().map(|s| &s["chosen"]["text"]).collect();
    assert_eq!(texts, STEPS, "{found}");
    let page = site.get(&format!("/demonstrations/{id}")).text();
    for step in STEPS {
        assert!(page.contains(step));
    }
    assert!(site.get("/").text().contains("Soup"));
}

#[test]
fn a_step_is_shown_as_it_was_understood() {
    let site = Site::indexed();
    let id = site.demonstration(&["Peel the carrot", "Chop it"]);
    let database = &site.state.database;
    let (_, mut revision) = demonstrations::current(database, id).unwrap();
    revision.number += 1;
    revision.answer.steps[1].understood = Some("chop the orange carrot".into());
    assert!(demonstrations::add(database, id, &revision, None).unwrap());
    let page = site.get(&format!("/demonstrations/{id}")).text();
    assert!(page.contains("understood as: chop the orange carrot"), "{page}");
    let found = site.get(&format!("/api/demonstrations/{id}")).json();
    assert_eq!(found["steps"][1]["understood"], "chop the orange carrot");
}

fn clip(step: &Value) -> Value {
    step["chosen"]["clip"].clone()
}

#[test]
fn swap_ban_lock_leave_and_back() {
    let site = Site::indexed();
    let id = site.demonstration(&STEPS);
    let first = site.get(&format!("/api/demonstrations/{id}")).json();
    let other = first["steps"][1]["alternatives"][0]["clip"].clone();
    assert!(other.is_object(), "{first}");

    let swapped = site.change(id, &json!({"kind": "swap", "step": 1, "clip": other}));
    assert_eq!(clip(&swapped["steps"][1]), other);
    assert_eq!(swapped["steps"][1]["locked"], true);
    assert_eq!(clip(&swapped["steps"][0]), clip(&first["steps"][0]), "others stay");

    // A search of everything keeps what is locked.
    let solved = site.change(id, &json!({"kind": "solve"}));
    assert_eq!(clip(&solved["steps"][1]), other);

    let banned = site.change(id, &json!({"kind": "ban", "step": 1}));
    assert_ne!(clip(&banned["steps"][1]), other);
    assert_eq!(
        (&banned["steps"][1]["banned"], &banned["steps"][1]["locked"]),
        (&json!(1), &json!(false))
    );
    let offered = banned["steps"][1]["alternatives"].as_array().unwrap();
    assert!(offered.iter().all(|one| one["clip"] != other), "banned clips are not offered");

    let left = site.change(id, &json!({"kind": "leave", "step": 0}));
    assert!(
        left["steps"][0]["chosen"].is_null()
            && !left["steps"][0]["alternatives"].as_array().unwrap().is_empty()
    );

    for _ in 0..4 {
        site.change(id, &json!({"kind": "undo"}));
    }
    let back = site.get(&format!("/api/demonstrations/{id}")).json();
    assert_eq!(
        (&back["steps"], &back["can_undo"], &back["can_redo"]),
        (&first["steps"], &json!(false), &json!(true))
    );
    let nothing = site.post(&format!("/api/demonstrations/{id}/changes"), &json!({"kind": "undo"}));
    assert_eq!(nothing.status, 409);
    let again = site.change(id, &json!({"kind": "redo"}));
    assert_eq!(clip(&again["steps"][1]), other);
    // A new change takes away what was undone.
    let locked = site.change(id, &json!({"kind": "lock", "step": 0}));
    assert_eq!(locked["can_redo"], false);
}

#[test]
fn a_step_of_two_actions_is_played_by_two_clips_until_a_person_puts_one_there() {
    let site = Site::indexed();
    let steps =
        ["Peel the carrot, then chop the carrot", "Peel the potato, then boil the carrot in water"];
    let id = site.demonstration(&steps);
    let found = site.get(&format!("/api/demonstrations/{id}")).json();
    let clips = |answer: &Value| answer["steps"][0]["clips"].as_array().unwrap().len();
    assert_eq!(clips(&found), 2, "{found}");
    let page = site.get(&format!("/demonstrations/{id}")).text();
    let cuts = page.split("data-cuts=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(cuts.split(' ').count(), 2, "{cuts}");

    let trim = json!({"kind": "trim", "step": 1, "start_ms": 4000, "end_ms": 5000});
    assert_eq!(clips(&site.change(id, &trim)), 2, "other steps stay as they are");
    let trim = json!({"kind": "trim", "step": 0, "start_ms": 500, "end_ms": 1500});
    assert_eq!(clips(&site.change(id, &trim)), 1, "a trimmed clip is played alone");
    assert_eq!(clips(&site.change(id, &json!({"kind": "untrim", "step": 0}))), 2);
    site.change(id, &json!({"kind": "unlock", "step": 0}));
    site.change(id, &json!({"kind": "lock", "step": 0}));
    assert_eq!(clips(&site.change(id, &json!({"kind": "solve"}))), 2, "locked as it is");
    let swap = json!({"kind": "swap", "step": 0, "clip": clip(&found["steps"][0])});
    assert_eq!(clips(&site.change(id, &swap)), 1);
}

#[test]
fn one_source_only_and_trims() {
    let site = Site::indexed();
    let id = site.demonstration(&STEPS);
    let only = site.change(id, &json!({"kind": "source", "step": 0, "video": 1}));
    let chosen = &only["steps"][0]["chosen"];
    assert!(chosen.is_null() || chosen["clip"]["video"] == 1, "{chosen}");
    assert!(
        only["steps"][0]["alternatives"]
            .as_array()
            .unwrap()
            .iter()
            .all(|a| a["clip"]["video"] == 1)
    );
    site.change(id, &json!({"kind": "source", "step": 0, "video": null}));

    let trimmed =
        site.change(id, &json!({"kind": "trim", "step": 1, "start_ms": 2200, "end_ms": 3500}));
    let shown = &trimmed["steps"][1]["chosen"];
    assert_eq!((&shown["cut_start_ms"], &shown["cut_end_ms"]), (&json!(2200), &json!(3500)));
    assert_eq!(
        (&trimmed["steps"][1]["trimmed"], &trimmed["steps"][1]["locked"]),
        (&json!(true), &json!(true))
    );
    let changes = format!("/api/demonstrations/{id}/changes");
    for (start, end) in [(200, 300), (900, 200), (500_000, 600_000)] {
        let wrong = site
            .post(&changes, &json!({"kind": "trim", "step": 1, "start_ms": start, "end_ms": end}));
        assert_eq!(wrong.status, 422, "{start}-{end}");
    }
    let untrimmed = site.change(id, &json!({"kind": "untrim", "step": 1}));
    assert_eq!(untrimmed["steps"][1]["trimmed"], false);
}

#[test]
fn a_step_that_nothing_shows_is_a_gap_with_what_comes_nearest() {
    let site = Site::indexed();
    let question =
        json!({"procedure": {"steps": ["Chop the onion"]}, "search": {"threshold": 1.0}});
    let id = site.post("/api/demonstrations", &question).json()["id"].as_i64().unwrap();
    worker::run_next(&site.state, JobKind::Make).unwrap();
    let found = site.get(&format!("/api/demonstrations/{id}")).json();
    assert!(found["steps"][0]["chosen"].is_null());
    let page = site.get(&format!("/demonstrations/{id}")).text();
    assert!(page.contains("Nothing in the library shows this"));
    let near = found["steps"][0]["alternatives"][0]["clip"].clone();
    let shown = site.change(id, &json!({"kind": "swap", "step": 0, "clip": near}));
    assert_eq!(clip(&shown["steps"][0]), near, "a person may know better");
}

#[test]
fn choices_are_kept_as_pairs_to_learn_from() {
    let site = Site::indexed();
    let id = site.demonstration(&STEPS);
    let first = site.get(&format!("/api/demonstrations/{id}")).json();
    let other = first["steps"][1]["alternatives"][0]["clip"].clone();
    site.change(id, &json!({"kind": "swap", "step": 1, "clip": other}));
    site.change(id, &json!({"kind": "ban", "step": 0}));
    let lines = site.get("/api/choices.jsonl").text();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["kind"], &lines[0]["text"]), (&json!("swap"), &json!("Chop the carrot")));
    assert_eq!(lines[0]["preferred"]["start_ms"], other["start_ms"]);
    assert_eq!(lines[0]["rejected"]["text"], "Chop the carrot");
    assert_eq!(lines[1]["rejected"]["text"], "Peel the carrot");
    // They outlive the demonstration.
    assert_eq!(site.delete(&format!("/api/demonstrations/{id}")).status, 204);
    assert_eq!(site.get(&format!("/api/demonstrations/{id}")).status, 404);
    assert_eq!(site.get("/api/choices.jsonl").text().lines().count(), 2);
}

#[test]
fn rendered_and_exported() {
    let site = Site::indexed();
    let id = site.demonstration(&STEPS);
    let renders = format!("/api/demonstrations/{id}/renders");
    let job = site.post(&renders, &json!({"width": 160, "height": 90, "title_card": true})).json();
    let video = format!("/api/jobs/{}/video", job["id"]);
    assert_eq!(site.get(&video).status, 409, "not done yet");
    assert!(worker::run_next(&site.state, JobKind::Render).unwrap());
    let made = site.get(&video);
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(&made.body[4..8], b"ftyp");
    assert!(
        site.get(&format!("{video}?download"))
            .header("content-disposition")
            .starts_with("attachment")
    );
    assert!(site.get(&format!("/demonstrations/{id}")).text().contains(&video));
    let table = [
        ("json", "\"steps\""),
        ("srt", "1. Peel the carrot"),
        ("vtt", "WEBVTT"),
        ("otio", "OTIO_SCHEMA"),
        ("edl", "TITLE"),
        ("credits.txt", "sources"),
        ("html", "<!doctype html>"),
        ("chapters.vtt", "Soup"),
    ];
    for (name, part) in table {
        let export = site.get(&format!("/api/demonstrations/{id}/exports/{name}"));
        assert_eq!(export.status, 200, "{name}: {}", export.text());
        assert!(export.text().contains(part), "{name}: {}", export.text());
        assert!(export.header("content-disposition").starts_with("attachment"));
    }
    assert_eq!(site.get(&format!("/api/demonstrations/{id}/exports/exe")).status, 404);
    for looks in [
        json!({"width": 7}),
        json!({"width": 65, "height": 64}),
        json!({"crossfade_ms": 9999}),
        json!({"looks": 1}),
    ] {
        assert_eq!(site.post(&renders, &looks).status, 422, "{looks}");
    }
}

#[test]
fn a_person_is_warned_of_jumps_and_of_footage_seen_twice() {
    let site = Site::indexed();
    let id = site.demonstration(&STEPS);
    let first = site.get(&format!("/api/demonstrations/{id}")).json();
    assert!(
        first["steps"].as_array().unwrap().iter().all(|step| step["warnings"] == json!([])),
        "{first}"
    );
    let elsewhere = json!({"video": 1, "start_ms": 0, "end_ms": 1000});
    let jumped = site.change(id, &json!({"kind": "swap", "step": 1, "clip": elsewhere}));
    let warnings = |view: &Value| -> Vec<Value> {
        view["steps"].as_array().unwrap().iter().map(|step| step["warnings"].clone()).collect()
    };
    let change = "the source changes here";
    let unlikely = json!([change, "the clip may not show this"]);
    assert_eq!(warnings(&jumped), [json!([]), unlikely, json!([change])], "{jumped}");
    site.change(id, &json!({"kind": "undo"}));
    let again = clip(&first["steps"][0]);
    let seen = site.change(id, &json!({"kind": "swap", "step": 2, "clip": again}));
    let back = "the step before is shown later in this video";
    let twice = json!([back, "step 1 shows the same clip", "the clip may not show this"]);
    assert_eq!(warnings(&seen), [json!([]), json!([]), twice], "{seen}");
}
