//! A library on disk: one writer, ids, damage that is found and repaired, backups.

use std::fs;
use std::path::{Path, PathBuf};

use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::features::{Features, similarity};
use stitch_core::pool::{Agreement, Moment};
use stitch_engine::encoder::EncoderId;
use stitch_engine::footage::Footage;
use stitch_engine::library::{
    Found, Indexed, Library, LibraryError, Outcome, Video, VideoFeatures, VideoStatus,
};
use stitch_engine::transcript::Sentence;
use tempfile::TempDir;

fn encoder() -> EncoderId {
    EncoderId { name: "fake".into(), dim: 2, weights: "none".into() }
}

/// A library of videos whose files are there; `add` indexes one without decoding it.
struct Shelf {
    folder: TempDir,
    library: Library,
}

impl Shelf {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let library = Library::open_or_create(&folder.path().join("library"), &encoder()).unwrap();
        Self { folder, library }
    }

    fn with_two_videos() -> Self {
        let shelf = Self::new();
        shelf.add("soup");
        shelf.add("board");
        shelf
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the id of the video.
    fn add(&self, name: &str) -> u32 {
        let path = self.path(&format!("{name}.mp4"));
        fs::write(&path, name).unwrap();
        let found = Found { path, content: format!("content-{name}"), bytes: 4, modified_ms: 5 };
        let found = [found];
        self.library.enter(&found).unwrap();
        let record = self.library.pending(&found).unwrap().remove(0);
        let video = Video { title: name.into(), length_ms: 2000, ..Video::default() };
        let outcome = Outcome::Ready(video, Box::new(indexed(record.id, name)));
        self.library.record(&record, &outcome).unwrap();
        record.id
    }

    fn library_folder(&self) -> PathBuf {
        self.path("library")
    }

    fn features(&self, name: &str) -> PathBuf {
        self.library_folder().join(format!("features/content-{name}.safetensors"))
    }

    fn pool_file(&self) -> PathBuf {
        self.library.pool().unwrap();
        let files = fs::read_dir(self.library_folder()).unwrap().map(|entry| entry.unwrap().path());
        let pools: Vec<_> = files.filter(|p| p.to_string_lossy().contains("/pool-")).collect();
        assert_eq!(pools.len(), 1, "{pools:?}");
        pools.into_iter().next().unwrap()
    }
}

/// Of two clips.
fn moments() -> Features {
    let number = |at: usize| ((at % 128) as f32 + at as f32 / 128.0).sin();
    Features::new(128, (0..6 * 128).map(number).collect()).unwrap()
}

fn indexed(id: u32, name: &str) -> Indexed {
    let rows = |rows: &[f32]| Features::new(2, rows.to_vec()).unwrap();
    let clip = |start: u64, text: &str| Clip {
        video: VideoId(id),
        span: Span::new(start, start + 1000).unwrap(),
        text: format!("{text} the {name}"),
    };
    Indexed {
        sentences: vec![Sentence { start_ms: 0, end_ms: 900, text: format!("the {name}") }],
        clips: vec![clip(0, "show"), clip(1000, "serve")],
        features: VideoFeatures {
            seconds: rows(&[0.6, 0.8, 0.8, 0.6]),
            text: rows(&[1.0, 0.0, 0.0, 1.0]),
            clip: rows(&[0.6, 0.8, 0.8, 0.6]),
            appearance: moments(),
            footage: Footage::default(),
            agreement: Agreement { suits: 1, of: 2 },
        },
        shots: vec![0, 1000],
        narration_by: None,
        steps_by: "rules".into(),
    }
}

/// Everything that the database holds, as a text.
fn content(library: &Library) -> Result<String, LibraryError> {
    let mut all = format!("{:?} {:?}", library.encoder(), library.videos()?);
    for id in [1, 2].map(VideoId) {
        all += &format!("{:?} {:?}", library.sentences(id)?, library.shots(id)?);
    }
    Ok(all + &format!("{:?}", library.pool()?.clips()))
}

fn flip(file: &Path, bytes: &[u8], at: usize) {
    let mut changed = bytes.to_vec();
    changed[at] ^= 1 << (at % 8);
    fs::write(file, changed).unwrap();
}

#[test]
fn the_second_writer_is_told_who_writes_and_readers_go_on() {
    let shelf = Shelf::with_two_videos();
    let other = Library::open(&shelf.library_folder()).unwrap();
    let lock = shelf.library.lock_writer().unwrap();
    let refused = other.lock_writer().err().unwrap().to_string();
    assert!(refused.contains(&format!("process {} is writing", std::process::id())), "{refused}");
    let video = other.find("soup.mp4").unwrap();
    assert!(matches!(other.remove(&video), Err(LibraryError::Locked { .. })));
    assert_eq!(other.pool().unwrap().len(), 4);
    drop(lock);
    other.remove(&video).unwrap();
}

#[test]
fn an_id_is_never_given_twice() {
    let shelf = Shelf::with_two_videos();
    let last = shelf.library.find("board.mp4").unwrap();
    shelf.library.remove(&last).unwrap();
    assert_eq!((last.id, shelf.add("tea")), (2, 3));
    let file = shelf.library_folder().join("library.db");
    let database = rusqlite::Connection::open(file).unwrap();
    database.execute("UPDATE state SET last_video = 0", []).unwrap();
    assert_eq!(shelf.add("rice"), 4, "a counter that is too low");
    assert_eq!(shelf.library.verify().unwrap().len(), 0);
}

#[test]
fn every_change_is_a_new_generation_for_other_connections_too() {
    let shelf = Shelf::with_two_videos();
    let copy = |name: &str| Found {
        path: shelf.path(name),
        content: "content-soup".into(),
        bytes: 4,
        modified_ms: 5,
    };
    let found = [copy("soup.mp4"), copy("copy.mp4")];
    shelf.library.enter(&found).unwrap();
    let other = Library::open(&shelf.library_folder()).unwrap();
    let before = other.generation().unwrap();
    shelf.library.enter(&found).unwrap();
    assert!(shelf.library.pending(&found).unwrap().is_empty());
    assert_eq!(other.generation().unwrap(), before, "nothing has changed");
    shelf.library.remove(&shelf.library.find("soup.mp4").unwrap()).unwrap();
    assert!(other.generation().unwrap() > before);
}

#[test]
fn what_clips_look_like_comes_back() {
    let shelf = Shelf::with_two_videos();
    for _ in ["made", "read"] {
        let pool = shelf.library.pool().unwrap();
        for clip in 0..4 {
            for (row, moment) in Moment::ALL.into_iter().enumerate() {
                let found = pool.appearance(ClipId(clip), moment).unwrap();
                let written = moments().row(3 * (clip as usize % 2) + row).to_vec();
                assert!(similarity(&found, &written) > 0.9999, "{clip} {moment:?}");
            }
        }
    }
}

#[test]
fn any_flipped_byte_of_features_and_pool_is_found() {
    let shelf = Shelf::with_two_videos();
    let pool = shelf.pool_file();
    assert_eq!(shelf.library.verify().unwrap().len(), 0);
    for file in [shelf.features("soup"), shelf.features("board"), pool] {
        let bytes = fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            flip(&file, &bytes, at);
            let found = shelf.library.verify().unwrap();
            assert!(found.len() == 1 && found[0].path == file, "byte {at}: {found:?}");
        }
        fs::write(&file, bytes).unwrap();
    }
}

#[test]
fn a_flipped_byte_of_the_database_is_found_or_changes_nothing() {
    let Shelf { folder, library } = Shelf::with_two_videos();
    let whole = content(&library).unwrap();
    drop(library); // the write-ahead log is in the file now
    let library = folder.path().join("library");
    let file = library.join("library.db");
    let bytes = fs::read(&file).unwrap();
    let mut found = 0;
    for at in (0..bytes.len()).step_by(17) {
        for log in ["library.db-wal", "library.db-shm"] {
            let _ = fs::remove_file(library.join(log));
        }
        flip(&file, &bytes, at);
        let Ok(opened) = Library::open(&library) else {
            found += 1;
            continue;
        };
        match opened.verify() {
            Ok(damage) if damage.is_empty() => {
                assert_eq!(content(&opened).unwrap(), whole, "byte {at}");
            }
            _ => found += 1,
        }
    }
    assert!(found > 20, "{found}");
}

#[test]
fn changed_rows_are_found_and_the_video_indexed_again() {
    let shelf = Shelf::with_two_videos();
    let file = shelf.library_folder().join("library.db");
    let database = rusqlite::Connection::open(file).unwrap();
    let change = "UPDATE clips SET text = 'fry the soup' WHERE text = 'show the soup'";
    assert_eq!(database.execute(change, []).unwrap(), 1);
    let found = shelf.library.verify_and_repair().unwrap();
    assert!(found.len() == 1 && found[0].video == Some(1), "{found:?}");
    let how = found[0].repaired.as_deref().unwrap();
    let library = format!("--library '{}'", shelf.library_folder().display());
    assert!(how.contains("stitch index") && how.contains(&library), "{how}");
    assert_eq!(shelf.library.find("soup.mp4").unwrap().status, VideoStatus::Pending);
    assert_eq!(shelf.add("soup"), 1);
    assert_eq!(shelf.library.verify().unwrap().len(), 0);
}

#[test]
fn a_pool_that_is_cut_short_or_damaged_is_made_again() {
    let shelf = Shelf::with_two_videos();
    let file = shelf.pool_file();
    let bytes = fs::read(&file).unwrap();
    let rows = shelf.library.pool().unwrap().clip_features().to_features();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(shelf.library.pool().unwrap().clip_features().to_features(), rows);
    assert_eq!(fs::read(&file).unwrap(), bytes);
    flip(&file, &bytes, bytes.len() - 1);
    let found = shelf.library.verify_and_repair().unwrap();
    assert!(found.len() == 1 && found[0].repaired.is_some(), "{found:?}");
    assert_eq!(shelf.library.pool().unwrap().clip_features().to_features(), rows);
    assert_eq!(fs::read(&file).unwrap(), bytes);
}

/// The clips and rows of the pool, in its order.
fn pool_content(library: &Library) -> (Vec<Clip>, Features, Features, Agreement) {
    let pool = library.pool().unwrap();
    let (text, clip) = (pool.text_features().to_features(), pool.clip_features().to_features());
    (pool.clips().to_vec(), text, clip, pool.agreement())
}

#[test]
fn a_new_video_leaves_the_segments_as_they_are() {
    let shelf = Shelf::with_two_videos();
    let file = shelf.pool_file();
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    shelf.add("tea");
    assert_eq!(shelf.library.pool().unwrap().len(), 6);
    assert_eq!(shelf.pool_file(), file);
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
}

#[test]
fn many_new_videos_become_a_segment_and_optimise_makes_one_of_all() {
    let shelf = Shelf::with_two_videos();
    shelf.pool_file();
    for number in 0..300 {
        shelf.add(&format!("video-{number}"));
        if number % 70 == 69 {
            shelf.library.pool().unwrap();
        }
    }
    let segments = || {
        let names = fs::read_dir(shelf.library_folder()).unwrap();
        names
            .filter(|name| {
                name.as_ref().unwrap().file_name().to_string_lossy().starts_with("pool-")
            })
            .count()
    };
    let whole = pool_content(&shelf.library);
    assert_eq!(whole.0.len(), 604);
    assert!(whole.0.is_sorted_by_key(|clip| (clip.video, clip.span)), "in the order of the videos");
    assert_eq!(whole.3, Agreement { suits: 302, of: 604 });
    assert!((2..5).contains(&segments()), "{}", segments());
    assert_eq!(shelf.library.optimise().unwrap(), 1);
    assert_eq!((segments(), pool_content(&shelf.library)), (1, whole));
    assert_eq!(shelf.library.verify().unwrap().len(), 0);
}

#[test]
fn removed_and_changed_videos_leave_the_pool_at_once_and_the_segment_when_optimised() {
    let shelf = Shelf::with_two_videos();
    shelf.add("tea");
    let file = shelf.pool_file();
    shelf.library.remove(&shelf.library.find("board.mp4").unwrap()).unwrap();
    let record = shelf.library.find("soup.mp4").unwrap();
    let changed = indexed(record.id, "stew");
    shelf.library.record(&record, &Outcome::Ready(Video::default(), Box::new(changed))).unwrap();
    let found = pool_content(&shelf.library);
    let texts: Vec<&str> = found.0.iter().map(|clip| clip.text.as_str()).collect();
    assert_eq!(texts, ["show the stew", "serve the stew", "show the tea", "serve the tea"]);
    assert_eq!(shelf.pool_file(), file);
    assert_eq!(shelf.library.optimise().unwrap(), 1);
    assert_ne!(shelf.pool_file(), file);
    assert!(!file.exists());
    assert_eq!(pool_content(&shelf.library), found);
    let smaller = fs::metadata(shelf.pool_file()).unwrap().len();
    assert_eq!(shelf.library.optimise().unwrap(), 1);
    assert_eq!(fs::metadata(shelf.pool_file()).unwrap().len(), smaller, "nothing more to do");
}

#[test]
fn an_empty_library_is_told_when_optimised() {
    assert!(matches!(Shelf::new().library.optimise(), Err(LibraryError::Empty { .. })));
}

#[test]
fn repair_removes_what_killed_runs_have_left() {
    let shelf = Shelf::with_two_videos();
    let unused = shelf.features("tea");
    fs::copy(shelf.features("soup"), &unused).unwrap();
    let names = [".writing-old", "features/.writing-old", ".writing-new"];
    let temporary = names.map(|name| shelf.library_folder().join(name));
    for file in &temporary {
        fs::write(file, "half").unwrap();
    }
    let two_days = std::time::Duration::from_secs(2 * 24 * 60 * 60);
    for file in &temporary[..2] {
        let old = fs::FileTimes::new().set_modified(std::time::SystemTime::now() - two_days);
        fs::File::options().write(true).open(file).unwrap().set_times(old).unwrap();
    }
    assert_eq!(shelf.library.verify().unwrap().len(), 0);
    let found = shelf.library.verify_and_repair().unwrap();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|leftover| !leftover.is_left()), "{found:?}");
    assert!(!unused.exists() && !temporary[0].exists() && !temporary[1].exists());
    assert!(temporary[2].exists() && shelf.features("soup").exists());
}

#[test]
fn damaged_features_are_never_read() {
    let shelf = Shelf::with_two_videos();
    let bytes = fs::read(shelf.features("soup")).unwrap();
    flip(&shelf.features("soup"), &bytes, bytes.len() - 1);
    assert!(matches!(shelf.library.pool(), Err(LibraryError::Features { .. })));
    assert!(matches!(shelf.library.seconds(VideoId(1)), Err(LibraryError::Features { .. })));
    fs::remove_file(shelf.features("soup")).unwrap();
    let missing = shelf.library.pool().unwrap_err().to_string();
    let library = format!("--repair --library '{}'", shelf.library_folder().display());
    assert!(missing.contains("it is missing") && missing.contains(&library), "{missing}");
}

#[test]
fn mapped_features_are_the_bytes_of_the_file_and_damage_is_found() {
    let shelf = Shelf::with_two_videos();
    let bytes = fs::read(shelf.features("board")).unwrap();
    let mapped = shelf.library.map_features(VideoId(2)).unwrap();
    let named = |name: &str| mapped.matrices.iter().find(|matrix| matrix.name == name).unwrap();
    let shape = |name: &str| (named(name).rows, named(name).dim);
    assert_eq!([shape("text"), shape("clip"), shape("appearance")], [(2, 2), (2, 2), (6, 128)]);
    for matrix in &mapped.matrices {
        let rows = mapped.bytes(matrix);
        assert_eq!(rows.len(), 2 * matrix.rows * matrix.dim);
        assert!(bytes.windows(rows.len()).any(|part| part == rows), "{}", matrix.name);
    }
    assert!(matches!(
        shelf.library.map_features(VideoId(9)),
        Err(LibraryError::NoSuchVideo { .. })
    ));
    flip(&shelf.features("board"), &bytes, bytes.len() - 1);
    let error = shelf.library.map_features(VideoId(2)).err().unwrap();
    assert!(error.to_string().contains("library verify --repair"), "{error}");
}

#[test]
fn only_a_library_without_indexed_videos_takes_a_sentence_model() {
    let old = Shelf::with_two_videos();
    old.library.fix_sentence_model("one").unwrap();
    old.library.fix_sentence_model("other").unwrap();
    let new = Shelf::new();
    new.library.fix_sentence_model("one").unwrap();
    let refused = new.library.fix_sentence_model("other");
    assert!(matches!(refused, Err(LibraryError::OtherSentenceModel { .. })));
}

#[test]
fn damage_of_a_video_that_is_gone_cannot_be_repaired_but_leaves_the_pool() {
    let shelf = Shelf::with_two_videos();
    fs::remove_file(shelf.path("soup.mp4")).unwrap();
    fs::write(shelf.features("soup"), "nothing").unwrap();
    let found = shelf.library.verify_and_repair().unwrap();
    assert_eq!(found.len(), 2, "features and file: {found:?}");
    for damage in &found {
        assert!(damage.is_left() && damage.reason.contains("bring it back"), "{damage:?}");
    }
    let soup = shelf.library.find("soup.mp4").unwrap();
    assert!(matches!(soup.status, VideoStatus::Failed(_)), "{soup:?}");
    assert_eq!(shelf.library.pool().unwrap().len(), 2);
}

#[test]
fn a_backup_is_whole_beside_a_writer_and_never_replaces_anything() {
    let shelf = Shelf::with_two_videos();
    fs::create_dir(shelf.library_folder().join("page")).unwrap();
    let page = rusqlite::Connection::open(shelf.library_folder().join("page/page.db")).unwrap();
    page.execute_batch("CREATE TABLE kept (x); INSERT INTO kept VALUES (7);").unwrap();
    fs::create_dir(shelf.library_folder().join("page/renders")).unwrap();
    let beside = ["calibration.json", "page/renders/3.mp4"];
    fs::write(shelf.library_folder().join(beside[1]), "video").unwrap();
    let fitted = stitch_engine::calibration::Calibration::of("mini");
    shelf.library.write_calibration(&shelf.library.calibration_file(), fitted).unwrap();
    let reader = Library::open(&shelf.library_folder()).unwrap();
    let _lock = shelf.library.lock_writer().unwrap();
    reader.backup(&shelf.path("copy")).unwrap();
    let copy = Library::open(&shelf.path("copy")).unwrap();
    assert_eq!(copy.verify().unwrap().len(), 0);
    assert_eq!(content(&copy).unwrap(), content(&shelf.library).unwrap());
    let page = rusqlite::Connection::open(shelf.path("copy/page/page.db")).unwrap();
    assert_eq!(page.query_row("SELECT x FROM kept", [], |row| row.get(0)), Ok(7));
    for name in beside {
        let [kept, copied] =
            [shelf.library_folder(), shelf.path("copy")].map(|folder| fs::read(folder.join(name)));
        assert_eq!(kept.unwrap(), copied.unwrap());
    }
    let refused = reader.backup(&shelf.path("copy")).unwrap_err().to_string();
    assert!(refused.contains("exists already"), "{refused}");
    assert!(shelf.path("copy/library.db").is_file());
}

#[test]
fn a_backup_of_damaged_features_fails_and_leaves_nothing() {
    let shelf = Shelf::with_two_videos();
    fs::write(shelf.features("soup"), "nothing").unwrap();
    assert!(shelf.library.backup(&shelf.path("copy")).is_err());
    assert!(!shelf.path("copy").exists());
}
