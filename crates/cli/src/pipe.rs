//! Nobody reads any more: `stitch … | head` ends quietly when `head` has seen enough.

/// Ends the program without a word when what it prints cannot arrive.
///
/// The signal that ends other programs stays ignored: a pipe to ffmpeg that breaks is an error to be told.
pub fn end_quietly_when_nobody_reads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload_as_str().unwrap_or_default();
        if said.starts_with("failed printing to std") && said.contains("Broken pipe") {
            #[allow(clippy::exit)] // there is nobody left to tell
            std::process::exit(0);
        }
        usual(panic);
    }));
}
