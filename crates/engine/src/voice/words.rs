//! Written words at the times at which they are heard.

use std::ops::Range;

use crate::transcript::Sentence;

/// Costs of the edit distance: a misheard word costs less than a word that is not said and another that
/// is not written.
const SUBSTITUTED: u32 = 3;
const LEFT_OUT: u32 = 2;

/// For each written word the place of the heard word that it is, in order; none for one that is not said.
pub fn pair(written: &[&str], heard: &[&str]) -> Vec<Option<usize>> {
    let width = heard.len() + 1;
    let mut costs = vec![0; (written.len() + 1) * width];
    let substitution = |i: usize, j: usize| match is_same(written[i], heard[j]) {
        true => 0,
        false => SUBSTITUTED,
    };
    for at in 1..costs.len() {
        let (i, j) = (at / width, at % width);
        let up = if i > 0 { costs[at - width] + LEFT_OUT } else { u32::MAX };
        let left = if j > 0 { costs[at - 1] + LEFT_OUT } else { u32::MAX };
        let both = match i > 0 && j > 0 {
            true => costs[at - width - 1] + substitution(i - 1, j - 1),
            false => u32::MAX,
        };
        costs[at] = up.min(left).min(both);
    }
    let mut pairs = vec![None; written.len()];
    let (mut i, mut j) = (written.len(), heard.len());
    while i > 0 && j > 0 {
        let at = i * width + j;
        // Of equal pairings the one with the earlier written word: a sentence is rarely said to its end only.
        if costs[at] == costs[at - width] + LEFT_OUT {
            i -= 1;
        } else if costs[at] == costs[at - width - 1] + substitution(i - 1, j - 1) {
            (i, j) = (i - 1, j - 1);
            pairs[i] = Some(j);
        } else {
            j -= 1;
        }
    }
    pairs
}

/// Whether two words are one, whatever their case and punctuation.
pub fn is_same(a: &str, b: &str) -> bool {
    let letters = |word: &str| -> String {
        word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    letters(a) == letters(b)
}

/// The written words at the times of the heard ones they are; words between them share the time between.
pub fn timed(
    written: &[&str],
    pairs: &[Option<usize>],
    heard: &[Sentence],
    whole_ms: Range<u64>,
) -> Vec<Sentence> {
    let mut words: Vec<Sentence> = Vec::with_capacity(written.len());
    let mut from = 0;
    for at in 0..=written.len() {
        let found = pairs.get(at).copied().flatten().map(|place| &heard[place]);
        if found.is_none() && at < written.len() {
            continue;
        }
        let free = words.last().map_or(whole_ms.start, |word| word.end_ms);
        let next = found.map_or(whole_ms.end, |word| word.start_ms);
        words.extend(spread(&written[from..at], free..next.max(free)));
        if let Some(Sentence { start_ms, end_ms, .. }) = found {
            let (start_ms, end_ms) = (*start_ms, *end_ms);
            words.push(Sentence { start_ms, end_ms, text: written[at].to_owned() });
        }
        from = at + 1;
    }
    words
}

/// The words over a time, by their letters.
pub fn spread(words: &[&str], whole_ms: Range<u64>) -> Vec<Sentence> {
    let letters = |words: &[&str]| words.iter().map(|word| word.len() as u64 + 1).sum::<u64>();
    let (all, length_ms) = (letters(words).max(1), whole_ms.end - whole_ms.start);
    let at = |count: usize| whole_ms.start + length_ms * letters(&words[..count]) / all;
    let word = |(i, word): (usize, &&str)| Sentence {
        start_ms: at(i),
        end_ms: at(i + 1),
        text: (*word).to_owned(),
    };
    words.iter().enumerate().map(word).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<&str> {
        text.split_whitespace().collect()
    }

    fn heard(text: &str) -> Vec<Sentence> {
        spread(&words(text), 1000..1000 + 100 * (text.len() as u64 + 1))
    }

    #[test]
    fn written_words_are_paired_with_what_is_heard() {
        let check = |written: &str, heard: &str, expected: &[Option<usize>]| {
            assert_eq!(pair(&words(written), &words(heard)), expected, "{written} | {heard}");
        };
        check("Chop the onion.", "chop the onion", &[Some(0), Some(1), Some(2)]);
        check("Chop the onion", "Now I chop an onion", &[Some(2), Some(3), Some(4)]);
        check("Whisk eggs", "With eggs", &[Some(0), Some(1)]);
        check("Chop it. Serve it.", "chop it", &[Some(0), Some(1), None, None]);
        check("", "chop", &[]);
        check("chop", "", &[None]);
    }

    #[test]
    fn words_that_were_not_heard_share_the_time_between_their_neighbours() {
        let heard = heard("chop onion");
        let written = words("chop the red onion");
        let pairs = pair(&written, &["chop", "onion"]);
        let times = timed(&written, &pairs, &heard, 0..9000);
        let starts: Vec<u64> = times.iter().map(|word| word.start_ms).collect();
        assert_eq!(starts, [1000, 1500, 1500, 1500]);
        let alone = timed(&words("a bc"), &[None, None], &[], 0..5000);
        assert_eq!((alone[0].end_ms, alone[1].start_ms, alone[1].end_ms), (2000, 2000, 5000));
    }

    proptest! {
        #[test]
        fn pairs_and_times_never_go_back(
            written in prop::collection::vec("[ab]", 0..8), said in prop::collection::vec("[ab]", 0..8),
        ) {
            let written: Vec<&str> = written.iter().map(String::as_str).collect();
            let said = said.join(" ");
            let pairs = pair(&written, &words(&said));
            let places: Vec<usize> = pairs.iter().flatten().copied().collect();
            prop_assert!(places.is_sorted_by(|a, b| a < b));
            let times = timed(&written, &pairs, &heard(&said), 0..9000);
            prop_assert_eq!(times.len(), written.len());
            prop_assert!(times.is_sorted_by(|a, b| a.end_ms <= b.start_ms));
        }
    }
}
