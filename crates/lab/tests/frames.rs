//! The frames of the made-up library are a plain set that the lab reads whole.

use stitch_engine::progress::Silent;
use stitch_lab::suite::plain::set::{Needs, Set};
use stitch_world::frames::render_frames;
use stitch_world::settings::Settings;

#[test]
fn rendered_frames_are_a_plain_set() {
    let out = tempfile::tempdir().unwrap();
    let settings = Settings { seed: 3, videos: 2, width: 64, height: 64, ..Settings::DEFAULT };
    render_frames(out.path(), settings, 2, false, &Silent).unwrap();
    let set = Set::open(out.path(), Needs::Pictures).unwrap();
    assert!(set.issues.is_empty() && set.unread.is_empty());
    assert_eq!(set.videos.len(), 2);
    let steps = set.videos.iter().flat_map(|video| &video.steps);
    assert!(steps.clone().all(|step| step.images.len() == 2 && step.label.is_some()));
    let lines = std::fs::read_to_string(out.path().join("frames.jsonl")).unwrap();
    let truths = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let shown = truths.filter(|truth| !truth["verb"].is_null()).count();
    assert_eq!(2 * steps.count(), shown);
}
