//! The tokenizer.json of a model.

use std::path::Path;

use tokenizers::{Tokenizer, TruncationParams};

/// The tokenizer in this file, cutting texts at the model's longest, and filling none, whatever the
/// file says of that.
pub fn load(path: &Path, longest: usize) -> Result<Tokenizer, tokenizers::Error> {
    let mut tokenizer = Tokenizer::from_file(path)?;
    tokenizer.with_padding(None);
    let truncation = TruncationParams { max_length: longest, ..Default::default() };
    tokenizer.with_truncation(Some(truncation))?;
    Ok(tokenizer)
}
