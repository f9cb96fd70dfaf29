//! The preference study: random sides, hidden methods, saved answers, exports.

use std::path::Path;

use axum::body::Body;
use serde_json::{Value, json};
use stitch_server::study::{Sample, Study, StudyPlan, StudyVideo};

use crate::site::{Site, request, video};

fn make(folder: &Path) {
    let methods = ["ours".to_owned(), "random".to_owned()];
    let sample = |name: &str| {
        let rendered = |method: &String| {
            let file = format!("{name}.{method}.mp4");
            video(&folder.join(&file), &[if method == "ours" { "a" } else { "bb" }]);
            (method.clone(), StudyVideo { file, steps: vec![Some((0, 1000)), None] })
        };
        let steps = vec!["Chop <b>it</b>".into(), "Serve it".into()];
        Sample {
            name: name.into(),
            title: name.into(),
            steps,
            videos: methods.iter().map(rendered).collect(),
        }
    };
    let samples = vec![sample("tacos"), sample("soup"), sample("stool")];
    StudyPlan::new("Which is better?", 1, &methods, samples).write(folder).unwrap();
}

fn site() -> (Site, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let path = folder.path().to_owned();
    (Site::with(|settings| settings.study = Some(path)), folder)
}

fn begin(site: &Site, name: &str) -> String {
    site.post("/api/study/raters", &json!({"name": name})).json()["rater"].as_str().unwrap().into()
}

/// Prefers the video of `ours` wherever it stands: its file is known by its bytes.
fn answer(site: &Site, folder: &Path, key: &str, number: usize) -> Value {
    let pair = format!("/api/study/raters/{key}/pairs/{number}");
    let view = site.get(&pair).json();
    let ours = std::fs::read(folder.join(format!("{}.ours.mp4", view["title"].as_str().unwrap())))
        .unwrap();
    let left = site.get(&format!("{pair}/left")).body == ours;
    let better = if left { "left" } else { "right" };
    let said = json!({"steps": better, "goal": better, "quality": "tie", "overall": better, "seconds": 12.5});
    site.post(&pair, &said).json()
}

#[test]
fn two_raters_answer_and_every_answer_is_there() {
    let (site, folder) = site();
    assert!(site.get("/study").text().contains("The four questions"));
    let (ann, bob) = (begin(&site, "Ann"), begin(&site, "Bob <i>"));
    let first = site.get(&format!("/study/{ann}"));
    assert_eq!(first.header("location"), format!("/study/{ann}/1"));
    assert_eq!(answer(&site, folder.path(), &ann, 1)["next"], 2);
    assert_eq!(
        site.get(&format!("/study/{ann}")).header("location"),
        format!("/study/{ann}/2"),
        "resumable"
    );
    for number in 2..=3 {
        answer(&site, folder.path(), &ann, number);
    }
    for number in 1..=3 {
        answer(&site, folder.path(), &bob, number);
    }
    assert!(site.get(&format!("/study/{bob}")).text().contains("Thank you"));
    let csv = site.get("/api/study/answers.csv").text();
    assert_eq!(csv.lines().count(), 1 + 2 * 3 * 4, "{csv}");
    assert_eq!(
        csv.lines().filter(|line| line.contains("\"overall\",\"ours\"")).count(),
        6,
        "{csv}"
    );
    assert_eq!(csv.lines().filter(|line| line.contains("\"quality\",\"tie\"")).count(), 6);
    let battles = site.get("/api/study/battles.jsonl").text();
    let battle: Value = serde_json::from_str(battles.lines().next().unwrap()).unwrap();
    assert_eq!((&battle["model_a"], &battle["model_b"]), (&json!("ours"), &json!("random")));
    assert!(battles.contains("\"winner\":\"model_a\"") && battles.contains("\"winner\":\"tie\""));
}

#[test]
fn nothing_tells_a_rater_the_methods() {
    let (site, _folder) = site();
    let ann = begin(&site, "Ann");
    for number in 1..=3 {
        let page = site.get(&format!("/study/{ann}/{number}")).text();
        let view = site.get(&format!("/api/study/raters/{ann}/pairs/{number}")).text();
        for name in ["ours", "random"] {
            assert!(!page.contains(name) && !view.contains(name), "{name}");
        }
        assert!(page.contains("Chop &lt;b&gt;it"), "{page}");
    }
    assert_eq!(site.get(&format!("/study/{ann}/4")).status, 404);
    assert_eq!(site.get(&format!("/study/{ann}/0")).status, 404);
}

#[test]
fn answers_that_make_no_sense_and_strangers() {
    let (site, _folder) = site();
    let ann = begin(&site, "Ann");
    let pair = format!("/api/study/raters/{ann}/pairs/1");
    let all = |v: &str| json!({"steps": v, "goal": v, "quality": v, "overall": v});
    assert_eq!(site.post(&pair, &all("both")).status, 422);
    assert_eq!(site.post(&pair, &json!({"steps": "left"})).status, 422);
    let mut long = all("left");
    long["seconds"] = json!(1e9);
    assert_eq!(site.post(&pair, &long).status, 422);
    assert_eq!(site.post("/api/study/raters/nobody/pairs/1", &all("left")).status, 404);
    assert_eq!(site.post("/api/study/raters", &json!({"name": " "})).status, 422);
    assert_eq!(site.get(&format!("{pair}/middle")).status, 404);
    let none = Site::new();
    assert_eq!(none.get("/api/study/answers.csv").status, 404);
    assert!(none.get("/study").text().contains("there is no study here"));
}

#[test]
fn a_raters_token_opens_only_the_study() {
    let (_, folder) = site();
    let site = Site::with(|settings| {
        settings.study = Some(folder.path().into());
        settings.token = Some("0123456789abcdef".into());
    });
    let token = site.state.study.as_ref().unwrap().token.clone();
    let get = |path: &str, token: &str| {
        let request = request("GET", path).header("cookie", format!("stitch_token_7878={token}"));
        site.send(request.body(Body::empty()).unwrap())
    };
    let raters = get("/study", &token);
    let asset = raters.text().split('"').find(|part| part.ends_with("page.js")).unwrap().to_owned();
    assert_eq!((raters.status.as_u16(), get(&asset, &token).status.as_u16()), (200, 200));
    assert!(!raters.text().contains("answers.csv") && !raters.text().contains("/new"));
    assert!(get("/study", "0123456789abcdef").text().contains("answers.csv"));
    let lost = get("/study/nobody/1", &token);
    assert_eq!(lost.status, 404);
    let page = lost.text();
    assert!(page.contains("Back to the study"), "{page}");
    assert!(!page.contains("href=\"/\"") && !page.contains("/new"), "{page}");
    let hidden = ["/", "/new", "/api/videos", "/api/jobs", "/api/study/answers.csv", "/studyx"];
    for path in hidden.into_iter().chain(["/api/study/battles.jsonl"]) {
        assert_eq!(get(path, &token).status, 401, "{path}");
        assert_eq!(site.get(&format!("{path}?token={token}")).status, 401, "{path}");
    }
    let link = format!("/study?token={token}");
    let first = site.get(&link);
    assert_eq!((first.status.as_u16(), first.header("location")), (303, "/study"));
    assert!(first.header("set-cookie").contains(&token));
    let mail = request("GET", &link)
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "navigate");
    let mail = site.send(mail.body(Body::empty()).unwrap());
    assert!(mail.status == 200 && mail.text().contains("0; url=/study"), "{}", mail.text());
    assert!(mail.header("set-cookie").contains(&token) && !mail.text().contains(&token));
    let again = site.restarted();
    assert_eq!(again.state.study.as_ref().unwrap().token, token, "links stay valid");
}

#[test]
fn a_new_study_never_takes_over_old_answers() {
    let (site, folder) = site();
    let ann = begin(&site, "Ann");
    answer(&site, folder.path(), &ann, 1);
    let refused = StudyPlan::create_folder(folder.path(), false).unwrap_err().to_string();
    assert!(refused.contains("--force") && refused.contains("another folder"), "{refused}");
    drop(site);
    for number in 1..=2 {
        StudyPlan::create_folder(folder.path(), true).unwrap();
        for kept in [format!("answers-{number}.db"), format!("study-{number}.json")] {
            assert!(folder.path().join(&kept).exists(), "{kept}");
        }
        assert!(Study::open(folder.path()).is_err(), "a half-made study is none");
        make(folder.path());
        assert!(Study::open(folder.path()).unwrap().answers().unwrap().is_empty());
    }
    let (old, now) = (folder.path().join("answers-1.db"), folder.path().join("answers.db"));
    std::fs::copy(old, now).unwrap();
    assert_eq!(Study::open(folder.path()).unwrap().answers().unwrap().len(), 4);
    StudyPlan::create_folder(&folder.path().join("new"), false).unwrap();
}
