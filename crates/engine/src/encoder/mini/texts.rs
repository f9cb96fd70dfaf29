//! The text side of `mini`: the sentence's vector, projected once for each image tower.

use std::sync::Arc;

use stitch_core::features::Features;
use stitch_nn::projection::Projection;

use crate::encoder::EncoderError;
use crate::encoder::tower::TextTower;
use crate::models::{NnError, Weights};
use crate::sentence::SentenceEncoder;

/// The projections' names in the file, in the order of the image towers.
const NAMES: [&str; 2] = ["first", "second"];

pub struct Texts {
    sentences: Arc<SentenceEncoder>,
    projections: Vec<Projection>,
}

impl Texts {
    /// From vectors of `from` numbers to vectors of `to`, of which every projection has its share.
    pub fn load(
        bytes: &[u8],
        (from, to): (usize, usize),
        sentences: Arc<SentenceEncoder>,
    ) -> Result<Self, EncoderError> {
        if sentences.dim() != from {
            let reason = format!(
                "its text tower was trained on sentence vectors of {from} numbers, the sentence \
                 model here makes {}; use `{}`",
                sentences.dim(),
                SentenceEncoder::MODEL
            );
            return Err(NnError::Config { path: "mini/config.json".into(), reason }.into());
        }
        Ok(Self { sentences, projections: projections(bytes, from, to)? })
    }

    fn side_by_side(&self, sentences: &Features) -> Result<Features, EncoderError> {
        let shares = self.projections.iter().map(|projection| project(projection, sentences));
        Ok(Features::side_by_side(&shares.collect::<Result<Vec<_>, _>>()?))
    }
}

impl TextTower for Texts {
    fn encode(&self, texts: &[&str]) -> Result<Features, EncoderError> {
        self.side_by_side(&self.sentences.encode(texts)?)
    }

    fn project(&self, sentences: &Features) -> Result<Option<Features>, EncoderError> {
        self.side_by_side(sentences).map(Some)
    }
}

fn project(projection: &Projection, sentences: &Features) -> Result<Features, EncoderError> {
    Ok(Features::new(projection.dim(), projection.forward(sentences.as_slice()))?)
}

fn projections(bytes: &[u8], from: usize, to: usize) -> Result<Vec<Projection>, NnError> {
    let weights = Weights::from_bytes("mini/text_projection.safetensors", bytes)?;
    let share = to / NAMES.len();
    NAMES.iter().map(|name| Projection::load(&weights.scope(name), from, share)).collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use stitch_core::features::similarity;

    use super::super::Files;
    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        text_features: Vec<f32>,
    }

    #[test]
    fn the_heads_give_what_training_left() {
        let golden = include_bytes!("../../../../../models/mini/golden.json");
        let golden: Golden = serde_json::from_slice(golden).unwrap();
        let x = Features::new(768, (1..=768).map(|i| (i as f32).sin()).collect()).unwrap();
        let heads = projections(&Files::shipped().text, 768, 384).unwrap();
        let shares: Vec<Features> = heads.iter().map(|head| project(head, &x).unwrap()).collect();
        let found = Features::side_by_side(&shares);
        assert!(similarity(found.row(0), &golden.text_features) > 0.9999);
    }

    #[test]
    fn a_head_that_is_cut_short_or_lacks_a_part_is_refused() {
        let text = Files::shipped().text;
        assert!(projections(&text[..text.len() - 8], 768, 384).is_err());
        assert!(projections(&text, 512, 384).is_err());
        assert!(projections(b"\x80\x02}q\x00.", 768, 384).is_err(), "a pickle");
    }
}
