//! Narration into steps: what is done when, without introductions and chat.

mod chatter;
mod rewrite;
mod rules;
pub mod chat;
mod answer;
mod model;

pub use answer::parse_answer;
pub use model::{PromptDomain, SummariseError, by_language_model};
pub use rules::{by_rules, describes_step, possible_steps};

/// One step and the time in which it is spoken of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryStep {
    /// What is done, in the imperative.
    pub text: String,
    pub start_ms: u64,
    /// After the start.
    pub end_ms: u64,
}
