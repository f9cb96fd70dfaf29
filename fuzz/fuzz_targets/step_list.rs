//! Any bytes as a person's own steps for a video.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(list) = stitch_engine::recipe::read_step_list(bytes) {
        assert!(list.steps.iter().all(|s| s.end_ms.is_none() || s.start_ms < s.end_ms));
    }
});
