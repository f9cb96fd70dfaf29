//! The sentence encoder gives the numbers of the Python libraries it stands in for.

use std::path::{Path, PathBuf};

use safetensors::SafeTensors;
use stitch_core::features::similarity;
use stitch_engine::sentence::SentenceEncoder;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[derive(serde::Deserialize)]
struct Golden {
    text: String,
    row: Vec<f32>,
}

#[test]
fn a_small_random_model_gives_the_numbers_of_transformers() {
    let encoder = SentenceEncoder::load(&data("tiny-mpnet")).unwrap();
    let golden = std::fs::read(data("tiny-mpnet/golden.json")).unwrap();
    let golden: Vec<Golden> = serde_json::from_slice(&golden).unwrap();
    let texts: Vec<&str> = golden.iter().map(|golden| golden.text.as_str()).collect();
    let together = encoder.encode(&texts).unwrap();
    for (i, golden) in golden.iter().enumerate() {
        for (ours, theirs) in together.row(i).iter().zip(&golden.row) {
            assert!((ours - theirs).abs() < 2e-6, "{:?}: {ours} {theirs}", golden.text);
        }
        // A text's row does not depend on its company.
        let alone = encoder.encode(&[golden.text.as_str()]).unwrap();
        assert!(similarity(alone.row(0), together.row(i)) > 0.999_999);
    }
}

#[derive(serde::Deserialize)]
struct MultilingualGolden {
    text: String,
    row: Vec<f32>,
    /// Where the same tensors are read as those of a BERT.
    bert: Vec<f32>,
}

/// The golden rows are made by recipes/golden/make_tiny_xlmr.py.
#[test]
fn a_small_multilingual_model_gives_the_published_numbers() {
    let golden = std::fs::read(data("tiny-xlmr/golden.json")).unwrap();
    let golden: Vec<MultilingualGolden> = serde_json::from_slice(&golden).unwrap();
    let texts: Vec<&str> = golden.iter().map(|golden| golden.text.as_str()).collect();
    let bert = copy_of("tiny-xlmr");
    let path = bert.path().join("config.json");
    let config = std::fs::read(&path).unwrap();
    std::fs::write(&path, replace(config, "\"xlm-roberta\"", "\"bert\"")).unwrap();
    for (folder, is_bert) in [(data("tiny-xlmr").as_path(), false), (bert.path(), true)] {
        let encoder = SentenceEncoder::load(folder).unwrap();
        assert_eq!((encoder.is_mpnet(), encoder.is_multilingual()), (false, !is_bert));
        let rows = encoder.encode(&texts).unwrap();
        for (golden, ours) in golden.iter().zip(rows.rows()) {
            let theirs = if is_bert { &golden.bert } else { &golden.row };
            assert_eq!(ours.len(), theirs.len());
            for (ours, theirs) in ours.iter().zip(theirs) {
                assert!((ours - theirs).abs() < 5e-6, "{:?}: {ours} {theirs}", golden.text);
            }
        }
    }
}

#[test]
fn a_model_of_another_kind_is_refused() {
    let refused = |file: &str, text: &str| {
        let folder = copy_of("tiny-xlmr");
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        SentenceEncoder::load(folder.path()).err().expect("it is refused").to_string()
    };
    let config = std::fs::read_to_string(data("tiny-xlmr/config.json")).unwrap();
    let cases = [
        ("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#.into(), "mean pooling"),
        ("1_Pooling/config.json", r#"{"pooling_mode": "cls"}"#.into(), "mean pooling"),
        ("2_Dense/config.json", "{}".into(), "dense layer"),
        ("config.json", config.replace("xlm-roberta", "distilbert"), "distilbert"),
        ("config.json", config.replace("\"gelu\"", "\"relu\""), "gelu"),
    ];
    for (file, text, expected) in cases {
        let said = refused(file, &text);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn order_is_kept_and_repeats_are_equal() {
    let encoder = SentenceEncoder::load(&data("tiny-mpnet")).unwrap();
    let texts = ["chop the onion", "", "fry", "chop the onion", "fry"];
    let rows = encoder.encode(&texts).unwrap();
    assert_eq!(rows.len(), 5);
    assert_eq!(rows.row(0), rows.row(3));
    assert_eq!(rows.row(2), rows.row(4));
    assert_ne!(rows.row(0), rows.row(2));
    assert!(encoder.encode(&[""; 0]).unwrap().is_empty());
}

/// Runs where all-mpnet-base-v2 is installed.
#[test]
#[allow(clippy::print_stderr)] // a skipped test should say so
fn the_real_model_gives_the_numbers_of_sentence_transformers() {
    let home = std::env::var_os("STITCH_HOME").map(PathBuf::from);
    let cache = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/stitch"));
    let folder = home.or_else(cache).unwrap_or_default().join("models/all-mpnet-base-v2");
    if !folder.join("model.safetensors").exists() {
        eprintln!("skipped: run `stitch models pull all-mpnet-base-v2` first");
        return;
    }
    let encoder = SentenceEncoder::load(&folder).unwrap();
    let texts = std::fs::read(data("mpnet.json")).unwrap();
    let texts: Vec<String> = serde_json::from_slice(&texts).unwrap();
    let bytes = std::fs::read(data("mpnet.safetensors")).unwrap();
    let golden = SafeTensors::deserialize(&bytes).unwrap();
    let golden = golden.tensor("sentences").unwrap().data();
    let golden: Vec<f32> =
        golden.as_chunks().0.iter().map(|b| half::f16::from_le_bytes(*b).to_f32()).collect();
    let ours = encoder.encode(&texts).unwrap();
    for ((text, ours), theirs) in texts.iter().zip(ours.rows()).zip(golden.chunks_exact(768)) {
        let cosine = similarity(ours, theirs) / similarity(theirs, theirs).sqrt();
        assert!(cosine > 1.0 - 1e-4, "{cosine} for {text:?}");
    }
}

/// The files of a model, without its folders, where they can be changed.
fn copy_of(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let entries = std::fs::read_dir(data(name)).unwrap().map(Result::unwrap);
    for entry in entries.filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

/// What a copy of the small model with one file changed says: when it is opened, or of its numbers when
/// they are first needed.
fn broken(name: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let folder = copy_of("tiny-mpnet");
    let path = folder.path().join(name);
    std::fs::write(&path, change(std::fs::read(&path).unwrap())).unwrap();
    let used = SentenceEncoder::load(folder.path()).and_then(|model| model.encode(&["stir"]));
    let error = used.expect_err("a broken model is refused");
    error.to_string().replace(&folder.path().display().to_string(), "MODEL")
}

fn replace(bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
    [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
}

#[test]
fn a_tokenizer_whose_decoder_is_no_json_is_refused() {
    let wrong = |bytes| replace(bytes, "\"decoder\": null", "\"decoder\": unll");
    let said = broken("tokenizer.json", wrong);
    assert!(said.contains("MODEL/tokenizer.json: expected value at line"), "{said}");
}

#[test]
fn a_broken_model_says_what_is_wrong() {
    let weights = "model.safetensors";
    let renamed = |bytes| replace(bytes, "attn.q.weight", "attn.Q.weight");
    let messages = [
        broken(weights, renamed),
        broken(weights, |bytes| bytes[..bytes.len() / 2].to_vec()),
        broken(weights, |_| Vec::new()),
        broken(weights, |_| b"PK\x03\x04 archive/data.pkl".to_vec()),
        broken(weights, |_| b"\x80\x02}q\x00.".to_vec()),
        broken(weights, |mut bytes| {
            let end = bytes.len();
            bytes[end - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
            bytes
        }),
        broken("config.json", |bytes| {
            replace(bytes, "\"intermediate_size\": 64", "\"intermediate_size\": 65")
        }),
        broken("config.json", |bytes| {
            replace(bytes, "\"num_attention_heads\": 4", "\"num_attention_heads\": 5")
        }),
        broken("config.json", |_| b"{\"hidden_size\": 32}".to_vec()),
        broken("tokenizer.json", |_| b"{}".to_vec()),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
