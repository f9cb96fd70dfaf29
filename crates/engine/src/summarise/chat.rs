//! A client of OpenAI-compatible endpoints, mostly for chat: bounded retries, and a cache on disk, so that the
//! same question never costs twice.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::files::{FileError, hex, write_whole};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    pub content: String,
}

impl Message {
    pub fn system(content: impl Into<String>) -> Self {
        Self { role: "system".into(), content: content.into() }
    }

    pub fn user(content: impl Into<String>) -> Self {
        Self { role: "user".into(), content: content.into() }
    }

    pub fn assistant(content: impl Into<String>) -> Self {
        Self { role: "assistant".into(), content: content.into() }
    }
}

pub struct ChatOptions {
    /// The endpoint's base, such as `http://localhost:11434/v1`.
    pub url: String,
    pub model: String,
    /// Is in no message, error or cache; the options have no `Debug` that could show it.
    pub key: Option<String>,
    /// The environment variable that holds the key, for messages.
    pub key_variable: &'static str,
    /// Of one request.
    pub timeout: Duration,
    pub retries: u32,
    /// The wait before the first retry; it doubles with each.
    pub backoff: Duration,
    /// The folder that keeps answers; none keeps nothing.
    pub cache: Option<PathBuf>,
    /// How to wait; a test passes something that does not.
    pub sleep: Box<dyn Fn(Duration) + Send + Sync>,
}

impl ChatOptions {
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            key_variable: "STITCH_LLM_KEY",
            timeout: Duration::from_secs(120),
            retries: 4,
            backoff: Duration::from_secs(1),
            cache: None,
            sleep: Box::new(std::thread::sleep),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    #[error("no answer from {url}: {reason}; check that the server runs, or leave it out")]
    Unreachable { url: String, reason: String },
    /// 401 or 403.
    #[error("{url} refused the key (HTTP {status}); set {variable} to a valid one")]
    Key { url: String, status: u16, variable: &'static str },
    #[error("{url} answered HTTP {status}: {said}; check the model's name and the endpoint")]
    Refused { url: String, status: u16, said: String },
    #[error("{url} answered, but not as a chat endpoint does ({reason}); is it OpenAI-compatible?")]
    Garbled { url: String, reason: String },
    #[error(transparent)]
    Cache(#[from] FileError),
}

impl ChatError {
    fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused { status, .. } => matches!(status, 408 | 429 | 500..),
            _ => false,
        }
    }
}

pub struct Chat {
    options: ChatOptions,
    agent: ureq::Agent,
}

/// Changes when a cached answer must not be used any more.
const CACHE_VERSION: u32 = 1;
/// 0 asks for the same answer each time.
const TEMPERATURE: f32 = 0.0;
const MAX_ANSWER_BYTES: u64 = 4 << 20;
/// Before a retry, whatever the server asks for.
const MAX_WAIT: Duration = Duration::from_secs(60);

impl Chat {
    pub fn new(options: ChatOptions) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(options.timeout))
            .http_status_as_error(false)
            .build();
        Self { options, agent: config.into() }
    }

    pub fn model(&self) -> &str {
        &self.options.model
    }

    /// The model's answer to the messages, from the cache if it was asked before.
    pub fn complete(&self, messages: &[Message]) -> Result<String, ChatError> {
        let file = self.cache_file(messages);
        if let Some(answer) = file.as_deref().and_then(cached) {
            return Ok(answer);
        }
        let body = json!({
            "model": self.options.model, "messages": messages,
            "temperature": TEMPERATURE, "stream": false,
        });
        let answer = content(&self.post("chat/completions", &body)?).map_err(|reason| {
            let reason = self.without_key(&reason);
            ChatError::Garbled { url: self.address(), reason }
        })?;
        if let Some(file) = file {
            let folder = file.parent().unwrap_or(&file);
            std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
            write_whole(&file, json!({"answer": answer}).to_string().as_bytes())?;
        }
        Ok(answer)
    }

    fn cache_file(&self, messages: &[Message]) -> Option<PathBuf> {
        let question = json!([CACHE_VERSION, self.options.model, TEMPERATURE, messages]);
        let name = hex(&Sha256::digest(question.to_string().as_bytes()));
        Some(self.options.cache.as_ref()?.join(format!("{name}.json")))
    }

    /// The body of the endpoint's answer to a request, which is repeated after errors that pass.
    pub fn post(&self, path: &str, body: &Value) -> Result<Vec<u8>, ChatError> {
        let mut wait = self.options.backoff;
        for _ in 0..self.options.retries {
            match self.post_once(path, body) {
                Err((error, after)) if error.is_transient() => {
                    (self.options.sleep)(after.unwrap_or(wait).min(MAX_WAIT));
                    wait = wait.saturating_mul(2);
                }
                done => return done.map_err(|(error, _)| error),
            }
        }
        self.post_once(path, body).map_err(|(error, _)| error)
    }

    /// One request; an error comes with the server's `Retry-After`.
    fn post_once(
        &self,
        path: &str,
        body: &Value,
    ) -> Result<Vec<u8>, (ChatError, Option<Duration>)> {
        let url = format!("{}/{path}", self.options.url.trim_end_matches('/'));
        let mut request = self.agent.post(&url).header("Content-Type", "application/json");
        if let Some(key) = &self.options.key {
            request = request.header("Authorization", format!("Bearer {key}"));
        }
        let unreachable = |error: ureq::Error| {
            let reason = self.without_key(&error.to_string());
            (ChatError::Unreachable { url: self.address(), reason }, None)
        };
        let mut response = request.send(body.to_string()).map_err(unreachable)?;
        let status = response.status().as_u16();
        let after =
            response.headers().get("retry-after").and_then(|v| v.to_str().ok()?.parse().ok());
        let read = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec();
        let bytes = read.map_err(unreachable)?;
        match status {
            200..=299 => Ok(bytes),
            _ => Err((self.refused(status, &bytes), after.map(Duration::from_secs))),
        }
    }

    fn refused(&self, status: u16, body: &[u8]) -> ChatError {
        let url = self.address();
        let said: String = String::from_utf8_lossy(body).chars().take(200).collect();
        let said = self.without_key(said.trim());
        match status {
            401 | 403 => ChatError::Key { url, status, variable: self.options.key_variable },
            _ => ChatError::Refused { url, status, said },
        }
    }

    /// The endpoint without a password that its address may hold.
    pub fn address(&self) -> String {
        let url = self.without_key(&self.options.url);
        match (url.split_once("://"), url.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
            _ => url,
        }
    }

    /// The text with the key, which servers may repeat, made unreadable.
    fn without_key(&self, text: &str) -> String {
        match self.options.key.as_deref() {
            Some(key) if !key.is_empty() => text.replace(key, "…"),
            _ => text.to_string(),
        }
    }
}

/// A damaged file counts as none and is written anew.
fn cached(file: &std::path::Path) -> Option<String> {
    let value: Value = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    Some(value.get("answer")?.as_str()?.to_string())
}

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
pub(crate) mod tests;
