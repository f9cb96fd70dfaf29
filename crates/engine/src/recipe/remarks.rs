//! Which lines of running text are steps and which are remarks: a linear classifier on the sentence
//! model's vectors.

use std::sync::LazyLock;

use stitch_core::features::similarity;

use crate::models::Weights;
use crate::sentence::{SentenceEncoder, SentenceError};

/// Made by `recipes/reading/train.py`.
const CLASSIFIER: &[u8] = include_bytes!("../../../../models/reading/classifier.safetensors");

struct Classifier {
    weight: Vec<f32>, // [d]
    bias: f32,
}

static SHIPPED: LazyLock<Option<Classifier>> = LazyLock::new(|| {
    let weights = Weights::from_bytes("reading/classifier.safetensors", CLASSIFIER).ok()?;
    let dim = weights.shape("weight").ok()?.first().copied()?;
    Some(Classifier {
        weight: weights.numbers("weight", &[dim]).ok()?,
        bias: weights.numbers("bias", &[1]).ok()?[0],
    })
});

/// Whether each text is a step. With another sentence model than the classifier was trained for, all
/// are.
pub fn are_steps(texts: &[String], sentence: &SentenceEncoder) -> Result<Vec<bool>, SentenceError> {
    let fits = |classifier: &&Classifier| classifier.weight.len() == sentence.dim();
    let Some(classifier) = SHIPPED.as_ref().filter(fits) else {
        return Ok(vec![true; texts.len()]);
    };
    let rows = sentence.encode(texts)?;
    let is_step = |row| similarity(&classifier.weight, rows.row(row)) + classifier.bias > 0.0;
    Ok((0..texts.len()).map(is_step).collect())
}
