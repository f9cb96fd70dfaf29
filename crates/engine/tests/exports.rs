//! Exports as other programs and people read them.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{choice, demonstration};
use stitch_engine::demonstrate::{Demonstration, Elsewhere, StepPart};
use stitch_engine::export::{Export, Format, json};
use stitch_engine::media::Probe;
use stitch_engine::progress::Silent;
use stitch_engine::render::{Plan, RenderOptions};

/// Two sources, one step that nothing shows, one clip at another speed.
fn example() -> Demonstration {
    let (kettle, pot) = (Path::new("/videos/kettle one.mp4"), Path::new("/videos/pot.mkv"));
    let mut boil = choice(kettle, 1000, 4000);
    boil.source.uploader = Some("Ann".into());
    boil.source.url = Some("https://video.example/1".into());
    boil.source.licence = Some("CC BY 4.0".into());
    boil.narration = "now it boils".into();
    let mut pour = choice(pot, 2500, 6500);
    pour.speed = 2.0;
    pour.copies.push(Elsewhere { video: 9, title: "Tea <again>".into(), start_ms: 61_500 });
    let mut demonstration = demonstration(vec![
        ("Boil the water", Some(boil)),
        ("Warm the pot", None),
        ("Pour", Some(pour)),
    ]);
    demonstration.steps[1].alternatives.push(choice(pot, 0, 1000));
    demonstration.steps[2].join = Some(0.42);
    demonstration
}

fn plan(demonstration: &Demonstration, options: &RenderOptions) -> Plan {
    let probe = |fps: f64, has_audio: bool| Probe {
        duration_ms: 10_000,
        width: 1280,
        height: 720,
        fps,
        colours: None,
        has_audio,
        text_streams: Vec::new(),
    };
    let sources: BTreeMap<PathBuf, Probe> = demonstration
        .steps
        .iter()
        .filter_map(|step| step.chosen.as_ref())
        .enumerate()
        .map(|(i, c)| (c.source.path.clone(), probe([25.0, 30.0][i % 2], i == 0)))
        .collect();
    Plan::with_sources(demonstration, options, sources).unwrap()
}

fn exported(demonstration: &Demonstration, crossfade_ms: u64, extension: &str) -> String {
    let plan = plan(demonstration, &RenderOptions { crossfade_ms, ..RenderOptions::default() });
    let cache = tempfile::tempdir().unwrap();
    let export = Export {
        demonstration,
        plan: &plan,
        video: "my demo.mp4",
        cache: cache.path(),
        progress: &Silent,
    };
    Format::by_extension(extension).unwrap().text(&export).unwrap()
}

#[test]
fn text_formats() {
    for extension in ["srt", "vtt", "edl", "credits.txt", "otio"] {
        insta::assert_snapshot!(extension, exported(&example(), 0, extension));
    }
    insta::assert_snapshot!("faded edl", exported(&example(), 500, "edl"));
}

#[test]
fn the_clips_of_a_step_are_cuts_under_one_caption_and_one_chapter() {
    let lettuce = Path::new("/videos/lettuce.mp4");
    let chosen = choice(lettuce, 5000, 7000);
    let mut demonstration = demonstration(vec![("Wash, dry and shred it", Some(chosen))]);
    let mut washing = choice(lettuce, 1000, 4000);
    washing.clip = 1;
    let part = |text: &str, shown: bool, clip| StepPart { text: text.into(), shown, clip };
    demonstration.steps[0].parts = vec![
        part("wash", true, Some(washing)),
        part("dry it", false, None),
        part("shred", true, None),
    ];
    let text = |extension: &str| exported(&demonstration, 0, extension);
    let srt = text("srt");
    assert_eq!(srt, "1\n00:00:00,000 --> 00:00:05,000\n1. Wash, dry and shred it\n\n");
    let chapters = text("chapters.vtt");
    assert_eq!(chapters.matches(" --> ").count(), 1, "{chapters}");
    assert!(chapters.contains("00:00:00.000 --> 00:00:05.000"), "{chapters}");
    let edl = text("edl");
    let at = |times: &str| edl.find(times).unwrap_or_else(|| panic!("{times} in {edl}"));
    assert!(at("00:00:01:00 00:00:04:00") < at("00:00:05:00 00:00:07:00"), "{edl}");
    let otio = text("otio");
    assert_eq!(otio.matches("\"Clip.2\"").count(), 4, "two of pictures, two of sound");
    assert_eq!(otio.matches("\"Marker.2\"").count(), 2, "one per track");
    assert!(text("credits.txt").contains("lettuce (step 1)"));
    let page = text("html");
    assert!(page.contains("partly shown: nothing shows &quot;dry it&quot;"), "{page}");
    assert!(page.contains("0:01.0\u{2013}0:04.0") && page.contains("0:05.0\u{2013}0:07.0"));
    assert_eq!(json::read(text("json").as_bytes()).unwrap(), demonstration);
}

#[test]
fn json_comes_back_and_other_versions_are_refused() {
    let example = example();
    let written = exported(&example, 0, "json");
    assert_eq!(json::read(written.as_bytes()).unwrap(), example);
    let newer = written.replacen("\"version\": 1", "\"version\": 2", 1);
    let refused = json::read(newer.as_bytes()).unwrap_err().to_string();
    assert!(refused.contains("has format 2, this stitch reads 1"), "{refused}");
    assert!(json::read(b"{}").unwrap_err().to_string().contains("demo.json"));
}

#[test]
fn the_page_holds_everything_and_no_text_becomes_markup() {
    let evil = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>";
    let mut demonstration = example();
    demonstration.title = evil.into();
    demonstration.scorer = evil.into();
    demonstration.models.insert(evil.into(), evil.into());
    for step in &mut demonstration.steps {
        step.text = evil.into();
        for choice in step.chosen.iter_mut().chain(&mut step.alternatives) {
            choice.source.title = evil.into();
            choice.source.uploader = Some(evil.into());
            choice.source.licence = Some(evil.into());
            choice.source.url = Some("javascript:alert(1)".into());
            choice.narration = evil.into();
        }
    }
    let page = exported(&demonstration, 0, "html");
    assert_eq!(page.matches("<script").count(), 1, "only our own");
    assert_eq!(page.matches("<img").count(), 0);
    assert!(!page.contains("href=\"javascript:"));
    assert!(!page.contains("http://") && !page.contains("src=\"https"), "nothing from elsewhere");
}

#[test]
fn the_page_tells_times_sources_words_and_gaps() {
    let page = exported(&example(), 0, "html");
    let expected = [
        "<b>3</b> steps",
        "<b>2</b> sources",
        "<b>1</b> step that nothing shows",
        "src=\"./my%20demo.mp4\"",
        "data-start=\"3000\" data-end=\"6000\"",
        "now it boils",
        "0:01.0\u{2013}0:04.0",
        "at 2.00\u{d7} speed",
        "Nothing in this library shows this step",
        "Nearest, but not near enough",
        "licence CC BY 4.0",
        "href=\"https://video.example/1\"",
    ];
    for part in expected {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn beside_a_clip_only_others_that_may_show_the_step_are_told() {
    let mut demonstration = example();
    let mut other = choice(Path::new("/videos/waving.mp4"), 0, 1000);
    for (probability, told) in [(0.3, true), (0.001, false)] {
        other.similarity.probability = probability;
        demonstration.steps[0].alternatives = vec![other.clone()];
        let page = exported(&demonstration, 0, "html");
        assert_eq!(page.contains("Runners-up"), told, "{probability}");
    }
    demonstration.steps[0].chosen = None;
    let page = exported(&demonstration, 0, "html");
    assert_eq!(page.matches("Nearest, but not near enough").count(), 2, "a gap tells its nearest");
}
