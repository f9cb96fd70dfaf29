//! Options that several commands share, and parsers of their values.

use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use stitch_engine::demonstrate::GapPolicy;
use stitch_engine::listen::Listener;
use stitch_engine::progress::Progress;
use stitch_engine::screen_text::ScreenTextReader;
use stitch_engine::summarise::PromptDomain;
use stitch_engine::summarise::chat::{Chat, ChatOptions};

use crate::failure::Failure;
use crate::setup::Setup;

/// The language model that some commands use.
#[derive(Args)]
pub struct LanguageModelArguments {
    /// An OpenAI-compatible endpoint of a language model, such as http://127.0.0.1:8080/v1
    #[arg(long, env = "STITCH_LLM_URL", value_name = "URL")]
    llm_url: Option<String>,
    /// The name of the language model at that endpoint
    #[arg(long, env = "STITCH_LLM_MODEL", value_name = "NAME", default_value = "default")]
    llm_model: String,
    /// The API key, if the endpoint needs one
    #[arg(long, env = "STITCH_LLM_KEY", value_name = "KEY", hide_env_values = true)]
    llm_key: Option<String>,
    /// The timeout of one answer, in seconds; a model on a slow machine needs more
    #[arg(long, env = "STITCH_LLM_TIMEOUT", value_name = "SECONDS", default_value_t = 120,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    llm_timeout: u64,
}

/// Questions to the language model at the same time.
#[derive(Args)]
pub struct ParallelArguments {
    /// Questions to the language model at the same time; a server that answers many at once needs many
    #[arg(long, value_name = "N", default_value_t = 8,
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub parallel: u16,
}

/// What the language model is told about the videos.
#[derive(Args)]
pub struct DomainArguments {
    /// The domain of the videos; only the language model's prompt depends on it
    #[arg(long, value_parser = choice(&DOMAINS), default_value = "any")]
    pub domain: PromptDomain,
}

const DOMAINS: Choices<PromptDomain, 4> = [
    ("cooking", "", PromptDomain::Cooking),
    ("woodworking", "", PromptDomain::Woodworking),
    ("gardening", "", PromptDomain::Gardening),
    ("any", "", PromptDomain::Any),
];

/// The name of a domain, none for any.
pub fn domain_name(domain: PromptDomain) -> Option<&'static str> {
    let named = DOMAINS.iter().find(|(.., known)| *known == domain && domain != PromptDomain::Any);
    named.map(|(name, ..)| *name)
}

impl LanguageModelArguments {
    /// The language model, if one was given.
    pub fn chat(&self, setup: &Setup) -> Option<Chat> {
        let url = self.llm_url.as_ref()?;
        let mut options = ChatOptions::new(url, &self.llm_model);
        options.key = self.llm_key.clone();
        options.timeout = Duration::from_secs(self.llm_timeout);
        options.cache = Some(setup.home.cache.join("chat"));
        Some(Chat::new(options))
    }
}

/// The speech model of commands that need one.
#[derive(Args)]
pub struct SpeechArguments {
    /// The speech model, by name or folder
    #[arg(long, env = "STITCH_SPEECH", value_name = "MODEL", default_value = Listener::MODEL)]
    speech: String,
}

/// The speech model of commands that can do without.
#[derive(Args)]
pub struct OptionalSpeechArguments {
    /// The speech model that transcribes what has no subtitles, by name or folder; `auto` is
    /// whisper-base if it is installed, `never` is none
    #[arg(long, env = "STITCH_SPEECH", value_name = "MODEL", default_value = "auto")]
    speech: String,
}

/// The model that reads text on the screen.
#[derive(Args)]
pub struct ScreenTextArguments {
    /// The model that reads text on the screen where nobody speaks, by name or folder; `auto` is
    /// ppocr-v6 if it is installed, `never` is none
    #[arg(long, env = "STITCH_SCREEN_TEXT", value_name = "MODEL", default_value = "auto")]
    screen_text: String,
}

impl ScreenTextArguments {
    pub fn load(&self, setup: &Setup) -> Result<Option<ScreenTextReader>, Failure> {
        Ok(setup.home.load_screen_text(&self.screen_text)?)
    }
}

impl SpeechArguments {
    pub fn load(&self, setup: &Setup) -> Result<Listener, Failure> {
        setup.progress.begin("loading the speech model", 0);
        Ok(setup.home.load_speech(&self.speech)?)
    }
}

impl OptionalSpeechArguments {
    pub fn load(&self, setup: &Setup) -> Result<Option<Listener>, Failure> {
        Ok(setup.home.load_optional_speech(&self.speech)?)
    }
}

/// When a step is a gap.
#[derive(Args)]
#[command(next_help_heading = "Search")]
pub struct GapArguments {
    /// The minimum probability that a clip shows its step, from 0 to 1; below it the step is a gap
    /// [default: calibrated for the library's encoder]
    #[arg(long, value_name = "PROBABILITY")]
    pub threshold: Option<f32>,
    /// When a step becomes a gap
    #[arg(long, value_parser = choice(&GAPS), default_value = "balanced")]
    pub gaps: GapPolicy,
}

const GAPS: Choices<GapPolicy, 3> = [
    ("strict", "Prefer a gap to a doubtful clip", GapPolicy::Strict),
    ("balanced", "As calibrated", GapPolicy::Balanced),
    ("never", "Always use the most likely clip", GapPolicy::Never),
];

/// The values of an option: name, help (may be empty) and value.
pub type Choices<T, const N: usize> = [(&'static str, &'static str, T); N];

/// Parses a value by its name.
pub fn choice<T: Copy + Send + Sync + 'static, const N: usize>(
    choices: &'static Choices<T, N>,
) -> impl TypedValueParser<Value = T> {
    let possible = |(name, help, _): &(&'static str, &'static str, T)| match *help {
        "" => PossibleValue::new(*name),
        help => PossibleValue::new(*name).help(help),
    };
    let value = |name: String| choices.iter().find(|(known, ..)| *known == name);
    PossibleValuesParser::new(choices.iter().map(possible))
        .map(move |name| value(name).unwrap_or(&choices[0]).2)
}

/// Parses `640x360`.
pub fn size(text: &str) -> Result<(u32, u32), String> {
    let sides = text.split_once(['x', 'X']);
    let sides = sides.and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    sides.ok_or_else(|| "write it as 640x360".into())
}

/// Parses seconds into milliseconds.
pub fn milliseconds(text: &str) -> Result<u64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 => Ok((seconds * 1000.0) as u64),
        _ => Err("give a number of seconds".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_two_numbers() {
        assert_eq!(size("640x360"), Ok((640, 360)));
        assert_eq!(size("1280X720"), Ok((1280, 720)));
        for wrong in ["", "640", "640x", "x360", "-2x4", "640x360x2", "axb", "99999999999x2"] {
            assert!(size(wrong).is_err_and(|error| error.contains("640x360")), "{wrong}");
        }
    }
}
