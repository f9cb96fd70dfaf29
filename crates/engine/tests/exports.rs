//! Exports as other programs and people read them.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{choice, demonstration};
use stitch_engine::demonstrate::{Demonstration, Elsewhere, StepPart};
use stitch_engine::export::{Export, Format, json};
use stitch_engine::media::{AudioStream, Probe};
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
        audio: has_audio.then_some(AudioStream { channels: 2, sample_rate: 48_000 }),
        timecode: (!has_audio).then(|| "01:00:00:00".into()),
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
    written(demonstration, &plan, 0, extension)
}

fn written(demonstration: &Demonstration, plan: &Plan, handles_ms: u64, extension: &str) -> String {
    let cache = tempfile::tempdir().unwrap();
    let export = Export {
        demonstration,
        plan,
        handles_ms,
        video: "my demo.mp4",
        cache: cache.path(),
        progress: &Silent,
    };
    Format::by_extension(extension).unwrap().text(&export).unwrap()
}

#[test]
fn text_formats() {
    for extension in ["srt", "vtt", "edl", "credits.txt", "otio", "fcpxml", "xml", "mlt"] {
        insta::assert_snapshot!(extension, exported(&example(), 0, extension));
    }
    insta::assert_snapshot!("faded edl", exported(&example(), 500, "edl"));
    let two_clips = demonstration(vec![
        ("Boil", Some(choice(Path::new("/videos/kettle.mp4"), 1000, 4000))),
        ("Pour", Some(choice(Path::new("/videos/pot.mkv"), 2500, 6500))),
    ]);
    for extension in ["fcpxml", "xml"] {
        insta::assert_snapshot!(format!("faded {extension}"), exported(&two_clips, 500, extension));
    }
}

const EDITORS: [&str; 5] = ["otio", "edl", "fcpxml", "xml", "mlt"];

/// What stands between the first `before` and the next `after`.
fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("{before} in {text}"));
    rest.split_once(after).unwrap().0
}

#[test]
fn handles_lengthen_clips_as_far_as_their_files_go() {
    let kettle = Path::new("/videos/kettle.mp4");
    let demonstration = demonstration(vec![("Boil", Some(choice(kettle, 1000, 4000)))]);
    let plan = plan(&demonstration, &RenderOptions::default());
    let text = |extension: &str| written(&demonstration, &plan, 2000, extension);
    let edl = text("edl");
    assert!(edl.contains("00:00:00:00 00:00:06:00 01:00:00:00 01:00:06:00"), "{edl}");
    let fcpxml = text("fcpxml");
    assert!(fcpxml.contains("start=\"0s\" duration=\"150/25s\" format=\"format-1\""), "{fcpxml}");
    let second = "<chapter-marker start=\"25/25s\"";
    assert!(fcpxml.contains(second), "the marker stays where the cut begins: {fcpxml}");
    let xmeml = text("xml");
    assert!(xmeml.contains("<in>0</in>") && xmeml.contains("<out>150</out>"), "{xmeml}");
    assert!(text("mlt").contains("in=\"0\" out=\"149\""), "{}", text("mlt"));
    let all: String = EDITORS.map(text).concat();
    let without: String = EDITORS.map(|e| written(&demonstration, &plan, 0, e)).concat();
    assert_ne!(all, without);
}

#[test]
fn sources_begin_at_their_timecode_and_count_in_their_own_frames() {
    let pot = Path::new("/videos/pot.mkv");
    let demonstration = demonstration(vec![("Pour", Some(choice(pot, 60_000, 64_000)))]);
    let mut plan = plan(&demonstration, &RenderOptions::default());
    let source = plan.sources.get_mut(pot).unwrap();
    (source.fps, source.duration_ms) = (30_000.0 / 1001.0, 90_000);
    source.timecode = Some("01:00:00;00".into());
    let text = |extension: &str| written(&demonstration, &plan, 0, extension);
    let (zero, first) = (107_892, 107_892 + 1798);
    let fcpxml = text("fcpxml");
    assert!(fcpxml.contains(&format!(" start=\"{}/30000s\"", zero * 1001)), "{fcpxml}");
    assert!(fcpxml.contains(&format!(" start=\"{}/30000s\"", first * 1001)), "{fcpxml}");
    assert!(fcpxml.contains("srcFrameRate=\"29.97\"") && fcpxml.contains("tcFormat=\"DF\""));
    let xmeml = text("xml");
    assert!(xmeml.contains("<string>01:00:00;00</string>") && xmeml.contains("<in>1798</in>"));
    assert!(xmeml.contains("<ntsc>TRUE</ntsc>") && xmeml.contains("<displayformat>DF<"));
    assert!(text("otio").contains(&format!("\"value\": {first}.0")), "{}", text("otio"));
    assert!(text("edl").contains(" 01:00:59:"), "{}", text("edl"));
}

#[test]
fn every_timeline_ends_with_the_video() {
    let files = ["/videos/a.mp4", "/videos/b.mp4"].map(Path::new);
    let cut = |i: u64| choice(files[i as usize % 2], 37 * i, 37 * i + 4017 + 13 * (i % 7));
    let steps = (0..150).map(|i| ("Stir", Some(cut(i)))).collect();
    let demonstration = demonstration(steps);
    let mut plan = plan(&demonstration, &RenderOptions::default());
    plan.sources.values_mut().for_each(|source| source.fps = 30_000.0 / 1001.0);
    let (frames, fps) = (plan.frames(), plan.canvas.fps);
    assert!(frames / u64::from(fps) > 600, "more than ten minutes");
    let text = |extension: &str| written(&demonstration, &plan, 0, extension);
    assert_eq!(
        between(&text("fcpxml"), "<sequence format=\"sequence-format\" duration=\"", "s\""),
        format!("{frames}/{fps}")
    );
    assert_eq!(between(&text("xml"), "<duration>", "<"), frames.to_string());
    let mlt = text("mlt");
    assert_eq!(
        between(&mlt, "<tractor id=\"timeline\" in=\"0\" out=\"", "\""),
        (frames - 1).to_string()
    );
    let entries = mlt.split("<playlist id=\"video\">").nth(1).unwrap().matches("<entry").count();
    assert_eq!(entries, 150);
    let seconds = frames / u64::from(fps);
    let (minute, second) = (seconds / 60, seconds % 60);
    let end = format!("01:{minute:02}:{second:02}:{:02}\n", frames % u64::from(fps));
    assert!(text("edl").contains(&end), "{end}");
    let otio: serde_json::Value = serde_json::from_str(&text("otio")).unwrap();
    let clips = otio["tracks"]["children"][0]["children"].as_array().unwrap();
    let length =
        |clip: &serde_json::Value| clip["source_range"]["duration"]["value"].as_f64().unwrap();
    assert_eq!(clips.iter().map(length).sum::<f64>(), frames as f64);
}

#[test]
fn names_never_become_markup_and_paths_are_escaped() {
    let path = Path::new("/videos/a \"b\" <c> & é%.mp4");
    let mut demonstration = demonstration(vec![("</note>&\u{1}<x>", Some(choice(path, 0, 2000)))]);
    demonstration.title = "</fcpxml> & \"more\"".into();
    for extension in ["fcpxml", "xml", "mlt"] {
        let text = exported(&demonstration, 0, extension);
        assert!(!text.contains("<x>") && !text.contains("<c>"), "{text}");
        assert_eq!(text.matches("</fcpxml>").count(), usize::from(extension == "fcpxml"));
        assert!(!text.contains('\u{1}'), "{text}");
    }
    let url = "/videos/a%20%22b%22%20%3Cc%3E%20%26%20%C3%A9%25.mp4";
    assert!(exported(&demonstration, 0, "fcpxml").contains(&format!("src=\"file://{url}\"")));
    assert!(exported(&demonstration, 0, "xml").contains(&format!("file://localhost{url}<")));
    let plain = "/videos/a &quot;b&quot; &lt;c&gt; &amp; é%.mp4";
    assert!(exported(&demonstration, 0, "mlt").contains(plain));
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
