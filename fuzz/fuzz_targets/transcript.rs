//! Any bytes as a transcript: read or refused, and sound when read.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(sentences) = stitch_engine::transcript::from_bytes(bytes) {
        assert!(sentences.iter().all(|s| s.start_ms < s.end_ms && !s.text.is_empty()));
        assert!(sentences.windows(2).all(|p| p[0].end_ms <= p[1].start_ms));
        stitch_engine::summarise::by_rules(&sentences);
    }
});
