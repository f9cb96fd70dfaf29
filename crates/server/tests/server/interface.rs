//! The OpenAPI description, and the size of the pages.

use crate::site::Site;

#[test]
fn every_route_is_described() {
    let site = Site::new();
    let description = site.get("/api/openapi.json").json();
    let paths = description["paths"].as_object().unwrap();
    let mut routes: Vec<String> = paths
        .iter()
        .flat_map(|(path, methods)| {
            methods
                .as_object()
                .unwrap()
                .keys()
                .map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    routes.sort();
    insta::assert_snapshot!(routes.join("\n"));
}

#[test]
fn the_page_is_light_and_its_parts_are_kept() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion", "Paint the board"]);
    let page = site.get(&format!("/demonstrations/{id}"));
    let text = page.text();
    let address = |end: &str| {
        let start = text[..text.find(end).unwrap()].rfind('"').unwrap() + 1;
        text[start..text.find(end).unwrap() + end.len()].to_owned()
    };
    let mut bytes = page.body.len();
    for end in ["page.css", "page.js", "icon.svg"] {
        let asset = site.get(&address(end));
        assert_eq!(asset.status, 200, "{end}");
        assert!(asset.header("cache-control").contains("immutable"), "{end}");
        bytes += asset.body.len();
    }
    assert!(bytes < 150 << 10, "{bytes}");
    assert!(site.get("/assets/old/page.js").header("cache-control").contains("no-store"));
}

#[test]
fn a_step_is_shown_as_it_was_understood() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion", "Fry it"]);
    let steps = &site.get(&format!("/api/demonstrations/{id}")).json()["steps"];
    assert_eq!(steps[0]["understood"], serde_json::Value::Null);
    assert_eq!(steps[1]["understood"], "fry the onion");
    let page = site.get(&format!("/demonstrations/{id}")).text();
    assert_eq!(page.matches("→ fry the onion").count(), 1);
}

#[test]
fn what_is_nowhere_is_told_as_it_was_asked() {
    let site = Site::new();
    let page = site.get("/nowhere");
    assert_eq!(
        (page.status.as_u16(), page.header("content-type")),
        (404, "text/html; charset=utf-8")
    );
    let api = site.get("/api/nowhere");
    assert_eq!((api.status.as_u16(), api.header("content-type")), (404, "application/json"));
    assert_eq!(site.post("/api/videos", &serde_json::json!({})).status, 405);
}
