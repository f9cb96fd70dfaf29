//! Ctrl-C, and output that nobody reads any more.

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// The exit code of an interrupted program.
pub const INTERRUPTED: u8 = 130;

/// Whether the user has asked to stop.
pub fn stop_requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Handles SIGINT and SIGTERM: the first asks to stop at a safe point, the second ends the program.
pub fn handle_interrupts() {
    let handled = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            #[allow(clippy::exit)] // asked twice
            std::process::exit(INTERRUPTED.into());
        }
        eprintln!("\nstopping at a safe point; press Ctrl-C again to stop at once");
    });
    if let Err(error) = handled {
        tracing::debug!(%error, "interrupts are not handled");
    }
}

/// Ends the program when its output cannot be printed: silently if nobody reads it any more, as by `stitch … | head`.
///
/// SIGPIPE itself stays ignored: a broken pipe to ffmpeg must be reported as an error.
pub fn handle_closed_output() {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        let Some(failure) = message.strip_prefix("failed printing to std") else {
            return default_hook(panic);
        };
        let is_closed = failure.contains("Broken pipe");
        if let (false, Some(reason)) = (is_closed, failure.strip_prefix("out: ")) {
            eprintln!("error: the output cannot be written: {reason}");
        }
        #[allow(clippy::exit)] // there is nothing left to print to
        std::process::exit(if is_closed { 0 } else { 1 });
    }));
}
