//! An error as people read it: its message, and the causes that the message does not quote.

use std::error::Error;

use crate::progress::Stopped;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    pub message: String,
    /// Outermost first.
    pub causes: Vec<String>,
    /// Whether the error or one of its causes is a request to stop.
    pub stopped: bool,
}

impl Explained {
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let message = error.to_string();
        let stopped = error.is::<Stopped>() || message == Stopped.to_string();
        let mut explained = Self { message, causes: Vec::new(), stopped };
        for cause in std::iter::successors(error.source(), |&cause| cause.source()) {
            explained.stopped |= cause.is::<Stopped>();
            let text = cause.to_string();
            // Many messages quote their cause.
            let quoted = std::iter::once(&explained.message).chain(&explained.causes);
            if !quoted.into_iter().any(|quoted| quoted.contains(&text)) {
                explained.causes.push(text);
            }
        }
        explained
    }
}
