//! Burnt-in subtitles and watermarks: found in videos, and gone from what is rendered of them.

mod common;

use std::path::{Path, PathBuf};

use common::{choice, demonstration, ffmpeg};
use stitch_engine::overlay::{OverlayKind, find};
use stitch_engine::progress::Silent;
use stitch_engine::render::overlays::find_overlays;
use stitch_engine::render::{Overlays, RenderOptions, render};

/// Ten seconds of a picture that changes, with these filters.
fn video(folder: &Path, name: &str, filters: &str) -> PathBuf {
    let path = folder.join(name);
    let picture = "mandelbrot=s=320x180:r=5:end_scale=0.01:end_pts=100";
    ffmpeg(&["-f", "lavfi", "-i", picture, "-t", "10", "-vf", filters, "-g", "5"], &path);
    path
}

fn text(text: &str, place: &str) -> String {
    let font = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/fonts/Inter-Regular.ttf");
    format!("drawtext=fontfile={font}:fontcolor=white:borderw=1:fontsize=15:text='{text}':{place}")
}

fn subtitles() -> String {
    let place = "x=(w-tw)/2:y=h-28";
    let first =
        text("Now we cut the onion and peel it", &format!("{place}:enable='lt(mod(t,4),2)'"));
    let second =
        text("after that it goes in the pan", &format!("{place}:enable='gte(mod(t,4),2)'"));
    format!("{first},{second}")
}

#[test]
fn subtitles_and_watermarks_are_found_where_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let found =
        |name: &str, filters: &str| find(&video(folder.path(), name, filters), &Silent).unwrap();
    assert!(found("plain.mp4", "null").is_empty());
    let [line] = found("line.mp4", &subtitles())[..] else { panic!("one overlay") };
    assert_eq!(line.kind, OverlayKind::Subtitles);
    assert!(
        line.top > 0.75 && line.bottom > 0.88 && line.left < 0.25 && line.right > 0.75,
        "{line:?}"
    );
    let [mark] = found("mark.mp4", &text("CookTV", "x=w-tw-10:y=8"))[..] else {
        panic!("one overlay")
    };
    assert_eq!(mark.told(), "a watermark at the top right");
    assert!(mark.left > 0.7 && mark.right > 0.95 && mark.bottom < 0.2, "{mark:?}");
}

#[test]
fn what_is_cropped_or_covered_is_not_in_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let both = format!("{},{}", subtitles(), text("CookTV", "x=w-tw-10:y=8"));
    let source = video(folder.path(), "both.mp4", &both);
    let cache = folder.path().join("cache");
    let mut demonstration = demonstration(vec![("Peel", Some(choice(&source, 0, 10_000)))]);
    find_overlays(&mut demonstration, Overlays::Keep, &cache, &Silent).unwrap();
    let json = serde_json::to_value(&demonstration).unwrap();
    assert_eq!(json["steps"][0]["chosen"]["source"]["overlays"][0]["kind"], "subtitles");
    for (overlays, left) in [(Overlays::Keep, 2), (Overlays::Crop, 0), (Overlays::Cover, 0)] {
        let out = folder.path().join("out.mp4");
        let size = Some((320, 180));
        let options = RenderOptions { size, overlays, ..RenderOptions::default() };
        render(&demonstration, &options, &out, &cache, &Silent).unwrap();
        assert_eq!(find(&out, &Silent).unwrap().len(), left, "{overlays:?}");
    }
}
