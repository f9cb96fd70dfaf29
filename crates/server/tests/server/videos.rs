//! What a page asks of a video: a narrator, music, its shape, the overlays of its sources; and many videos at once.

use serde_json::{Value, json};
use stitch_server::jobs::JobKind;
use stitch_server::worker;

use crate::site::Site;

/// Renders with these options; the job when it has ended.
fn rendered(site: &Site, id: i64, options: &Value) -> Value {
    let job = site.post(&format!("/api/demonstrations/{id}/renders"), options);
    assert_eq!(job.status, 202, "{}", job.text());
    assert!(worker::run_next(&site.state, JobKind::Render).unwrap());
    site.get(&format!("/api/jobs/{}", job.json()["id"])).json()
}

#[test]
#[allow(clippy::print_stderr)]
fn a_narrator_reads_over_music_and_exports_have_the_times_of_that_video() {
    if std::process::Command::new("espeak-ng").arg("--version").output().is_err() {
        return eprintln!("skipped: espeak-ng is not installed");
    }
    let site = Site::indexed();
    let song = site.path("music/song.wav");
    std::fs::create_dir_all(song.parent().unwrap()).unwrap();
    let tone = ["-v", "error", "-f", "lavfi", "-i", "sine=d=3"];
    assert!(std::process::Command::new("ffmpeg").args(tone).arg(&song).status().unwrap().success());
    let music = site.path("music");
    let site = site.restarted_with(|settings| settings.music = Some(music));
    let id = site.demonstration(&["Chop the onion", "Serve the soup"]);
    assert!(site.get(&format!("/demonstrations/{id}")).text().contains("song.wav"));
    let options = json!({"voice": "en-us", "music": "song.wav", "width": 160, "height": 90});
    let job = rendered(&site, id, &options);
    assert_eq!(job["status"], "done", "{job}");
    let exported = site.get(&format!("/api/demonstrations/{id}/exports/json")).json();
    assert_eq!(exported["voiceover"]["voice"], "espeak:en-us");
    assert_eq!(exported["voiceover"]["steps"][0]["words"][0]["text"], "Chop");
}

#[test]
fn what_a_video_cannot_have_is_told() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion"]);
    let cases = [
        (json!({"voice": "../en"}), "a voice is a name of espeak-ng"),
        (json!({"voice": ""}), "a voice is a name of espeak-ng"),
        (json!({"music": "../../etc/passwd"}), "there is no such music"),
        (json!({"shape": "sideways"}), "follow"),
        (json!({"overlays": "burn"}), "cover"),
        (json!({"source_sound": "loud"}), "duck"),
    ];
    for (options, told) in cases {
        let answer = site.post(&format!("/api/demonstrations/{id}/renders"), &options);
        assert!(
            answer.status == 422 && answer.text().contains(told),
            "{options}: {}",
            answer.text()
        );
    }
}

#[test]
fn the_table_of_a_batch_tells_how_each_procedure_went() {
    let site = Site::indexed();
    assert!(site.get("/batch").text().contains("None yet."));
    let id = site.demonstration(&["Chop the onion", "Serve the soup"]);
    let table = site.get("/batch").text();
    assert!(
        table.contains("2 of 2 steps") && table.contains(&format!("data-render=\"{id}\"")),
        "{table}"
    );
    let options = json!({"width": 90, "height": 160, "shape": "follow"});
    assert_eq!(rendered(&site, id, &options)["status"], "done");
    let table = site.get("/batch").text();
    assert!(table.contains("/video\">watch</a>") && !table.contains("data-render"), "{table}");
}

#[test]
fn a_page_says_how_sure_each_step_is_and_how_it_was_understood() {
    let site = Site::indexed();
    let id =
        site.demonstration(&["Chop the onion", "If the soup is cold, boil it for ten minutes"]);
    let view = site.get(&format!("/api/demonstrations/{id}")).json();
    let page = site.get(&format!("/demonstrations/{id}")).text();
    for step in view["steps"].as_array().unwrap() {
        let words = match step["confidence"].as_str().unwrap() {
            "shown" => "\">shown</span>",
            "perhaps" => "perhaps shown",
            _ => "not shown",
        };
        assert!(page.contains(words), "{words}: {page}");
    }
    let condition = view["steps"][1]["condition"].as_str().unwrap().to_lowercase();
    assert!(condition.contains("soup is cold") && page.contains("condition: "), "{condition}");
    assert!(page.contains("for ten minutes"), "{page}");
}
