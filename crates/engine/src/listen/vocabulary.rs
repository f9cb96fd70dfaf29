//! Whisper's vocabulary: its special tokens, and text out of tokens.

use std::path::Path;

use stitch_nn::tokenizer;
use stitch_nn::whisper::WhisperConfig;
use tokenizers::Tokenizer;

use crate::models::NnError;
use crate::transcript::text::fold;

/// Hundredths of a second from one timestamp token to the next.
pub const TIMESTAMP_CS: u32 = 2;
/// Thirty seconds.
const LAST_TIMESTAMP: u32 = 1500;

const MAX_HINT_TOKENS: usize = 24;

pub struct Vocabulary {
    tokenizer: Tokenizer,
    /// `<|startoftranscript|>`
    pub start: u32,
    /// `<|endoftext|>`: tokens below it are text.
    pub end: u32,
    /// `<|transcribe|>`, where the model can also translate.
    transcribe: Option<u32>,
    /// `<|startofprev|>`
    previous: Option<u32>,
    /// `<|notimestamps|>`, the last token before the timestamps.
    no_timestamps: u32,
    /// `<|nospeech|>`
    pub no_speech: Option<u32>,
    /// The languages that the model tells apart; none for one that knows English only.
    pub languages: Vec<(u32, String)>,
    /// Never written: signs that are not said.
    pub suppressed: Vec<u32>,
    pub suppressed_first: Vec<u32>,
    pub count: usize,
}

impl Vocabulary {
    pub fn load(folder: &Path, config: &WhisperConfig) -> Result<Self, NnError> {
        let path = folder.join("tokenizer.json");
        let broken = |reason: String| NnError::Tokenizer { path: path.clone(), reason };
        let tokenizer = tokenizer::read(&path).map_err(|error| broken(error.to_string()))?;
        let find = |name: &str| {
            let id = tokenizer.token_to_id(name);
            id.filter(|id| (*id as usize) < config.vocab_size)
        };
        let need = |name: &str| find(name).ok_or_else(|| broken(format!("has no token {name}")));
        let (start, no_timestamps) = (need("<|startoftranscript|>")?, need("<|notimestamps|>")?);
        if config.vocab_size < (no_timestamps + 1 + LAST_TIMESTAMP) as usize {
            return Err(broken("has more tokens than the model".into()));
        }
        let known = |ids: &Option<Vec<i64>>| -> Vec<u32> {
            let ids = ids.iter().flatten().filter_map(|id| u32::try_from(*id).ok());
            ids.filter(|id| (*id as usize) < config.vocab_size).collect()
        };
        // Models for English alone have no room for the tokens of languages.
        let multilingual = find("<|transcribe|>").is_some() && config.vocab_size != 51_864;
        let languages = if multilingual { languages(&tokenizer, start) } else { Vec::new() };
        Ok(Self {
            start,
            end: need("<|endoftext|>")?,
            transcribe: find("<|transcribe|>").filter(|_| multilingual),
            previous: find("<|startofprev|>"),
            no_timestamps,
            no_speech: find("<|nospeech|>").or_else(|| find("<|nocaptions|>")),
            languages,
            suppressed: known(&config.suppress_tokens),
            suppressed_first: known(&config.begin_suppress_tokens),
            count: config.vocab_size,
            tokenizer,
        })
    }

    pub fn language_names(&self) -> String {
        if self.languages.is_empty() {
            return "en".into();
        }
        let names: Vec<&str> = self.languages.iter().map(|(_, name)| &**name).collect();
        names.join(", ")
    }

    pub fn language_name(&self, language: u32) -> Option<String> {
        let found = self.languages.iter().find(|(id, _)| *id == language);
        found.map(|(_, name)| name.clone())
    }

    /// The token of time zero; those after it are later by [`TIMESTAMP_CS`] each.
    pub fn time_zero(&self) -> u32 {
        self.no_timestamps + 1
    }

    pub fn is_time(&self, token: u32) -> bool {
        token >= self.time_zero() && token <= self.time_zero() + LAST_TIMESTAMP
    }

    pub fn begins_word(&self, token: u32) -> bool {
        self.tokenizer.decode(&[token], true).is_ok_and(|text| text.starts_with(' '))
    }

    /// The word that the token is by itself, if it is one of letters.
    pub fn word(&self, token: u32) -> Option<String> {
        let text = self.tokenizer.decode(&[token], true).ok().filter(|_| token < self.end)?;
        let word = text.strip_prefix(' ')?;
        let letters = word.chars().count() > 1 && word.chars().all(char::is_alphabetic);
        letters.then(|| word.to_owned())
    }

    /// What every text in a language begins with, after a hint.
    pub fn prompt(&self, hint: &[u32], language: Option<u32>) -> Vec<u32> {
        let mut prompt = Vec::new();
        if let Some(previous) = self.previous.filter(|_| !hint.is_empty()) {
            prompt.push(previous);
            prompt.extend(hint);
        }
        let task = self.transcribe.filter(|_| language.is_some());
        prompt.into_iter().chain([self.start]).chain(language).chain(task).collect()
    }

    /// As [`Self::prompt`], for a text without times.
    pub fn untimed_prompt(&self, language: Option<u32>) -> Vec<u32> {
        let mut prompt = self.prompt(&[], language);
        prompt.push(self.no_timestamps);
        prompt
    }

    /// Tokens of words that the speaker may use, given as if they had been said before.
    pub fn hint(&self, text: &str) -> Vec<u32> {
        let text = fold(text);
        let encoded = self.tokenizer.encode_fast(format!(" {text}"), false);
        let ids = encoded.map(|encoded| encoded.get_ids().to_vec()).unwrap_or_default();
        let said = ids.into_iter().filter(|id| *id < self.end && !text.is_empty());
        said.take(MAX_HINT_TOKENS).collect()
    }

    /// The text of tokens; times and special tokens are left out.
    pub fn text(&self, tokens: &[u32]) -> String {
        let said: Vec<u32> = tokens.iter().copied().filter(|token| *token < self.end).collect();
        self.tokenizer.decode(&said, true).unwrap_or_default()
    }
}

/// The tokens after the start that name a language: `<|en|>`, `<|haw|>`.
fn languages(tokenizer: &Tokenizer, start: u32) -> Vec<(u32, String)> {
    let name = |id: u32| {
        let token = tokenizer.id_to_token(id)?;
        let name = token.strip_prefix("<|")?.strip_suffix("|>")?.to_owned();
        let short = (2..=3).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_lowercase());
        short.then_some((id, name))
    };
    (start + 1..).map_while(name).collect()
}
