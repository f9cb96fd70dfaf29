//! Shards: what several workers index is merged to the library that one process makes.

mod common;

use std::path::PathBuf;

use common::Home;

/// The shards' folder has its videos of two workers.
fn sharded() -> Home {
    let home = Home::with_videos();
    for share in ["1/2", "2/2"] {
        home.run(&["index", "videos", "--shard", share, "--out", "out"]).success();
    }
    home
}

#[test]
fn a_merged_library_answers_as_one_indexed_in_one_process() {
    let home = sharded();
    let merged = home.prints(&["library", "merge", "out"]);
    assert!(merged.starts_with("3 shards: 3 videos added"), "{merged}");
    home.run(&["library", "verify"]).success();
    let answers = |home: &Home| {
        ["chop the onion", "paint the board"].map(|words| home.prints(&["search", words, "--json"]))
    };
    let (content, found) = (home.library_content(), answers(&home));
    std::fs::remove_dir_all(home.path("home/library")).unwrap();
    home.run(&["index", "videos"]).success();
    assert_eq!(content, home.library_content());
    assert_eq!(found, answers(&home));
}

#[test]
fn what_was_indexed_is_not_indexed_again() {
    let home = sharded();
    let again = home.prints(&["index", "videos", "--out", "out"]);
    assert!(again.contains("0 indexed now (0 clips), 3 unchanged"), "{again}");
    home.video("videos/z.mp4", 1, &["Mix the batter."]);
    let more = home.prints(&["index", "videos", "--out", "out"]);
    assert!(more.contains("1 indexed now"), "{more}");
    home.run(&["library", "merge", "out"]).success();
    let merged = home.prints(&["library", "merge", "out"]);
    assert!(merged.starts_with("4 shards: 0 videos added"), "{merged}");
}

#[test]
fn a_damaged_shard_is_found() {
    let home = sharded();
    let whole = home.prints(&["library", "verify", "out"]);
    assert_eq!(whole.trim(), "3 shards whole, 0 unfinished, 0 damaged");
    let shard = std::fs::read_dir(home.path("out/shards")).unwrap().next().unwrap().unwrap().path();
    let files: Vec<PathBuf> =
        std::fs::read_dir(&shard).unwrap().map(|entry| entry.unwrap().path()).collect();
    let features = files.iter().find(|file| file.extension().unwrap() == "safetensors").unwrap();
    let mut bytes = std::fs::read(features).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(features, bytes).unwrap();
    home.run(&["library", "verify", "out"]).code(1);
    let said = home.fails(&["library", "merge", "out"], 1);
    let name = shard.file_name().unwrap().to_string_lossy().into_owned();
    assert!(said.contains(&name) && said.contains("is damaged"), "{said}");
}

#[test]
fn wrong_shares_urls_and_empty_folders_are_told() {
    let home = Home::with_videos();
    for (arguments, code, says) in [
        ("index videos --out out --shard 3/2", 2, "write I/N"),
        ("index videos --shard 1/2", 2, "--out"),
        ("library merge nothing", 1, "there are no shards in nothing"),
        ("library verify out --repair", 2, "cannot be used with"),
        ("index s3://bucket/videos", 1, "add --out URL"),
    ] {
        let said = home.fails(&arguments.split(' ').collect::<Vec<_>>(), code);
        assert!(said.contains(says), "{arguments}: {said}");
    }
    if !cfg!(feature = "cloud") {
        for urls in [["videos", "s3://bucket/x"], ["s3://bucket/videos", "out"]] {
            let said = home.fails(&["index", urls[0], "--out", urls[1]], 1);
            assert!(said.contains("--features cloud"), "{said}");
        }
    }
}
