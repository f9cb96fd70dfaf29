//! The readers of annotations on the published files, where STITCH_DATA names the folder that has them
//! (annotations/coin, annotations/crosstask and so on); without it there is nothing to test.

use std::collections::BTreeSet;
use std::path::PathBuf;

use stitch_lab::suite::annotations::{Annotations, detours, read, tables};

/// The file or folder of published annotations, where it is there.
fn published(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("STITCH_DATA")?).join("annotations").join(name);
    path.exists().then_some(path)
}

/// Steps that were told odd and left out.
fn left_out(read: &Annotations) -> usize {
    read.issues.iter().filter(|issue| issue.place.contains(", step ")).count()
}

fn not_in_order(read: &Annotations) -> usize {
    read.issues.iter().filter(|issue| issue.reason.contains("not in the order")).count()
}

#[test]
fn coin() {
    let (Some(train), Some(test)) =
        (published("coin/coin_train_70.json"), published("coin/coin_test_30.json"))
    else {
        return;
    };
    let parts = [train, test].map(|path| read("coin", &path).unwrap());
    let videos: usize = parts.iter().map(|part| part.videos.len()).sum();
    let steps: usize = parts.iter().map(|part| part.steps() + left_out(part)).sum();
    let tasks: BTreeSet<&str> =
        parts.iter().flat_map(|part| &part.videos).map(|video| video.task.as_str()).collect();
    assert_eq!((videos, steps, tasks.len()), (10_070, 39_409, 178));
}

#[test]
fn crosstask() {
    let Some(path) = published("crosstask/crosstask.json") else { return };
    let read = read("crosstask", &path).unwrap();
    assert_eq!(read.videos.len(), 2048);
    assert_eq!((read.steps() + left_out(&read), left_out(&read)), (17_172, 145));
    assert!((30..=60).contains(&not_in_order(&read)), "{}", not_in_order(&read));
}

#[test]
fn hirest() {
    let (Some(train), Some(val)) =
        (published("hirest/all_data_train.json"), published("hirest/all_data_val.json"))
    else {
        return;
    };
    let parts = [train, val].map(|path| read("hirest", &path).unwrap());
    // One video has nothing but odd bounds; it is told, and left out.
    let without = |part: &Annotations| {
        part.issues.iter().filter(|issue| issue.reason == "it has no usable step").count()
    };
    let videos: usize = parts.iter().map(|part| part.videos.len() + without(part)).sum();
    let steps: usize = parts.iter().map(|part| part.steps() + left_out(part)).sum();
    assert_eq!((videos, steps), (628, 4751));
    assert!(parts.iter().flat_map(|part| &part.videos).any(|video| video.domain.is_some()));
}

#[test]
fn youcook2() {
    let Some(path) = published("youcook2/youcookii_annotations_trainval.json") else { return };
    let read = read("youcook2", &path).unwrap();
    assert_eq!((read.videos.len(), read.steps() + left_out(&read)), (1790, 13_829));
}

#[test]
fn htstep() {
    let Some(path) = published("htstep/taxonomy.csv") else { return };
    let (steps, unusable) = tables::taxonomy(&path).unwrap();
    let activities: BTreeSet<&String> = steps.values().map(|(activity, _)| activity).collect();
    assert_eq!((steps.len(), activities.len()), (4958, 433));
    assert!(unusable.is_empty(), "{unusable:?}");
}

#[test]
fn niv() {
    let Some(path) = published("niv") else { return };
    let read = read("niv", &path).unwrap();
    let tasks: BTreeSet<&str> = read.videos.iter().map(|video| video.task.as_str()).collect();
    assert_eq!((read.videos.len(), tasks.len()), (148, 5));
}

#[test]
fn detours() {
    let (Some(path), Some(train), Some(test)) = (
        published("coin_detours/COIN_val.json"),
        published("coin/coin_train_70.json"),
        published("coin/coin_test_30.json"),
    ) else {
        return;
    };
    let found = detours::read(&path).unwrap();
    assert_eq!(found.detours.len() + found.issues.len(), 2049);
    let mut all = read("coin", &train).unwrap();
    all.videos.extend(read("coin", &test).unwrap().videos);
    let (made, lost) = detours::procedures(&found.detours, &all);
    assert_eq!(made.len() + lost.values().sum::<usize>(), found.detours.len());
    assert!(made.len() > 1000, "{} made, {lost:?}", made.len());
    for procedure in &made {
        let videos: BTreeSet<&str> =
            procedure.steps.iter().map(|step| step.video.as_str()).collect();
        assert_eq!(videos.len(), 2, "{}", procedure.title);
    }
}

#[test]
fn spans_are_in_their_videos_and_every_set_is_known_by_name() {
    let sets = [
        ("coin", "coin/coin_test_30.json"),
        ("crosstask", "crosstask/crosstask.json"),
        ("hirest", "hirest/all_data_val.json"),
        ("youcook2", "youcook2/youcookii_annotations_trainval.json"),
        ("niv", "niv"),
        ("htstep", "htstep"),
    ];
    for (kind, name) in sets {
        let Some(path) = published(name) else { continue };
        let read = read(kind, &path).unwrap();
        for video in &read.videos {
            for span in video.steps.iter().map(|step| step.span) {
                assert!(video.length_ms.is_none_or(|length| span.start() < length), "{}", video.id);
            }
        }
    }
}
