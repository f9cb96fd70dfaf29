//! The library over HTTP: videos, ranges, pictures, search.

use std::sync::Arc;

use axum::body::Body;
use serde_json::json;
use stitch_engine::index::Indexer;
use stitch_engine::library::Library;
use stitch_engine::progress::Silent;

use crate::site::{Site, request, video};

#[test]
fn an_empty_library_says_what_to_do() {
    let site = Site::new();
    assert!(site.get("/").text().contains("Add a folder of videos"));
    let root = site.folder.path().display();
    assert!(site.get("/").text().contains(&format!("Allowed: {root}, the folders of")));
    assert!(site.get("/").text().contains(&format!("placeholder=\"{root}\"")));
    assert_eq!(site.get("/api/videos").json(), json!([]));
    assert_eq!(site.get("/api/search?q=onion").json(), json!({"shown": [], "said": []}));
    let id = site.demonstration(&["Chop the onion"]);
    let page = site.get(&format!("/demonstrations/{id}")).text();
    assert!(page.contains("add a folder of videos first"), "{page}");
}

#[test]
fn videos_with_their_steps_and_what_failed() {
    let site = Site::new();
    std::fs::write(site.path("videos/broken.mp4"), b"no video").unwrap();
    site.index();
    let videos = site.get("/api/videos").json();
    assert_eq!(videos.as_array().unwrap().len(), 4);
    let broken = videos.as_array().unwrap().iter().find(|v| v["file"] == "broken.mp4").unwrap();
    assert_eq!(broken["status"], "failed");
    let page = site.get("/").text();
    assert!(page.contains("1 video could not be read") && page.contains("broken.mp4"), "{page}");
    let steps = &videos[1]["steps"];
    assert!(steps.as_array().unwrap().len() >= 2, "{videos}");
    assert_eq!(site.get("/api/videos/999").status, 404);
}

#[test]
fn ranges_of_videos() {
    let site = Site::indexed();
    let whole = std::fs::read(site.path("videos/video 0.mp4")).unwrap();
    let ask = |range: &str| {
        site.send(
            request("GET", "/api/videos/1/file")
                .header("range", range)
                .body(Body::empty())
                .unwrap(),
        )
    };
    let all = site.get("/api/videos/1/file");
    assert_eq!((all.status.as_u16(), all.body == whole), (200, true));
    assert_eq!(all.header("content-type"), "video/mp4");
    assert_eq!(all.header("accept-ranges"), "bytes");
    let table = [
        ("bytes=0-9", 0..10),
        ("bytes=100-199", 100..200),
        ("bytes=-5", whole.len() - 5..whole.len()),
        ("bytes=5-", 5..whole.len()),
    ];
    for (range, expected) in table {
        let part = ask(range);
        assert_eq!(part.status, 206, "{range}");
        assert!(part.body == whole[expected], "{range}");
    }
    assert_eq!(ask("bytes=999999999-").status, 416);
    let head = site.send(request("HEAD", "/api/videos/1/file").body(Body::empty()).unwrap());
    assert_eq!((head.status.as_u16(), head.body.len()), (200, 0));
}

#[test]
fn pictures_at_any_time_are_jpeg() {
    let site = Site::indexed();
    for at in ["0", "1500", "99999999"] {
        let picture = site.get(&format!("/api/videos/2/picture?at={at}"));
        assert_eq!((picture.status.as_u16(), picture.header("content-type")), (200, "image/jpeg"));
        assert!(picture.body.starts_with(b"\xff\xd8"));
    }
    assert_eq!(site.get("/api/videos/2/picture?at=soon").status, 422);
}

#[test]
fn search_finds_what_is_shown_and_what_is_said() {
    let site = Site::indexed();
    let found = site.get("/api/search?q=sand%20the%20board").json();
    assert_eq!(found["shown"][0]["text"], "Sand the board", "{found}");
    assert_eq!(found["said"][0]["text"], "Sand the board.");
    // The beginning of a word is enough, a part of one is not, and % is a letter.
    let said =
        |q: &str| site.get(&format!("/api/search?q={q}")).json()["said"].as_array().unwrap().len();
    assert_eq!((said("carr"), said("arrot"), said("%25")), (3, 0, 0));
    assert!(site.get("/hits?q=sand").text().contains("Sand the board"));
}

#[test]
fn a_folder_is_added_only_from_where_that_is_allowed() {
    let site = Site::new();
    let add = |folder: &str| site.post("/api/index", &json!({"folder": folder}));
    std::os::unix::fs::symlink("/etc", site.path("videos/link")).unwrap();
    let inside = |name: &str| site.path(name).to_string_lossy().into_owned();
    let refused = [
        "/etc".to_owned(),
        "videos".to_owned(),
        "".to_owned(),
        "/no/such\u{0}".to_owned(),
        inside("videos/../../.."),
        inside("videos/link"),
        inside("nowhere"),
        inside("videos/video 0.mp4"),
    ];
    for folder in refused {
        assert_eq!(add(&folder).status, 422, "{folder}");
    }
    assert_eq!(add(&inside("videos")).status, 202);
    assert_eq!(add(&inside("videos/../videos")).status, 202);
}

#[test]
fn without_roots_only_the_folders_of_the_librarys_videos_are_allowed() {
    let site = Site::indexed().restarted_with(|settings| settings.roots.clear());
    let add = |name: &str| site.post("/api/index", &json!({"folder": site.path(name)})).status;
    assert_eq!(
        (add("videos").as_u16(), add("library").as_u16(), add("").as_u16()),
        (202, 422, 422)
    );
    let page = site.get("/").text();
    assert!(page.contains("Allowed: the folders of the library's videos, and their"), "{page}");
    let folder = site.path("videos").canonicalize().unwrap();
    assert!(page.contains(&format!("placeholder=\"{}\"", folder.display())), "{page}");
}

#[test]
fn without_roots_and_videos_the_page_says_how_to_start_the_server() {
    let site = Site::with(|settings| settings.roots.clear());
    let page = site.get("/").text();
    assert!(page.contains("Start the server with --root FOLDER to add videos here."), "{page}");
}

#[test]
fn what_another_program_indexes_anew_is_shown_though_the_number_of_clips_is_the_same() {
    let site = Site::indexed();
    let before = site.get("/api/videos").text().to_lowercase();
    assert!(before.contains("peel the carrot"), "{before}");
    let spoken = ["Scrub the carrot.", "Chop the carrot.", "Boil the carrot in water."];
    video(&site.path("videos/video 1.mp4"), &spoken);
    let resources = &site.state.resources;
    let indexer = Indexer {
        encoder: resources.encoder.as_ref(),
        sentence: &resources.sentence,
        chat: None,
        speech: None,
        screen_text: None,
        list: None,
        from: None,
    };
    let library = Library::open(&site.path("library")).unwrap();
    let report = indexer.run(&library, &[site.path("videos")], &Silent).unwrap();
    assert_eq!(report.indexed, 1, "{report:?}");
    let after = site.get("/api/videos").text().to_lowercase();
    assert!(after.contains("scrub the carrot") && !after.contains("peel the carrot"), "{after}");
}

#[test]
fn what_another_program_has_fitted_is_used_and_nothing_is_loaded_without_a_change() {
    let site = Site::indexed();
    let encoder = site.state.resources.encoder.as_ref();
    let before = site.state.require_pool().unwrap();
    site.state.refresh_pool().unwrap();
    site.index();
    assert!(Arc::ptr_eq(&before, &site.state.require_pool().unwrap()));
    let mut fitted = before.weights(encoder).clone();
    fitted.gaps.bias = -1.25;
    let other = Library::open(&site.path("library")).unwrap();
    other.write_calibration(&other.calibration_file(), &fitted).unwrap();
    site.state.refresh_pool().unwrap();
    assert_eq!(*site.state.require_pool().unwrap().weights(encoder), fitted);
}
