//! Malicious requests and texts.

use axum::body::Body;
use serde_json::json;

use crate::site::{Site, request, video};

#[test]
fn paths_in_place_of_numbers_lead_nowhere() {
    let site = Site::indexed();
    site.demonstration(&["Chop the onion"]);
    std::fs::write(site.path("secret.txt"), "secret").unwrap();
    let bad = [
        "..",
        "../../secret.txt",
        "..%2f..%2fsecret.txt",
        "%2e%2e%2fsecret.txt",
        "..\\secret",
        "%00",
        "1%00",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "1/../../secret.txt",
        "-1",
        "1.0",
        "1e9",
        "99999999999999999999",
        "0x1",
        "1;ls",
        "'",
        "1%20OR%201=1",
        "....//....//secret.txt",
        "%c0%ae%c0%ae",
        "１",
    ];
    let places = [
        "/api/videos/{}",
        "/api/videos/{}/file",
        "/api/videos/{}/picture",
        "/api/jobs/{}",
        "/api/jobs/{}/video",
        "/api/jobs/{}/events",
        "/api/demonstrations/{}",
        "/api/demonstrations/{}/exports/json",
        "/api/demonstrations/1/exports/{}",
        "/demonstrations/{}",
        "/api/study/raters/{}",
        "/api/study/raters/{}/pairs/1",
        "/study/{}",
        "/study/{}/1",
        "/assets/{}/page.css2",
        "/assets/x/{}",
    ];
    for place in places {
        for part in bad {
            let path = place.replace("{}", part);
            let Ok(request) = request("GET", &path).body(Body::empty()) else { continue };
            let answer = site.send(request);
            let status = answer.status.as_u16();
            assert!((400..500).contains(&status), "{path}: {status}");
            assert!(
                !answer.text().contains("secret\n") && !answer.text().contains("root:"),
                "{path}"
            );
        }
    }
}

#[test]
fn bodies_that_are_too_large_or_make_no_sense() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion"]);
    let send = |path: &str, kind: &str, body: Vec<u8>| {
        let request = request("POST", path).header("content-type", kind);
        site.send(request.body(Body::from(body)).unwrap()).status.as_u16()
    };
    let json_kind = "application/json";
    let (new, changes) = ("/api/demonstrations", format!("/api/demonstrations/{id}/changes"));
    assert_eq!(send(new, json_kind, vec![b' '; 2 << 20]), 413);
    assert_eq!(send("/api/procedures/read", "text/html", vec![b'a'; 50_000_000]), 413);
    assert_eq!(send("/api/procedures/read", "text/plain", b"%PDF-1.7 binary".to_vec()), 422);
    assert_eq!(send(new, "text/plain", br#"{"procedure":{"steps":["a"]}}"#.to_vec()), 415);
    let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    for body in [&b"{"[..], b"", b"null", b"[]", b"\"\"", b"{\"procedure\":1}", b"\xff\xfe", &deep]
    {
        let status = send(new, json_kind, body.to_vec());
        assert!(status == 400 || status == 422, "{status}");
        let status = send(&changes, json_kind, body.to_vec());
        assert!(status == 400 || status == 422, "{status}");
    }
    let long = "a".repeat(3000);
    let many: Vec<String> = (0..300).map(|i| format!("step {i}")).collect();
    for steps in [json!([]), json!(["  "]), json!([long]), json!(many), json!([1]), json!("a")] {
        assert_eq!(site.post(new, &json!({"procedure": {"steps": steps}})).status, 422, "{steps}");
    }
    for search in
        [json!({"length_s": 0}), json!({"speed_up": 99}), json!({"threshold": 2}), json!({"x": 1})]
    {
        let body = json!({"procedure": {"steps": ["a"]}, "search": search});
        assert_eq!(site.post(new, &body).status, 422, "{body}");
    }
    let wrong = [
        json!({"kind": "lock", "step": 99}),
        json!({"kind": "swap", "step": 0, "clip": {"video": 99, "start_ms": 0, "end_ms": 1}}),
        json!({"kind": "source", "step": 0, "video": 99}),
    ];
    for change in wrong {
        assert_eq!(site.post(&changes, &change).status, 404, "{change}");
    }
    for change in
        [json!({"kind": "explode"}), json!({"kind": "lock"}), json!({"kind": "lock", "step": -1})]
    {
        assert_eq!(site.post(&changes, &change).status, 422, "{change}");
    }
}

const SCRIPT: &str = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'`${7*7}";

#[test]
fn script_in_texts_names_and_subtitles_is_shown_as_text() {
    let site = Site::new();
    let name = "videos/<img src=x onerror=alert(1)>.mp4";
    video(
        &site.path(name),
        &["Chop the <script>alert(1)</script> onion.", "Serve </textarea><b>it</b> hot."],
    );
    site.index();
    let question = json!({"procedure": {"title": SCRIPT, "steps": [format!("Chop the onion {SCRIPT}"), "Serve it hot"]}});
    let id = site.post("/api/demonstrations", &question).json()["id"].as_i64().unwrap();
    let searching = site.get(&format!("/demonstrations/{id}")).text();
    stitch_server::worker::run_next(&site.state, stitch_server::jobs::JobKind::Make).unwrap();
    let paths =
        ["/".to_owned(), format!("/demonstrations/{id}"), "/hits?q=chop".into(), "/new".into()];
    let pages: Vec<String> =
        paths.iter().map(|path| site.get(path).text()).chain([searching]).collect();
    for page in &pages {
        for mark in
            ["<script>alert", "<img src=x", "</textarea><b>", "onerror=alert(1)\"", "javascript:"]
        {
            assert!(!page.contains(mark), "{mark} in {page}");
        }
    }
    assert!(pages[1].contains("&lt;script&gt;alert(1)"), "{}", pages[1]);
    let change = site.send(
        request("POST", &format!("/demonstrations/{id}/changes"))
            .header("content-type", "application/json")
            .body(Body::from(r#"{"kind":"lock","step":0}"#))
            .unwrap(),
    );
    assert!(change.text().contains("&lt;script&gt;") && !change.text().contains("<script"));
}

#[test]
fn no_page_has_script_or_style_in_it_or_asks_elsewhere() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion"]);
    for path in ["/".to_owned(), "/new".into(), format!("/demonstrations/{id}"), "/nowhere".into()]
    {
        let page = site.get(&path);
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        let text = page.text();
        for mark in [" style=", " onclick=", "<style", "http://", "https://", "//cdn"] {
            assert!(!text.contains(mark), "{mark} in {path}");
        }
        assert_eq!(text.matches("<script").count(), 1, "{path}");
    }
}

#[test]
fn other_hosts_names_are_refused() {
    let site = Site::new();
    let with_host = |host: &str| {
        let request = axum::http::Request::builder().uri("/api/videos").header("host", host);
        site.send(request.body(Body::empty()).unwrap()).status.as_u16()
    };
    for host in ["127.0.0.1:7878", "localhost:1", "LOCALHOST", "[::1]:7878"] {
        assert_eq!(with_host(host), 200, "{host}");
    }
    for host in [
        "evil.example",
        "evil.example:7878",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "0.0.0.0",
    ] {
        assert_eq!(with_host(host), 421, "{host}");
    }
    let without = axum::http::Request::builder().uri("/").body(Body::empty()).unwrap();
    assert_eq!(site.send(without).status, 421);
}

#[test]
fn other_sites_pages_change_nothing() {
    let site = Site::indexed();
    let body = json!({"procedure": {"steps": ["Chop the onion"]}}).to_string();
    let from = |origin: &str, site_says: &str| {
        let request = request("POST", "/api/demonstrations")
            .header("content-type", "application/json")
            .header("origin", origin)
            .header("sec-fetch-site", site_says);
        site.send(request.body(Body::from(body.clone())).unwrap()).status.as_u16()
    };
    assert_eq!(from("http://127.0.0.1:7878", "same-origin"), 202);
    for origin in [
        "http://evil.example",
        "http://127.0.0.1:3000",
        "null",
        "http://127.0.0.1:7878.evil.example",
    ] {
        assert_eq!(from(origin, "cross-site"), 403, "{origin}");
        assert_eq!(from(origin, "same-origin"), 403, "{origin}");
    }
    let delete = request("DELETE", "/api/demonstrations/1").header("origin", "http://evil.example");
    assert_eq!(site.send(delete.body(Body::empty()).unwrap()).status, 403);
    // Not even looked at from there: a picture of a video is somebody's.
    let embedded = request("GET", "/api/videos/1/picture")
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "no-cors");
    assert_eq!(site.send(embedded.body(Body::empty()).unwrap()).status, 403);
    assert_eq!(site.get("/api/demonstrations").json().as_array().unwrap().len(), 1);
}

#[test]
fn elsewhere_than_at_home_a_token_is_needed() {
    let site = Site::with(|settings| settings.token = Some("0123456789abcdef".into()));
    assert_eq!(site.get("/").status, 401);
    assert_eq!(site.get("/api/videos/1/picture").status, 401);
    assert_eq!(site.get("/assets/x/page.js").status, 200, "the same in every copy of the program");
    assert_eq!(site.get("/health").status, 200, "for whoever restarts the server");
    assert_eq!(site.get("/?token=0123456789abcdeX").status, 401);
    let first = site.get("/?token=0123456789abcdef");
    assert_eq!((first.status.as_u16(), first.header("location")), (303, "/"));
    let cookie = first.header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let with = |name: &str, value: &str| {
        site.send(request("GET", "/").header(name, value).body(Body::empty()).unwrap()).status
    };
    assert_eq!(with("cookie", "a=b; stitch_token_7878=0123456789abcdef"), 200);
    assert_eq!(with("cookie", "stitch_token_7879=0123456789abcdef"), 401, "another server's");
    assert_eq!(with("authorization", "Bearer 0123456789abcdef"), 200);
    assert_eq!(with("authorization", "Bearer "), 401);
    assert_eq!(with("cookie", "stitch_token_7878="), 401);
}
