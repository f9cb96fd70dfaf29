//! Ctrl-C: the first asks the work to stop where nothing is lost, the second ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

static REQUESTED: AtomicBool = AtomicBool::new(false);

/// The exit code of a program that was interrupted.
pub const INTERRUPTED: u8 = 130;

/// Whether the person has asked to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::Relaxed)
}

/// Listens for Ctrl-C and a polite kill from now on.
pub fn watch_for_interrupts() {
    let watching = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::Relaxed) {
            #[allow(clippy::exit)] // the person insists
            std::process::exit(INTERRUPTED.into());
        }
        eprintln!("\nstopping where nothing is lost; once more to stop at once");
    });
    if let Err(error) = watching {
        tracing::debug!(%error, "interrupts are not watched");
    }
}
