//! Links that show one video, and versions side by side.

use axum::body::Body;
use serde_json::json;
use stitch_server::jobs::JobKind;
use stitch_server::worker;

use crate::site::{Answer, Site, request};

const TOKEN: &str = "0123456789abcdef0123";

/// A site that needs a token, with a rendered demonstration; its number.
fn rendered() -> (Site, i64) {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion", "Serve the soup"]);
    site.post(&format!("/api/demonstrations/{id}/renders"), &json!({}));
    assert!(worker::run_next(&site.state, JobKind::Render).unwrap());
    (site.restarted_with(|settings| settings.token = Some(TOKEN.into())), id)
}

fn send(site: &Site, method: &str, path: &str, body: Option<serde_json::Value>) -> Answer {
    let request = request(method, path)
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("content-type", "application/json");
    site.send(
        request.body(body.map_or(Body::empty(), |body| Body::from(body.to_string()))).unwrap(),
    )
}

#[test]
fn a_link_shows_the_video_and_its_steps_and_nothing_else_until_it_ends() {
    let (site, id) = rendered();
    let shares = format!("/api/demonstrations/{id}/shares");
    let link = send(&site, "POST", &shares, Some(json!({"days": 7}))).json();
    let path = link["path"].as_str().unwrap().to_owned();
    assert!(path.strip_prefix("/shared/").unwrap().len() >= 32, "{path}");
    let page = site.get(&path);
    assert_eq!(page.status, 200, "{}", page.text());
    assert!(page.text().contains("Serve the soup") && !page.text().contains("href=\"/new\""));
    let video = site.get(&format!("{path}/video"));
    assert_eq!((video.status.as_u16(), video.header("content-type")), (200, "video/mp4"));
    let page_text = page.text();
    let style = page_text.split('"').find(|part| part.ends_with("page.css")).unwrap();
    assert_eq!(site.get(style).status, 200);
    for closed in ["/", "/api/videos", &format!("/demonstrations/{id}"), &shares] {
        assert_eq!(site.get(closed).status, 401, "{closed}");
    }
    let post = request("POST", &format!("{path}/video")).body(Body::empty()).unwrap();
    assert_eq!(site.send(post).status, 401);
    // A link of yesterday, and one that was ended.
    let late = "UPDATE shares SET expires_ms = 1";
    site.state.database.lock().execute_batch(late).unwrap();
    assert_eq!([site.get(&path).status, site.get(&format!("{path}/video")).status], [404; 2]);
    let again = send(&site, "POST", &shares, Some(json!({"days": 1}))).json();
    let again = again["path"].as_str().unwrap();
    assert_eq!(site.get(again).status, 200);
    assert_eq!(send(&site, "DELETE", &shares, None).status, 204);
    let ended = site.get(again);
    assert_eq!(ended.status, 404);
    assert!(ended.text().contains("ask for a new one"), "{}", ended.text());
}

#[test]
fn what_cannot_be_shared_is_told() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion"]);
    let share = |id: i64, days: i64| {
        let answer = site.post(&format!("/api/demonstrations/{id}/shares"), &json!({"days": days}));
        (answer.status.as_u16(), answer.text())
    };
    assert_eq!(share(99, 7).0, 404);
    for days in [0, 366] {
        let (status, said) = share(id, days);
        assert!(status == 422 && said.contains("1 to 365"), "{said}");
    }
    let (status, said) = share(id, 7);
    assert!(status == 409 && said.contains("render it first"), "{said}");
    for path in ["/shared/", "/shared/x", "/shared/x/video", "/shared/../api/videos"] {
        assert_eq!(site.get(path).status, 404, "{path}");
    }
}

#[test]
fn two_versions_stand_side_by_side_and_differences_are_marked() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion", "Serve the soup"]);
    let found = site.get(&format!("/api/demonstrations/{id}")).json();
    let other = &found["steps"][0]["alternatives"][0]["clip"];
    site.change(id, &json!({"kind": "swap", "step": 0, "clip": other}));
    let page = site.get(&format!("/demonstrations/{id}/compare")).text();
    assert_eq!(page.matches("differs").count(), 1, "{page}");
    assert!(page.contains("1: found") && page.contains("2: swap step 1"), "{page}");
    let same = site.get(&format!("/demonstrations/{id}/compare?left=2&right=2")).text();
    assert_eq!(same.matches("differs").count(), 0);
    for (query, status) in [("left=9", 404), ("left=x", 422), ("middle=1", 422)] {
        assert_eq!(
            site.get(&format!("/demonstrations/{id}/compare?{query}")).status,
            status,
            "{query}"
        );
    }
    assert_eq!(site.get("/demonstrations/99/compare").status, 404);
}
