//! How a command fails: a message that says what to do next, and an exit code.

use std::error::Error;
use std::process::ExitCode;

use serde_json::json;
use stitch_engine::progress::Stopped;

use crate::stop::INTERRUPTED;

/// A step is shown by nothing, and the person asked to be told so by the exit code.
pub const GAPS: u8 = 3;

/// Why a command did not end well.
pub struct Failure {
    message: String,
    causes: Vec<String>,
    code: u8,
}

impl Failure {
    /// A failure in words of our own, with exit code 1.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), code: 1 }
    }

    /// A failure by an error and its causes; exit code 130 where the work was asked to stop.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let message = error.to_string();
        let mut code = if error.is::<Stopped>() { INTERRUPTED } else { 1 };
        let mut causes: Vec<String> = Vec::new();
        let mut next = error.source();
        while let Some(cause) = next {
            if cause.is::<Stopped>() {
                code = INTERRUPTED;
            }
            let text = cause.to_string();
            // Messages that already quote their cause are not said twice.
            if !message.contains(&text) && !causes.iter().any(|said| said.contains(&text)) {
                causes.push(text);
            }
            next = cause.source();
        }
        if message == Stopped.to_string() {
            code = INTERRUPTED;
        }
        Self { message, causes, code }
    }

    /// The same with another exit code.
    pub fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Tells the person and gives the exit code.
    pub fn report(&self, json: bool) -> ExitCode {
        if json {
            let Self { message, causes, code } = self;
            eprintln!(
                "{}",
                json!({"event": "error", "message": message, "causes": causes, "code": code})
            );
        } else {
            eprintln!("error: {}", self.message);
            self.causes.iter().for_each(|cause| eprintln!("  because: {cause}"));
        }
        ExitCode::from(self.code)
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::of(&error)
    }
}
