//! The CLIP family gives the numbers of the Python libraries it stands in for, and says what is
//! wrong with a broken folder. The golden files are made by recipes/golden/clip.py.

use std::path::{Path, PathBuf};

use stitch_core::features::{Features, similarity};
use stitch_engine::encoder::{Encoder, EncoderError, Picture, Towers, TwoTowers, load_folder};
use stitch_engine::models::Store;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[derive(serde::Deserialize)]
struct Golden {
    texts: Vec<GoldenText>,
    pictures: Vec<GoldenPicture>,
}

#[derive(serde::Deserialize)]
struct GoldenText {
    text: String,
    row: Vec<f32>,
}

#[derive(serde::Deserialize)]
struct GoldenPicture {
    picture: String,
    row: Vec<f32>,
}

fn load(folder: &Path, name: &str) -> Result<TwoTowers, EncoderError> {
    load_folder(folder, name, Towers::Both, &Store::new("no models"))
}

/// The lowest cosines with the golden rows: of texts, and of pictures.
fn agreement(folder: &Path) -> (f32, f32) {
    let encoder = load(folder, "tested").unwrap();
    let golden = std::fs::read(folder.join("golden.json")).unwrap();
    let golden: Golden = serde_json::from_slice(&golden).unwrap();
    let texts: Vec<&str> = golden.texts.iter().map(|golden| golden.text.as_str()).collect();
    let read = encoder.encode_text(&texts).unwrap();
    let seen = see(&encoder, golden.pictures.iter().map(|golden| golden.picture.as_str()));
    let lowest = |ours: &Features, theirs: Vec<&Vec<f32>>| {
        assert_eq!((ours.len(), ours.dim()), (theirs.len(), theirs[0].len()));
        let cosine = |(ours, theirs): (&[f32], &Vec<f32>)| {
            similarity(ours, theirs) / similarity(theirs, theirs).sqrt()
        };
        ours.rows().zip(theirs).map(cosine).fold(1.0, f32::min)
    };
    (
        lowest(&read, golden.texts.iter().map(|golden| &golden.row).collect()),
        lowest(&seen, golden.pictures.iter().map(|golden| &golden.row).collect()),
    )
}

fn see<'a>(encoder: &TwoTowers, names: impl Iterator<Item = &'a str>) -> Features {
    let tower = encoder.image_tower().unwrap();
    let prepared = |name: &str| {
        let bytes = std::fs::read(data("pictures").join(name)).unwrap();
        tower.spec().prepare(&Picture::decode(&bytes).unwrap()).rgb
    };
    let pictures: Vec<Vec<u8>> = names.map(prepared).collect();
    let pictures: Vec<&[u8]> = pictures.iter().map(Vec::as_slice).collect();
    tower.encode(&pictures).unwrap().features
}

const TINY: [&str; 4] = ["tiny-clip", "tiny-clip-gelu", "tiny-siglip", "tiny-siglip2"];

#[test]
fn small_random_models_give_the_numbers_of_transformers() {
    for name in TINY {
        let (texts, pictures) = agreement(&data(name));
        assert!(texts > 0.999_999 && pictures > 0.999_999, "{name}: {texts} {pictures}");
    }
}

/// Runs where recipes/golden/clip.py --real FOLDER was run, with STITCH_CLIP_MODELS=FOLDER.
#[test]
#[allow(clippy::print_stderr)] // a skipped test should say so, and this one has figures to tell
fn real_shapes_give_the_numbers_of_transformers() {
    let Some(folder) = std::env::var_os("STITCH_CLIP_MODELS") else {
        return eprintln!("skipped: STITCH_CLIP_MODELS is not set");
    };
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|folder| folder.join("golden.json").exists());
    folders.sort();
    let mut wrong = Vec::new();
    for folder in folders {
        let (texts, pictures) = agreement(&folder);
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        eprintln!("{name}: lowest cosine of texts {texts:.7}, of pictures {pictures:.7}");
        if texts < 0.9999 || pictures < 0.9999 {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_row_does_not_depend_on_its_company() {
    for name in TINY {
        let encoder = load(&data(name), name).unwrap();
        let texts = ["chop the onion", "", "fry the onion in a pan until golden, then add salt."];
        let together = encoder.encode_text(&texts).unwrap();
        for (i, text) in texts.iter().enumerate() {
            let alone = encoder.encode_text(&[text]).unwrap();
            assert!(similarity(alone.row(0), together.row(i)) > 0.999_999, "{name} {text:?}");
        }
        let pictures = ["noise.png", "tall.png"];
        let together = see(&encoder, pictures.into_iter());
        let alone = see(&encoder, pictures[1..].iter().copied());
        assert!(similarity(alone.row(0), together.row(1)) > 0.999_999, "{name}");
        assert!(encoder.encode_text(&[]).unwrap().is_empty());
    }
}

/// A copy of the small CLIP with one file changed.
fn broken(name: &str, change: impl Fn(Vec<u8>) -> Option<Vec<u8>>) -> EncoderError {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(data("tiny-clip")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let path = folder.path().join(name);
    let bytes = std::fs::read(&path).unwrap_or_default();
    match change(bytes) {
        Some(bytes) => std::fs::write(&path, bytes).unwrap(),
        None => std::fs::remove_file(&path).unwrap(),
    }
    match load(folder.path(), "broken") {
        Ok(_) => panic!("a broken {name} was taken"),
        Err(error) => error,
    }
}

fn replaced(from: &'static str, to: &'static str) -> impl Fn(Vec<u8>) -> Option<Vec<u8>> {
    move |bytes| {
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        assert!(text.contains(from), "{from}");
        Some(text.replacen(from, to, 1).chars().map(|c| c as u8).collect())
    }
}

#[test]
fn a_broken_folder_says_what_is_wrong() {
    let weights = "model.safetensors";
    let cases = [
        (
            "a missing tensor",
            broken(weights, replaced("text_projection.weight", "text_projection.weighs")),
        ),
        (
            "a wrong shape",
            broken(
                "config.json",
                replaced(
                    "\"projection_dim\": 24,\n  \"text_config\"",
                    "\"projection_dim\": 25,\n  \"text_config\"",
                ),
            ),
        ),
        ("a truncated file", broken(weights, |bytes| Some(bytes[..bytes.len() / 2].to_vec()))),
        ("an empty file", broken(weights, |_| Some(Vec::new()))),
        ("a pickle", broken(weights, |_| Some(b"\x80\x02}q\x00X\x05\x00\x00\x00model".to_vec()))),
        ("a zipped pickle", broken(weights, |_| Some(b"PK\x03\x04rest of an archive".to_vec()))),
        (
            "another model type",
            broken("config.json", replaced("\"model_type\": \"clip\"", "\"model_type\": \"bert\"")),
        ),
        (
            "no heads",
            broken(
                "config.json",
                replaced("\"num_attention_heads\": 2", "\"num_attention_heads\": 0"),
            ),
        ),
        ("an unknown curve", broken("config.json", replaced("quick_gelu", "mish"))),
        ("no tokenizer", broken("tokenizer.json", |_| None)),
        ("another tokenizer", broken("tokenizer.json", |_| Some(b"{}".to_vec()))),
        (
            "another size",
            broken(
                "preprocessor_config.json",
                replaced("\"shortest_edge\": 32", "\"shortest_edge\": 48"),
            ),
        ),
        (
            "another filter",
            broken("preprocessor_config.json", replaced("\"resample\": 3", "\"resample\": 0")),
        ),
    ];
    let folder = regex_free_folder();
    let told: Vec<String> = cases
        .iter()
        .map(|(what, error)| format!("{what}: {}", folder(&error.to_string())))
        .collect();
    insta::assert_snapshot!(told.join("\n"));
}

/// Temporary folders have a new name each time.
fn regex_free_folder() -> impl Fn(&str) -> String {
    let root = std::env::temp_dir();
    move |text: &str| {
        let mut out = Vec::new();
        for word in text.split(' ') {
            let path = word.strip_prefix(&*root.to_string_lossy());
            match path.and_then(|rest| rest.rsplit('/').next()) {
                Some(file) => out.push(format!("FOLDER/{file}")),
                None => out.push(word.to_owned()),
            }
        }
        out.join(" ")
    }
}

/// A pickle beside the place where safetensors should be is named, not opened.
#[test]
fn weights_that_are_only_there_as_a_pickle_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["config.json", "preprocessor_config.json", "tokenizer.json"] {
        std::fs::copy(data("tiny-clip").join(name), folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("pytorch_model.bin"), b"\x80\x02cos\nsystem\n").unwrap();
    let error = load(folder.path(), "broken").err().unwrap().to_string();
    assert!(error.contains("never opened") && error.contains("pytorch_model.bin"), "{error}");
}

#[test]
fn a_folder_of_open_clip_says_to_export_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["open_clip_config.json", "open_clip_model.safetensors"] {
        std::fs::write(folder.path().join(name), b"{}").unwrap();
    }
    let error = load(folder.path(), "MobileCLIP").err().unwrap().to_string();
    assert!(error.contains("ONNX") && error.contains("encoder.toml"), "{error}");
}
