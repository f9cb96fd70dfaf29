//! The side that reads: tokens, a transformer, the row of the last token, a projection.

use std::path::{Path, PathBuf};

use candle_core::{Device, Tensor};
use rayon::prelude::*;
use serde::Deserialize;
use tokenizers::Tokenizer;

use super::config::{Family, TextSizes};
use super::transformer::{Naming, Transformer, linear, norm, unbiased};
use crate::kernels::{Linear, Norm};
use crate::tokenizer;
use crate::weights::{Weights, WeightsError, read_json};

/// Texts encoded at once on one core.
const TOGETHER: usize = 8;

/// Texts to the tokens that a tower takes.
pub struct Tokens {
    path: PathBuf,
    tokenizer: Tokenizer,
    cleaning: Cleaning,
    /// Fills up to this many tokens, where the tower was trained on such texts.
    filled: Option<Fill>,
}

/// How short texts are filled up.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// To how many tokens.
    pub to: usize,
    /// With which token.
    pub with: u32,
    /// Whether before the text instead of after it.
    pub before: bool,
}

/// What is done to a text before its tokenizer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleaning {
    /// Nothing: the tokenizer does it all.
    None,
    /// Small letters.
    Lowercase,
    /// Small letters, no punctuation, single spaces: as SigLIP's own tokenizer does.
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
struct TokenizerConfig {
    tokenizer_class: Option<String>,
    padding_side: Option<String>,
    do_lower_case: Option<bool>,
}

impl Tokens {
    /// The tokenizer.json of a folder, cutting texts at `longest`.
    pub fn read(
        path: PathBuf,
        longest: usize,
        cleaning: Cleaning,
        filled: Option<Fill>,
    ) -> Result<Self, WeightsError> {
        match tokenizer::load(&path, longest) {
            Ok(tokenizer) => Ok(Self { path, tokenizer, cleaning, filled }),
            Err(error) => Err(unusable(path, error)),
        }
    }

    /// The tokenizer of a folder of this family.
    fn of_family(folder: &Path, family: Family, sizes: &TextSizes) -> Result<Self, WeightsError> {
        let name = "tokenizer_config.json";
        let config: TokenizerConfig = match folder.join(name).exists() {
            true => read_json(folder, name)?,
            false => TokenizerConfig::default(),
        };
        let fill = Fill {
            to: sizes.longest,
            with: sizes.pad,
            before: config.padding_side.as_deref() == Some("left"),
        };
        let filled = (family != Family::Clip).then_some(fill);
        let path = folder.join("tokenizer.json");
        let mut tokens = Self::read(path, sizes.longest, config.cleaning(family), filled)?;
        // The tokenizer knows its own filling better than the config, whose default is another's.
        let pad = ["<pad>", "[PAD]"].iter().find_map(|pad| tokens.tokenizer.token_to_id(pad));
        if let (Some(fill), Some(pad)) = (&mut tokens.filled, pad) {
            fill.with = pad;
        }
        Ok(tokens)
    }

    /// The tokens of each text.
    pub fn of(&self, texts: &[&str]) -> Result<Vec<Vec<u32>>, WeightsError> {
        let texts: Vec<String> = texts.iter().map(|text| self.cleaning.clean(text)).collect();
        let encoded = self
            .tokenizer
            .encode_batch_fast(texts, true)
            .map_err(|error| unusable(self.path.clone(), error))?;
        let filled = |text: &tokenizers::Encoding| self.fill(text.get_ids().to_vec());
        Ok(encoded.iter().map(filled).collect())
    }

    fn fill(&self, mut tokens: Vec<u32>) -> Vec<u32> {
        let Some(fill) = &self.filled else { return tokens };
        let missing = fill.to.saturating_sub(tokens.len());
        let filling = std::iter::repeat_n(fill.with, missing);
        match fill.before {
            true => tokens.splice(0..0, filling).for_each(drop),
            false => tokens.extend(filling),
        }
        tokens
    }
}

impl TokenizerConfig {
    fn cleaning(&self, family: Family) -> Cleaning {
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

fn unusable(path: PathBuf, error: tokenizers::Error) -> WeightsError {
    WeightsError::Tokenizer { path, reason: error.to_string() }
}

/// Which token's row stands for the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// That of the token with the highest number, which is the one that ends the text.
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

/// The parts of a text tower.
pub struct Reader {
    /// From texts to tokens.
    pub tokens: Tokens,
    /// The file, which the rows of the tokens are read from when needed: there can be a quarter of a
    /// million of them.
    pub weights: Weights,
    /// The name of the tokens' rows there: \[vocabulary, d\].
    pub words: String,
    /// How many tokens there are.
    pub vocabulary: usize,
    /// \[longest, d\]
    pub positions: Tensor,
    /// The layers.
    pub transformer: Transformer,
    /// The norm after them.
    pub norm: Norm,
    /// Which row stands for the text.
    pub pooling: Pooling,
    /// Into the common space: \[dim, d\].
    pub projection: Linear,
}

impl Reader {
    /// The text tower of a folder in Hugging Face's form.
    pub fn load(
        folder: &Path,
        weights: Weights,
        family: Family,
        sizes: &TextSizes,
    ) -> Result<Self, WeightsError> {
        let d = sizes.sizes.width;
        let name = |part: &str| format!("text_model.{part}");
        let words = name("embeddings.token_embedding.weight");
        weights.check(&words, &[sizes.vocabulary, d])?;
        let positions = name("embeddings.position_embedding.weight");
        let positions = weights.tensor(&positions, &[sizes.longest, d], &Device::Cpu)?;
        let layers = name("encoder.layers");
        let transformer = Transformer::load(&weights, &layers, Naming::HuggingFace, &sizes.sizes)?;
        let norm = norm(&weights, &name("final_layer_norm"), d, sizes.sizes.eps)?;
        let tokens = Tokens::of_family(folder, family, sizes)?;
        let clip = family == Family::Clip;
        let (transformer, pooling, projection) = if clip {
            let weight = weights.tensor("text_projection.weight", &[sizes.dim, d], &Device::Cpu)?;
            let pooling = if sizes.end == 2 { Pooling::Highest } else { Pooling::First(sizes.end) };
            let projection = unbiased(weight).map_err(WeightsError::from)?;
            (transformer.causal(sizes.longest), pooling, projection)
        } else {
            (transformer, Pooling::Last, linear(&weights, &name("head"), sizes.dim, d)?)
        };
        let vocabulary = sizes.vocabulary;
        let (words, weights) = (words, weights);
        Ok(Self {
            tokens,
            weights,
            words,
            vocabulary,
            positions,
            transformer,
            norm,
            pooling,
            projection,
        })
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.projection.bias.elem_count()
    }

    /// \[texts, dim\]
    fn forward(&self, texts: &[Vec<u32>]) -> Result<Tensor, WeightsError> {
        let (longest, d) = self.positions.dims2()?;
        let (mut ids, mut places, mut spans, mut pooled) = (vec![], vec![], vec![], vec![]);
        for tokens in texts {
            // A text of no token at all still needs a row.
            let tokens =
                if tokens.is_empty() { &[0][..] } else { &tokens[..tokens.len().min(longest)] };
            pooled.push((ids.len() + self.pooling.row(tokens)) as u32);
            spans.push((ids.len(), tokens.len()));
            ids.extend_from_slice(tokens);
            places.extend(0..tokens.len() as u32);
        }
        let words = self.weights.rows(&self.words, &[self.vocabulary, d], &ids)?;
        let words = Tensor::from_vec(words, (ids.len(), d), &Device::Cpu)?; // [N, d]
        let places = self.positions.embedding(&Tensor::new(places, &Device::Cpu)?)?; // [N, d]
        let x = self.transformer.forward((words + places)?, &spans)?; // [N, d]
        let x = x.index_select(&Tensor::new(pooled, &Device::Cpu)?, 0)?; // [texts, d]
        Ok(self.projection.forward(&self.norm.forward_owned(x)?)?) // [texts, dim]
    }

    /// One row per text, one after the other: \[texts, dim\]
    pub fn encode(&self, texts: &[&str]) -> Result<Vec<f32>, WeightsError> {
        let tokens = self.tokens.of(texts)?;
        let rows = tokens.par_chunks(TOGETHER).map(|texts| {
            let rows = self.forward(texts)?;
            rows.flatten_all()?.to_vec1::<f32>().map_err(WeightsError::from)
        });
        Ok(rows.collect::<Result<Vec<_>, WeightsError>>()?.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cleaned_as_the_tower_was_trained() {
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
