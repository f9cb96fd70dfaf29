//! Progress reports of long work, and the request to stop it.

/// Receives the progress of long work. The command line shows it as bars or lines of JSON, the
/// server as events; [`Silent`] ignores it.
pub trait Progress: Sync {
    /// A stage of `total` units begins, and ends any stage before it.
    fn begin(&self, _stage: &str, _total: u64) {}
    /// `units` more units of the stage are done.
    fn advance(&self, _units: u64) {}
    /// Something went wrong that the work survives; the message says what and what to do.
    fn warn(&self, _message: &str) {}
    /// Whether the work should stop at the next point where nothing is lost.
    fn stopped(&self) -> bool {
        false
    }
    /// `Err(Stopped)` once the work should stop, for use with `?`.
    fn check(&self) -> Result<(), Stopped> {
        if self.stopped() { Err(Stopped) } else { Ok(()) }
    }
}

/// The work was asked to stop; what is done is kept, and the same command goes on from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped; the same command goes on from here")]
pub struct Stopped;

/// Progress of work inside a stage that the caller counts: only warnings and stopping are passed on.
pub struct Within<'a>(pub &'a dyn Progress);

impl Progress for Within<'_> {
    fn warn(&self, message: &str) {
        self.0.warn(message);
    }
    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

/// Ignores all reports and never stops.
pub struct Silent;

impl Progress for Silent {}
