//! The tokenizer.json of a model.

use std::path::Path;

use tokenizers::{Tokenizer, TruncationParams};

use crate::error::{NnError, Result};

/// The tokenizer in this file, as it is.
pub fn read(path: &Path) -> tokenizers::Result<Tokenizer> {
    let bytes = std::fs::read(path)?;
    // The tokenizer's own reader panics where a decoder is no JSON.
    serde_json::from_slice::<serde_json::Value>(&bytes)?;
    Tokenizer::from_bytes(bytes)
}

/// The tokenizer in this file, cutting texts at `max_tokens` and padding none, whatever the file says
/// of that.
pub fn load(path: &Path, max_tokens: usize) -> Result<Tokenizer> {
    let mut tokenizer = read(path).map_err(unusable(path))?;
    tokenizer.with_padding(None);
    let truncation = TruncationParams { max_length: max_tokens, ..Default::default() };
    tokenizer.with_truncation(Some(truncation)).map_err(unusable(path))?;
    Ok(tokenizer)
}

/// The token ids of each text, special tokens included; `path` is the tokenizer's, for the error.
pub fn encode(tokenizer: &Tokenizer, path: &Path, texts: Vec<&str>) -> Result<Vec<Vec<u32>>> {
    let encoded = tokenizer.encode_batch_fast(texts, true).map_err(unusable(path))?;
    Ok(encoded.iter().map(|text| text.get_ids().to_vec()).collect())
}

fn unusable(path: &Path) -> impl FnOnce(tokenizers::Error) -> NnError {
    move |error| NnError::Tokenizer { path: path.into(), reason: error.to_string() }
}
