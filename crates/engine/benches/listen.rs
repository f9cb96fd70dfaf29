//! Seconds of sound that the recogniser writes down per second, as one line of JSON;
//! benches/listen.py measures faster-whisper on the same sound with the same weights.
//!
//! `cargo bench --workspace --bench listen --profile release -- MODEL_FOLDER`
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Instant;

use stitch_engine::listen::Listener;
use stitch_engine::media::speech::{Voice, speak};
use stitch_engine::progress::Silent;

/// How many steps are spoken: about four minutes, with two seconds between them.
const STEPS: usize = 60;

fn main() {
    let folder = std::env::args().nth(1).map(PathBuf::from);
    let Some(folder) = folder.filter(|folder| folder.join("model.safetensors").exists()) else {
        println!("{{\"skipped\":\"give the folder of whisper-base\"}}");
        return;
    };
    let kept = tempfile::tempdir().expect("a folder for the sound");
    let path = kept.path().join("steps.wav");
    std::fs::write(&path, spoken()).expect("the sound is kept");
    let load = Instant::now();
    let listener = Listener::load(&folder).expect("the model loads");
    let load_s = load.elapsed().as_secs_f64();
    let seconds = |_| {
        let start = Instant::now();
        let listened = listener.listen(&path, "", &Silent).expect("the sound is heard");
        assert!(!listened.sentences.is_empty());
        (start.elapsed().as_secs_f64(), listened.length_ms as f64 / 1000.0)
    };
    let best = (0..2).map(seconds).min_by(|a, b| a.0.total_cmp(&b.0)).expect("two runs");
    let rate = best.1 / best.0;
    println!("{{\"listen_s_per_s\":{rate:.2},\"sound_s\":{:.1},\"load_s\":{load_s:.2}}}", best.1);
}

/// The steps as a WAV file of 22050 Hz.
fn spoken() -> Vec<u8> {
    let voice = Voice { name: "en-us".into(), words_per_minute: 160, pitch: 50 };
    let mut samples: Vec<i16> = Vec::new();
    for step in include_str!("../../../benches/steps.txt").lines().take(STEPS) {
        samples.extend(speak(step, &voice).expect("espeak-ng speaks").samples);
        samples.extend([0; 2 * 22_050]);
    }
    let bytes = samples.len() as u32 * 2;
    let mut wav = b"RIFF".to_vec();
    wav.extend((bytes + 36).to_le_bytes());
    wav.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    wav.extend(22_050u32.to_le_bytes());
    wav.extend(44_100u32.to_le_bytes());
    wav.extend([2, 0, 16, 0]);
    wav.extend(b"data");
    wav.extend(bytes.to_le_bytes());
    wav.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    wav
}
