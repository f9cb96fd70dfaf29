//! Encoders from folders: evaluated on a set, used with precomputed features, and exchanged for one another.

#![allow(clippy::print_stderr)] // a skipped test says so

mod common;

use std::path::{Path, PathBuf};

use common::{Home, npy};
use stitch_engine::library::Library;

/// A small random model or picture that the engine is tested with.
fn engine_data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data").join(name)
}

fn model() -> String {
    engine_data("tiny-clip").display().to_string()
}

/// A set with usable and unusable lines.
fn set(home: &Home) -> String {
    let lines = r#"{"video": "a", "steps": [{"text": "chop the onion", "image": "smooth.png"}, {"text": "fry", "image": "noise.png"}, {"text": "stir", "images": ["tall.png", "photo.jpg"]}]}
{"video": "b", "steps": [{"text": "sand the board", "image": "photo.webp"}, {"text": "dig", "image": "gone.png"}, {"text": "add salt", "image": "broken.png"}], "mood": 1}
{"video": "a", "steps": []}
nonsense
"#;
    home.write("set/videos.jsonl", lines);
    for name in ["smooth.png", "noise.png", "tall.png", "photo.jpg", "photo.webp"] {
        let bytes = std::fs::read(engine_data("pictures").join(name)).unwrap();
        home.write(&format!("set/images/{name}"), bytes);
    }
    home.write("set/broken.png", b"\x89PNG\r\n\x1a\n");
    home.path("set").display().to_string()
}

#[test]
fn an_encoder_of_a_folder_is_measured() {
    let home = Home::new();
    let set = set(&home);
    let done = home.run(&["eval", "encoder", "--data", &set, "--encoder", &model()]).success();
    let said = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    insta::assert_snapshot!(
        said.replace(&*engine_data("").canonicalize().unwrap().to_string_lossy(), "DATA")
    );
    let arguments = ["eval", "encoder", "--data", &set, "--encoder", &model(), "--json"];
    let done = home.run(&arguments).success();
    let report: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!((report["videos"].as_u64(), report["pictures"].as_u64()), (Some(2), Some(5)));
    for key in ["order_greedy", "order_optimal"] {
        assert!((0.0..=1.0).contains(&report[key].as_f64().unwrap()), "{key}");
    }
    for side in ["text_to_frame", "frame_to_text"] {
        assert!(report[side]["r1"].is_number() && report[side]["medr"].is_number(), "{side}");
        assert!(report["intervals"][side]["r10"].is_array());
    }
}

#[test]
fn a_set_without_anything_usable_is_told() {
    let home = Home::new();
    home.write("set/videos.jsonl", "{\"video\": \"a\", \"steps\": []}\n");
    let set = home.path("set").display().to_string();
    let said = home.fails(&["eval", "encoder", "--data", &set, "--encoder", &model()], 1);
    assert!(said.contains("no step with a text and a readable picture"), "{said}");
    let said = home.fails(&["eval", "encoder", "--data", &set, "--encoder", "narration"], 1);
    assert!(said.contains("does not look at pictures"), "{said}");
    let said = home.fails(&["eval", "encoder", "--data", &set, "--encoder", "no/body"], 1);
    assert!(said.contains("stitch models pull no/body"), "{said}");
}

#[test]
fn features_and_a_list_are_indexed_without_any_video_file() {
    let home = Home::new();
    let row = |second: usize| (0..24).map(|i| ((i * 7 + second * 5) % 11) as f32 - 5.0).collect();
    let rows: Vec<Vec<f32>> = (0..12).map(row).collect();
    home.write("features/one.npy", npy(&rows));
    home.write("features/two.npy", npy(&rows[..6]));
    home.write("features/features.toml", "rate = 1.0\n");
    home.write(
        "videos.jsonl",
        r#"{"video": "one", "duration": 12.4, "steps": [{"text": "chop the onion", "start": 1, "end": 5}, {"text": "fry the onion", "start": 6, "end": 11}]}
{"video": "two", "duration": 60.0, "steps": [{"text": "sand the board", "start": 1, "end": 5}]}
{"video": "three", "steps": [{"text": "dig", "start": 1, "end": 5}]}
"#,
    );
    let (features, list) = (home.path("features"), home.path("videos.jsonl"));
    let arguments = [
        "index",
        "--json",
        "--features",
        features.to_str().unwrap(),
        "--annotations",
        list.to_str().unwrap(),
        "--text-encoder",
        &model(),
    ];
    let done = home.run(&arguments).success();
    let report: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!(
        (report["found"].as_u64(), report["indexed"].as_u64()),
        (Some(2), Some(1)),
        "{report}"
    );
    let reason = report["failed"][0][1].as_str().unwrap();
    assert!(
        reason.contains("6 rows at 1 per second are 6.0 s") && reason.contains("60.0 s"),
        "{reason}"
    );
    let warned = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(warned.contains("no features of `three`"), "{warned}");
    let done = home.run(&["search", "--json", "chop the onion"]).success();
    let said = String::from_utf8(done.get_output().stdout.clone()).unwrap();
    assert!(said.contains("\"title\":\"one\"") && said.contains("fry the onion"), "{said}");
}

#[test]
fn features_need_the_text_tower_of_their_space() {
    let home = Home::new();
    home.write("features/one.npy", npy(&[vec![1.0, 0.0, 0.0]]));
    let features = home.path("features").display().to_string();
    let said = home.fails(&["index", &features, "--features", &features], 2);
    assert!(said.contains("--text-encoder"), "{said}");
}

#[test]
fn the_same_footage_under_another_name_is_found_once() {
    let home = Home::new();
    let encode = |input: &[&str], name: &str| {
        let path = home.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let made = std::process::Command::new("ffmpeg")
            .args(["-v", "error", "-y"])
            .args(input)
            .args(["-preset", "ultrafast", "-pix_fmt", "yuv420p"])
            .arg(&path)
            .status();
        assert!(made.unwrap().success());
    };
    encode(&["-f", "lavfi", "-i", "mandelbrot=size=160x90:rate=12", "-t", "12"], "videos/long.mp4");
    encode(&["-f", "lavfi", "-i", "testsrc=size=160x90:rate=12:duration=6"], "videos/other.mp4");
    let long = home.path("videos/long.mp4").display().to_string();
    let part = ["-ss", "2.4", "-i", &long, "-t", "7", "-vf", "scale=120:-2,eq=brightness=0.06"];
    encode(&[&part[..], &["-crf", "34"]].concat(), "videos/part.mp4");
    let model = model();
    home.run(&["index", "videos", "--encoder", &model, "--speech", "never"]).success();
    let found = home.run(&["search", "a pattern", "--json", "--number", "50"]).success();
    let found = String::from_utf8(found.get_output().stdout.clone()).unwrap();
    assert!(found.contains("long.mp4") && found.contains("other.mp4"), "{found}");
    assert!(!found.contains("part.mp4"), "{found}");
    home.write("steps.txt", "A pattern\nBars of colour\n");
    home.run(&["make", "steps.txt", "--threshold=0", "--no-video", "-o", "out/new/d.mp4"])
        .success();
    let made = std::fs::read_to_string(home.path("out/new/d.json")).unwrap();
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let step = &made["steps"][0];
    let all = step["alternatives"].as_array().unwrap().iter().chain([&step["chosen"]]);
    let copies: Vec<_> = all.filter_map(|choice| choice["copies"].as_array()).flatten().collect();
    assert!(copies.iter().any(|copy| copy["title"] == "part"), "{made:#}");
    assert!(made["steps"][1]["join"].is_number(), "{made:#}");
}

#[test]
fn another_encoder_takes_over_narration_steps_and_spans() {
    let home = Home::indexed();
    // Neither subtitles nor speech can be read again.
    for number in 0..3 {
        std::fs::remove_file(home.path(&format!("videos/video {number}.srt"))).unwrap();
    }
    let model = model();
    let said = home.fails(&["index", "videos", "--encoder", &model], 1);
    assert!(said.contains("stitch index --from OLD"), "{said}");
    let arguments = ["index", "--from", "home/library", "--library", "second", "--encoder", &model];
    let arguments = [&arguments[..], &["--speech", "never", "--json"]].concat();
    let report: serde_json::Value = serde_json::from_str(&home.prints(&arguments)).unwrap();
    assert_eq!(report["indexed"].as_u64(), Some(3), "{report}");
    let open = |folder: &str| Library::open(&home.path(folder)).unwrap();
    let (old, new) = (open("home/library"), open("second"));
    assert_ne!(old.encoder(), new.encoder());
    let (clips, copied) = (old.pool().unwrap(), new.pool().unwrap());
    assert_eq!(clips.clips(), copied.clips());
    assert!(clips.clips().len() >= 3, "{:?}", clips.clips());
    for (video, copy) in old.videos().unwrap().iter().zip(new.videos().unwrap()) {
        assert_eq!((&video.path, &video.narration_by), (&copy.path, &copy.narration_by));
        assert_eq!((&video.video, &video.steps_by), (&copy.video, &copy.steps_by));
        let id = stitch_core::clip::VideoId(video.id);
        assert_eq!(old.sentences(id).unwrap(), new.sentences(id).unwrap());
        assert_eq!(new.seconds(id).unwrap().dim(), new.encoder().dim);
    }
    let again: serde_json::Value = serde_json::from_str(&home.prints(&arguments)).unwrap();
    assert_eq!((again["indexed"].as_u64(), again["unchanged"].as_u64()), (Some(0), Some(3)));
}

#[test]
fn a_provider_that_is_not_there_is_told_in_one_line() {
    let home = Home::new();
    let set = set(&home);
    let pair = engine_data("onnx-pictures").display().to_string();
    let measure = |library: &Path, provider: &str| {
        let mut command = home.command(&["eval", "encoder", "--data", &set, "--encoder", &pair]);
        command.env("ORT_DYLIB_PATH", library).env("STITCH_ONNX_PROVIDER", provider);
        let done = command.output().unwrap();
        (done.status.success(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let (is_done, said) = measure(Path::new("no library"), "abacus");
    assert!(!is_done && said.contains("it can be auto, cpu, cuda or coreml"), "{said}");
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    let library = cache.unwrap_or_default().join("stitch/models/onnxruntime/libonnxruntime.so");
    if !library.is_file() {
        eprintln!("skipped: there is no {}", library.display());
        return;
    }
    // The library that `stitch models pull onnxruntime` brings computes on the CPU only.
    let (is_done, said) = measure(&library, "cuda");
    let told: Vec<&str> = said.lines().filter(|line| line.contains("`cuda`")).collect();
    assert!(is_done && told.len() == 1, "{said}");
    assert!(told[0].contains("the CPU is used") && told[0].contains("ORT_DYLIB_PATH"), "{said}");
    assert!(!measure(&library, "auto").1.contains("cannot compute"));
}
