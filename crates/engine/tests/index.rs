//! Index runs over folders with copies of videos and with videos that cannot be indexed.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use common::plain;
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::features::Features;
use stitch_core::pool::{Moment, Pool};
use stitch_engine::encoder::{Encoder, EncoderError, EncoderId, Seconds, VideoInput, appearance};
use stitch_engine::footage::Footage;
use stitch_engine::index::{Indexer, Report, discover::discover, files_of};
use stitch_engine::library::{Library, VideoStatus};
use stitch_engine::progress::{Progress, Silent};
use stitch_engine::sentence::SentenceEncoder;

/// Gives every second the same row and an appearance of its own; fails for videos named `bad`, and for all
/// while it is broken.
struct Fake {
    id: EncoderId,
    broken: AtomicBool,
}

impl Encoder for Fake {
    fn id(&self) -> &EncoderId {
        &self.id
    }

    fn encode_text(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        Ok(Features::new(2, [1.0, 0.0].repeat(texts.len()))?)
    }

    fn encode_seconds(
        &self,
        video: &VideoInput,
        _: &dyn Progress,
    ) -> Result<Seconds, EncoderError> {
        let bad = video.path.file_stem().unwrap() == "bad" || self.broken.load(Ordering::Relaxed);
        let row = if bad { [f32::NAN, 0.0] } else { [0.6, 0.8] };
        let features = Features::new(2, row.repeat(video.seconds()?))?;
        let mut appearance = Features::empty(appearance::DIM);
        for second in 0..video.seconds()? {
            let mut row = [0.0; appearance::DIM];
            row[second] = 1.0;
            appearance.push(&row);
        }
        Ok(Seconds { features, appearance, shots: vec![0], footage: Footage::default() })
    }

    fn sees(&self) -> bool {
        true
    }
}

struct Setup {
    videos: tempfile::TempDir,
    _folder: tempfile::TempDir,
    library: Library,
    encoder: Fake,
    sentence: SentenceEncoder,
}

impl Setup {
    fn new() -> Self {
        let id = EncoderId { name: "fake".into(), dim: 2, weights: "none".into() };
        let folder = tempfile::tempdir().unwrap();
        let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny-mpnet");
        Self {
            videos: tempfile::tempdir().unwrap(),
            library: Library::open_or_create(folder.path(), &id).unwrap(),
            _folder: folder,
            encoder: Fake { id, broken: false.into() },
            sentence: SentenceEncoder::load(&model).unwrap(),
        }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.videos.path().join(name)
    }

    fn video(&self, name: &str, colour: &str) {
        plain(self.videos.path(), name, colour, "64x48", "4");
    }

    fn copy(&self, from: &str, to: &str) {
        fs::copy(self.place(from), self.place(to)).unwrap();
    }

    fn index(&self) -> Report {
        self.index_folder(self.videos.path())
    }

    fn index_folder(&self, folder: &Path) -> Report {
        let indexer = Indexer {
            encoder: &self.encoder,
            sentence: &self.sentence,
            chat: None,
            speech: None,
            screen_text: None,
            list: None,
            from: None,
        };
        indexer.run(&self.library, &[folder.into()], &Silent).unwrap()
    }

    /// Name and status of every video; every clip of those that are ready has features.
    fn statuses(&self) -> Vec<String> {
        let videos = self.library.videos().unwrap();
        let ready = videos.iter().filter(|video| video.status == VideoStatus::Ready);
        let clips: u32 = ready.map(|video| video.clips).sum();
        assert!(clips > 0 && self.library.pool().unwrap().clips().len() == clips as usize);
        let status = |status: &VideoStatus| match status {
            VideoStatus::Ready => "ready".to_owned(),
            VideoStatus::Pending => "pending".to_owned(),
            VideoStatus::Failed(_) => "failed".to_owned(),
            VideoStatus::Duplicate(of) => {
                format!("copy of {}", Path::new(of).file_name().unwrap().display())
            }
        };
        let name = |path: &Path| path.file_name().unwrap().display().to_string();
        videos.iter().map(|v| format!("{} {}", name(&v.path), status(&v.status))).collect()
    }
}

#[test]
fn of_copies_that_failed_before_one_is_indexed() {
    let setup = Setup::new();
    setup.video("a.mp4", "red");
    setup.copy("a.mp4", "b.mp4");
    setup.copy("a.mp4", "c.mp4");
    setup.encoder.broken.store(true, Ordering::Relaxed);
    assert_eq!(setup.index().failed.len(), 3);
    setup.encoder.broken.store(false, Ordering::Relaxed);
    assert_eq!(setup.index().indexed, 1);
    let statuses = ["a.mp4 ready", "b.mp4 copy of a.mp4", "c.mp4 copy of a.mp4"];
    assert_eq!(setup.statuses(), statuses);
    assert_eq!(setup.index().indexed, 0);
    assert_eq!(setup.statuses(), statuses);
}

#[test]
fn a_copy_takes_the_place_of_an_original_that_changed_or_went() {
    let setup = Setup::new();
    setup.video("a.mp4", "red");
    setup.copy("a.mp4", "b.mp4");
    setup.copy("a.mp4", "c.mp4");
    assert_eq!(setup.index().indexed, 1);
    setup.video("a.mp4", "blue");
    assert_eq!(setup.index().indexed, 2);
    assert_eq!(setup.statuses(), ["a.mp4 ready", "b.mp4 ready", "c.mp4 copy of b.mp4"]);
    fs::remove_file(setup.place("b.mp4")).unwrap();
    assert_eq!(setup.index().indexed, 1);
    assert_eq!(setup.statuses(), ["a.mp4 ready", "b.mp4 failed", "c.mp4 ready"]);
    let failed = setup.library.find("b.mp4").unwrap();
    setup.library.remove(&failed).unwrap();
    assert_eq!(setup.statuses(), ["a.mp4 ready", "c.mp4 ready"], "c's features are kept");
    setup.copy("a.mp4", "d.mp4");
    setup.index();
    setup.library.remove(&setup.library.find("a.mp4").unwrap()).unwrap();
    fs::remove_file(setup.place("a.mp4")).unwrap();
    setup.index();
    assert_eq!(setup.statuses(), ["c.mp4 ready", "d.mp4 ready"]);
}

#[test]
fn of_copies_the_one_in_the_given_folder_is_indexed() {
    let setup = Setup::new();
    let [one, two] = ["one", "two"].map(|name| setup.place(name));
    fs::create_dir(&one).unwrap();
    fs::create_dir(&two).unwrap();
    setup.video("one/a.mp4", "red");
    // As after a run that was interrupted.
    setup.library.enter(&discover(std::slice::from_ref(&one), &Silent).unwrap()).unwrap();
    setup.copy("one/a.mp4", "two/b.mp4");
    setup.copy("one/a.mp4", "two/c.mp4");
    assert_eq!(setup.index_folder(&two).indexed, 1);
    let statuses = ["a.mp4 copy of b.mp4", "b.mp4 ready", "c.mp4 copy of b.mp4"];
    assert_eq!(setup.statuses(), statuses);
    assert_eq!(setup.index_folder(&one).indexed, 0);
    assert_eq!(setup.statuses(), statuses, "what is ready stays");
}

#[test]
fn a_copy_known_before_is_indexed_when_its_folder_is_given() {
    let setup = Setup::new();
    let two = setup.place("two");
    fs::create_dir(&two).unwrap();
    setup.video("a.mp4", "red");
    setup.copy("a.mp4", "two/b.mp4");
    setup.library.enter(&discover(&[setup.videos.path().into()], &Silent).unwrap()).unwrap();
    let copy = setup.library.find("b.mp4").unwrap();
    assert!(matches!(copy.status, VideoStatus::Duplicate(_)), "{copy:?}");
    assert_eq!(setup.index_folder(&two).indexed, 1);
    assert_eq!(setup.statuses(), ["a.mp4 copy of b.mp4", "b.mp4 ready"]);
}

#[test]
fn one_video_does_not_end_the_run() {
    let setup = Setup::new();
    setup.video("bad.mp4", "red");
    setup.video("good.mp4", "blue");
    fs::write(setup.place("list.mp4"), "ffconcat version 1.0\nfile good.mp4\n").unwrap();
    let report = setup.index();
    assert_eq!(report.indexed, 1);
    let reasons: Vec<&str> = report.failed.iter().map(|(_, reason)| reason.as_str()).collect();
    assert!(reasons.len() == 2 && reasons[0].contains("unusable numbers"), "{reasons:?}");
    assert!(reasons[1].contains("playlist"), "{reasons:?}");
    assert_eq!(setup.statuses(), ["bad.mp4 failed", "good.mp4 ready", "list.mp4 failed"]);
}

#[test]
fn a_library_for_another_encoder_copies_all_but_the_features() {
    let setup = Setup::new();
    setup.video("a.mp4", "red");
    setup.video("gone.mp4", "blue");
    let steps = r#"{"steps": [{"text": "chop the onion", "start": 1, "end": 3}]}"#;
    fs::write(setup.place("a.steps.json"), steps).unwrap();
    assert_eq!(setup.index().indexed, 2);
    // Indexed anew, the video would have other clips.
    fs::write(setup.place("a.steps.json"), steps.replace("chop", "fry")).unwrap();
    fs::remove_file(setup.place("gone.mp4")).unwrap();
    let id = EncoderId { name: "other".into(), ..setup.encoder.id.clone() };
    let folder = tempfile::tempdir().unwrap();
    let library = Library::open_or_create(folder.path(), &id).unwrap();
    let indexer = Indexer {
        encoder: &Fake { id, broken: false.into() },
        sentence: &setup.sentence,
        chat: None,
        speech: None,
        screen_text: None,
        list: None,
        from: Some(&setup.library),
    };
    let files = files_of(&setup.library, &Silent).unwrap();
    assert_eq!(indexer.run(&library, &files, &Silent).unwrap().indexed, 1);
    let (old, new) = (setup.library.pool().unwrap(), library.pool().unwrap());
    let video = VideoId(setup.library.find("a.mp4").unwrap().id);
    let is_copied = |clip: &&stitch_core::clip::Clip| clip.video == video;
    let copied: Vec<_> = old.clips().iter().filter(is_copied).map(|c| (c.span, &c.text)).collect();
    let found: Vec<_> = new.clips().iter().map(|clip| (clip.span, &clip.text)).collect();
    assert_eq!(copied, found);
    assert!(found[0].1.to_lowercase().contains("chop"), "{found:?}");
    assert_eq!(new.clip_features().row(0), old.clip_features().row(0));
    // Every second has a direction of its own.
    let second = |pool: &Pool, moment| {
        let row = pool.appearance(ClipId(0), moment).unwrap();
        row.iter().position(|x| *x == 1.0).unwrap()
    };
    let [first, last] = [Moment::First, Moment::Last].map(|moment| second(&new, moment));
    assert!(first <= last);
    assert_eq!([Moment::First, Moment::Last].map(|moment| second(&old, moment)), [first, last]);
    let mean = new.appearance(ClipId(0), Moment::Mean).unwrap();
    let share = 1.0 / ((last - first + 1) as f32).sqrt();
    assert!(mean[first..=last].iter().all(|x| (x - share).abs() < 1e-3), "{mean:?}");
    assert_eq!(library.shots(VideoId(1)).unwrap(), [0]);
}
