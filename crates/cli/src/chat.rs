//! A language model behind an OpenAI-compatible endpoint, as several commands take it.

use std::time::Duration;

use clap::{Args, ValueEnum};
use stitch_engine::summarise::PromptDomain;
use stitch_engine::summarise::chat::{Chat, ChatOptions};

use crate::setup::Setup;

/// Where the language model is.
#[derive(Args)]
pub struct ChatArguments {
    /// An OpenAI-compatible endpoint of a language model, such as http://127.0.0.1:8080/v1
    #[arg(long, env = "STITCH_LLM_URL", value_name = "URL")]
    llm_url: Option<String>,
    /// The language model's name there
    #[arg(long, env = "STITCH_LLM_MODEL", value_name = "NAME", default_value = "default")]
    llm_model: String,
    /// The key, where one is needed
    #[arg(long, env = "STITCH_LLM_KEY", value_name = "KEY", hide_env_values = true)]
    llm_key: Option<String>,
    /// The most seconds that one answer may take; a model on a slow machine needs more
    #[arg(long, env = "STITCH_LLM_TIMEOUT", value_name = "SECONDS", default_value_t = 120,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    llm_timeout: u64,
}

impl ChatArguments {
    /// The model, if one was given.
    pub fn chat(&self, setup: &Setup) -> Option<Chat> {
        let url = self.llm_url.as_ref()?;
        let mut options = ChatOptions::new(url, &self.llm_model);
        options.key = self.llm_key.clone();
        options.timeout = Duration::from_secs(self.llm_timeout);
        options.cache = Some(setup.cache.join("chat"));
        Some(Chat::new(options))
    }
}

/// The field that videos are from.
#[derive(Clone, Copy, ValueEnum)]
pub enum Domain {
    Cooking,
    Woodworking,
    Gardening,
    Any,
}

impl From<Domain> for PromptDomain {
    fn from(domain: Domain) -> Self {
        match domain {
            Domain::Cooking => Self::Cooking,
            Domain::Woodworking => Self::Woodworking,
            Domain::Gardening => Self::Gardening,
            Domain::Any => Self::Any,
        }
    }
}
