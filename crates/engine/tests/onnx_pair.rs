//! Pairs of ONNX graphs by an encoder.toml, or by the files that an export comes with. The graphs are made by recipes/golden/onnx_pairs.py.
//! Needs ONNX Runtime (`stitch models pull onnxruntime`); without it these tests say so and pass.

#![allow(clippy::print_stderr)] // a skipped test says so

use std::path::{Path, PathBuf};

use stitch_core::features::similarity;
use stitch_engine::encoder::{Encoder, Picture, Towers, load_folder, onnx_runtime};
use stitch_engine::models::Store;
use stitch_engine::session::Home;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The models where `make setup` left them, if the runtime is among them.
fn store() -> Option<Store> {
    let store = Home::from_environment().store();
    onnx_runtime(&store).map_err(|error| eprintln!("skipped: {error}")).ok().map(|_| store)
}

#[derive(serde::Deserialize)]
struct Golden {
    pictures: Vec<GoldenPictures>,
    texts: Vec<GoldenText>,
}

#[derive(serde::Deserialize)]
struct GoldenPictures {
    pictures: Vec<String>,
    row: Vec<f32>,
}

#[derive(serde::Deserialize)]
struct GoldenText {
    text: String,
    row: Vec<f32>,
}

#[test]
fn pairs_of_pictures_and_of_clips_give_the_numbers_of_the_runtime() {
    let Some(store) = store() else { return };
    for name in ["onnx-pictures", "onnx-clips", "onnx-hub"] {
        let encoder = load_folder(&data(name), name, Towers::Both, &store).unwrap();
        let golden = std::fs::read(data(name).join("golden.json")).unwrap();
        let golden: Golden = serde_json::from_slice(&golden).unwrap();
        let texts: Vec<&str> = golden.texts.iter().map(|golden| golden.text.as_str()).collect();
        let read = encoder.encode_text(&texts).unwrap();
        for (ours, golden) in read.rows().zip(&golden.texts) {
            assert!(similarity(ours, &golden.row) > 0.99999, "{name} {}", golden.text);
        }
        let tower = encoder.image_tower().unwrap();
        let prepared = |name: &String| {
            let bytes = std::fs::read(data("pictures").join(name)).unwrap();
            tower.spec().prepare(&Picture::decode(&bytes).unwrap()).rgb
        };
        let pictures: Vec<Vec<u8>> =
            golden.pictures.iter().flat_map(|g| g.pictures.iter().map(prepared)).collect();
        let pictures: Vec<&[u8]> = pictures.iter().map(Vec::as_slice).collect();
        let seen = tower.encode(&pictures).unwrap().features;
        assert_eq!(seen.len(), golden.pictures.len());
        for (ours, golden) in seen.rows().zip(&golden.pictures) {
            let cosine = similarity(ours, &golden.row);
            assert!(cosine > 0.99999, "{name} {:?} {cosine}", golden.pictures);
        }
    }
}

/// A copy of the pair with one file changed, and what is said of it.
fn broken(store: &Store, name: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(data("onnx-pictures")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let path = folder.path().join(name);
    std::fs::write(&path, change(std::fs::read(&path).unwrap())).unwrap();
    match load_folder(folder.path(), "broken", Towers::Both, store) {
        Ok(_) => panic!("a broken {name} was taken"),
        Err(error) => error.to_string().replace(&folder.path().display().to_string(), "FOLDER"),
    }
}

#[test]
fn a_broken_pair_says_what_is_wrong() {
    let Some(store) = store() else { return };
    let toml = |from: &'static str, to: &'static str| {
        broken(&store, "encoder.toml", move |bytes| {
            let text = String::from_utf8(bytes).unwrap();
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1).into_bytes()
        })
    };
    let unknown = std::fs::read(data("onnx-unknown/image.onnx")).unwrap();
    let cases = [
        ("Frobnicate", broken(&store, "image.onnx", |_| unknown.clone())),
        ("cannot be used", broken(&store, "image.onnx", |bytes| bytes[..99].to_vec())),
        ("there is no input `picture`; there is pixels", toml("\"pixels\"", "\"picture\"")),
        (
            "there is no output `vector`; there is image_embeds",
            toml("\"image_embeds\"", "\"vector\""),
        ),
        ("not [1, 5] as `dim` says", toml("dim = 4", "dim = 5")),
        ("the graph failed", toml("width = 8", "width = 16")),
        ("NTCHW and NCTHW have", toml("frames = 1", "frames = 8")),
        ("unknown variant `HWC`", toml("\"NCHW\"", "\"HWC\"")),
        ("unknown field `colour`", toml("fps = 8", "colour = 8")),
        ("missing field `tokenizer`", toml("tokenizer = \"tokenizer.json\"", "")),
        ("std must be above 0", toml("std = [0.2", "std = [0.0")),
        ("no_such.onnx", toml("text.onnx", "no_such.onnx")),
    ];
    for (expected, said) in cases {
        assert!(said.contains(expected), "{expected:?} is not in {said:?}");
    }
}

#[test]
fn what_the_graphs_say_need_not_be_described() {
    let Some(store) = store() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in ["image.onnx", "text.onnx", "tokenizer.json"] {
        std::fs::copy(data("onnx-pictures").join(name), folder.path().join(name)).unwrap();
    }
    let whole = std::fs::read_to_string(data("onnx-pictures/encoder.toml")).unwrap();
    let said = ["dim", "input", "output", "mask", "width", "height"];
    let is_said = |line: &&str| said.contains(&line.split(' ').next().unwrap_or_default());
    let short: Vec<&str> = whole.lines().filter(|line| !is_said(line)).collect();
    std::fs::write(folder.path().join("encoder.toml"), short.join("\n")).unwrap();
    let load = |folder: &Path| load_folder(folder, "pair", Towers::Both, &store).unwrap();
    let (long, short) = (load(&data("onnx-pictures")), load(folder.path()));
    let texts = ["chop the onion", "fry"];
    assert_eq!(long.encode_text(&texts).unwrap(), short.encode_text(&texts).unwrap());
    assert_eq!(long.image_tower().unwrap().spec(), short.image_tower().unwrap().spec());
}

/// A file's name, and its new bytes; none to remove it.
type Change<'a> = (&'a str, Option<&'a [u8]>);

/// What is said of a copy of the export in the hub's layout with some files changed or gone.
fn broken_export(store: &Store, changes: &[Change]) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("onnx")).unwrap();
    let files = [
        "onnx/vision_model.onnx",
        "onnx/vision_model.onnx_data",
        "onnx/text_model.onnx",
        "config.json",
        "preprocessor_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ];
    for name in files {
        std::fs::copy(data("onnx-hub").join(name), folder.path().join(name)).unwrap();
    }
    for (name, bytes) in changes {
        let path = folder.path().join(name);
        match bytes {
            Some(bytes) => std::fs::write(path, bytes).unwrap(),
            None => std::fs::remove_file(path).unwrap(),
        }
    }
    match load_folder(folder.path(), "broken", Towers::Both, store) {
        Ok(_) => panic!("{changes:?} was taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_an_export_does_not_say_is_named_with_what_to_write() {
    let Some(store) = store() else { return };
    let text = std::fs::read(data("onnx-hub/onnx/text_model.onnx")).unwrap();
    let two_sizes = br#"{"size": {"shortest_edge": 9}, "crop_size": {"height": 8, "width": 8}}"#;
    let cases: [(&str, &[Change]); 6] = [
        (
            "`width`, `height`, `fit`, `filter`, `mean` and `std` under [image]",
            &[("preprocessor_config.json", None)],
        ),
        ("`file` under [image]", &[("onnx/vision_model.onnx", None)]),
        ("`tokenizer` under [text]", &[("tokenizer.json", None)]),
        (
            "`longest = TOKENS` under [text]",
            &[("config.json", None), ("tokenizer_config.json", None)],
        ),
        (
            "there is no input `pixel_values` or `image`; there is input_ids, attention_mask; write",
            &[("onnx/vision_model.onnx", Some(&text[..]))],
        ),
        ("one square size only", &[("preprocessor_config.json", Some(&two_sizes[..]))]),
    ];
    for (expected, changes) in cases {
        let said = broken_export(&store, changes);
        assert!(said.contains("encoder.toml"), "{said}");
        assert!(said.contains(expected), "{expected:?} is not in {said:?}");
    }
}

#[test]
fn a_size_of_an_export_lies_in_a_folder_of_its_own() {
    let Some(store) = store() else { return };
    let folder = tempfile::tempdir().unwrap();
    let size = folder.path().join("onnx/s0");
    std::fs::create_dir_all(&size).unwrap();
    for name in ["vision_model.onnx", "vision_model.onnx_data", "text_model.onnx"] {
        std::fs::copy(data("onnx-hub/onnx").join(name), size.join(name)).unwrap();
    }
    for name in ["config.json", "preprocessor_config.json"] {
        std::fs::copy(data("onnx-hub").join(name), size.join(name)).unwrap();
    }
    for name in ["tokenizer.json", "tokenizer_config.json"] {
        std::fs::copy(data("onnx-hub").join(name), folder.path().join(name)).unwrap();
    }
    let load = |folder: &Path| load_folder(folder, "export", Towers::Both, &store).unwrap();
    let (flat, nested) = (load(&data("onnx-hub")), load(folder.path()));
    assert_eq!(flat.id(), nested.id());
    assert_eq!(flat.encode_text(&["stir"]).unwrap(), nested.encode_text(&["stir"]).unwrap());
}
