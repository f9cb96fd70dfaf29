//! Every parser of foreign bytes: a function that must come back for any input, and inputs to begin with.
//! `fuzz/main.rs` runs one under libFuzzer; `crates/cli/tests/parsers.rs` replays all with mutations.

use std::path::Path;
use std::sync::OnceLock;

use stitch_core::clip::{Clip, Span, VideoId};
use stitch_core::features::Features;
use stitch_core::pool::Agreement;
use stitch_engine::calibration::Calibration;
use stitch_engine::demonstrate::Preference;
use stitch_engine::encoder::onnx_pair::PairDescription;
use stitch_engine::encoder::pictures::Picture;
use stitch_engine::encoder::precomputed::{About, Folder, arrays};
use stitch_engine::encoder::{EncoderId, appearance};
use stitch_engine::evaluator::Evaluator;
use stitch_engine::export::json;
use stitch_engine::footage::Footage;
use stitch_engine::index::{VideoList, hint};
use stitch_engine::library::{Found, Indexed, Library, Outcome, Video, VideoFeatures};
use stitch_engine::media::probe::read_report;
use stitch_engine::models::ctranslate;
use stitch_engine::progress::Silent;
use stitch_engine::recipe::{read_procedure, read_step_list};
use stitch_engine::shards::{self, Shards};
use stitch_engine::summarise::{by_rules, parse_answer};
use stitch_engine::transcript;
use stitch_server::api::demonstrations::DemonstrationRequest;
use stitch_server::options::VideoOptions;
use stitch_server::study::{Study, csv};
use stitch_server::wire::Change;
use tempfile::TempDir;

pub struct Target {
    pub name: &'static str,
    /// Panics if what was read breaks a promise.
    pub run: fn(&[u8]),
    pub seeds: fn() -> Vec<Vec<u8>>,
}

pub const fn target(name: &'static str, run: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Target {
    Target { name, run, seeds }
}

pub const TARGETS: &[Target] = &[
    target("transcript", run_transcript, || texts(SUBTITLES)),
    target("recipe", |bytes| procedure("a.txt", bytes), || texts(RECIPES)),
    target("markdown", |bytes| procedure("a.md", bytes), || texts(RECIPES)),
    target("page", |bytes| procedure("a.html", bytes), || texts(PAGES)),
    target("json_ld", |bytes| procedure("a.json", bytes), || texts(STEP_LISTS)),
    target("step_list", run_step_list, || texts(STEP_LISTS)),
    target("chat_answer", run_chat_answer, || texts(ANSWERS)),
    target("ffprobe", run_ffprobe, || texts(REPORTS)),
    target("npy", |bytes| features("npy", bytes), || data("features", "npy")),
    target("npz", |bytes| features("npz", bytes), || data("features", "npz")),
    target("hdf5", |bytes| features("h5", bytes), || data("features", "h5")),
    target(
        "safetensors",
        |bytes| features("safetensors", bytes),
        || data("features", "safetensors"),
    ),
    target("ctranslate", run_ctranslate, || vec![ctranslate_model()]),
    target("tokenizer", run_tokenizer, || data("tiny-mpnet", "tokenizer.json")),
    target("encoder_toml", run_encoder_toml, || data("onnx-clips", "toml")),
    target("evaluator_config", run_evaluator_config, || data(EVALUATOR, "config.json")),
    target("evaluator_weights", run_evaluator_weights, || data(EVALUATOR, "safetensors")),
    target("picture", run_picture, || [".jpg", ".webp", "smooth.png"].map(pictures).concat()),
    target("video_list", run_video_list, || texts(VIDEO_LISTS)),
    target("info_json", run_info_json, || texts(INFO)),
    target("demonstration", run_demonstration, || texts(DEMONSTRATIONS)),
    target("study", run_study, || texts(STUDIES)),
    target("calibration", run_calibration, || vec![library_file("calibration.json")]),
    target("library_database", run_database, || vec![library_file("library.db")]),
    target("library_features", run_library_features, || vec![library_file(FEATURES)]),
    target("pool", |bytes| with_library(pool_file(), bytes), || vec![library_file(pool_file())]),
    target("shard", run_shard, || texts(SHARDS)),
    target("preference", run_preference, || texts(PREFERENCES)),
    target("request", run_request, || texts(REQUESTS)),
];

const SUBTITLES: &[&str] = &[
    "1\n00:00:01,000 --> 00:00:02,000\nChop the <i>onion</i>.\n\n2\n00:00:02,000 --> 00:00:04,000\n- Fry it.\n",
    "WEBVTT\n\n00:01.000 --> 00:02.000 align:start\nadd<00:00:01.500><c> salt</c>\n",
    "[Events]\nFormat: Layer, Start, End, Text\nDialogue: 0,0:00:01.00,0:00:02.50,{\\an8}Stir\\Nit\n",
    "0:00:01.000,0:00:02.500\nMix the flour.\n\n0:00:03.000,0:00:04.000\nBake it.\n",
    "{\"segments\":[{\"start\":1.0,\"end\":2.5,\"text\":\" Chop it.\",\"words\":[{\"word\":\"Chop\"}]}]}",
];
const RECIPES: &[&str] = &[
    "Soup\n\nIngredients\n1 onion\n\nDirections\n1. Chop the onion.\n2. Fry it for 5 minutes, then serve.\n",
    "# Shelf\n\n## You need\n- a board\n\n## Steps\n1. Saw the **board**.\n2. [Sand](x) it.\n",
];
const PAGES: &[&str] = &[
    "<html><head><script type=\"application/ld+json\">{\"@type\":\"Recipe\",\"name\":\"Soup\",\
     \"recipeInstructions\":[{\"@type\":\"HowToStep\",\"text\":\"Chop.\"}]}</script></head></html>",
    "<div itemscope itemtype=\"http://schema.org/HowTo\"><p itemprop=step>Saw it.</p></div>",
    "<body><h1>Soup</h1><ol><li>Chop the onion.<li>Fry &amp; stir.</ol></body>",
];
const STEP_LISTS: &[&str] = &[
    "{\"title\":\"Soup\",\"steps\":[{\"text\":\"Chop\",\"start\":1.5,\"end\":\"0:04\"},\"Fry\"]}",
    "{\"@graph\":[{\"@type\":\"HowTo\",\"step\":[{\"@type\":\"HowToSection\",\"itemListElement\":[{\"text\":\"Saw\"}]}]}]}",
    "[\"Chop the onion\", {\"text\": \"Fry it\"}]",
    "1:20 Chop the onion\n1:30-1:45 Fry it\n",
];
const ANSWERS: &[&str] =
    &["Title: Soup\n[00:01-00:05] Chop the onion\n[1:10 - 1:20] Serve it\nSure!\n"];
const REPORTS: &[&str] = &[
    "{\"streams\":[{\"index\":0,\"codec_type\":\"video\",\"width\":160,\"height\":90,\"sample_aspect_ratio\":\"4:3\",\
     \"avg_frame_rate\":\"12/1\",\"duration\":\"4.0\",\"tags\":{\"rotate\":\"90\"},\"disposition\":{\"attached_pic\":0}},\
     {\"index\":1,\"codec_type\":\"audio\",\"channels\":1,\"sample_rate\":\"44100\"},\
     {\"index\":2,\"codec_type\":\"subtitle\",\"codec_name\":\"srt\"}],\"format\":{\"duration\":\"4.0\"}}",
];
const VIDEO_LISTS: &[&str] = &[
    "{\"video\": \"a\", \"duration\": 5.0, \"title\": \"Soup\", \"steps\": [{\"text\": \"chop\", \"start\": 1, \"end\": 3}]}\n\
     {\"id\": \"b\", \"length\": 1e3, \"steps\": [{\"sentence\": \"fry\"}]}\n",
];
const INFO: &[&str] = &[
    "{\"title\": \"Soup\", \"channel\": \"Ann\", \"license\": \"CC0\", \"webpage_url\": \"https://a.example\"}",
];
const DEMONSTRATIONS: &[&str] = &[
    "{\"version\":1,\"title\":\"Soup\",\"steps\":[{\"text\":\"Chop\",\"chosen\":{\"clip\":0,\"source\":{\"video\":1,\
     \"path\":\"a.mp4\",\"title\":\"a\"},\"span\":{\"start_ms\":0,\"end_ms\":900},\"cut\":{\"start_ms\":0,\"end_ms\":900},\
     \"speed\":1.0,\"text\":\"\",\"narration\":\"\",\"similarity\":{\"probability\":0.9}},\"alternatives\":[]},\
     {\"text\":\"Fry\",\"chosen\":null,\"alternatives\":[]}],\"scorer\":\"blend\",\"score\":1.5,\"candidates\":2,\
     \"source_changes\":0,\"seed\":0,\"models\":{}}",
];
const STUDIES: &[&str] = &[
    "{\"version\": 1, \"title\": \"S\", \"seed\": 7, \"methods\": [\"a\", \"b\"], \"samples\": [{\"name\": \"s\", \"title\": \"S\",\
     \"steps\": [\"Chop\"], \"videos\": {\"a\": {\"file\": \"a.mp4\", \"steps\": [[0, 1]]}, \"b\": {\"file\": \"b.mp4\",\
     \"steps\": [null]}}}], \"pairs\": [{\"sample\": 0, \"a\": \"a\", \"b\": \"b\"}]}",
];
const SHARDS: &[&str] = &[
    "{\"version\":1,\"sha256\":\"\",\"shard\":{\"made\":{\"encoder\":{\"name\":\"fake\",\"dim\":2,\"weights\":\"none\"},\
     \"sentence_model\":\"none\",\"options\":\"exact\"},\"file\":{\"path\":\"/videos/soup.mp4\",\"content\":\"soup\",\"bytes\":4,\
     \"modified_ms\":5},\"video\":{\"title\":\"Soup\",\"uploader\":null,\"url\":null,\"licence\":\"CC0\",\"length_ms\":1000,\
     \"width\":64,\"height\":64},\"sentences\":[{\"start_ms\":0,\"end_ms\":900,\"text\":\"Chop it.\"}],\"clips\":[[0,1000,\"Chop it\"]],\
     \"shots\":[0],\"narration_by\":null,\"steps_by\":\"rules\",\"features\":\"\"}}",
];
const PREFERENCES: &[&str] = &["length=short:2.5", "language=German", "licence=CC BY:0"];
const REQUESTS: &[&str] = &[
    "{\"procedure\":{\"title\":\"Soup\",\"steps\":[\"Chop\"]},\"search\":{\"length_s\":60,\"threshold\":0.5,\"only\":[\"a\"],\
     \"prefer\":[\"sound=silent:1\"]}}",
    "{\"kind\":\"swap\",\"step\":0,\"clip\":{\"video\":1,\"start_ms\":0,\"end_ms\":900}}",
    "{\"width\":160,\"height\":90,\"shape\":\"crop\",\"captions\":\"burnt\",\"crossfade_ms\":500}",
];

pub fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// The files of a folder of the engine's test data whose names end so, in order.
fn data(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let places = ["../engine/tests/data", "../crates/engine/tests/data"];
    let folders = places.map(|data| here.join(data).join(folder));
    let files = folders.iter().flat_map(std::fs::read_dir).flatten().flatten();
    let mut files: Vec<_> = files.map(|entry| entry.path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(ending));
    files.sort();
    files.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn pictures(ending: &str) -> Vec<Vec<u8>> {
    data("pictures", ending)
}

fn run_transcript(bytes: &[u8]) {
    if let Ok(sentences) = transcript::from_bytes(bytes) {
        assert!(sentences.iter().all(|s| s.start_ms < s.end_ms && !s.text.is_empty()));
        assert!(sentences.windows(2).all(|pair| pair[0].end_ms <= pair[1].start_ms));
        by_rules(&sentences);
    }
}

fn procedure(name: &str, bytes: &[u8]) {
    if let Ok(reading) = read_procedure(name, bytes, None) {
        assert!(!reading.procedure.steps().is_empty());
    }
}

fn run_step_list(bytes: &[u8]) {
    if let Ok(list) = read_step_list(bytes) {
        assert!(list.steps.iter().all(|step| step.end_ms.is_none() || step.start_ms < step.end_ms));
    }
}

fn run_chat_answer(bytes: &[u8]) {
    let parsed = parse_answer(&String::from_utf8_lossy(bytes), 1_000, 90_000);
    let is_inside = |start, end| 1_000 <= start && start < end && end <= 90_000;
    assert!(parsed.steps.iter().all(|step| is_inside(step.start_ms, step.end_ms)));
}

fn run_ffprobe(bytes: &[u8]) {
    if let Ok(probe) = read_report(Path::new("a.mp4"), bytes) {
        assert!(probe.width > 0 && probe.height > 0 && probe.fps > 0.0);
    }
}

/// Runs with a file of these bytes.
pub fn with_file(name: &str, bytes: &[u8], run: impl FnOnce(&Path)) {
    let folder = temporary();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    run(&path);
}

/// A folder in memory, where the system has that: a disk would be what is measured.
fn temporary() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn features(ending: &str, bytes: &[u8]) {
    with_file(&format!("a.{ending}"), bytes, |path| {
        arrays::names(path);
        if let Ok(rows) = arrays::read(path, None) {
            assert!(rows.dim > 0 && rows.data.len() % rows.dim == 0);
            assert!(rows.data.iter().all(|x| x.is_finite()));
        }
    });
}

fn run_ctranslate(bytes: &[u8]) {
    with_file("model.bin", bytes, |path| {
        let folder = path.parent().unwrap();
        std::fs::write(folder.join("config.json"), "{}").unwrap();
        let _ = ctranslate::convert(folder, folder);
    });
}

/// A file of one array, as CTranslate2 writes it.
fn ctranslate_model() -> Vec<u8> {
    let text =
        |text: &str| [&(text.len() as u16 + 1).to_le_bytes()[..], text.as_bytes(), b"\0"].concat();
    let mut bytes =
        [&6u32.to_le_bytes()[..], &text("WhisperSpec"), &3u32.to_le_bytes(), &1u32.to_le_bytes()]
            .concat();
    bytes.extend(text("decoder/layer_0/self_attention/linear_0/weight"));
    bytes.extend([2, 3, 0, 0, 0, 2, 0, 0, 0, 0]); // 3 rows of 2 f32
    bytes.extend(24u32.to_le_bytes());
    bytes.extend([0; 24]);
    bytes.extend(0u32.to_le_bytes());
    bytes
}

fn run_tokenizer(bytes: &[u8]) {
    with_file("tokenizer.json", bytes, |path| {
        if let Ok(tokenizer) = stitch_nn::tokenizer::load(path, 16) {
            let encoded =
                stitch_nn::tokenizer::encode(&tokenizer, path, vec!["Chop the onion, élan 漢字."]);
            assert!(encoded.is_err() || encoded.is_ok_and(|texts| texts.len() == 1));
        }
    });
}

fn run_encoder_toml(bytes: &[u8]) {
    let _ = std::str::from_utf8(bytes).map(PairDescription::parse);
}

const EVALUATOR: &str = "tiny-evaluator-pre";

/// Loads the small evaluator of the tests, in which one file has these bytes.
fn with_evaluator(name: &str, bytes: &[u8]) {
    with_file(name, bytes, |path| {
        let folder = path.parent().unwrap();
        let other = if name == "config.json" { "model.safetensors" } else { "config.json" };
        std::fs::write(folder.join(other), &data(EVALUATOR, other)[0]).unwrap();
        let _ = Evaluator::load(folder);
    });
}

fn run_evaluator_config(bytes: &[u8]) {
    with_evaluator("config.json", bytes);
}

fn run_evaluator_weights(bytes: &[u8]) {
    with_evaluator("model.safetensors", bytes);
}

fn run_picture(bytes: &[u8]) {
    if let Ok(picture) = Picture::decode(bytes) {
        picture.cropped(8, 8, stitch_engine::media::frames::Filter::Bicubic);
    }
}

fn run_video_list(bytes: &[u8]) {
    with_file("videos.jsonl", bytes, |path| {
        let folder = path.parent().unwrap();
        for name in ["a.npy", "b.npy"] {
            std::fs::write(folder.join(name), &data("features", "plain-f4.npy")[0]).unwrap();
        }
        let about = About { rate: Some(1.0), ..About::default() };
        let features = Folder::open(folder, &about).unwrap();
        if let Ok(list) = VideoList::read(path, &features, &Silent) {
            assert_eq!(list.found.len(), list.videos.len());
        }
    });
}

fn run_info_json(bytes: &[u8]) {
    with_file("a.info.json", bytes, |path| {
        assert!(!hint(&path.with_file_name("a.mp4")).is_empty())
    });
}

fn run_demonstration(bytes: &[u8]) {
    if let Ok(demonstration) = json::read(bytes) {
        let played = demonstration.cuts().count();
        assert!(played > 0 || demonstration.gaps().count() == demonstration.steps.len());
    }
}

fn run_study(bytes: &[u8]) {
    with_file("study.json", bytes, |path| {
        if let Ok(study) = Study::open(path.parent().unwrap()) {
            assert!(study.plan.pairs.iter().all(|pair| pair.sample < study.plan.samples.len()));
            csv(&study.answers().unwrap());
        }
    });
}

fn encoder() -> EncoderId {
    EncoderId { name: "fake".into(), dim: 2, weights: "none".into() }
}

const FEATURES: &str = "features/soup.safetensors";

/// A library of one video of one clip, with a calibration.
fn library() -> &'static TempDir {
    static LIBRARY: OnceLock<TempDir> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = temporary();
        let library = Library::open_or_create(folder.path(), &encoder()).unwrap();
        let path = folder.path().join("soup.mp4");
        std::fs::write(&path, "soup").unwrap();
        let found = [Found { path, content: "soup".into(), bytes: 4, modified_ms: 5 }];
        library.enter(&found).unwrap();
        let record = library.pending(&found).unwrap().remove(0);
        let video = Video { title: "Soup".into(), length_ms: 1000, ..Video::default() };
        let outcome = Outcome::Ready(video, Box::new(indexed(record.id)));
        library.record(&record, &outcome).unwrap();
        let calibration = Calibration::of("mini");
        library.write_calibration(&library.calibration_file(), calibration).unwrap();
        library.pool().unwrap(); // writes its file
        folder
    })
}

fn indexed(video: u32) -> Indexed {
    let rows = Features::new(2, vec![0.6, 0.8]).unwrap();
    let span = Span::new(0, 1000).unwrap();
    Indexed {
        sentences: Vec::new(),
        clips: vec![Clip { video: VideoId(video), span, text: "chop the onion".into() }],
        shots: Vec::new(),
        features: VideoFeatures {
            seconds: rows.clone(),
            text: rows.clone(),
            clip: rows,
            appearance: Features::zeros(appearance::DIM, 3),
            footage: Footage::default(),
            agreement: Agreement::default(),
        },
        narration_by: None,
        steps_by: "rules".into(),
    }
}

/// The name of the file with the features of all videos.
fn pool_file() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let files = std::fs::read_dir(library().path()).unwrap();
        let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.find(|name| name.starts_with("pool-")).unwrap()
    })
}

fn library_file(name: &str) -> Vec<u8> {
    std::fs::read(library().path().join(name)).unwrap()
}

/// Does with a copy of the library, in which one file has these bytes, what commands do.
fn with_library(name: &str, bytes: &[u8]) {
    let folder = temporary();
    std::fs::create_dir(folder.path().join("features")).unwrap();
    for file in ["library.db", "calibration.json", FEATURES, pool_file()] {
        // not `copy`, which libFuzzer's timer interrupts
        std::fs::write(folder.path().join(file), library_file(file)).unwrap();
    }
    std::fs::write(folder.path().join(name), bytes).unwrap();
    if let Ok(library) = Library::open(folder.path()) {
        let _ = (library.videos(), library.pool(), library.calibration(), library.verify());
    }
}

fn run_calibration(bytes: &[u8]) {
    with_library("calibration.json", bytes);
}

fn run_database(bytes: &[u8]) {
    with_library("library.db", bytes);
}

fn run_library_features(bytes: &[u8]) {
    with_library(FEATURES, bytes);
}

/// Merges a shard into a library. Its checksums are made right, so that what it says is read.
fn run_shard(bytes: &[u8]) {
    let Ok(mut manifest) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
    let (features, hash) = (library_file(FEATURES), stitch_engine::models::sha256);
    let Some(shard) = manifest.get_mut("shard").filter(|shard| shard.is_object()) else { return };
    shard["features"] = hash(&features).into();
    manifest["sha256"] = hash(manifest["shard"].to_string().as_bytes()).into();
    let folder = temporary();
    let place = folder.path().join("bucket/shards/a");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("manifest.json"), manifest.to_string()).unwrap();
    std::fs::write(place.join(format!("{}.safetensors", hash(&features))), features).unwrap();
    let shards = Shards::open(&folder.path().join("bucket").to_string_lossy()).unwrap();
    let _ = shards.verify(&Silent);
    let _ = shards::merge(&[shards], &folder.path().join("library"), &Silent);
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let name = entry.unwrap().file_name();
        assert!(name == "bucket" || name == "library", "{name:?} was written");
    }
}

fn run_preference(bytes: &[u8]) {
    if let Ok(preference) = String::from_utf8_lossy(bytes).parse::<Preference>() {
        assert!(preference.to_string().contains('='), "{preference}");
    }
}

/// What agents and programs ask the server for.
fn run_request(bytes: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<DemonstrationRequest>(bytes) {
        let _ = request.search.validate();
    }
    if let Ok(options) = serde_json::from_slice::<VideoOptions>(bytes) {
        let _ = options.validate();
    }
    let _ = serde_json::from_slice::<Change>(bytes);
}
