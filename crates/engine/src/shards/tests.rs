//! Shards in a folder: killed, raced, damaged and merged, with videos that need no decoding.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use stitch_core::clip::{Clip, Span, VideoId};
use stitch_core::features::Features;
use stitch_core::pool::Agreement;
use stitch_core::random::SplitMix64;

use super::manifest::{Made, Shard, ShardThumbnails};
use super::*;
use crate::encoder::EncoderId;
use crate::footage::Footage;
use crate::library::{Found, Indexed, Library, Outcome, Video, VideoFeatures};
use crate::progress::Silent;
use crate::transcript::Sentence;

const VIDEOS: [&str; 3] = ["basil", "board", "soup"];

fn made() -> Made {
    let encoder = EncoderId { name: "fake".into(), dim: 2, weights: "w1".into() };
    Made { encoder, sentence_model: "s1".into(), options: "exact".into() }
}

fn file(name: &str) -> Found {
    let path = format!("/videos/{name}.mp4").into();
    Found { path, content: format!("content-{name}"), bytes: 4, modified_ms: 5 }
}

fn video(title: &str) -> Video {
    Video { title: title.into(), length_ms: 2000, width: 64, ..Video::default() }
}

fn indexed(id: u32, name: &str) -> Indexed {
    // Rows that 16 bits cannot hold exactly, another for each video.
    let mut random = SplitMix64::new(name.len() as u64 + u64::from(name.as_bytes()[1]));
    let mut rows = |dim: usize, count: usize| {
        let numbers = (0..dim * count).map(|_| random.unit() - 0.4).collect();
        Features::new(dim, numbers).unwrap()
    };
    let clip = |start: u64, text: &str| Clip {
        video: VideoId(id),
        span: Span::new(start, start + 1000).unwrap(),
        text: format!("{text} the {name}"),
    };
    Indexed {
        sentences: vec![Sentence { start_ms: 0, end_ms: 900, text: format!("the {name}") }],
        clips: vec![clip(0, "show"), clip(1000, "serve")],
        features: VideoFeatures {
            seconds: rows(2, 2),
            text: rows(3, 2),
            clip: rows(2, 2),
            appearance: rows(128, 6),
            footage: Footage::default(),
            agreement: Agreement { suits: 1, of: 2 },
        },
        shots: vec![0, 1000],
        narration_by: Some("soup.srt".into()),
        steps_by: "rules".into(),
    }
}

fn pictures(name: &str) -> [Vec<u8>; 2] {
    [name.as_bytes().to_vec(), Vec::new()]
}

fn shards(folder: &Path) -> Shards {
    Shards::open(folder.to_str().unwrap()).unwrap()
}

/// What a worker does once it has indexed a video, unless it has its shard.
fn write(shards: &Shards, made: &Made, name: &str, title: &str) -> Result<bool> {
    let (key, indexed) = (made.key(&file(name).content), indexed(0, name));
    if shards.shard(&key)?.is_some() {
        return Ok(false);
    }
    let (features, pictures) = (indexed.features.to_bytes()?, pictures(name));
    let thumbnails = ShardThumbnails::of(&pictures);
    let shard = Shard::new(made, &file(name), &video(title), &indexed, &features, thumbnails);
    shards.write(&key, shard, &features, &pictures.concat())
}

fn write_all(shards: &Shards) -> Result<()> {
    VIDEOS.iter().try_for_each(|name| write(shards, &made(), name, name).map(drop))
}

/// A process that is killed at one of its writes, which is done or not.
struct Killed {
    store: Box<dyn ShardStore>,
    writes_left: AtomicUsize,
    is_done: bool,
}

impl Killed {
    fn write<T>(&self, write: impl FnOnce() -> Result<T>) -> Result<T> {
        let killed = || ShardError::Store { url: "killed".into(), reason: String::new() };
        match self.writes_left.fetch_sub(1, Ordering::Relaxed) {
            0 => {
                self.writes_left.store(0, Ordering::Relaxed);
                Err(killed())
            }
            1 => {
                self.writes_left.store(0, Ordering::Relaxed);
                if self.is_done {
                    write()?;
                }
                Err(killed())
            }
            _ => write(),
        }
    }
}

impl ShardStore for Killed {
    fn folders(&self, name: &str) -> Result<Vec<String>> {
        self.store.folders(name)
    }
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        self.store.get(name)
    }
    fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.write(|| self.store.put(name, bytes))
    }
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        self.write(|| self.store.put_new(name, bytes))
    }
}

#[test]
fn a_worker_that_is_killed_anywhere_leaves_whole_shards_and_the_next_one_ends() {
    let mut random = SplitMix64::new(7);
    for _ in 0..200 {
        let folder = tempfile::tempdir().unwrap();
        let store = shards(folder.path()).store;
        let writes_left = AtomicUsize::new(1 + random.below(3 * VIDEOS.len()));
        let killed = Killed { store, writes_left, is_done: random.below(2) == 1 };
        assert!(write_all(&Shards { url: "x".into(), store: Box::new(killed) }).is_err());
        let shards = shards(folder.path());
        let left = shards.verify(&Silent).unwrap();
        assert_eq!(left.damaged, [""; 0]);
        write_all(&shards).unwrap();
        let whole = Verified { shards: VIDEOS.len(), ..Verified::default() };
        assert_eq!(shards.verify(&Silent).unwrap(), whole, "after {left:?}");
    }
}

#[test]
fn of_two_workers_with_the_same_video_one_writes_the_shard() {
    for _ in 0..200 {
        let folder = tempfile::tempdir().unwrap();
        let barrier = std::sync::Barrier::new(2);
        // A language model gives each another title.
        let work = |title: &'static str| {
            let shards = shards(folder.path());
            let indexed = indexed(0, title);
            let features = indexed.features.to_bytes().unwrap();
            let pictures = pictures(title);
            let thumbnails = ShardThumbnails::of(&pictures);
            let (file, video) = (file("soup"), video(title));
            let shard = Shard::new(&made(), &file, &video, &indexed, &features, thumbnails);
            barrier.wait();
            shards.write("key", shard, &features, &pictures.concat()).unwrap().then_some(title)
        };
        let won = std::thread::scope(|scope| {
            let workers = ["Soup", "Stew!"].map(|title| scope.spawn(move || work(title)));
            workers.map(|worker| worker.join().unwrap())
        });
        let won: Vec<&str> = won.into_iter().flatten().collect();
        let shards = shards(folder.path());
        assert_eq!(won, [shards.shard("key").unwrap().unwrap().video.title]);
        assert_eq!(shards.verify(&Silent).unwrap().shards, 1);
    }
}

/// Everything that queries read.
fn content(library: &Library) -> String {
    let pool = library.pool().unwrap();
    let [text, clip] = [pool.text_features(), pool.clip_features()].map(|rows| rows.to_features());
    let seconds = library.seconds(VideoId(2)).unwrap();
    let sentences = library.sentences(VideoId(2)).unwrap();
    let agreement = pool.agreement();
    format!(
        "{:?} {:?} {text:?} {clip:?} {seconds:?} {sentences:?} {agreement:?}",
        library.videos(),
        pool.clips()
    )
}

#[test]
fn a_merged_library_is_the_one_that_a_single_process_makes() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let alone = Library::open_or_create(&place("alone"), &made().encoder).unwrap();
    let found = VIDEOS.map(file);
    alone.enter(&found).unwrap();
    for (record, name) in alone.pending(&found).unwrap().iter().zip(VIDEOS) {
        let outcome = Outcome::Ready(video(name), Box::new(indexed(record.id, name)));
        alone.record(record, &outcome).unwrap();
    }
    let parts = ["one", "two"].map(|name| shards(&place(name)));
    for (name, part) in VIDEOS.iter().rev().zip([0, 1, 0]) {
        write(&parts[part], &made(), name, name).unwrap();
    }
    let merged = merge(&parts, &place("merged"), &Silent).unwrap();
    assert_eq!(merged, Merged { shards: 3, added: 3 });
    let library = Library::open(&place("merged")).unwrap();
    assert_eq!(content(&library), content(&alone));
    let again = merge(&parts, &place("merged"), &Silent).unwrap();
    assert_eq!(again, Merged { shards: 3, added: 0 });
}

#[test]
fn what_is_damaged_is_named_and_nothing_of_it_is_merged() {
    let folder = tempfile::tempdir().unwrap();
    let shards = shards(&folder.path().join("out"));
    write_all(&shards).unwrap();
    let key = made().key("content-board");
    let shard = shards.shard(&key).unwrap().unwrap();
    let place = |name: String| folder.path().join("out").join(name);
    let file = place(features_name(&key, &shard.features));
    let bytes = std::fs::read(&file).unwrap();
    let library = folder.path().join("library");
    let merge = || merge(std::slice::from_ref(&shards), &library, &Silent);
    for damage in [Some(&bytes[..bytes.len() - 1]), None] {
        match damage {
            Some(bytes) => std::fs::write(&file, bytes).unwrap(),
            None => std::fs::remove_file(&file).unwrap(),
        }
        let damaged = shards.verify(&Silent).unwrap().damaged;
        assert!(damaged.len() == 1 && damaged[0].contains(&key), "{damaged:?}");
        assert_eq!(merge().unwrap_err().to_string(), damaged[0]);
    }
    std::fs::write(&file, bytes).unwrap();
    let thumbnails = place(thumbnails_name(&key, &shard.thumbnails.unwrap().sha256));
    assert_eq!(std::fs::read(&thumbnails).unwrap(), b"board");
    std::fs::write(thumbnails, "bored").unwrap();
    let damaged = shards.verify(&Silent).unwrap().damaged;
    assert!(damaged[0].contains("the bytes of its thumbnails have changed"), "{damaged:?}");
    merge().unwrap();
    assert_eq!(Library::open(&library).unwrap().pool().unwrap().len(), 6);
}

#[test]
fn a_manifest_that_was_changed_or_has_another_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let shards = shards(folder.path());
    write(&shards, &made(), "soup", "Soup").unwrap();
    let key = made().key("content-soup");
    let manifest = folder.path().join(manifest_name(&key));
    let text = std::fs::read_to_string(&manifest).unwrap();
    for (change, says) in [
        (text.replace("Soup", "Stew"), "has changed since it was written"),
        (text.replace("\"version\":1", "\"version\":2"), "has format 2, this program reads 1"),
        (text[..text.len() / 2].into(), "its manifest: EOF"),
        ("[]".into(), "its manifest: invalid"),
    ] {
        std::fs::write(&manifest, change).unwrap();
        let error = shards.shard(&key).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains(&key), "{error}");
    }
}

#[test]
fn a_shard_of_a_stranger_writes_only_to_the_library_and_does_not_break_it() {
    let folder = tempfile::tempdir().unwrap();
    let shards = shards(&folder.path().join("out"));
    let indexed = indexed(0, "soup");
    let features = indexed.features.to_bytes().unwrap();
    let content = "../../../outside".into();
    let file = Found { content, ..file("soup") };
    let pictures = || ShardThumbnails::of(&[]);
    let shard = Shard::new(&made(), &file, &video("Soup"), &indexed, &features, pictures());
    shards.write("key", shard.clone(), &features, &[]).unwrap();
    let library = folder.path().join("deep/down/library");
    merge(std::slice::from_ref(&shards), &library, &Silent).unwrap();
    assert!(!folder.path().join("deep/outside.safetensors").exists());
    assert!(!folder.path().join("deep/down/outside.safetensors").exists());
    let mut more_clips = indexed;
    more_clips.clips.push(more_clips.clips[0].clone());
    let file = Found { path: "/videos/stew.mp4".into(), content: "stew".into(), ..file };
    let wrong = Shard::new(&made(), &file, &video("Stew"), &more_clips, &features, pictures());
    shards.write("wrong", wrong, &features, &[]).unwrap();
    let error = merge(&[shards], &library, &Silent).unwrap_err().to_string();
    assert!(error.contains("2 rows for 3 clips"), "{error}");
    assert_eq!(Library::open(&library).unwrap().pool().unwrap().len(), 2);
    let mut elsewhere = shard;
    elsewhere.features = "../../a".into();
    let bytes = ShardManifest::new(elsewhere).to_bytes();
    let error = ShardManifest::read(&bytes, "key").unwrap_err().to_string();
    assert!(error.contains("not named by a checksum"), "{error}");
}

#[test]
fn shards_of_two_encoders_or_sentence_models_are_not_merged() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("library");
    let mut other_encoder = made();
    other_encoder.encoder.weights = "w2".into();
    let other_sentences = Made { sentence_model: "s2".into(), ..made() };
    for (number, other) in [other_encoder, other_sentences].iter().enumerate() {
        let shards = shards(&folder.path().join(number.to_string()));
        write(&shards, &made(), "soup", "Soup").unwrap();
        write(&shards, other, "board", "Board").unwrap();
        let error = merge(&[shards], &library, &Silent).unwrap_err();
        let is_named = matches!(
            error,
            ShardError::OtherEncoder { .. } | ShardError::OtherSentenceModel { .. }
        );
        assert!(is_named && error.to_string().contains("/shards/"), "{error}");
        assert!(!library.exists(), "nothing is written");
    }
}

#[test]
fn shares_are_every_nth_video() {
    let share = |given: &str| given.parse::<Share>();
    let select = |given: &str| share(given).unwrap().select((0..7).collect::<Vec<_>>());
    assert_eq!(select("1/1"), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!([select("1/3"), select("2/3"), select("3/3")].concat().len(), 7);
    assert_eq!(select("2/3"), [1, 4]);
    assert_eq!(select("9/9"), [0; 0]);
    for wrong in ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", ""] {
        assert!(share(wrong).is_err_and(|error| error.to_string().contains("I/N")), "{wrong}");
    }
}
