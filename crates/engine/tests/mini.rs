//! The encoder that comes with the program, against the numbers that training left beside it. Needs
//! ONNX Runtime (`stitch models pull onnxruntime`); without it these tests say so and pass.

#![allow(clippy::print_stderr)] // a skipped test says so

use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use stitch_core::features::{Features, similarity};
use stitch_engine::encoder::{Encoder, EncoderModels, mini, onnx_runtime};
use stitch_engine::media::Decode;
use stitch_engine::models::{NnError, Store, Weights};
use stitch_engine::sentence::SentenceEncoder;
use stitch_engine::session::Home;
use stitch_nn::onnx::{Graph, Input, Runtime};

#[derive(Deserialize)]
struct Golden {
    image_256: Vec<f32>,
}

/// The runtime where `make setup` left it.
fn runtime() -> Option<Runtime> {
    match onnx_runtime(&Home::from_environment().store()) {
        Ok(runtime) => Some(runtime),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

fn shipped(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models/mini");
    std::fs::read(folder.join(name)).unwrap()
}

#[test]
fn the_image_towers_give_what_training_left() {
    let Some(runtime) = runtime() else { return };
    let golden: Golden = serde_json::from_slice(&shipped("golden.json")).unwrap();
    let pixel = |c: usize, y: usize, x: usize| (((c + 1) * x + 2 * y) % 256) as u8;
    let mut planes = Vec::new();
    for c in 0..3 {
        (0..256).for_each(|y| planes.extend((0..256).map(|x| pixel(c, y, x))));
    }
    let half = |name: &str| {
        let graph = Graph::from_bytes(&runtime, name, shipped(name)).unwrap();
        let input = Input::Bytes(&[1, 3, 256, 256], &planes);
        let output = graph.run(&[("pixels", input)], "features").unwrap();
        assert_eq!(output.shape, [1, 192]);
        Features::new(192, output.data).unwrap()
    };
    let whole = Features::side_by_side(&[half("image1.onnx"), half("image2.onnx")]);
    assert!(similarity(whole.row(0), &golden.image_256) > 0.9999);
}

#[test]
fn appearance_is_what_the_towers_see_before_their_heads() {
    let Some(runtime) = runtime() else { return };
    let golden = Weights::from_bytes("appearance", &shipped("appearance.safetensors")).unwrap();
    let golden = golden.tensor("golden", &[128]).unwrap();
    let model = sentence_model();
    let sentences = Arc::new(SentenceEncoder::load(model.path()).unwrap());
    let encoder = mini::load(Some(&runtime), sentences, "0").unwrap();
    let pixel = |c: usize, y: usize, x: usize| (((c + 1) * x + 2 * y) % 256) as u8;
    let pixels = (0..256).flat_map(|y| (0..256).flat_map(move |x| [0, 1, 2].map(|c| (c, y, x))));
    let frame: Vec<u8> = pixels.map(|(c, y, x)| pixel(c, y, x)).collect();
    let seen = encoder.image_tower().unwrap().encode(&[&frame, &frame]).unwrap();
    let appearance = seen.appearance.unwrap();
    assert_eq!((appearance.len(), appearance.dim()), (1, 128));
    assert!(similarity(appearance.row(0), &golden) > 0.999);
}

#[test]
fn what_is_wrong_with_a_graph_is_said() {
    let Some(runtime) = runtime() else { return };
    let whole = shipped("image1.onnx");
    let cut = Graph::from_bytes(&runtime, "cut.onnx", whole[..whole.len() / 2].to_vec());
    assert!(matches!(cut, Err(NnError::Graph { .. })));
    let graph = Graph::from_bytes(&runtime, "mini", whole).unwrap();
    let error = graph.run(&[], "colours").unwrap_err().to_string();
    assert!(error.starts_with("mini: there is no output `colours`; there is features"), "{error}");
}

#[test]
fn a_head_for_another_sentence_model_is_refused() {
    let Some(runtime) = runtime() else { return };
    let tiny = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny-mpnet");
    let sentences = Arc::new(SentenceEncoder::load(&tiny).unwrap());
    let loaded = mini::load(Some(&runtime), sentences, "0");
    let error = loaded.map(|encoder| encoder.id().clone()).unwrap_err().to_string();
    assert!(error.contains("sentence"), "{error}");
}

/// The folder of a sentence model with the sizes of all-mpnet-base-v2 and no tensors.
fn sentence_model() -> tempfile::TempDir {
    let tiny = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny-mpnet");
    let folder = tempfile::tempdir().unwrap();
    for name in ["sentence_bert_config.json", "tokenizer.json"] {
        std::fs::copy(tiny.join(name), folder.path().join(name)).unwrap();
    }
    let config = std::fs::read_to_string(tiny.join("config.json")).unwrap();
    let config = config.replace("\"hidden_size\": 32", "\"hidden_size\": 768");
    std::fs::write(folder.path().join("config.json"), config).unwrap();
    let weights = [&2u64.to_le_bytes()[..], b"{}"].concat();
    std::fs::write(folder.path().join("model.safetensors"), weights).unwrap();
    folder
}

#[test]
fn a_multilingual_model_of_the_same_size_is_refused() {
    let folder = sentence_model();
    let path = folder.path().join("config.json");
    let config = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, config.replacen('{', r#"{"model_type": "xlm-roberta","#, 1)).unwrap();
    let sentences = Arc::new(SentenceEncoder::load(folder.path()).unwrap());
    let error = mini::load(None, sentences, "0").err().expect("it is refused").to_string();
    assert!(error.contains("--encoder narration"), "{error}");
}

#[test]
fn texts_need_no_onnx_runtime() {
    let folder = sentence_model();
    let sentence = Arc::new(SentenceEncoder::load(folder.path()).unwrap());
    let store = Store::new(folder.path().join("no models"));
    let decode = Decode::Exact;
    let models = EncoderModels { store: &store, sentence: &sentence, sentence_weights: "", decode };
    let texts = models.load_texts("mini").unwrap();
    assert!(texts.id().name == "mini" && !texts.sees());
    let rows = Features::new(768, vec![1.0; 768]).unwrap();
    for encoder in [texts, models.load("features:mini").unwrap()] {
        let projected = encoder.project_sentences(&rows).unwrap().unwrap();
        assert_eq!((projected.len(), projected.dim()), (1, encoder.id().dim));
    }
}
