//! Narration into steps: what is done when, without introductions and chat. A step is a sentence in the
//! imperative, with the time in which it is spoken of.

mod chatter;
mod rewrite;
mod rules;
pub mod chat;
mod answer;
mod model;

pub use answer::parse_answer;
pub use model::{PromptDomain, SummariseError, by_language_model};
pub use rules::{by_rules, describes_step, possible_steps};
