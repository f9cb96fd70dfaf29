//! The recogniser gives the numbers of the Python library it stands in for, and keeps its rules.

use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::UncertainWord;
use super::decode::{Alternatives, Decoder, Text};
use super::sampling::{forbid_tokens, sample};
use super::segments::{Utterance, segments};
use super::session::{best_warp, uncertain_words};
use super::vocabulary::Vocabulary;
use crate::progress::Silent;
use crate::transcript::Caption;
use stitch_core::random::SplitMix64;
use stitch_nn::whisper::mel::{FRAMES, LogMel, VTLN_WARPS};
use stitch_nn::whisper::{Whisper, WhisperConfig};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The sound of recipes/golden/whisper.py.
fn sound() -> Vec<f32> {
    let sample = |n: i64| {
        let hum = (n * 7919 % 400 - 200) * 20;
        let chirp = (n * n / 2000 % 512 - 256) * 40;
        (hum + chirp) as f32 / 32768.0
    };
    (0..64_000).map(sample).collect()
}

#[derive(serde::Deserialize)]
struct Golden {
    tokens: Vec<u32>,
    encoded: Vec<Vec<f32>>,
    logits: Vec<Vec<f32>>,
}

fn golden(name: &str) -> Golden {
    serde_json::from_slice(&std::fs::read(data(name)).unwrap()).unwrap()
}

fn load(folder: &Path) -> (Whisper, Vocabulary) {
    let config = WhisperConfig::read(folder).unwrap();
    let tokens = Vocabulary::load(folder, &config).unwrap();
    (Whisper::load(folder, config).unwrap(), tokens)
}

fn furthest(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn the_spectrum_is_that_of_transformers() {
    let golden: std::collections::HashMap<usize, Vec<Vec<f32>>> =
        serde_json::from_slice(&std::fs::read(data("whisper-spectra.json")).unwrap()).unwrap();
    for (bands, columns) in golden {
        let ours = LogMel::new(bands).forward(&sound(), 0);
        assert_eq!(ours.len(), FRAMES * bands);
        for (column, theirs) in ours.chunks_exact(bands).step_by(37).zip(&columns) {
            assert!(furthest(column, theirs) < 1e-4, "{bands}: {}", furthest(column, theirs));
        }
    }
}

#[test]
fn a_warped_spectrum_of_a_shifted_tone_is_that_of_the_tone() {
    let spectrum = LogMel::new(80);
    let loudest = |hertz: f64, warp: usize| {
        let tone = |n: usize| (n as f64 * hertz * std::f64::consts::TAU / 16_000.0).sin() as f32;
        let sound: Vec<f32> = (0..16_000).map(tone).collect();
        let column = &spectrum.forward(&sound, warp)[50 * 80..51 * 80];
        (0..80).max_by(|a, b| column[*a].total_cmp(&column[*b])).unwrap()
    };
    for (warp, length) in VTLN_WARPS.into_iter().enumerate() {
        for hertz in [400.0, 1000.0, 3000.0] {
            assert_eq!(loudest(hertz / length, warp), loudest(hertz, 0), "{hertz} Hz, {length}");
        }
    }
}

#[test]
fn the_warp_is_that_of_the_likeliest_text() {
    let heard = |log_probs: [f32; VTLN_WARPS.len()]| {
        let mut tried = 0;
        let text = |mean_log_prob: f32, count: usize| Text {
            tokens: vec![0; count],
            mean_log_prob,
            ..Text::default()
        };
        let found = best_warp(|warp| {
            tried += 1;
            // A long text counts for more than a short one, and an empty one for nothing.
            let sure = log_probs[warp];
            Ok::<_, ()>(vec![text(sure, 30), text(sure - 0.4, 10), text(-9.0, 0)])
        });
        let (warp, texts) = found.unwrap();
        assert_eq!(texts[0].mean_log_prob, log_probs[warp]);
        (warp, tried)
    };
    // One text in four is less likely by 0.4, so the mean is by 0.1.
    assert_eq!(heard([-0.05, 0.0, 0.0]), (0, 1), "clear");
    assert_eq!(heard([-0.3, -0.2, -0.1]), (2, 3));
    assert_eq!(heard([-0.3, -0.1, -0.2]), (1, 3));
    assert_eq!(heard([-0.3, -0.29, -0.5]), (0, 3), "hardly likelier");
}

/// Encoder and decoder against what transformers said; how far off, as a share of the spread.
fn compare(network: &Whisper, golden: &Golden) -> (f32, f32) {
    let spectrum = LogMel::new(network.config.num_mel_bins).forward(&sound(), 0);
    let d = network.config.d_model;
    let encoded = network.encode(&spectrum);
    let rows = encoded.chunks_exact(d).step_by(101).zip(&golden.encoded);
    let far = rows.map(|(ours, theirs)| furthest(ours, theirs) / spread(theirs));
    let heard = network.cross_cache(&spectrum);
    let mut written = network.self_cache();
    let mut logits_far: f32 = 0.0;
    for (token, theirs) in golden.tokens.iter().zip(&golden.logits) {
        let logits =
            network.logits(&network.decode(&[*token], &mut [&mut written], &[(&heard, 1)]));
        let ours: Vec<f32> = logits.iter().step_by(97).copied().collect();
        assert_eq!(ours.len(), theirs.len());
        logits_far = logits_far.max(furthest(&ours, theirs) / spread(theirs));
    }
    (far.fold(0.0, f32::max), logits_far)
}

fn spread(row: &[f32]) -> f32 {
    let (low, high) = row.iter().fold((f32::MAX, f32::MIN), |(l, h), x| (l.min(*x), h.max(*x)));
    high - low
}

#[test]
fn a_small_random_model_gives_the_numbers_of_transformers() {
    let (network, _) = load(&data("tiny-whisper"));
    let (encoder, decoder) = compare(&network, &golden("tiny-whisper.json"));
    // The decoder looks at what was heard in 16 bits.
    assert!(encoder < 1e-4 && decoder < 2e-3, "{encoder} {decoder}");
}

/// Runs where whisper-base is installed.
#[test]
#[allow(clippy::print_stderr)] // a skipped test should say so
fn the_real_model_gives_the_numbers_of_transformers() {
    let home = std::env::var_os("STITCH_HOME").map(PathBuf::from);
    let cache = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/stitch"));
    let folder = home.or_else(cache).unwrap_or_default().join("models/whisper-base");
    if !folder.join("model.safetensors").exists() {
        eprintln!("skipped: run `stitch models pull whisper-base` first");
        return;
    }
    let (network, _) = load(&folder);
    let (encoder, decoder) = compare(&network, &golden("whisper-base.json"));
    assert!(encoder < 1e-3 && decoder < 2e-3, "{encoder} {decoder}");
}

#[test]
fn a_window_is_written_the_same_in_any_company() {
    let (network, tokens) = load(&data("tiny-whisper"));
    let spectrum = LogMel::new(80);
    let sounds = [sound(), sound()[..20_000].to_vec(), vec![0.0; 100], sound()[5000..].to_vec()];
    let heard: Vec<_> =
        sounds.iter().map(|sound| network.cross_cache(&spectrum.forward(sound, 0))).collect();
    let decoder = Decoder { network: &network, vocabulary: &tokens, hint: &[40, 41], beam_size: 3 };
    let language = decoder.language(&heard.iter().collect::<Vec<_>>()).unwrap();
    assert!(tokens.languages.iter().any(|(id, _)| *id == language));
    let together = decoder.texts(&heard.iter().collect::<Vec<_>>(), Some(language), &Silent);
    let together = together.unwrap();
    for (heard, text) in heard.iter().zip(&together).take(1) {
        let alone = &decoder.texts(&[heard], Some(language), &Silent).unwrap()[0];
        assert_eq!(alone.tokens, text.tokens);
    }
    for text in &together {
        check_times(&text.tokens, &tokens);
        assert_eq!(text.alternatives.len(), text.tokens.len());
        for (token, alternatives) in text.tokens.iter().zip(&text.alternatives) {
            assert!(alternatives.iter().all(|(other, by)| other != token && by.is_finite()));
        }
        assert!(text.mean_log_prob.is_finite() && text.tokens.len() <= 64);
    }
}

#[test]
fn the_vocabulary_is_read_from_the_folder() {
    let (_, tokens) = load(&data("tiny-whisper"));
    let names: Vec<&str> = tokens.languages.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["en", "de", "haw"]);
    assert_eq!(tokens.prompt(&[], Some(258)), [257, 258, 262]);
    let hint = tokens.hint("  a\tb ");
    assert_eq!(tokens.text(&hint), " a b");
    assert_eq!(tokens.prompt(&[7], Some(258)), [264, 7, 257, 258, 262]);
    assert!(tokens.hint("").is_empty());
    assert_eq!((tokens.time_zero(), tokens.suppressed.as_slice()), (267, &[1, 2][..]));
    assert_eq!(tokens.text(&[267, 40, 41, 300, 256]), tokens.text(&[40, 41]));
    let begins: Vec<bool> = hint.iter().map(|token| tokens.begins_word(*token)).collect();
    assert_eq!(begins.iter().filter(|begins| **begins).count(), 2, "{hint:?}");
    assert!(
        hint.iter().all(|token| tokens.word(*token).is_none()),
        "no token is a word of letters"
    );
    assert_eq!(tokens.word(tokens.end), None);
}

#[test]
fn uncertain_words_are_counted_over_all_utterances() {
    let utterance = |text: &str, alternatives: &[&[(&str, f32)]]| Utterance {
        caption: Caption::plain(0, 1000, text),
        alternatives: alternatives
            .iter()
            .map(|all| all.iter().map(|(word, by)| ((*word).into(), *by)).collect())
            .collect(),
    };
    let utterances = [
        utterance("Loosen it.", &[&[], &[]]),
        utterance("the mad now", &[&[], &[("bed", -1.0)], &[]]),
    ];
    let alternatives = vec![("bed".to_owned(), -1.0)];
    let expected = UncertainWord { index: 3, word: "mad".into(), alternatives };
    assert_eq!(uncertain_words(&utterances), [expected]);
}

/// Times come first, in pairs, and never run back.
fn check_times(written: &[u32], tokens: &Vocabulary) {
    let mut last = 0;
    for (i, token) in written.iter().enumerate() {
        assert!(*token < tokens.end || tokens.is_time(*token), "{written:?}");
        assert!(i > 0 || tokens.is_time(*token), "{written:?}");
        if tokens.is_time(*token) {
            assert!(*token >= last, "{written:?}");
            last = *token;
        }
    }
    for three in written.windows(3) {
        assert!(!three.iter().all(|token| tokens.is_time(*token)), "{written:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn whatever_the_network_says_times_are_in_order(seed: u64, temperature in 0.1f32..3.0) {
        let config = WhisperConfig::read(&data("tiny-whisper")).unwrap();
        let tokens = Vocabulary::load(&data("tiny-whisper"), &config).unwrap();
        let mut random = SplitMix64::new(seed);
        let mut written = Vec::new();
        for step in 0..40u64 {
            let noise = |i: u64| (seed ^ (i * 40 + step)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let mut logits: Vec<f32> =
                (0..tokens.count as u64).map(|i| noise(i) as f32 / 1e6 - 5.0).collect();
            forbid_tokens(&mut logits, &written, &tokens);
            let (token, log_prob) = sample(&logits, temperature, &mut random).unwrap();
            prop_assert!(log_prob <= 0.0 && log_prob.is_finite());
            if token == tokens.end {
                break;
            }
            written.push(token);
        }
        check_times(&written, &tokens);
        let alternatives: Vec<Alternatives> =
            written.iter().map(|token| vec![(*token + 1, -0.5)]).collect();
        let text = Text { tokens: written.clone(), alternatives, ..Text::default() };
        let parts = segments(&text, &tokens, 480_000);
        for part in &parts {
            prop_assert!(part.range.start <= part.range.end && part.range.end <= 480_000);
            let own = part.tokens.iter().zip(&part.alternatives);
            prop_assert!(own.clone().all(|(token, others)| others[0].0 == token + 1));
            prop_assert_eq!(own.len(), part.tokens.len());
        }
        prop_assert!(parts.windows(2).all(|two| two[0].range.end <= two[1].range.start));
        let said = written.iter().filter(|token| !tokens.is_time(**token)).count();
        prop_assert_eq!(parts.iter().map(|part| part.tokens.len()).sum::<usize>(), said);
    }
}
