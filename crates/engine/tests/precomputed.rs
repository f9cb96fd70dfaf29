//! Features computed elsewhere are read from every form, and what does not fit is told with
//! numbers. The files are made by recipes/golden/features.py.

use std::io::Write;
use std::path::{Path, PathBuf};

use stitch_core::features::Features;
use stitch_engine::encoder::precomputed::{About, Folder, arrays};
use stitch_engine::encoder::{Encoder, EncoderError, EncoderId, Precomputed, Seconds, VideoInput};
use stitch_engine::progress::{Progress, Silent};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/features").join(name)
}

#[test]
fn rows_are_read_from_every_form() {
    let expected: Vec<f32> = (0..15).map(|i| i as f32).collect();
    let files = [
        "plain-f2.npy",
        "plain-f4.npy",
        "plain-f4-big.npy",
        "plain-f8.npy",
        "columns.npy",
        "clips.npy",
        "stored.npz",
        "packed.npz",
        "half.safetensors",
        "packed.h5",
        "half.hdf5",
    ];
    for file in files {
        let rows = arrays::read(&data(file), None).unwrap();
        assert_eq!((rows.dim, &rows.data), (3, &expected), "{file}");
    }
    let rows = arrays::read(&data("several.h5"), Some("second")).unwrap();
    assert_eq!(rows.data, expected);
}

#[test]
fn what_holds_no_rows_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let cut = |name: &str, to: usize| {
        let bytes = std::fs::read(data(name)).unwrap();
        std::fs::write(folder.path().join(name), &bytes[..to.min(bytes.len())]).unwrap();
        folder.path().join(name)
    };
    let cases = [
        data("objects.npy"),
        data("integers.npy"),
        data("cube.npy"),
        data("several.h5"),
        data("missing.npy"),
        cut("plain-f4.npy", 150),
        cut("plain-f2.npy", 3),
        cut("packed.npz", 60),
        cut("packed.h5", 700),
        cut("half.safetensors", 40),
    ];
    let pickle = folder.path().join("video.pt");
    std::fs::write(&pickle, b"\x80\x02cos\nsystem\n").unwrap();
    let said = cases.iter().chain([&pickle]).map(|path| {
        let error = arrays::read(path, None).unwrap_err().to_string();
        let folder = path.parent().unwrap().display().to_string();
        error.replace(&folder, "FOLDER")
    });
    insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_small_file_that_expands_to_a_huge_array_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.npz");
    let header =
        format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000, 2), }");
    let mut npy = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    npy.extend(header.bytes());
    npy.resize(npy.len() + 32_000_000, 0);
    let mut archive = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    archive.start_file("features.npy", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(&npy).unwrap();
    archive.finish().unwrap();
    assert!(path.metadata().unwrap().len() < 100_000);
    let header = folder.path().join("header.npy");
    std::fs::write(&header, b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}").unwrap();
    let error = arrays::read(&header, None).unwrap_err().to_string();
    assert!(error.contains("not a whole npy file"), "{error}");
    let error = arrays::read(&path, None).unwrap_err().to_string();
    assert!(error.contains("expand to 32000128; save the array uncompressed"), "{error}");
}

#[test]
fn a_header_that_nests_deep_takes_no_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep.npy");
    let header = format!("{{{}\"\"\"'descr': '<f4'", "[".repeat(30));
    let length = (header.len() as u16).to_le_bytes();
    std::fs::write(&path, [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat()).unwrap();
    let error = arrays::read(&path, None).unwrap_err().to_string();
    assert!(error.contains("its header nests too deep"), "{error}");
}

/// An encoder that gives all texts the same vector.
struct Same(EncoderId);

impl Encoder for Same {
    fn id(&self) -> &EncoderId {
        &self.0
    }

    fn encode_text(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        Ok(Features::new(3, [1.0, 0.0, 0.0].repeat(texts.len()))?)
    }

    fn project_sentences(&self, sentences: &Features) -> Result<Option<Features>, EncoderError> {
        Ok(Some(sentences.clone()))
    }

    fn encode_seconds(&self, _: &VideoInput, _: &dyn Progress) -> Result<Seconds, EncoderError> {
        unreachable!("texts only")
    }
}

fn same() -> Box<dyn Encoder> {
    Box::new(Same(EncoderId { name: "same".into(), dim: 3, weights: "weights".into() }))
}

fn encoder(about: &About) -> Precomputed {
    let folder = Folder::open(&data(""), about).unwrap();
    Precomputed::new(Some(folder), same()).unwrap()
}

fn seconds(encoder: &Precomputed, name: &str, length_ms: u64) -> Result<Features, EncoderError> {
    let input = VideoInput { path: Path::new(name), length_ms, sentences: &[] };
    Ok(encoder.encode_seconds(&input, &Silent)?.features)
}

#[test]
fn a_video_has_the_features_of_its_name() {
    let encoder = encoder(&About { rate: Some(1.0), ..About::default() });
    assert_eq!(encoder.id().name, "features:same");
    assert!(encoder.sees() && encoder.image_tower().is_none());
    let sentences = Features::new(2, vec![0.6, 0.8]).unwrap();
    let projected = encoder.project_sentences(&sentences).unwrap();
    assert_eq!(projected, Some(sentences), "by the encoder of the texts");
    let found = seconds(&encoder, "/videos/plain-f4.mp4", 5_000).unwrap();
    assert_eq!((found.len(), found.dim()), (5, 3));
    let second = found.row(1);
    assert!((second[0] / second[2] - 3.0 / 5.0).abs() < 1e-6, "{second:?}");
    assert_eq!(seconds(&encoder, "plain-f4.mp4", 5_900).unwrap().len(), 6, "within a second");
}

#[test]
fn what_does_not_fit_the_video_is_told_with_numbers() {
    let about = About { rate: Some(1.0), ..About::default() };
    let told = |name: &str, length_ms: u64| {
        let error = seconds(&encoder(&about), name, length_ms).unwrap_err();
        assert!(matches!(error, EncoderError::Precomputed(_)), "one video's fault: {error}");
        error.to_string()
    };
    let error = told("plain-f4.mp4", 9_000);
    assert!(error.contains("5 rows at 1 per second are 5.0 s"), "{error}");
    assert!(error.contains("9.0 s") && error.contains("--feature-rate"), "{error}");
    let error = told("nobody.mp4", 9_000);
    assert!(error.contains("no features of `nobody`"), "{error}");
    let two = About { rate: Some(0.5), ..About::default() };
    assert_eq!(seconds(&encoder(&two), "plain-f4.mp4", 9_500).unwrap().len(), 10);
}

#[test]
fn a_folder_must_say_its_rate_and_fit_the_texts() {
    let error = Folder::open(&data(""), &About::default()).unwrap_err().to_string();
    assert!(error.contains("--feature-rate"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let about = About { rate: Some(1.0), ..About::default() };
    let error = Folder::open(folder.path(), &about).unwrap_err().to_string();
    assert!(error.contains("no features here"), "{error}");
    std::fs::copy(data("plain-f4.npy"), folder.path().join("v.npy")).unwrap();
    std::fs::write(folder.path().join(Folder::ABOUT), "rate = 2.0\ndim = 7\n").unwrap();
    let found = Folder::open(folder.path(), &About::default()).unwrap();
    assert_eq!(found.length_ms_of("v").unwrap(), 2_500);
    let error = Precomputed::new(Some(found), same()).err().unwrap().to_string();
    assert!(error.contains("rows of 7 numbers, where texts have 3"), "{error}");
    std::fs::write(folder.path().join(Folder::ABOUT), "speed = 2.0\n").unwrap();
    let error = Folder::open(folder.path(), &About::default()).unwrap_err().to_string();
    assert!(error.contains("features.toml") && error.contains("speed"), "{error}");
}

#[test]
fn one_file_may_hold_the_arrays_of_many_videos() {
    // `several.h5` holds `first` and `second`; a folder of many files is not searched for such.
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(data("several.h5"), folder.path().join("all.h5")).unwrap();
    let about = About { rate: Some(1.0), ..About::default() };
    let found = Folder::open(folder.path(), &about).unwrap();
    assert_eq!(found.seconds_of("second", 5_000, 3).unwrap().len(), 15);
}
