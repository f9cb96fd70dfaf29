//! A client of OpenAI-compatible chat endpoints: bounded retries, and a cache on disk, so that the
//! same question never costs twice.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::files::{FileError, write_whole};

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// What is said.
    pub content: String,
}

impl Message {
    /// What the model is told to be and to do.
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: "system".into(), content: content.into() }
    }

    /// What the user asks.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: "user".into(), content: content.into() }
    }

    /// What the model answered.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: "assistant".into(), content: content.into() }
    }
}

/// Where the model is and how to ask it.
pub struct ChatOptions {
    /// The endpoint's base, such as `http://localhost:11434/v1`.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// The key, where one is needed. It is in no message, error or cache.
    pub key: Option<String>,
    /// 0 asks for the same answer each time.
    pub temperature: f32,
    /// The most time one request may take.
    pub timeout: Duration,
    /// How many requests follow a failed one, at most.
    pub retries: u32,
    /// The wait before the first retry; it doubles with each.
    pub backoff: Duration,
    /// The folder that keeps answers; none keeps nothing.
    pub cache: Option<PathBuf>,
    /// How to wait; a test passes something that does not.
    pub sleep: Box<dyn Fn(Duration) + Send + Sync>,
}

impl ChatOptions {
    /// The usual options for a model.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            temperature: 0.0,
            timeout: Duration::from_secs(120),
            retries: 4,
            backoff: Duration::from_secs(1),
            cache: None,
            sleep: Box::new(std::thread::sleep),
        }
    }
}

impl fmt::Debug for ChatOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map(|_| "…");
        f.debug_struct("ChatOptions")
            .field("url", &self.url)
            .field("model", &self.model)
            .field("key", &key)
            .finish()
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// The endpoint could not be reached, or did not answer in time.
    #[error(
        "no answer from {url}: {reason}; check that the server runs, or leave the language model out"
    )]
    Unreachable {
        /// Where it should be.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// It wants another key.
    #[error("{url} refused the key (HTTP {status}); set STITCH_LLM_KEY to a valid one")]
    Key {
        /// Where.
        url: String,
        /// 401 or 403.
        status: u16,
    },
    /// It said no.
    #[error("{url} answered HTTP {status}: {said}; check the model's name and the endpoint")]
    Refused {
        /// Where.
        url: String,
        /// The status.
        status: u16,
        /// The beginning of what it said.
        said: String,
    },
    /// It answered something that is no chat answer.
    #[error("{url} answered, but not as a chat endpoint does ({reason}); is it OpenAI-compatible?")]
    Garbled {
        /// Where.
        url: String,
        /// What is wrong with the answer.
        reason: String,
    },
    /// The cache could not be read or written.
    #[error(transparent)]
    Cache(#[from] FileError),
}

/// A model that can be asked.
pub struct Chat {
    options: ChatOptions,
    agent: ureq::Agent,
}

/// Changes when a cached answer must not be used any more.
const CACHE_VERSION: u32 = 1;
/// The most bytes of an answer that are read.
const MOST_BYTES: u64 = 4 << 20;

impl Chat {
    /// A client for the model.
    pub fn new(options: ChatOptions) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(options.timeout))
            .http_status_as_error(false)
            .build();
        Self { options, agent: config.into() }
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.options.model
    }

    /// The model's answer to the messages, from the cache if it was asked before.
    pub fn complete(&self, messages: &[Message]) -> Result<String, ChatError> {
        let place = self.place(messages);
        if let Some(answer) = place.as_deref().and_then(cached) {
            return Ok(answer);
        }
        let answer = self.ask_with_retries(messages)?;
        if let Some(place) = place {
            let folder = place.parent().unwrap_or(&place);
            std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
            write_whole(&place, json!({"answer": answer}).to_string().as_bytes())?;
        }
        Ok(answer)
    }

    /// The file that keeps the answer to these messages.
    fn place(&self, messages: &[Message]) -> Option<PathBuf> {
        let question =
            json!([CACHE_VERSION, self.options.model, self.options.temperature, messages]);
        let digest = Sha256::digest(question.to_string().as_bytes());
        let name: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(self.options.cache.as_ref()?.join(format!("{name}.json")))
    }

    fn ask_with_retries(&self, messages: &[Message]) -> Result<String, ChatError> {
        let mut wait = self.options.backoff;
        for _ in 0..self.options.retries {
            match self.ask(messages) {
                Err(Failure { again: true, after, .. }) => {
                    (self.options.sleep)(after.unwrap_or(wait).min(Duration::from_secs(60)));
                    wait = wait.saturating_mul(2);
                }
                done => return done.map_err(|failure| failure.error),
            }
        }
        self.ask(messages).map_err(|failure| failure.error)
    }

    /// Asks once.
    fn ask(&self, messages: &[Message]) -> Result<String, Failure> {
        let url = format!("{}/chat/completions", self.options.url.trim_end_matches('/'));
        let body = json!({
            "model": self.options.model, "messages": messages,
            "temperature": self.options.temperature, "stream": false,
        });
        let mut request = self.agent.post(&url).header("Content-Type", "application/json");
        if let Some(key) = &self.options.key {
            request = request.header("Authorization", format!("Bearer {key}"));
        }
        let mut response = request.send(body.to_string()).map_err(|e| self.unreachable(&e))?;
        let status = response.status().as_u16();
        let after =
            response.headers().get("retry-after").and_then(|v| v.to_str().ok()?.parse().ok());
        let read = response.body_mut().with_config().limit(MOST_BYTES).read_to_vec();
        let bytes = read.map_err(|e| self.unreachable(&e))?;
        match status {
            200..=299 => content(&bytes).map_err(|reason| self.garbled(reason)),
            _ => Err(self.refused(status, &bytes, after.map(Duration::from_secs))),
        }
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        let reason = self.without_key(&error.to_string());
        let error = ChatError::Unreachable { url: self.address(), reason };
        Failure { error, again: true, after: None }
    }

    fn garbled(&self, reason: String) -> Failure {
        let error = ChatError::Garbled { url: self.address(), reason: self.without_key(&reason) };
        Failure { error, again: false, after: None }
    }

    fn refused(&self, status: u16, body: &[u8], after: Option<Duration>) -> Failure {
        let url = self.address();
        let said: String = String::from_utf8_lossy(body).chars().take(200).collect();
        let said = self.without_key(said.trim());
        let error = match status {
            401 | 403 => ChatError::Key { url, status },
            _ => ChatError::Refused { url, status, said },
        };
        Failure { error, again: status == 429 || status == 408 || status >= 500, after }
    }

    /// The endpoint without a password that its address may hold.
    fn address(&self) -> String {
        let url = self.without_key(&self.options.url);
        match (url.split_once("://"), url.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            _ => url,
        }
    }

    /// The text with the key, which servers like to repeat, made unreadable.
    fn without_key(&self, text: &str) -> String {
        match self.options.key.as_deref() {
            Some(key) if !key.is_empty() => text.replace(key, "…"),
            _ => text.to_string(),
        }
    }
}

/// Why asking once failed, and whether to ask again.
struct Failure {
    error: ChatError,
    again: bool,
    after: Option<Duration>,
}

/// The kept answer; a damaged file counts as none and is written anew.
fn cached(place: &std::path::Path) -> Option<String> {
    let value: Value = serde_json::from_slice(&std::fs::read(place).ok()?).ok()?;
    Some(value.get("answer")?.as_str()?.to_string())
}

/// The text of the first choice.
fn content(body: &[u8]) -> Result<String, String> {
    let value: Value = serde_json::from_slice(body).map_err(|e| format!("no JSON: {e}"))?;
    let text = value.pointer("/choices/0/message/content").and_then(Value::as_str);
    match text.map(str::trim) {
        Some("") => Err("the answer is empty".into()),
        Some(text) => Ok(text.to_string()),
        None => Err("it has no choices[0].message.content".into()),
    }
}

#[cfg(test)]
pub(super) mod tests;
