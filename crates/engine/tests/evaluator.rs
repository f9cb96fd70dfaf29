//! The evaluator gives PyTorch's numbers, shares work without changing them, and refuses broken
//! models with a reason.

use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use proptest::prelude::*;
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::features::Features;
use stitch_core::pool::Pool;
use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{Config, Dropout, Evaluator, EvaluatorError};
use stitch_engine::models::{Card, Role, Store};
use stitch_engine::scorer::{Query, Scorer};

#[derive(serde::Deserialize)]
struct Golden {
    steps: Vec<f32>,
    lengths: Vec<usize>,
    logits: Vec<f32>,
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn tiny(name: &str) -> Evaluator {
    Evaluator::load(&data(name), &Device::Cpu).unwrap()
}

fn golden(name: &str) -> Golden {
    let bytes = std::fs::read(data(name).join("golden.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

const BOTH: [&str; 2] = ["tiny-evaluator-post", "tiny-evaluator-pre"];

fn assert_near(ours: &[f32], theirs: &[f32]) {
    assert_eq!(ours.len(), theirs.len());
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() < 1e-5, "{ours:?} {theirs:?}");
    }
}

#[test]
fn logits_are_those_of_pytorch_with_and_without_gradients() {
    for name in BOTH {
        let (evaluator, golden) = (tiny(name), golden(name));
        let steps = Tensor::from_slice(&golden.steps, (4, 5, 12), &Device::Cpu).unwrap();
        let fused = evaluator.logits(&steps, &golden.lengths, None).unwrap();
        assert_near(&fused.to_vec1::<f32>().unwrap(), &golden.logits);
        let variable = candle_core::Var::from_tensor(&steps).unwrap();
        let tracked = evaluator.logits(variable.as_tensor(), &golden.lengths, None).unwrap();
        assert_near(&tracked.to_vec1::<f32>().unwrap(), &golden.logits);
        let gradients = tracked.sum_all().unwrap().backward().unwrap();
        let gradient = gradients.get(variable.as_tensor()).unwrap();
        let padded = gradient.narrow(0, 1, 1).unwrap().narrow(1, 1, 4).unwrap();
        let padded = padded.abs().unwrap().sum_all().unwrap().to_scalar::<f32>().unwrap();
        assert_eq!(padded, 0.0, "padding has no influence");
    }
}

/// Rows that look random and are the same every time.
fn features(rows: usize, dim: usize, seed: usize) -> Features {
    let number = |i: usize| ((i + 31 * seed + 1) as f32 * 12.9898).sin();
    Features::new(dim, (0..rows * dim).map(number).collect()).unwrap()
}

fn pool(clips: usize) -> Pool {
    let span = Span::new(0, 1).unwrap();
    let clip = Clip { video: VideoId(0), span, text: String::new() };
    Pool::new(vec![clip; clips], features(clips, 6, 1), features(clips, 6, 2)).unwrap()
}

/// The slow way: every candidate alone, nothing shared.
fn alone(evaluator: &Evaluator, steps: &Features, pool: &Pool, sequence: &Sequence) -> f32 {
    let shown = steps.rows().zip(&sequence.0).filter_map(|(step, clip)| Some((step, (*clip)?)));
    let rows = shown.map(|(step, clip)| [step, pool.clip_features().row(clip.row())].concat());
    let rows: Vec<Vec<f32>> = rows.collect();
    let tensor = Tensor::from_vec(rows.concat(), (1, rows.len(), 12), &Device::Cpu).unwrap();
    let logit = evaluator.logits(&tensor, &[rows.len()], None).unwrap();
    1.0 / (1.0 + (-logit.to_vec1::<f32>().unwrap()[0]).exp())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn sharing_work_among_candidates_changes_no_score(
        candidates in proptest::collection::vec(
            proptest::collection::vec(proptest::option::weighted(0.8, 0u32..7), 5), 1..90),
        pre in proptest::bool::ANY,
    ) {
        let evaluator = tiny(BOTH[usize::from(pre)]);
        let (pool, steps) = (pool(7), features(5, 6, 3));
        let sequence = |clips: Vec<Option<u32>>| {
            Sequence(clips.into_iter().map(|clip| clip.map(ClipId)).collect())
        };
        let candidates: Vec<Sequence> = candidates.into_iter().map(sequence).collect();
        let query = Query { texts: &[], text: &steps, clip: &steps, map: None };
        let scores = evaluator.score(&query, &pool, &candidates).unwrap();
        for (score, candidate) in scores.iter().zip(&candidates) {
            let expected = match candidate.0.iter().flatten().count() {
                0 => 0.0,
                _ => alone(&evaluator, &steps, &pool, candidate),
            };
            prop_assert!((score - expected).abs() < 1e-5, "{score} {expected}");
        }
    }
}

#[test]
fn a_procedure_longer_than_the_evaluator_takes_still_gets_a_score() {
    let (pool, steps) = (pool(7), features(300, 6, 3));
    let sequence = Sequence((0..300).map(|i| Some(ClipId(i % 7))).collect());
    let query = Query { texts: &[], text: &steps, clip: &steps, map: None };
    let scores = tiny(BOTH[0]).score(&query, &pool, &[sequence]).unwrap();
    assert!(scores[0] > 0.0 && scores[0] < 1.0);
}

fn card() -> Card {
    Card {
        name: "mine".into(),
        role: Role::Evaluator,
        about: "a test".into(),
        licence: "MIT".into(),
        data: "none".into(),
        origin: "a test".into(),
        seed: Some(3),
        metrics: serde_json::Map::new(),
        sha256: Default::default(),
    }
}

fn config() -> Config {
    let encoder = EncoderId { name: "test".into(), dim: 6, weights: "00".into() };
    Config { width: 16, hidden: 24, heads: 4, ..Config::paper(encoder, "cooking") }
}

#[test]
fn a_saved_evaluator_is_found_by_its_encoder_and_gives_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let encoder = config().encoder;
    let find = |encoder: &EncoderId| Evaluator::for_encoder(&store, encoder).unwrap();
    assert!(find(&encoder).is_none());
    let fresh = Evaluator::fresh(config(), 3, &Device::Cpu).unwrap();
    fresh.save(&folder.path().join("mine"), card()).unwrap();
    let found = find(&encoder).unwrap();
    let steps = Tensor::from_slice(&golden(BOTH[0]).steps, (4, 5, 12), &Device::Cpu).unwrap();
    let logits = |e: &Evaluator| e.logits(&steps, &[5, 1, 3, 4], None).unwrap().to_vec1().unwrap();
    assert_near(&logits(&found), &logits(&fresh));
    assert_eq!(store.list().iter().filter(|entry| entry.role == Role::Evaluator).count(), 1);
    let other = EncoderId { weights: "01".into(), ..encoder.clone() };
    assert!(find(&other).is_none());
    let error = found.check_encoder(&other).unwrap_err();
    assert!(matches!(error, EvaluatorError::Encoder { .. }));
    insta::assert_snapshot!(error, @"the evaluator was trained on features of test (6 numbers, weights 00), these are of test (6 numbers, weights 01); index the library with the former, or train an evaluator with `stitch train`");
}

#[test]
fn a_seed_fixes_the_first_numbers_and_the_dropout() {
    let logits = |seed, dropout| {
        let fresh = Evaluator::fresh(config(), seed, &Device::Cpu).unwrap();
        let steps = Tensor::from_slice(&golden(BOTH[0]).steps, (4, 5, 12), &Device::Cpu).unwrap();
        let mut dropout = Dropout::new(0.1, dropout);
        let logits = fresh.logits(&steps, &[5, 1, 3, 4], Some(&mut dropout)).unwrap();
        logits.to_vec1::<f32>().unwrap()
    };
    assert_eq!(logits(1, 2), logits(1, 2));
    assert_ne!(logits(1, 2), logits(1, 3));
    assert_ne!(logits(1, 2), logits(2, 2));
}

/// A copy of the small evaluator with one file changed.
fn broken(name: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(data(BOTH[0]).join(file), folder.path().join(file)).unwrap();
    }
    let path = folder.path().join(name);
    std::fs::write(&path, change(std::fs::read(&path).unwrap())).unwrap();
    let error = Evaluator::load(folder.path(), &Device::Cpu).err().expect("it is refused");
    assert!(matches!(error, EvaluatorError::Weights(_)), "{error}");
    error.to_string().replace(&folder.path().display().to_string(), "MODEL")
}

fn replace(bytes: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
    [&bytes[..at], to.as_bytes(), &bytes[at + from.len()..]].concat()
}

#[test]
fn a_broken_evaluator_says_what_is_wrong() {
    let weights = "model.safetensors";
    let messages = [
        broken(weights, |bytes| replace(bytes, "linear1.weight", "linear9.weight")),
        broken(weights, |bytes| bytes[..bytes.len() - 8].to_vec()),
        broken(weights, |_| b"\x80\x02}q\x00.".to_vec()),
        broken(weights, |bytes| {
            let end = bytes.len();
            [&bytes[..end - 4], f32::NAN.to_le_bytes().as_slice()].concat()
        }),
        broken("config.json", |bytes| replace(bytes, "\"dim\": 6", "\"dim\": 7")),
        broken("config.json", |bytes| replace(bytes, "\"heads\": 4", "\"heads\": 3")),
        broken("config.json", |bytes| replace(bytes, "\"evaluator\"", "\"mpnet\"")),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}
