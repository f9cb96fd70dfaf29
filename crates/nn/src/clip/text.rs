//! The text encoder of the family: tokens, a transformer, the row of the last token, a projection.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::Deserialize;
use tokenizers::Tokenizer;

use super::config::{Family, TextConfig};
use crate::error::Result;
use crate::kernels;
use crate::layers::{LayerNorm, Linear};
use crate::tokenizer;
use crate::transformer::{Naming, Transformer};
use crate::weights::{Weights, read_json};

const TOKEN_EMBEDDING: &str = "text_model.embeddings.token_embedding.weight"; // [vocabulary, d]

/// Texts that one core encodes at a time; chosen by hand.
const TEXTS_PER_TASK: usize = 8;

/// Texts to the tokens that a text encoder takes.
pub struct ClipTokenizer {
    path: PathBuf,
    tokenizer: Tokenizer,
    cleaning: Cleaning,
    /// Where the encoder was trained on padded texts.
    padding: Option<Padding>,
}

/// How short texts are padded.
#[derive(Clone, Copy, Debug)]
pub struct Padding {
    pub length: usize,
    pub token: u32,
    /// Before the text instead of after it.
    pub left: bool,
}

/// What is done to a text before the tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleaning {
    None,
    Lowercase,
    /// Lower case, no punctuation, single spaces: as SigLIP's own tokenizer does.
    Plain,
}

impl Cleaning {
    fn clean(self, text: &str) -> String {
        match self {
            Self::None => text.to_owned(),
            Self::Lowercase => text.to_lowercase(),
            Self::Plain => {
                let kept = |c: &char| !c.is_ascii_punctuation();
                let text: String = text.to_lowercase().chars().filter(kept).collect();
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// tokenizer_config.json, as far as it matters here.
#[derive(Default, Deserialize)]
pub struct TokenizerConfig {
    tokenizer_class: Option<String>,
    padding_side: Option<String>,
    do_lower_case: Option<bool>,
    /// Can be as large as a float: no limit.
    model_max_length: Option<f64>,
    /// A text, or an object with the text in `content`.
    pad_token: Option<serde_json::Value>,
}

impl ClipTokenizer {
    /// The tokenizer in this file, cutting texts at `max_tokens`.
    pub fn read(
        path: PathBuf,
        max_tokens: usize,
        cleaning: Cleaning,
        padding: Option<Padding>,
    ) -> Result<Self> {
        Ok(Self { tokenizer: tokenizer::load(&path, max_tokens)?, path, cleaning, padding })
    }

    fn of_family(folder: &Path, family: Family, text: &TextConfig) -> Result<Self> {
        let config = TokenizerConfig::read(folder)?;
        let (length, token, left) = (text.max_tokens, text.pad, config.pads_left());
        let padding = Padding { length, token, left };
        let padding = (family != Family::Clip).then_some(padding);
        let path = folder.join("tokenizer.json");
        let mut read = Self::read(path, text.max_tokens, config.cleaning(family), padding)?;
        // The tokenizer knows its padding better than the config, whose default is another's.
        let pad = ["<pad>", "[PAD]"].iter().find_map(|pad| read.tokenizer.token_to_id(pad));
        if let (Some(padding), Some(pad)) = (&mut read.padding, pad) {
            padding.token = pad;
        }
        Ok(read)
    }

    pub fn encode(&self, texts: &[&str]) -> Result<Vec<Vec<u32>>> {
        let texts: Vec<String> = texts.iter().map(|text| self.cleaning.clean(text)).collect();
        let texts = texts.iter().map(String::as_str).collect();
        let tokens = tokenizer::encode(&self.tokenizer, &self.path, texts)?;
        Ok(tokens.into_iter().map(|tokens| self.pad(tokens)).collect())
    }

    fn pad(&self, tokens: Vec<u32>) -> Vec<u32> {
        match &self.padding {
            Some(padding) => padding.pad(tokens, padding.token),
            None => tokens,
        }
    }

    pub fn token(&self, text: &str) -> Option<u32> {
        self.tokenizer.token_to_id(text)
    }
}

impl Padding {
    /// Adds as many of `with` as are missing.
    pub fn pad<T: Copy>(&self, mut tokens: Vec<T>, with: T) -> Vec<T> {
        let missing = self.length.saturating_sub(tokens.len());
        let pads = std::iter::repeat_n(with, missing);
        match self.left {
            true => tokens.splice(0..0, pads).for_each(drop),
            false => tokens.extend(pads),
        }
        tokens
    }
}

impl TokenizerConfig {
    /// The usual values where there is no such file.
    pub fn read(folder: &Path) -> Result<Self> {
        let name = "tokenizer_config.json";
        match folder.join(name).exists() {
            true => read_json(folder, name),
            false => Ok(Self::default()),
        }
    }

    pub fn max_tokens(&self) -> Option<usize> {
        let length = self.model_max_length.filter(|length| (1.0..100_000.0).contains(length))?;
        Some(length as usize)
    }

    pub fn pad_token(&self) -> Option<&str> {
        let token = self.pad_token.as_ref()?;
        token.as_str().or_else(|| token.get("content")?.as_str())
    }

    pub fn pads_left(&self) -> bool {
        self.padding_side.as_deref() == Some("left")
    }

    pub fn cleaning(&self, family: Family) -> Cleaning {
        let class = self.tokenizer_class.as_deref().unwrap_or_default();
        let lower = self.do_lower_case.unwrap_or(true);
        match family {
            Family::Clip => Cleaning::None,
            _ if class.starts_with("SiglipTokenizer") => Cleaning::Plain,
            _ if lower => Cleaning::Lowercase,
            _ => Cleaning::None,
        }
    }
}

/// Which token's row stands for the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pooling {
    /// That of the token with the highest id, which is the one that ends the text.
    Highest,
    /// The first that is this one.
    First(u32),
    /// The last.
    Last,
}

impl Pooling {
    fn row(self, tokens: &[u32]) -> usize {
        let last = tokens.len().saturating_sub(1);
        match self {
            Self::Highest => {
                let highest = tokens.iter().max().copied().unwrap_or(0);
                tokens.iter().position(|token| *token == highest).unwrap_or(0)
            }
            // Where it is nowhere, `transformers` takes the first row.
            Self::First(end) => tokens.iter().position(|token| *token == end).unwrap_or(0),
            Self::Last => last,
        }
    }
}

pub struct TextEncoder {
    tokenizer: ClipTokenizer,
    /// The file, which the rows of the tokens are read from when needed: there can be a quarter of a
    /// million of them.
    weights: Weights,
    vocabulary: usize,
    positions: Vec<f32>, // [max_tokens, d]
    transformer: Transformer,
    norm: LayerNorm,
    pooling: Pooling,
    projection: Linear, // [dim, d]
    width: usize,
}

impl TextEncoder {
    /// The text encoder of a folder in Hugging Face's form.
    pub fn load(
        folder: &Path,
        weights: Weights,
        family: Family,
        text: &TextConfig,
    ) -> Result<Self> {
        let TextConfig { transformer: config, max_tokens, vocabulary, dim, .. } = *text;
        let d = config.width;
        weights.check(TOKEN_EMBEDDING, &[vocabulary, d])?;
        let scope = weights.scope("text_model");
        let positions = scope.tensor("embeddings.position_embedding.weight", &[max_tokens, d])?;
        let layers = scope.at("encoder.layers");
        let transformer = Transformer::load(&layers, Naming::HuggingFace, &config)?;
        let norm = scope.layer_norm("final_layer_norm", d, config.eps)?;
        let tokenizer = ClipTokenizer::of_family(folder, family, text)?;
        let (transformer, pooling, projection) = if family == Family::Clip {
            let pooling = if text.end == 2 { Pooling::Highest } else { Pooling::First(text.end) };
            let projection = weights.scope("").unbiased("text_projection.weight", dim, d)?;
            (transformer.causal(max_tokens), pooling, projection)
        } else {
            (transformer, Pooling::Last, scope.linear("head", dim, d)?)
        };
        Ok(Self {
            tokenizer,
            weights,
            vocabulary,
            positions,
            transformer,
            norm,
            pooling,
            projection,
            width: d,
        })
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.projection.outputs()
    }

    /// \[texts, dim\]
    fn forward(&self, texts: &[Vec<u32>]) -> Result<Vec<f32>> {
        let d = self.width;
        let max_tokens = self.positions.len() / d;
        let (mut ids, mut spans, mut pooled) = (vec![], vec![], vec![]);
        for tokens in texts {
            // A text of no token at all still needs a row.
            let tokens =
                if tokens.is_empty() { &[0][..] } else { &tokens[..tokens.len().min(max_tokens)] };
            pooled.push(ids.len() + self.pooling.row(tokens));
            spans.push((ids.len(), tokens.len()));
            ids.extend_from_slice(tokens);
        }
        let mut x = self.weights.rows(TOKEN_EMBEDDING, &[self.vocabulary, d], &ids)?; // [N, d]
        for &(start, length) in &spans {
            kernels::add(&mut x[start * d..(start + length) * d], &self.positions);
        }
        self.transformer.forward(&mut x, &spans);
        let rows = pooled.iter().flat_map(|row| &x[row * d..(row + 1) * d]);
        let rows: Vec<f32> = rows.copied().collect(); // [texts, d]
        Ok(self.projection.forward(&self.norm.forward(&rows), None))
    }

    /// One row per text: \[texts, dim\]
    pub fn encode(&self, texts: &[&str]) -> Result<Vec<f32>> {
        let tokens = self.tokenizer.encode(texts)?;
        let rows = tokens.par_chunks(TEXTS_PER_TASK).map(|texts| self.forward(texts));
        Ok(rows.collect::<Result<Vec<_>>>()?.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cleaned_as_in_training() {
        let text = "  Chop, the\tOnion!  (Finely) ";
        assert_eq!(Cleaning::Plain.clean(text), "chop the onion finely");
        assert_eq!(Cleaning::Lowercase.clean("Ä b"), "ä b");
        assert_eq!(Cleaning::None.clean(text), text);
    }

    #[test]
    fn the_row_of_a_text_is_where_it_ends() {
        let tokens = [7, 3, 9, 9, 0];
        assert_eq!(Pooling::Highest.row(&tokens), 2);
        assert_eq!(Pooling::First(3).row(&tokens), 1);
        assert_eq!(Pooling::First(42).row(&tokens), 0);
        assert_eq!(Pooling::Last.row(&tokens), 4);
    }
}
