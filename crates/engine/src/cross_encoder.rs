//! How likely the text of a clip is what a step asks for: the sentence model reads both together, the step in its
//! procedure, with a low-rank adapter and a linear head. Trained by `recipes/cross_encoder`.
//!
//! It tells "stand the batter for an hour" from "whisk the batter", which lie close to each other as vectors. A pass for
//! every pair is slow, so only the best clips of a step are read.

use stitch_nn::bert::{Adapter, Bert, BertConfig, PooledText};

use crate::models::{NnError, Weights};

const WEIGHTS: &[u8] = include_bytes!("../../../models/cross_encoder/cross_encoder.safetensors");

/// Of the clip's text, and of all; those of training.
const MAX_CLIP_TOKENS: usize = 42;
const MAX_TOKENS: usize = 96;

pub struct CrossEncoder {
    adapter: Adapter,
    weight: Vec<f32>, // [d]
    bias: f32,
}

impl CrossEncoder {
    /// None where the model has other sizes than the one that was trained, or is of another family.
    pub fn load(config: &BertConfig) -> Option<Self> {
        let weights =
            Weights::from_bytes("cross_encoder/cross_encoder.safetensors", WEIGHTS).ok()?;
        Self::read(&weights, config)
    }

    fn read(weights: &Weights, config: &BertConfig) -> Option<Self> {
        let adapter = Adapter::read(weights, config).ok().filter(|adapter| !adapter.is_empty())?;
        let weight = weights.tensor("head.weight", &[1, config.dim()]).ok()?;
        let bias = *weights.tensor("head.bias", &[1]).ok()?.first()?;
        Some(Self { adapter: adapter.ending_with_its_last_layer(), weight, bias })
    }

    /// The log-odds for such [`tokens`].
    pub fn log_odds(
        &self,
        network: &Bert,
        (tokens, pooled): (&[u32], usize),
    ) -> Result<f32, NnError> {
        let text = PooledText::first(tokens, pooled);
        let row = network.forward(std::iter::once(text), Some(&self.adapter))?;
        Ok(self.bias + row.iter().zip(&self.weight).map(|(x, weight)| x * weight).sum::<f32>())
    }
}

/// `<s> clip </s> step </s> title </s> earlier steps …`, and how many of the tokens are the clip's and the step's own. The
/// step's begin with the start mark.
pub fn tokens(clip: &[u32], (step, own): (&[u32], usize)) -> (Vec<u32>, usize) {
    let mut tokens = clip.to_vec();
    if let Some(end) = tokens.pop() {
        tokens.truncate(MAX_CLIP_TOKENS - 1);
        tokens.push(end);
    }
    let pooled = tokens.len() + own.saturating_sub(1);
    tokens.extend(step.iter().skip(1));
    tokens.truncate(MAX_TOKENS);
    (tokens, pooled.min(MAX_TOKENS))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Of the small random model, by the first number of a row.
    pub fn tiny(config: &BertConfig) -> CrossEncoder {
        let path = "tests/data/tiny-mpnet/adapter.safetensors";
        let bytes = std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path));
        let weights = Weights::from_bytes("tiny", &bytes.unwrap()).unwrap();
        let adapter = Adapter::read(&weights, config).unwrap();
        let mut weight = vec![0.0; config.dim()];
        weight[0] = 2.0;
        CrossEncoder { adapter, weight, bias: 0.5 }
    }

    #[test]
    fn a_clip_stands_before_the_step_and_what_the_step_follows() {
        let step = [0, 7, 8, 2, 9, 2];
        assert_eq!(tokens(&[0, 5, 2], (&step, 4)), (vec![0, 5, 2, 7, 8, 2, 9, 2], 6));
        let long: Vec<u32> = (100..300).collect();
        let (tokens, pooled) = tokens(&long, (&long, 64));
        assert_eq!((tokens.len(), pooled), (MAX_TOKENS, MAX_TOKENS));
        assert_eq!(tokens[MAX_CLIP_TOKENS - 2..][..3], [140, 299, 101]);
    }
}
