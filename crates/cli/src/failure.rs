//! Errors of commands: a message that says what to do next, and an exit code.

use std::error::Error;
use std::process::ExitCode;

use serde_json::json;
use stitch_engine::errors::Explained;

use crate::signals::INTERRUPTED;

/// The exit code for wrong options.
const USAGE: u8 = 2;
/// The exit code if a step is a gap and the user asked for it, or if all steps are.
pub const GAPS: u8 = 3;

pub struct Failure {
    message: String,
    causes: Vec<String>,
    code: u8,
}

impl Failure {
    /// Exit code 1.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), causes: Vec::new(), code: 1 }
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(message).with_code(USAGE)
    }

    /// An error with its causes. Exit code 130 if it or one of them is an interruption.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let Explained { message, causes, stopped } = Explained::of(error);
        Self { message, causes, code: if stopped { INTERRUPTED } else { 1 } }
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }

    pub fn code(&self) -> u8 {
        self.code
    }

    /// The message and its causes on one line.
    pub fn in_one_line(&self) -> String {
        let texts = std::iter::once(&self.message).chain(&self.causes);
        texts.map(String::as_str).collect::<Vec<_>>().join("; because: ").replace('\n', " ")
    }

    /// Prints the message and returns the exit code.
    pub fn report(&self, json: bool) -> ExitCode {
        let Self { message, causes, code } = self;
        if json {
            let event =
                json!({"event": "error", "message": message, "causes": causes, "code": code});
            eprintln!("{event}");
        } else {
            eprintln!("error: {message}");
            causes.iter().for_each(|cause| eprintln!("  because: {cause}"));
        }
        ExitCode::from(*code)
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::of(&error)
    }
}
