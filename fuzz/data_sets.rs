//! Targets of the parsers of data sets that others published, of labels, and of answers about them.

use std::path::Path;

use stitch_lab::dataset::{self, captions, language};
use stitch_lab::suite::plain::set::{Needs, Set};
use stitch_lab::suite::plain::tar::TarIndex;
use stitch_lab::suite::{annotations, labels};

use super::targets::{Target, target, texts, with_file};

pub const DATA_SETS: &[Target] = &[
    target("captions", |bytes| with_file("caption.json", bytes, run_captions), || texts(CAPTIONS)),
    target("caption_table", |bytes| with_file("a.csv", bytes, run_captions), || texts(TABLES)),
    target("video_tasks", run_video_tasks, || texts(TASKS)),
    target("annotations", run_annotations, || texts(ANNOTATIONS)),
    target("annotation_tables", run_annotation_tables, || texts(STEP_TABLES)),
    target("detours", run_detours, || texts(DETOURS)),
    target("labels", run_labels, || texts(LABELS)),
    target("procedures", run_procedures, || texts(PROCEDURES)),
    target("plain_set", run_plain_set, || texts(PLAIN_SETS)),
    target("tar", run_tar, || vec![archive()]),
    target("mixing_answer", run_mixing_answer, || texts(MIXTURES)),
];

const CAPTIONS: &[&str] = &[
    "{\"a\": {\"start\": [1, 4.5], \"end\": [4, 7], \"text\": [\"Chop it.\", \"Fry it.\"]}, \"b\": {\"start\": [], \"end\": [],\
     \"text\": []}}",
];
const TABLES: &[&str] =
    &["video_id,start,end,text\na,1,4,Chop it.\na,4.5,7,\"Fry, it.\"\nb,0,2,Saw it.\n"];
const TASKS: &[&str] =
    &["video_id,category_1,category_2,rank,task_id\na,Food,Soup,1,7\nb,Home,Wood,1,8\n"];
const ANNOTATIONS: &[&str] = &[
    "{\"database\": {\"a\": {\"class\": \"Soup\", \"duration\": 30, \"annotation\": [{\"label\": \"chop\", \"segment\": [1, 5]}]}}}",
    "{\"database\": {\"a\": {\"recipe_type\": \"101\", \"duration\": 30, \"annotations\": [{\"sentence\": \"chop\",\
     \"segment\": [1, 5]}]}}}",
    "[{\"video_id\": \"a\", \"task\": \"Soup\", \"steps\": [{\"step\": \"chop\", \"start\": 1, \"end\": 5}]}]",
    "{\"Make soup\": {\"a.mp4\": {\"v_duration\": 30, \"steps\": [{\"heading\": \"chop\", \"absolute_bounds\": [1, 5]}]}}}",
];
const STEP_TABLES: &[&str] = &[
    "global_step_index,activity,headline,video_id,start,end\n7,Soup,Chop it,a,1,5.5\n8,Soup,Fry it,a,6,7\n",
    "chop it,1,5.5\nfry it,6,7\n",
];
const DETOURS: &[&str] = &[
    "[{\"source_video_id\": \"a\", \"target_video_id\": \"b\", \"query\": \"without salt\", \"source_time\": 3,\
     \"target_window\": [1, 5]}]",
];
const LABELS: &[&str] = &[
    "{\"id\": \"1\", \"text\": \"Chop it\", \"steps\": [{\"line\": \"Chop it\", \"clips\": [{\"video\": \"a.mp4\", \"start_s\": 0,\
     \"end_s\": 2}], \"context\": true}]}\n{\"id\": \"2\", \"text\": \"Fry\", \"steps\": [{\"line\": \"Fry\", \"accept\": []}]}\n",
];
const PROCEDURES: &[&str] = &[
    "{\"title\": \"Soup\", \"split\": \"held-out\", \"builder\": \"rules\", \"seed\": 1, \"steps\": [{\"text\": \"Chop\", \"source\": 0,\
     \"start_ms\": 0, \"end_ms\": 900}], \"sources\": [{\"content\": \"ab\", \"title\": \"a\", \"licence\": null}]}\n",
];
const PLAIN_SETS: &[&str] = &[
    "{\"video\": \"v\", \"recipe_type\": \"101\", \"duration\": 30, \"steps\": [{\"text\": \"chop\", \"start\": 1, \"end\": 5.5,\
     \"narration\": \"now\"}, {\"text\": \"fry\", \"segment\": [7, 9]}, {\"text\": \"cut\", \"image\": \"a.jpg\"}]}\n",
];
const MIXTURES: &[&str] = &[
    "Step 1: Chop it (Step 3 in Recipe 2)\nStep 2: Fry it (Step 1 in Recipe 1).\n",
    "Not possible.",
];

fn run_captions(path: &Path) {
    let _ = captions::read(path, &mut |video| {
        assert!(video.sentences.iter().all(|sentence| sentence.start_ms < sentence.end_ms));
        true
    });
}

fn run_video_tasks(bytes: &[u8]) {
    with_file("list.csv", bytes, |path| {
        let _ = captions::VideoTasks::read(path, Some(path), None);
    });
}

fn run_annotations(bytes: &[u8]) {
    with_file("a.json", bytes, |path| {
        for kind in ["coin", "crosstask", "hirest", "youcook2"] {
            if let Ok(read) = annotations::read(kind, path) {
                read.to_plain();
            }
        }
    });
}

/// The sets whose annotations are tables in a folder.
fn run_annotation_tables(bytes: &[u8]) {
    with_file("taxonomy.csv", bytes, |path| {
        let folder = path.parent().unwrap();
        std::fs::write(folder.join("annotations.csv"), bytes).unwrap();
        let _ = (annotations::read("htstep", folder), annotations::read("niv", folder));
    });
}

fn run_detours(bytes: &[u8]) {
    with_file("a.json", bytes, |path| drop(annotations::detours::read(path)));
}

fn run_labels(bytes: &[u8]) {
    with_file("labels.jsonl", bytes, |path| drop(labels::read(path)));
}

fn run_procedures(bytes: &[u8]) {
    with_file("procedures.jsonl", bytes, |path| drop(dataset::read(path)));
}

fn run_plain_set(bytes: &[u8]) {
    with_file(Set::FILE, bytes, |path| {
        drop(Set::open(path, Needs::Text).map(|set| set.videos.len()));
        drop(Set::open(path, Needs::Pictures).map(|set| set.issues.len()));
    });
}

fn run_tar(bytes: &[u8]) {
    with_file("images.tar", bytes, |path| {
        if let Ok(index) = TarIndex::open(path) {
            let member = index.find("a.jpg").map(|name| index.read(name, 1 << 20));
            assert!(member.is_none_or(|read| read.is_ok()));
        }
    });
}

/// One file of five bytes, as tar writes it.
fn archive() -> Vec<u8> {
    let mut header = [0; 512];
    header[..12].copy_from_slice(b"images/a.jpg");
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(b"00000000005\0");
    header[148..156].copy_from_slice(b"        ");
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut bytes = header.to_vec();
    bytes.extend(b"bytes");
    bytes.resize(4 * 512, 0);
    bytes
}

fn run_mixing_answer(bytes: &[u8]) {
    let _ = language::parse(&String::from_utf8_lossy(bytes));
}
