//! Procedures whose words the library cannot be asked with: other languages, and steps that only their procedure
//! explains.

mod common;

use std::path::{Path, PathBuf};

use common::{Home, chat_endpoint};
use serde_json::{Value, json};

const GERMAN: &str = "Suppe\n\n1. Die Zwiebeln schälen und in kleine Würfel schneiden.\n\
    2. Das Öl in einer großen Pfanne erhitzen und die Zwiebeln darin 5 min anbraten.\n";

/// A chat endpoint that gives this answer to every question; its address.
fn endpoint(content: &str) -> String {
    let content = content.to_owned();
    chat_endpoint(move |_| Some(content.clone()))
}

/// What `stitch make` writes into demo.json, and what it says on standard error.
fn make(home: &Home, file: &str, options: &[&str]) -> (Value, String) {
    let arguments = [&["make", file, "--no-video", "--gaps", "never"][..], options].concat();
    let done = home.run(&arguments).success();
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    (serde_json::from_slice(&std::fs::read(home.path("demo.json")).unwrap()).unwrap(), said)
}

#[test]
fn a_translated_procedure_is_asked_in_english_and_shown_as_written() {
    let home = Home::indexed();
    home.write("suppe.txt", GERMAN);
    home.write("soup.txt", "Soup\n\n1. Chop the onion\n2. Fry the onion for 5 minutes\n");
    let url = endpoint(r#"["Soup", "Chop the onion", "Fry the onion for 5 minutes"]"#);
    let (translated, said) = make(&home, "suppe.txt", &["--llm-url", &url]);
    assert!(!said.contains("seems to be in"), "{said}");
    let (english, _) = make(&home, "soup.txt", &[]);
    assert_eq!(translated["title"], "Suppe");
    for step in 0..2 {
        let (translated, english) = (&translated["steps"][step], &english["steps"][step]);
        assert_eq!(translated["understood"], english["text"]);
        assert_eq!(translated["chosen"], english["chosen"]);
    }
    assert_eq!(translated["steps"][1]["times"], json!(["for 5 minutes"]));
    let read = home.prints(&["make", "suppe.txt", "--show-reading", "--llm-url", &url]);
    let told = "     → Fry the onion for 5 minutes\n     time: for 5 minutes\n";
    assert!(read.contains(told), "{read}");
    let text = translated["steps"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("Die Zwiebeln schälen"), "{text}");
    let (unknown, said) = make(&home, "suppe.txt", &[]);
    assert_ne!(unknown["steps"][0]["chosen"], english["steps"][0]["chosen"]);
    assert!(unknown["steps"][0].get("understood").is_none(), "{unknown}");
    assert!(unknown["steps"][1].get("times").is_none(), "of English steps only: {unknown}");
    for part in ["German", "STITCH_LLM_URL", "STITCH_SENTENCE_MODEL=FOLDER stitch index"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_translation_that_fails_leaves_the_words_as_they_are() {
    let home = Home::indexed();
    home.write("suppe.txt", GERMAN);
    let url = endpoint("I cannot do that.");
    let (asked, said) = make(&home, "suppe.txt", &["--llm-url", &url]);
    assert!(said.contains("warning: ") && said.contains("JSON list of 3 texts"), "{said}");
    assert!(asked["language_note"].as_str().is_some_and(|note| note.contains("German")));
    assert!(asked["steps"][0].get("understood").is_none(), "{asked}");
}

/// Runs `stitch` with the small multilingual model.
fn multilingual(home: &Home, arguments: &[&str]) -> String {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data/tiny-xlmr");
    let model: PathBuf = model.canonicalize().unwrap();
    let mut command = home.command(arguments);
    command.env("STITCH_SENTENCE_MODEL", model);
    let done = assert_cmd::Command::from_std(command).assert().success();
    String::from_utf8_lossy(&done.get_output().stderr).into_owned()
}

#[test]
fn a_multilingual_model_is_a_folder_and_has_libraries_of_its_own() {
    let home = Home::with_videos();
    home.write("suppe.txt", GERMAN);
    multilingual(&home, &["index", "videos", "--library", "many"]);
    let make = ["make", "suppe.txt", "--no-video", "--gaps", "never", "--library", "many"];
    let said = multilingual(&home, &make);
    assert!(!said.contains("seems to be in"), "{said}");
    let said = home.fails(&make, 1);
    assert!(said.contains("STITCH_SENTENCE_MODEL=FOLDER stitch index"), "{said}");
}

/// CLIP has a text tower of its own, so that only the library tells its sentence model.
#[test]
fn the_sentence_model_of_a_library_stays_whatever_the_encoder() {
    let home = Home::with_videos();
    home.write("soup.txt", "1. Chop the onion\n2. Fry the onion in a pan\n");
    let clip = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data/tiny-clip");
    let clip = clip.canonicalize().unwrap();
    let index = ["index", "videos", "--encoder", clip.to_str().unwrap(), "--library", "seen"];
    multilingual(&home, &index);
    let said = home.fails(&index, 1);
    assert!(said.contains("another sentence model"), "{said}");
    let said = home.fails(&["make", "soup.txt", "--no-video", "--library", "seen"], 1);
    assert!(said.contains("STITCH_SENTENCE_MODEL=FOLDER stitch index"), "{said}");
}

#[test]
fn a_step_is_told_as_it_was_understood() {
    let home = Home::indexed();
    home.write("soup.json", r#"{"title": "Soup", "steps": ["Chop the onion", "Fry it in a pan"]}"#);
    home.write(
        "plain.json",
        r#"{"title": "Soup", "steps": ["Chop the onion", "Fry the onion in a pan"]}"#,
    );
    let url = endpoint(r#"[null, "fry the onion in a pan"]"#);
    let (found, _) = make(&home, "soup.json", &["--llm-url", &url]);
    assert_eq!(found["steps"][1]["understood"], "fry the onion in a pan");
    assert!(found["steps"][0].get("understood").is_none(), "{found}");
    let (plain, _) = make(&home, "plain.json", &[]);
    assert_eq!(found["steps"][1]["chosen"]["clip"], plain["steps"][1]["chosen"]["clip"]);
    let told =
        home.prints(&["make", "soup.json", "--no-video", "--gaps", "never", "--llm-url", &url]);
    assert!(told.contains("→ fry the onion in a pan"), "{told}");
    let read = home.prints(&["make", "soup.json", "--show-reading", "--llm-url", &url]);
    assert!(read.contains("  2  Fry it in a pan\n     → fry the onion in a pan\n"), "{read}");
}
