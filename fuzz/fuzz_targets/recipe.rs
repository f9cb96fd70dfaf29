//! Any bytes as a procedure, in every form a name can hint at.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for name in ["a.txt", "a.md", "a.html", "a.json"] {
        if let Ok(reading) = stitch_engine::recipe::read_procedure(name, bytes, None) {
            assert!(!reading.procedure.steps().is_empty());
        }
    }
});
