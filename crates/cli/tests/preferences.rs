//! `stitch make --prefer`: which clip is taken where several show a step, and what is said about it.

mod common;

use common::Home;
use serde_json::Value;

/// Two videos that show the same step; only `free` has a licence, and its clip is spoken all through.
fn home() -> Home {
    let home = Home::new();
    home.video("videos/a.mp4", 0, &["Chop the onion.", "Serve the soup."]);
    home.video("videos/free.mp4", 1, &["Peel the carrot.", "Boil the carrot.", "Chop the onion."]);
    home.write("videos/free.info.json", r#"{"title": "Free", "license": "Creative Commons"}"#);
    home.run(&["index", "videos"]).success();
    home.write("onion.txt", "Onion\n\n1. Chop the onion\n");
    home
}

fn made(home: &Home, further: &[&str]) -> Value {
    let make = ["make", "onion.txt", "--no-video", "--json", "--quiet"];
    let printed = home.prints(&[&make[..], further].concat());
    serde_json::from_str::<Value>(printed.lines().last().unwrap()).unwrap()["demonstration"].clone()
}

#[test]
fn a_preference_decides_between_clips_that_show_the_step_and_its_price_is_told() {
    let home = home();
    let source = |made: &Value| made["steps"][0]["chosen"]["source"]["title"].clone();
    let without = made(&home, &[]);
    assert_eq!(source(&without), "a");
    assert_eq!(without["preferences"], Value::Null);
    let with = made(&home, &["--prefer", "licence=commons,length=short:0.5"]);
    assert_eq!(source(&with), "Free");
    let [licence, length] = [0, 1].map(|which| &with["preferences"][which]);
    assert_eq!(
        (&licence["preference"], &length["preference"]),
        (&"licence=commons".into(), &"length=short".into())
    );
    assert_eq!((&licence["met"], &licence["met_without"]), (&1.0.into(), &0.0.into()));
    assert_eq!(
        (&licence["changed"], &length["changed"]),
        (&vec![0].into(), &Value::Array(Vec::new()))
    );
    let said = home.prints(&["make", "onion.txt", "--no-video", "--prefer", "licence=commons"]);
    assert!(
        said.contains("licence=commons: 100 % met instead of 0 %; for it 1 step got another clip"),
        "{said}"
    );
    assert!(said.contains("likely to be right instead of"), "{said}");
}

#[test]
fn what_is_not_known_of_clips_cannot_be_preferred() {
    let home = Home::new();
    home.write("onion.txt", "Onion\n\n1. Chop the onion\n");
    for wrong in ["shots=close", "presenter=one", "length", "length=short:9", "licence="] {
        let said = home.fails(&["make", "onion.txt", "--prefer", wrong], 2);
        assert!(
            said.contains("length=short or long") && said.contains("are not measured"),
            "{said}"
        );
    }
}
