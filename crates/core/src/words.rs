//! Shared words: a sentence encoder ranks "sand the stool" near "clamp the stool"; the rare words
//! that two texts share tell them apart.

use std::collections::{HashMap, HashSet};

use crate::clip::Clip;

/// How rare each word is among the texts of a pool (inverse document frequency).
#[derive(Clone, Debug)]
pub struct Rarity {
    texts: usize,
    counts: HashMap<String, usize>,
}

impl Rarity {
    /// More texts would not change what is rare.
    const MAX_TEXTS: usize = 20_000;

    /// Of the clips' texts, or of evenly spread ones where there are very many.
    pub fn of(clips: &[Clip]) -> Self {
        let step = clips.len().div_ceil(Self::MAX_TEXTS).max(1);
        let mut rarity = Self { texts: 0, counts: HashMap::new() };
        for clip in clips.iter().step_by(step) {
            rarity.texts += 1;
            for word in stems(&clip.text) {
                *rarity.counts.entry(word).or_default() += 1;
            }
        }
        rarity
    }

    /// How much of the rarity of two texts' stems is in those they share, 0 to 1.
    pub fn shared_stems(&self, a: &HashSet<String>, b: &HashSet<String>) -> f32 {
        // Sorted, so that the sum is the same in every run.
        let sum = |words: &mut dyn Iterator<Item = &String>| {
            let mut words: Vec<&String> = words.collect();
            words.sort_unstable();
            words.into_iter().map(|word| self.rarity(word)).sum::<f64>()
        };
        let whole = (sum(&mut a.iter()) * sum(&mut b.iter())).sqrt();
        if whole > 0.0 { (sum(&mut a.intersection(b)) / whole) as f32 } else { 0.0 }
    }

    fn rarity(&self, word: &str) -> f64 {
        let count = self.counts.get(word).copied().unwrap_or(0);
        (1.0 + self.texts as f64 / (1.0 + count as f64)).ln()
    }
}

const STOP_WORDS: [&str; 48] = [
    "a", "an", "the", "of", "to", "in", "on", "with", "and", "or", "it", "its", "is", "are", "be",
    "until", "till", "into", "onto", "for", "over", "under", "by", "at", "from", "out", "up",
    "your", "you", "we", "our", "my", "i", "them", "they", "that", "this", "one", "some", "so",
    "as", "then", "now", "all", "very", "well", "nice", "just",
];

const ENDINGS: [&str; 10] = ["ings", "ing", "ers", "ies", "er", "es", "ed", "s", "e", "y"];

/// The stems of the text's words without stop words. Scripts that do not separate words by spaces
/// count as one long word each, which shares nothing and does no harm.
pub fn stems(text: &str) -> HashSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words = words.map(str::to_lowercase).filter(|word| !STOP_WORDS.contains(&word.as_str()));
    words.map(stem).collect()
}

/// The word without its ending, if three letters stay.
fn stem(word: String) -> String {
    let rest = |ending: &&str| word.strip_suffix(*ending).filter(|rest| rest.chars().count() >= 3);
    ENDINGS.iter().find_map(rest).map(str::to_owned).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::{Span, VideoId};

    fn clips(texts: &[&str]) -> Vec<Clip> {
        let span = Span::new(0, 1000).unwrap();
        let clip = |text: &&str| Clip { video: VideoId(1), span, text: text.to_string() };
        texts.iter().map(clip).collect()
    }

    fn shared(rarity: &Rarity, a: &str, b: &str) -> f32 {
        rarity.shared_stems(&stems(a), &stems(b))
    }

    #[test]
    fn endings_do_not_matter_and_empty_words_do_not_count() {
        let rarity = Rarity::of(&clips(&["Clamp the stool", "Sand the stool", "Chop an onion"]));
        assert_eq!(shared(&rarity, "clamping stools", "the clamps of a stool"), 1.0);
        assert_eq!(shared(&rarity, "the of and", "the of and"), 0.0);
        assert_eq!(shared(&rarity, "洗胡萝卜", "peel"), 0.0);
    }

    #[test]
    fn rare_words_weigh_more() {
        let rarity = Rarity::of(&clips(&["Clamp the stool", "Sand the stool", "Oil the stool"]));
        let step = "Fix the stool with clamps";
        assert!(shared(&rarity, step, "Tighten clamps") > shared(&rarity, step, "Sand the stool"));
    }
}
