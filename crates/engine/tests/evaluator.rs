//! The evaluator gives PyTorch's numbers, shares work without changing them, and refuses broken
//! models with a reason.

mod tensor_evaluator;

use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use proptest::prelude::*;
use stitch_core::clip::{Clip, ClipId, Span, VideoId};
use stitch_core::cover::Sequence;
use stitch_core::features::Features;
use stitch_core::pool::Pool;
use stitch_engine::encoder::EncoderId;
use stitch_engine::evaluator::{
    Activations, Batch, Channels, Config, Dropout, Evaluator, EvaluatorError, Evaluators, Inputs,
    Labels, PlattScaling, Precision, cross_entropy,
};
use stitch_engine::models::{Card, Role, Store};
use stitch_engine::scorer::{Query, Scorer};
use stitch_engine::sentence::SentenceEncoder;
use stitch_nn::kernels::Activation;
use tensor_evaluator::{TensorEvaluator, named};

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
    Evaluator::load(&data(name)).unwrap()
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

/// The golden sequences without their padding.
fn batch(golden: &Golden) -> Batch {
    let rows = golden.steps.chunks_exact(5 * 12).zip(&golden.lengths);
    let inputs = rows.flat_map(|(rows, length)| &rows[..12 * length]).copied().collect();
    Batch { inputs, lengths: golden.lengths.clone() }
}

#[test]
fn logits_are_those_of_pytorch_by_hand_and_by_tensors() {
    for name in BOTH {
        let (evaluator, golden) = (tiny(name), golden(name));
        let batch = batch(&golden);
        assert_near(&evaluator.network.logits(&batch), &golden.logits);
        let logits = TensorEvaluator::new(&evaluator.network).logits(&batch).unwrap();
        assert_near(&logits.to_vec1::<f32>().unwrap(), &golden.logits);
    }
}

/// Evaluators of every shape that there is.
fn shapes() -> impl Iterator<Item = Config> {
    let all = [
        (false, Activation::Relu, 1),
        (false, Activation::Gelu, 3),
        (true, Activation::Relu, 3),
        (true, Activation::Gelu, 1),
    ];
    all.into_iter().map(|(norm_first, activation, layers)| Config {
        norm_first,
        activation,
        layers,
        channels: Channels { similarity: norm_first, source: true, ..Channels::default() },
        ..config()
    })
}

/// Sequences of different lengths, and what they are.
fn training_batch(config: &Config) -> (Batch, Labels) {
    let lengths = vec![5, 1, 3, 4, 2];
    let number = |i: usize| ((i + 1) as f32 * 12.9898).sin();
    let inputs = (0..15 * config.inputs()).map(number).collect();
    let right = vec![true, false, false, true, false];
    (Batch { inputs, lengths }, Labels { right, weight_of_right: 1.5 })
}

/// A fresh evaluator, moved a little so that nothing is 0 or 1.
fn moved(config: Config) -> Evaluator {
    let mut evaluator = Evaluator::fresh(config, 3).unwrap();
    let number = |i: usize| 0.1 * ((i + 1) as f32 * 7.77).sin();
    evaluator.network.parameters.iter_mut().enumerate().for_each(|(i, x)| *x += number(i));
    evaluator
}

#[test]
fn gradients_by_hand_are_those_of_tensors() {
    for config in shapes() {
        let (batch, labels) = training_batch(&config);
        let evaluator = moved(config.clone());
        let mut gradient = vec![f32::NAN; evaluator.network.parameters.len()];
        let mut activations = Activations::new(&config.network());
        let loss = evaluator.network.loss(
            &batch,
            &labels,
            Dropout::none(),
            &mut activations,
            &mut gradient,
        );
        assert!((loss - cross_entropy(&evaluator.network.logits(&batch), &labels)).abs() < 1e-6);
        let tensors = TensorEvaluator::new(&evaluator.network);
        let logits = tensors.logits(&batch).unwrap();
        let number = |right: &bool| f32::from(u8::from(*right));
        let row = |of: &dyn Fn(&bool) -> f32| {
            let numbers: Vec<f32> = labels.right.iter().map(of).collect();
            Tensor::from_vec(numbers, labels.right.len(), &Device::Cpu).unwrap()
        };
        let (targets, weights) = (row(&number), row(&|right| labels.weight(*right)));
        let p = candle_nn::ops::sigmoid(&logits).unwrap();
        let right = (&targets * p.log().unwrap()).unwrap();
        let wrong = ((1.0 - &targets).unwrap() * (1.0 - &p).unwrap().log().unwrap()).unwrap();
        let theirs =
            ((right + wrong).unwrap() * weights).unwrap().mean_all().unwrap().neg().unwrap();
        assert!((theirs.to_scalar::<f32>().unwrap() - loss).abs() < 1e-5);
        let theirs = theirs.backward().unwrap();
        for (name, _, ours) in named(&evaluator.network, &gradient) {
            let variable = tensors.variables[&name].as_tensor();
            let theirs = theirs.get(variable).unwrap().flatten_all().unwrap();
            for (a, b) in ours.iter().zip(theirs.to_vec1::<f32>().unwrap()) {
                assert!((a - b).abs() < 2e-5 + 1e-3 * b.abs(), "{name}: {a} {b}");
            }
        }
    }
}

/// The gradient is the slope of the loss, also where numbers are left out.
#[test]
fn gradients_are_slopes_with_dropout() {
    for config in shapes() {
        let (batch, labels) = training_batch(&config);
        let dropout = Dropout::new(0.3, 5);
        let mut evaluator = moved(config.clone());
        let mut gradient = vec![0.0; evaluator.network.parameters.len()];
        let mut activations = Activations::new(&config.network());
        evaluator.network.loss(&batch, &labels, dropout, &mut activations, &mut gradient);
        let steep: f64 = gradient.iter().map(|g| f64::from(*g).powi(2)).sum();
        let step = 1e-3 / steep.sqrt();
        let mut other = gradient.clone();
        let mut loss_at = |way: f64| {
            let was = evaluator.network.parameters.clone();
            for (x, g) in evaluator.network.parameters.iter_mut().zip(&gradient) {
                *x += (way * step * f64::from(*g)) as f32;
            }
            let loss =
                evaluator.network.loss(&batch, &labels, dropout, &mut activations, &mut other);
            evaluator.network.parameters.copy_from_slice(&was);
            f64::from(loss)
        };
        let slope = (loss_at(1.0) - loss_at(-1.0)) / (2.0 * step);
        assert!((slope / steep - 1.0).abs() < 0.02, "{slope} {steep}");
    }
}

#[test]
fn a_second_pass_in_the_same_memory_gives_the_same_gradient() {
    let config = config();
    let evaluator = moved(config.clone());
    let (batch, labels) = training_batch(&config);
    let short = Batch { inputs: batch.inputs[..config.inputs()].to_vec(), lengths: vec![1] };
    let mut activations = Activations::new(&config.network());
    let mut gradients = [(); 2].map(|()| vec![0.0; evaluator.network.parameters.len()]);
    evaluator.network.loss(
        &batch,
        &labels,
        Dropout::new(0.1, 1),
        &mut activations,
        &mut gradients[0],
    );
    let one = Labels { right: vec![true], weight_of_right: 1.0 };
    evaluator.network.loss(&short, &one, Dropout::new(0.1, 2), &mut activations, &mut gradients[1]);
    evaluator.network.loss(
        &batch,
        &labels,
        Dropout::new(0.1, 1),
        &mut activations,
        &mut gradients[1],
    );
    assert!(gradients[0] == gradients[1]);
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
    let shown: Vec<_> =
        sequence.0.iter().enumerate().filter_map(|(i, clip)| Some((i, (*clip)?))).collect();
    let mut batch = Batch::default();
    Inputs::new(evaluator.config.channels, steps, pool).add(&shown, &mut batch);
    evaluator.config.calibration.log_odds(evaluator.network.logits(&batch)[0])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn sharing_work_among_candidates_changes_no_score(
        candidates in proptest::collection::vec(
            proptest::collection::vec(proptest::option::weighted(0.8, 0u32..7), 5), 1..90),
        which in 0usize..4,
    ) {
        let mut evaluator = moved(shapes().nth(which).unwrap());
        evaluator.config.calibration = PlattScaling { scale: 0.5, shift: 0.1 };
        let (pool, steps) = (pool(7), features(5, 6, 3));
        let sequence = |clips: Vec<Option<u32>>| {
            Sequence(clips.into_iter().map(|clip| clip.map(ClipId)).collect())
        };
        let candidates: Vec<Sequence> = candidates.into_iter().map(sequence).collect();
        let query = Query { texts: &[], text: &steps, clip: &steps, search: None };
        let scores = evaluator.score(&query, &pool, &candidates).unwrap();
        for (score, candidate) in scores.iter().zip(&candidates) {
            let expected = match candidate.0.iter().flatten().count() {
                0 => -1e3,
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
    let query = Query { texts: &[], text: &steps, clip: &steps, search: None };
    let scores = tiny(BOTH[0]).score(&query, &pool, &[sequence]).unwrap();
    assert!(scores[0].is_finite() && scores[0] > -1e3);
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
    let sentence = SentenceEncoder::load(&data("tiny-mpnet")).unwrap();
    let find = |encoder: &EncoderId| Evaluators::find(&store, encoder, None, &sentence).unwrap();
    assert!(find(&encoder).is_none());
    let fresh = moved(config());
    fresh.save(&folder.path().join("mine"), card(), Precision::F32).unwrap();
    let of_domain = |domain| Evaluators::find(&store, &encoder, Some(domain), &sentence);
    assert!(find(&encoder).is_some() && of_domain("cooking").is_ok());
    assert!(of_domain("gardening").is_err());
    let found = Evaluator::load(&folder.path().join("mine")).unwrap();
    let (batch, _) = training_batch(&fresh.config);
    assert_eq!(found.network.logits(&batch), fresh.network.logits(&batch));
    assert_eq!(found.config, fresh.config);
    assert_eq!(store.list().iter().filter(|entry| entry.card.role == Role::Evaluator).count(), 1);
    let other = EncoderId { weights: "01".into(), ..encoder.clone() };
    assert!(find(&other).is_none());
    let error = found.check_encoder(&other).unwrap_err();
    assert!(matches!(error, EvaluatorError::Encoder { .. }));
    insta::assert_snapshot!(error, @"the evaluator was trained on features of test (6 numbers, weights 00), these are of test (6 numbers, weights 01); index the library with the former, or train an evaluator with `stitch train`");
}

#[test]
fn half_precision_halves_the_file_and_hardly_changes_a_logit() {
    let folder = tempfile::tempdir().unwrap();
    let evaluator = moved(config());
    let size = |name: &str, precision| {
        evaluator.save(&folder.path().join(name), card(), precision).unwrap();
        folder.path().join(name).join("model.safetensors").metadata().unwrap().len()
    };
    let (whole, half) = (size("whole", Precision::F32), size("half", Precision::F16));
    assert!(half < whole * 6 / 10, "{half} {whole}");
    let (batch, _) = training_batch(&evaluator.config);
    let halved = Evaluator::load(&folder.path().join("half")).unwrap();
    for (a, b) in halved.network.logits(&batch).iter().zip(evaluator.network.logits(&batch)) {
        assert!((a - b).abs() < 0.01, "{a} {b}");
    }
}

#[test]
fn of_two_domains_the_one_asked_for_or_the_nearest_judges() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let abouts = [("cooking", "Fry the onion in a pan."), ("woodworking", "Saw the board.")];
    for (seed, (domain, about)) in abouts.into_iter().enumerate() {
        let config = Config { domain: domain.into(), ..config() };
        let card = Card { about: about.into(), ..card() };
        let evaluator = Evaluator::fresh(config, seed as u64).unwrap();
        evaluator.save(&folder.path().join(domain), card, Precision::F16).unwrap();
    }
    let sentence = SentenceEncoder::load(&data("tiny-mpnet")).unwrap();
    let encoder = config().encoder;
    let (pool, steps) = (pool(7), features(2, 6, 3));
    let candidates = [Sequence(vec![Some(ClipId(0)), Some(ClipId(3))])];
    let score = |scorer: &dyn Scorer, said: &str| {
        let texts = [said.to_owned(), said.to_owned()];
        let text = sentence.encode(&texts).unwrap();
        let query = Query { texts: &texts, text: &text, clip: &steps, search: None };
        scorer.score(&query, &pool, &candidates).unwrap()
    };
    let alone = |domain: &str| Evaluator::load(&folder.path().join(domain)).unwrap();
    let all = Evaluators::find(&store, &encoder, None, &sentence).unwrap().unwrap();
    for (domain, about) in abouts {
        assert_eq!(score(&all, about), score(&alone(domain), about));
        let asked = Evaluators::find(&store, &encoder, Some(domain), &sentence).unwrap().unwrap();
        for (_, other) in abouts {
            assert_eq!(score(&asked, other), score(&alone(domain), about));
        }
    }
    // A second one of a domain is averaged with the first.
    let second = Evaluator::fresh(config(), 9).unwrap();
    second.save(&folder.path().join("cooking-2"), card(), Precision::F32).unwrap();
    let asked = Evaluators::find(&store, &encoder, Some("cooking"), &sentence).unwrap().unwrap();
    let mean = (score(&alone("cooking"), "a")[0] + score(&second, "a")[0]) / 2.0;
    assert!((score(&asked, "a")[0] - mean).abs() < 1e-6);
    let error = Evaluators::find(&store, &encoder, Some("knots"), &sentence).err().unwrap();
    insta::assert_snapshot!(error, @"there is no evaluator of the domain `knots` for this encoder (there is cooking, woodworking); leave out `--domain`, or train one with `stitch train --domain knots`");
}

#[test]
fn a_seed_fixes_the_first_numbers() {
    let numbers = |seed| Evaluator::fresh(config(), seed).unwrap().network.parameters;
    assert!(numbers(1) == numbers(1) && numbers(1) != numbers(2));
}

/// A copy of the small evaluator with one file changed.
fn broken(name: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(data(BOTH[0]).join(file), folder.path().join(file)).unwrap();
    }
    let path = folder.path().join(name);
    std::fs::write(&path, change(std::fs::read(&path).unwrap())).unwrap();
    let error = Evaluator::load(folder.path()).err().expect("it is refused");
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

/// Where there is a GPU, it makes the same loss and gradients as the CPU, with the same numbers left out;
/// in 16 bits a loss that is near.
#[cfg(feature = "cuda")]
#[test]
#[allow(clippy::print_stderr)] // a test that checked nothing says so
fn gradients_on_a_gpu_are_those_on_cpu() {
    use stitch_engine::evaluator::gpu::{Arithmetic, GpuNetwork};
    let length =
        |numbers: &mut dyn Iterator<Item = f32>| numbers.map(|x| x * x).sum::<f32>().sqrt();
    for config in shapes() {
        let (batch, labels) = training_batch(&config);
        let evaluator = moved(config.clone());
        let on_gpu =
            |how| GpuNetwork::new(&config.network(), &evaluator.network.parameters, None, how);
        let (mut exact, mut rough) = match (on_gpu(Arithmetic::F32), on_gpu(Arithmetic::Bf16)) {
            (Ok(exact), Ok(rough)) => (exact, rough),
            (Err(error), _) | (_, Err(error)) => return eprintln!("not checked: {error}"),
        };
        for dropout in [Dropout::none(), Dropout::new(0.2, 7)] {
            let mut gradient = vec![0.0; evaluator.network.parameters.len()];
            let mut activations = Activations::new(&config.network());
            let loss =
                evaluator.network.loss(&batch, &labels, dropout, &mut activations, &mut gradient);
            let (its_loss, its_gradient) = exact.loss(&batch, &labels, dropout).unwrap();
            let (near, _) = rough.loss(&batch, &labels, dropout).unwrap();
            assert!((loss - its_loss).abs() < 1e-5 && (loss - near).abs() < 1e-2, "{loss} {near}");
            let theirs = named(&evaluator.network, &its_gradient);
            for ((name, _, ours), (_, _, theirs)) in
                named(&evaluator.network, &gradient).into_iter().zip(theirs)
            {
                let pairs = ours.iter().zip(&theirs);
                let apart = length(&mut pairs.clone().map(|(a, b)| a - b));
                let whole = length(&mut pairs.map(|(a, _)| *a));
                assert!(apart < 1e-4 * whole.max(1e-3), "{name}: {apart} of {whole}");
            }
        }
    }
}
