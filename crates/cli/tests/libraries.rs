//! Libraries that are empty, of another encoder, damaged or read-only, and files that are not videos.

mod common;

use common::Home;
use stitch_engine::library::FileLock;

#[test]
fn the_second_writer_is_told_who_writes_and_readers_go_on() {
    let home = Home::indexed();
    let lock = FileLock::take(&home.path("home/library/writer.lock")).unwrap();
    let repair = ["library", "verify", "--repair"];
    for arguments in [&["index", "videos"][..], &["library", "remove", "1"], &repair] {
        let said = home.fails(arguments, 1);
        let who = format!("process {} is writing to the library", std::process::id());
        assert!(said.contains(&who) && said.contains("wait until it has ended"), "{said}");
    }
    home.run(&["search", "chop"]).success();
    home.run(&["library", "verify"]).success();
    drop(lock);
    home.run(&["index", "videos"]).success();
}

#[test]
fn a_backup_is_a_library_and_replaces_none() {
    let home = Home::indexed();
    home.run(&["library", "backup", "copy"]).success();
    home.run(&["library", "verify", "--library", "copy"]).success();
    home.run(&["search", "chop", "--library", "copy"]).success();
    let said = home.fails(&["library", "backup", "copy"], 1);
    assert!(said.contains("exists already"), "{said}");
}

#[test]
fn what_cannot_be_repaired_is_named_and_ends_with_1() {
    let home = Home::indexed();
    std::fs::remove_file(home.path("videos/video 1.mp4")).unwrap();
    let done = home.run(&["library", "verify", "--repair"]).code(1);
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(said.contains("video 1.mp4: its file is gone"), "{said}");
    assert!(said.contains("(cannot be repaired)"), "{said}");
    let told = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(told.contains("1 could not be repaired; each line says what to do"), "{told}");
}

#[test]
fn a_library_of_another_encoder_is_refused_with_both_names() {
    let home = Home::indexed();
    // The same name with other weights is another encoder.
    let model = home.path("home/models/tiny-mpnet");
    std::fs::write(model.join("card.json"), "{}").unwrap();
    let weights = model.join("model.safetensors");
    let mut bytes = std::fs::read(&weights).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&weights, bytes).unwrap();
    let said = home.fails(&["search", "chop"], 1);
    assert!(said.contains("was made with the encoder `narration`"), "{said}");
    assert!(said.contains("index the videos again") && !said.contains("--encoder"), "{said}");
}

#[test]
fn an_empty_library_says_how_to_fill_it() {
    let home = Home::new();
    home.write("videos/broken.mp4", "this is no video");
    home.run(&["index", "videos"]).code(1);
    let said = home.fails(&["search", "chop"], 1);
    assert!(said.contains("has no clips yet"), "{said}");
    let listed = home.run(&["library", "list"]).success();
    let listed = String::from_utf8_lossy(&listed.get_output().stdout).into_owned();
    assert!(listed.contains("failed"), "{listed}");
}

#[test]
fn a_damaged_features_file_is_found_and_mended() {
    let home = Home::indexed();
    let whole = home.library_content();
    let features = home.path("home/library/features");
    let file = std::fs::read_dir(&features).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let said = home.fails(&["library", "verify"], 1);
    assert!(said.contains("--repair"), "{said}");
    let told = home.prints(&["library", "verify", "--repair"]);
    let library = format!("--library '{}'` indexes", home.path("home/library").display());
    assert!(told.contains(&library), "{told}");
    home.run(&["index", "videos"]).success();
    assert_eq!(home.library_content(), whole);
}

#[test]
fn a_database_that_is_none_is_told() {
    let home = Home::indexed();
    std::fs::write(home.path("home/library/library.db"), "not a database, not at all").unwrap();
    for leftover in ["library.db-wal", "library.db-shm"] {
        let _ = std::fs::remove_file(home.path("home/library").join(leftover));
    }
    let said = home.fails(&["search", "chop"], 1);
    assert!(said.contains("not a library database"), "{said}");
    assert!(said.contains("stitch library backup"), "{said}");
}

#[test]
fn one_bad_video_never_stops_the_others() {
    let home = Home::with_videos();
    home.write("videos/empty.mp4", "");
    home.write("videos/text.mkv", "a shopping list");
    home.write("videos/odd 'name' \"50%\"\n.mp4", "no video either");
    let whole = std::fs::read(home.path("videos/video 1.mp4")).unwrap();
    home.write("videos/truncated.mp4", &whole[..whole.len() / 3]);
    // No subtitle beside it, and found before its twin, which has one.
    home.write("videos/silent.mp4", &whole[..]);
    let done = home.run(&["index", "videos", "--json"]).success();
    let report: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!(report["indexed"], 3, "{report}");
    assert_eq!(report["failed"].as_array().unwrap().len(), 5, "{report}");
    for failed in report["failed"].as_array().unwrap() {
        assert!(!failed[1].as_str().unwrap().is_empty(), "{failed}");
    }
}

/// A black video with this sound, and no subtitles.
fn with_sound(home: &Home, name: &str, sound: &[&str]) -> std::path::PathBuf {
    let path = home.path(name);
    let done = std::process::Command::new("ffmpeg")
        .args(["-v", "error", "-y", "-f", "lavfi", "-i", "color=black:s=64x64:r=4:d=6"])
        .args(["-f", "lavfi", "-i", "anoisesrc=d=6:a=0.3", "-preset", "ultrafast"])
        .args(sound)
        .arg(&path)
        .status()
        .unwrap();
    assert!(done.success());
    path
}

#[test]
fn odd_sound_costs_no_video() {
    let data = |name: &str| {
        let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data");
        data.join(name).to_string_lossy().into_owned()
    };
    let home = Home::with_videos();
    with_sound(&home, "videos/eight.mkv", &["-c:a", "pcm_s16le", "-ac", "8", "-ar", "48000"]);
    with_sound(&home, "videos/slow.mkv", &["-c:a", "pcm_s16le", "-ac", "1", "-ar", "8000"]);
    let torn = with_sound(&home, "videos/torn.mkv", &["-c:a", "flac"]);
    let mut bytes = std::fs::read(&torn).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 5000].iter_mut().for_each(|byte| *byte = !*byte);
    std::fs::write(&torn, bytes).unwrap();
    let (encoder, speech) = (data("tiny-clip"), data("tiny-whisper"));
    let done = home
        .run(&["index", "videos", "--json", "--encoder", &encoder, "--speech", &speech])
        .success();
    let report = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    let report: serde_json::Value = serde_json::from_str(report.lines().last().unwrap()).unwrap();
    assert_eq!((&report["indexed"], &report["failed"]), (&6.into(), &serde_json::json!([])));
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(said.contains("torn.mkv") && said.contains("part of its sound is damaged"), "{said}");
}

#[test]
fn a_language_that_the_speech_model_does_not_know_is_told() {
    let home = Home::with_videos();
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data");
    let speech = data.join("tiny-whisper").to_string_lossy().into_owned();
    let said = home.fails(&["index", "videos", "--screen-text", "ppocr-v9"], 1);
    assert!(said.contains("no model `ppocr-v9`; known are") && said.contains("ppocr-v6"), "{said}");
    let said = home.fails(&["index", "videos", "--speech", &speech, "--language", "klingon"], 1);
    assert!(said.contains("does not know the language `klingon`; it knows en, de, haw"), "{said}");
    home.run(&["index", "videos", "--speech", &speech, "--language", "de"]).success();
}

#[test]
fn a_read_only_library_can_be_read() {
    let home = Home::indexed();
    home.run(&["search", "chop"]).success();
    let library = home.path("home/library");
    let copy = home.path("shelf");
    std::fs::create_dir_all(copy.join("features")).unwrap();
    for entry in std::fs::read_dir(&library).unwrap().flatten().filter(|e| e.path().is_file()) {
        std::fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    let set = |writable: bool| {
        let mode = if writable { "u+w" } else { "a-w" };
        std::process::Command::new("chmod").args(["-R", mode]).arg(&copy).status().unwrap();
    };
    set(false);
    let found = home.run(&["search", "chop", "--library", "shelf"]);
    set(true);
    found.success();
}

#[test]
fn a_video_that_failed_gets_another_try() {
    let home = Home::new();
    home.video("videos/soup.mp4", 0, &["Chop the onion.", "Fry the onion."]);
    let subtitles = home.path("videos/soup.srt");
    let text = std::fs::read(&subtitles).unwrap();
    std::fs::remove_file(&subtitles).unwrap();
    home.run(&["index", "videos"]).code(1);
    std::fs::write(&subtitles, text).unwrap();
    home.run(&["index", "videos"]).success();
}
