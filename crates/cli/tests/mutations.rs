//! Mutated media, subtitles, pages, features, labels, studies and library files go through the real program, with a
//! deadline and a limit of memory: it ends with a documented exit code, and never by a panic or a signal.
//!
//! `STITCH_MUTATIONS=n` (see `make crash`) tries so many, each with another seed.

#![allow(clippy::print_stderr)]

mod common;
#[path = "../../../fuzz/mutate.rs"]
mod mutate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::Home;
use mutate::{Random, mutated};
use stitch_engine::calibration::Calibration;
use stitch_engine::library::Library;

const DEADLINE_S: &str = "60";
const MEMORY: &str = "--as=1073741824";

/// A file that is mutated, and the commands that then read it.
struct Form {
    file: &'static str,
    commands: &'static [&'static str],
}

const INDEX: &[&str] = &["index hostile --library index"];
const FEATURES: &[&str] =
    &["index --features features --annotations videos.jsonl --text-encoder tower --library index"];
const LIBRARY: &[&str] = &["library verify", "search chop", "make soup.txt --no-video -o soup.mp4"];

const FORMS: &[Form] = &[
    Form { file: "hostile/a.mp4", commands: INDEX },
    Form { file: "hostile/a.mkv", commands: INDEX },
    Form { file: "hostile/a.webm", commands: INDEX },
    Form { file: "hostile/a.srt", commands: INDEX },
    Form { file: "hostile/a.info.json", commands: INDEX },
    Form { file: "page.html", commands: &["make page.html --show-reading"] },
    Form { file: "features/one.npz", commands: FEATURES },
    Form { file: "features/one.h5", commands: FEATURES },
    Form { file: "features/one.safetensors", commands: FEATURES },
    Form { file: "videos.jsonl", commands: FEATURES },
    Form { file: "home/library/library.db", commands: LIBRARY },
    Form { file: "home/library/features", commands: LIBRARY },
    Form { file: "home/library/calibration.json", commands: LIBRARY },
    Form { file: "home/models/tiny-mpnet/tokenizer.json", commands: &["search chop"] },
    Form { file: "home/models/tiny-mpnet/model.safetensors", commands: &["search chop"] },
    Form { file: "study/study.json", commands: &["study report study"] },
    Form { file: "labels.jsonl", commands: &["calibrate labels.jsonl --out other.json"] },
];

/// Everything that the forms need, whole.
fn home() -> Home {
    let home = Home::new();
    home.video("hostile/a.mp4", 0, &["Chop the onion."]);
    let mp4 = home.path("hostile/a.mp4");
    for (name, codec) in [("a.mkv", "copy"), ("a.webm", "libvpx")] {
        let to = home.path("hostile").join(name);
        let codecs = ["-an", "-c:v", codec, "-deadline", "realtime"];
        let made = Command::new("ffmpeg")
            .args(["-v", "error", "-i"])
            .arg(&mp4)
            .args(codecs)
            .arg(to)
            .status();
        assert!(made.unwrap().success());
    }
    home.write("hostile/a.info.json", r#"{"title": "Soup", "uploader": "Ann", "license": "CC0"}"#);
    home.run(&["index", "hostile"]).success();
    home.write("soup.txt", "Chop the onion\n");
    home.write(
        "page.html",
        r#"<html><script type="application/ld+json">{"@type": "Recipe", "name": "Soup", "recipeInstructions":
           [{"@type": "HowToStep", "text": "Chop the onion."}, "Fry it."]}</script><ol><li>Chop it<li>Fry it</ol></html>"#,
    );
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data");
    for (name, from) in [
        ("one.npz", "packed.npz"),
        ("one.h5", "packed.h5"),
        ("one.safetensors", "half.safetensors"),
    ] {
        home.write(
            &format!("features/{name}"),
            std::fs::read(data.join("features").join(from)).unwrap(),
        );
    }
    home.write("features/features.toml", "rate = 1.0\n");
    let steps = r#"[{"text": "chop the onion", "start": 1, "end": 3}]"#;
    home.write(
        "videos.jsonl",
        format!("{{\"video\": \"one\", \"duration\": 5.0, \"steps\": {steps}}}\n"),
    );
    std::os::unix::fs::symlink(data.join("tiny-clip"), home.path("tower")).unwrap();
    let clip = r#"{"video": "a.mp4", "start_s": 0, "end_s": 2}"#;
    let step = format!(r#"{{"line": "Chop the onion", "clips": [{clip}]}}"#);
    home.write(
        "labels.jsonl",
        format!("{{\"id\": \"1\", \"text\": \"Chop the onion\", \"steps\": [{step}]}}\n"),
    );
    let videos =
        r#"{"a": {"file": "a.mp4", "steps": [[0, 1]]}, "b": {"file": "b.mp4", "steps": [null]}}"#;
    home.write(
        "study/study.json",
        format!(
            r#"{{"version": 1, "title": "S", "seed": 0, "methods": ["a", "b"], "samples": [{{"name": "s", "title": "S",
               "steps": ["Chop"], "videos": {videos}}}], "pairs": [{{"sample": 0, "a": "a", "b": "b"}}]}}"#
        ),
    );
    home.write("study/a.mp4", "");
    home.write("study/b.mp4", "");
    let library = Library::open(&home.path("home/library")).unwrap();
    library.write_calibration(&library.calibration_file(), Calibration::of("narration")).unwrap();
    home
}

/// The file of a form; in a folder of features the only one.
fn file_of(home: &Home, form: &Form) -> PathBuf {
    let path = home.path(form.file);
    match path.is_dir() {
        true => std::fs::read_dir(path).unwrap().next().unwrap().unwrap().path(),
        false => path,
    }
}

fn run(home: &Home, command: &str) -> std::process::Output {
    let arguments: Vec<&str> = command.split(' ').collect();
    let stitch = home.command(&arguments);
    let mut limited = Command::new("timeout");
    limited.args(["--signal=KILL", DEADLINE_S, "prlimit", MEMORY]);
    limited.arg(stitch.get_program()).args(stitch.get_args()).current_dir(home.path("."));
    for (key, value) in stitch.get_envs() {
        match value {
            Some(value) => limited.env(key, value),
            None => limited.env_remove(key),
        };
    }
    // Memory that is reserved for each thread counts, too.
    limited.env("RAYON_NUM_THREADS", "2").env("MALLOC_ARENA_MAX", "2").output().unwrap()
}

#[test]
fn mutated_files_are_read_or_refused() {
    let home = home();
    let count =
        std::env::var("STITCH_MUTATIONS").map_or(FORMS.len(), |count| count.parse().unwrap());
    let mut seen: BTreeMap<(&str, Option<i32>), usize> = BTreeMap::new();
    for number in 0..count {
        let form = &FORMS[number % FORMS.len()];
        let file = file_of(&home, form);
        let whole = std::fs::read(&file).unwrap();
        let bytes = mutated(std::slice::from_ref(&whole), &mut Random(number as u64));
        std::fs::write(&file, bytes).unwrap();
        for command in form.commands {
            let _ = std::fs::remove_dir_all(home.path("index"));
            let done = run(&home, command);
            let said = String::from_utf8_lossy(&done.stderr);
            let case = format!("{} mutated with seed {number}: {command}", form.file);
            assert!(!said.contains("panicked"), "{case}: {said}");
            assert!(matches!(done.status.code(), Some(0..=3)), "{case}: {}: {said}", done.status);
            *seen.entry((form.file, done.status.code())).or_default() += 1;
        }
        std::fs::write(&file, whole).unwrap();
        for log in ["library.db-wal", "library.db-shm"] {
            let _ = std::fs::remove_file(home.path("home/library").join(log));
        }
    }
    for ((file, code), count) in seen {
        eprintln!("{file}: exit code {}: {count}", code.unwrap_or(-1));
    }
}
