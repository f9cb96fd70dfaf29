//! Whisper's vocabulary: the tokens that steer it, and text out of tokens.

use std::path::Path;

use stitch_nn::whisper::WhisperConfig;
use tokenizers::Tokenizer;

use super::ListenError;

/// Hundredths of a second from one timestamp token to the next.
pub const TICK_CS: u32 = 2;
/// The highest timestamp: thirty seconds.
const TICKS: u32 = 1500;

/// A hint is no longer than this.
const HINT_TOKENS: usize = 24;

/// The tokens of one model.
pub struct Tokens {
    tokenizer: Tokenizer,
    /// Begins everything.
    pub start: u32,
    /// Ends everything.
    pub end: u32,
    /// "Write what is said", where the model can also translate.
    transcribe: Option<u32>,
    /// "What follows was said before".
    before: Option<u32>,
    /// Forbidden here: every text has times.
    pub no_times: u32,
    /// "Nobody speaks".
    pub no_speech: Option<u32>,
    /// The languages that the model tells apart; none for one that knows English only.
    pub languages: Vec<(u32, String)>,
    /// Never written: signs that are not said.
    pub never: Vec<u32>,
    /// Never written first.
    pub never_first: Vec<u32>,
    /// How many tokens there are.
    pub count: usize,
}

impl Tokens {
    /// The tokens of a model's folder.
    pub fn load(folder: &Path, config: &WhisperConfig) -> Result<Self, ListenError> {
        let path = folder.join("tokenizer.json");
        let broken = |reason: String| ListenError::Tokenizer { path: path.clone(), reason };
        let tokenizer = Tokenizer::from_file(&path).map_err(|error| broken(error.to_string()))?;
        let find = |name: &str| {
            let id = tokenizer.token_to_id(name);
            id.filter(|id| (*id as usize) < config.vocab_size)
        };
        let need = |name: &str| find(name).ok_or_else(|| broken(format!("has no token {name}")));
        let (start, no_times) = (need("<|startoftranscript|>")?, need("<|notimestamps|>")?);
        if config.vocab_size < (no_times + 1 + TICKS) as usize {
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
            before: find("<|startofprev|>"),
            no_times,
            no_speech: find("<|nospeech|>").or_else(|| find("<|nocaptions|>")),
            languages,
            never: known(&config.suppress_tokens),
            never_first: known(&config.begin_suppress_tokens),
            count: config.vocab_size,
            tokenizer,
        })
    }

    /// The languages by name, for messages.
    pub fn known(&self) -> String {
        match self.languages.is_empty() {
            true => "en".into(),
            false => {
                let names: Vec<&str> = self.languages.iter().map(|(_, name)| &**name).collect();
                names.join(", ")
            }
        }
    }

    /// The token of time zero; those after it are later by 0.02 s each, up to 30 s.
    pub fn zero(&self) -> u32 {
        self.no_times + 1
    }

    /// Whether the token is a time.
    pub fn is_time(&self, token: u32) -> bool {
        token >= self.zero() && token <= self.zero() + TICKS
    }

    /// Whether a word begins with the token.
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
        let hint = self.before.filter(|_| !hint.is_empty()).into_iter().chain(hint.iter().copied());
        let hint: Vec<u32> = if self.before.is_some() { hint.collect() } else { Vec::new() };
        let task = self.transcribe.filter(|_| language.is_some());
        hint.into_iter().chain([self.start]).chain(language).chain(task).collect()
    }

    /// Words that the speaker may use, as if they had been said before.
    pub fn hint(&self, text: &str) -> Vec<u32> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let encoded = self.tokenizer.encode_fast(format!(" {text}"), false);
        let ids = encoded.map(|encoded| encoded.get_ids().to_vec()).unwrap_or_default();
        let said = ids.into_iter().filter(|id| *id < self.end && !text.is_empty());
        said.take(HINT_TOKENS).collect()
    }

    /// The text of tokens; times and steering tokens are left out.
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
