//! Any text as a language model's answer.
#![no_main]

libfuzzer_sys::fuzz_target!(|answer: &str| {
    let parsed = stitch_engine::summarise::parse_answer(answer, 1_000, 90_000);
    assert!(parsed.steps.iter().all(|s| 1_000 <= s.start_ms && s.start_ms < s.end_ms && s.end_ms <= 90_000));
});
