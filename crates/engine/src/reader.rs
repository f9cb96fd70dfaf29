//! Tells the title and steps of a text from everything else: the sentence model reads the whole text with
//! a low-rank adapter, and a linear head labels every sentence. Trained by `recipes/reader`.

use std::ops::Range;

use stitch_nn::bert::{Adapter, Bert, BertConfig, PooledText};

use crate::models::{NnError, Weights};
use crate::recipe::Label;

const WEIGHTS: &[u8] = include_bytes!("../../../models/reader/reader.safetensors");

/// Of one pass, and of one sentence; those of training.
const MAX_TOKENS: usize = 384;
const MAX_SENTENCE_TOKENS: usize = 128;

/// Longer texts are not labelled: some 100 pages, a minute of work.
const MAX_PASSES: usize = 100;

/// In the order of the head's outputs.
const LABELS: [Label; 4] = [Label::Other, Label::Title, Label::Step, Label::More];

pub struct Reader {
    adapter: Adapter,
    weight: Vec<f32>, // [labels, d]
    bias: Vec<f32>,   // [labels]
}

/// Consecutive lines as one row of tokens: `<s> line </s> line </s> …`.
#[derive(Default)]
struct Pass {
    tokens: Vec<u32>,
    /// The line and number of a sentence, and its tokens.
    sentences: Vec<(usize, usize, Range<usize>)>,
}

impl Reader {
    /// None where the model has other sizes than the one that was trained, is of another family, or reads
    /// fewer tokens.
    pub fn load(config: &BertConfig) -> Option<Self> {
        if config.max_tokens < MAX_TOKENS {
            return None;
        }
        let weights = Weights::from_bytes("reader/reader.safetensors", WEIGHTS).ok()?;
        let adapter = Adapter::read(&weights, config).ok().filter(|adapter| !adapter.is_empty())?;
        let weight = weights.tensor("head.weight", &[LABELS.len(), config.dim()]).ok()?;
        Some(Self { adapter, weight, bias: weights.tensor("head.bias", &[LABELS.len()]).ok()? })
    }

    /// A label for every sentence; none where the text is too long. The tokens of a sentence stand between
    /// a start and an end mark.
    pub fn label(
        &self,
        network: &Bert,
        lines: &[Vec<Vec<u32>>],
    ) -> Result<Option<Vec<Vec<Label>>>, NnError> {
        let passes = passes(lines);
        if passes.len() > MAX_PASSES {
            return Ok(None);
        }
        let mut labels: Vec<Vec<Label>> =
            lines.iter().map(|line| vec![Label::Other; line.len()]).collect();
        for Pass { tokens, sentences } in passes {
            let pooled = sentences.iter().map(|(_, _, tokens)| tokens.clone()).collect();
            let text = PooledText { tokens: &tokens, pooled };
            let rows = network.forward(std::iter::once(text), Some(&self.adapter))?; // [sentences, d]
            let rows = rows.chunks_exact(self.weight.len() / LABELS.len());
            for ((line, number, _), row) in sentences.iter().zip(rows) {
                labels[*line][*number] = self.classify(row);
            }
        }
        Ok(Some(labels))
    }

    fn classify(&self, row: &[f32]) -> Label {
        let score = |(weights, bias): (&[f32], &f32)| -> f32 {
            bias + weights.iter().zip(row).map(|(w, x)| w * x).sum::<f32>()
        };
        let scores = self.weight.chunks_exact(row.len()).zip(&self.bias).map(score);
        let best = scores.zip(LABELS).max_by(|a, b| a.0.total_cmp(&b.0));
        best.map_or(Label::Other, |(_, label)| label)
    }
}

/// Cut between lines where a pass would have too many tokens, and inside a line that has too many itself.
fn passes(lines: &[Vec<Vec<u32>>]) -> Vec<Pass> {
    let marks =
        lines.iter().flatten().find_map(|text| text.first().copied().zip(text.last().copied()));
    let Some((start, end)) = marks else { return Vec::new() };
    let fresh = || Pass { tokens: vec![start], ..Pass::default() };
    let mut passes = vec![fresh()];
    let room_for = |passes: &mut Vec<Pass>, count: usize| {
        let used = passes.last().map_or(0, |pass| pass.tokens.len());
        if used > 1 && used + count > MAX_TOKENS {
            passes.push(fresh());
        }
    };
    for (number, line) in lines.iter().enumerate() {
        let own: Vec<&[u32]> = line.iter().map(|tokens| own(tokens)).collect();
        room_for(&mut passes, own.iter().map(|own| own.len()).sum::<usize>() + 1);
        for (at, own) in own.into_iter().enumerate().filter(|(_, own)| !own.is_empty()) {
            room_for(&mut passes, own.len());
            if let Some(Pass { tokens, sentences }) = passes.last_mut() {
                sentences.push((number, at, tokens.len()..tokens.len() + own.len()));
                tokens.extend(own);
            }
        }
        room_for(&mut passes, 1);
        passes.last_mut().into_iter().for_each(|pass| pass.tokens.push(end));
    }
    passes.retain(|pass| !pass.sentences.is_empty());
    passes
}

/// A sentence's tokens without its start and end mark, cut where they are too many.
fn own(tokens: &[u32]) -> &[u32] {
    let own = tokens.get(1..tokens.len().saturating_sub(1)).unwrap_or_default();
    &own[..own.len().min(MAX_SENTENCE_TOKENS)]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_sentence_gets_the_label_of_the_highest_score() {
        let tiny = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tiny-mpnet");
        let config = BertConfig::read(&tiny).unwrap();
        let weights = Weights::open(&tiny).unwrap();
        let network = Bert::read(&weights, &config).unwrap();
        let adapter = Adapter::read(&weights, &config).unwrap();
        let weight = vec![0.0; LABELS.len() * config.dim()];
        let mut reader = Reader { adapter, weight, bias: vec![0.0; LABELS.len()] };
        let lines = [vec![vec![0, 5, 2], vec![0, 6, 7, 2]], vec![], vec![vec![0, 8, 2]]];
        for (at, label) in [Label::Other, Label::Title, Label::Step, Label::More].iter().enumerate()
        {
            reader.bias.fill(0.0);
            reader.bias[at] = 1.0;
            let found = reader.label(&network, &lines).unwrap().unwrap();
            assert_eq!(found, [vec![*label; 2], vec![], vec![*label]]);
        }
        // By a sentence's own mean: the head points along the row of the last one.
        let row = |tokens: &[u32]| {
            let text = PooledText { tokens, pooled: std::iter::once(1..2).collect() };
            network.forward(std::iter::once(text), None).unwrap()
        };
        let (one, other) = (row(&[0, 5, 2]), row(&[0, 8, 2]));
        let norm = |row: &[f32]| row.iter().map(|x| x * x).sum::<f32>();
        reader.weight[2 * config.dim()..][..config.dim()].copy_from_slice(&other);
        reader.bias = vec![norm(&other) * 0.999, 0.0, 0.0, 0.0];
        let alone = |tokens| reader.label(&network, &[vec![tokens]]).unwrap().unwrap()[0][0];
        let similar: f32 = one.iter().zip(&other).map(|(a, b)| a * b).sum();
        assert!(similar < norm(&other) * 0.999, "the two rows differ");
        assert_eq!((alone(vec![0, 5, 2]), alone(vec![0, 8, 2])), (Label::Other, Label::Step));
    }

    #[test]
    fn lines_become_passes_with_every_sentence_once() {
        let text = |length: usize| [vec![0], vec![9; length], vec![2]].concat();
        let lines = [vec![text(3)], vec![], vec![text(200), text(4)], vec![text(100), text(120)]];
        let (long, blank) = (vec![text(120); 5], vec![Vec::new(); 500]);
        let lines = [&lines[..], &[long], &blank, &[vec![text(7)]]].concat();
        let passes = passes(&lines);
        assert_eq!(passes[0].tokens[..6], [0, 9, 9, 9, 2, 2]);
        let sentences: Vec<(usize, usize, usize)> =
            passes.iter().flat_map(|p| &p.sentences).map(|(l, n, t)| (*l, *n, t.len())).collect();
        assert_eq!(sentences[..5], [(0, 0, 3), (2, 0, 128), (2, 1, 4), (3, 0, 100), (3, 1, 120)]);
        assert_eq!(sentences[5..10], [0, 1, 2, 3, 4].map(|at| (4, at, 120)));
        assert_eq!(sentences[10..], [(505, 0, 7)]);
        assert!(passes.iter().all(|pass| pass.tokens.len() <= MAX_TOKENS));
    }
}
