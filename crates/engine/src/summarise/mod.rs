//! Narration into steps: a title and what is done when, without introductions and chat.

mod words;
mod chatter;
mod clause;
mod rewrite;
mod rules;
pub mod chat;
mod answer;
mod model;

use serde::{Deserialize, Serialize};

pub use answer::{Answer, parse_answer};
pub use model::{PromptDomain, SummariseError, by_language_model};
pub use rules::{by_rules, perhaps};

/// What is done in a video, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// What is made; may be empty.
    pub title: String,
    /// The steps; may be empty where nothing is done.
    pub steps: Vec<SummaryStep>,
    /// What made the summary: `rules`, or the language model's name.
    pub by: String,
    /// Lines of a language model's answer that were no steps.
    pub rejected: usize,
}

/// One step and the time in which it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SummaryStep {
    /// What is done, as an order.
    pub text: String,
    /// When it begins, in milliseconds.
    pub start_ms: u64,
    /// When it ends; after the start.
    pub end_ms: u64,
}
