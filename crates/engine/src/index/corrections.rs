//! Uncertain words of recognised speech, corrected by what is seen while they are said: "loosen the mad"
//! in front of a garden bed was "loosen the bed".

use stitch_core::features::Features;
use stitch_core::words::stems;

use super::similarity::{WindowScore, window_score};
use super::spans::AFTER_S;
use crate::listen::UncertainWord;
use crate::summarise::describes_step;
use crate::transcript::Sentence;

/// Log probability per unit of cosine between a sentence and its frames. All values here were chosen on
/// the made-up library of seed 1, by `stitch eval speech --against`.
const VISION_WEIGHT: f32 = 40.0;
/// By how much the log probability of a correction must exceed that of what was heard.
const MIN_GAIN: f32 = 1.0;
/// A corrected sentence must be similar to its own seconds: talk that nothing is seen of stays as heard.
const MIN_Z_SCORE: f32 = 1.0;
/// By the decoder alone.
const MIN_ALTERNATIVE_LOG_PROB: f32 = -5.0;
/// Of two adjacent words together.
const MIN_PAIR_LOG_PROB: f32 = -3.0;
/// Added if only the corrected sentence describes a step: narration describes steps.
const STEP_BONUS: f32 = 2.0;
const MAX_CORRECTIONS_PER_SENTENCE: usize = 3;

/// A sentence with other words in it.
struct Candidate {
    /// The sentence's index.
    sentence: usize,
    text: String,
    /// Less that of what was heard, without vision.
    log_prob: f32,
}

/// Replaces words where decoder and frames together find an alternative clearly likelier.
pub fn correct<E>(
    sentences: &mut [Sentence],
    uncertain: &[UncertainWord],
    seconds: &Features,
    encode: impl Fn(&[&str]) -> Result<Features, E>,
) -> Result<(), E> {
    let mut open: Vec<usize> = (0..sentences.len()).collect();
    for _ in 0..MAX_CORRECTIONS_PER_SENTENCE {
        let candidates = candidates(sentences, uncertain, &open);
        let best = best_candidates(sentences, &candidates, seconds, &encode)?;
        open = best.iter().map(|candidate| candidate.sentence).collect();
        for Candidate { sentence, text, .. } in best {
            sentences[*sentence].text.clone_from(text);
        }
    }
    Ok(())
}

/// The best candidate of each sentence that has a clearly likelier one.
fn best_candidates<'a, E>(
    sentences: &[Sentence],
    candidates: &'a [Candidate],
    seconds: &Features,
    encode: impl Fn(&[&str]) -> Result<Features, E>,
) -> Result<Vec<&'a Candidate>, E> {
    let mut found = Vec::new();
    for of_one in candidates.chunk_by(|a, b| a.sentence == b.sentence) {
        let heard = &sentences[of_one[0].sentence];
        let window = (heard.start_ms, heard.end_ms + 1000 * AFTER_S as u64);
        let texts = of_one.iter().map(|candidate| candidate.text.as_str());
        let texts: Vec<&str> = std::iter::once(heard.text.as_str()).chain(texts).collect();
        let rows = encode(&texts)?;
        let mut scores = rows.rows().map(|row| window_score(row, window, seconds));
        let Some(as_heard) = scores.next().flatten() else { continue };
        let gain = |(candidate, score): (&'a Candidate, Option<WindowScore>)| {
            let seen = score.filter(|score| score.z_score > MIN_Z_SCORE)?;
            let gain = candidate.log_prob + VISION_WEIGHT * (seen.cosine - as_heard.cosine);
            (gain > MIN_GAIN).then_some((gain, candidate))
        };
        let gains = of_one.iter().zip(scores).filter_map(gain);
        found.extend(gains.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, candidate)| candidate));
    }
    Ok(found)
}

/// Every candidate of the open sentences, in their order: one word changed, or two adjacent ones, since
/// what makes a word unclear often affects the next.
fn candidates(
    sentences: &[Sentence],
    uncertain: &[UncertainWord],
    open: &[usize],
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let mut first = 0;
    for (number, sentence) in sentences.iter().enumerate() {
        let words: Vec<&str> = sentence.text.split_whitespace().collect();
        let own = first..first + words.len();
        first = own.end;
        if !open.contains(&number) {
            continue;
        }
        let uncertain = uncertain.iter().filter(|word| own.contains(&word.index));
        let changes: Vec<Change> =
            uncertain.flat_map(|word| changes(word, &words, own.start)).collect();
        let has_step = describes_step(&sentence.text);
        let candidate = |changes: &[&Change]| candidate(number, &words, has_step, changes);
        candidates.extend(changes.iter().filter_map(|change| candidate(&[change])));
        let pairs = changes.iter().flat_map(|a| changes.iter().map(move |b| [a, b]));
        let pairs = pairs.filter(|[a, b]| a.place + 1 == b.place);
        candidates.extend(pairs.filter_map(|pair| candidate(&pair)));
    }
    candidates
}

/// Another word at a place of a sentence.
struct Change {
    place: usize,
    word: String,
    log_prob: f32,
}

/// What an uncertain word may be instead, in a sentence whose first word has the index `first`.
fn changes<'a>(
    uncertain: &'a UncertainWord,
    words: &'a [&str],
    first: usize,
) -> impl Iterator<Item = Change> + 'a {
    let place = uncertain.index - first;
    // A word that was corrected before stays.
    let is_as_heard = words[place] == uncertain.word;
    let alternatives = uncertain.alternatives.iter().filter(move |_| is_as_heard);
    alternatives.filter_map(move |(word, log_prob)| {
        Some(Change { place, word: replacement(word, words[place])?, log_prob: *log_prob })
    })
}

/// The sentence with these changes; none where they are too unlikely. A stop word is only changed where
/// that makes the sentence describe a step.
fn candidate(
    sentence: usize,
    words: &[&str],
    has_step: bool,
    changes: &[&Change],
) -> Option<Candidate> {
    let log_prob: f32 = changes.iter().map(|change| change.log_prob).sum();
    let no_stop_word = changes.iter().all(|change| !stems(words[change.place]).is_empty());
    let least = if changes.len() > 1 { MIN_PAIR_LOG_PROB } else { MIN_ALTERNATIVE_LOG_PROB };
    if log_prob <= least || has_step && !no_stop_word {
        return None;
    }
    let mut words = words.to_vec();
    changes.iter().for_each(|change| words[change.place] = &change.word);
    let text = words.join(" ");
    let gains_step = !has_step && describes_step(&text);
    let log_prob = log_prob + if gains_step { STEP_BONUS } else { 0.0 };
    (gains_step || no_stop_word).then_some(Candidate { sentence, text, log_prob })
}

/// A word with the capital and the punctuation of the one it replaces; none for a stop word, or where one
/// is but a form of the other.
fn replacement(word: &str, of: &str) -> Option<String> {
    let bare = of.trim_matches(|c: char| !c.is_alphanumeric());
    let (new, old) = (word.to_lowercase(), bare.to_lowercase());
    let is_form = new.starts_with(&old) || old.starts_with(&new);
    if is_form || stems(&new).is_empty() {
        return None;
    }
    let mut letters = new.chars();
    let new = match bare.starts_with(char::is_uppercase) {
        true => letters.next()?.to_uppercase().chain(letters).collect(),
        false => new,
    };
    Some(of.replacen(bare, &new, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn perhaps(index: usize, word: &str, alternatives: &[(&str, f32)]) -> UncertainWord {
        let alternatives = alternatives.iter().map(|(word, by)| ((*word).into(), *by)).collect();
        UncertainWord { index, word: word.into(), alternatives }
    }

    /// After "Hello." a sentence over four seconds of a garden bed, which are followed by four of
    /// something else; a text is about the bed as far as it says "bed" and "hole".
    fn corrected(text: &str, uncertain: &[UncertainWord]) -> String {
        let seconds = [[1.0, 0.1].repeat(2), [0.9, 0.1].repeat(2), [0.1, 1.0].repeat(4)].concat();
        let seconds = Features::new(2, seconds).unwrap();
        let encode = |texts: &[&str]| {
            let about = |text: &str| text.matches("bed").count() + text.matches("hole").count();
            let row = |text: &&str| [0.5 + about(&text.to_lowercase()) as f32, 1.0];
            Features::new(2, texts.iter().flat_map(row).collect())
        };
        let said = |text: &str| Sentence { start_ms: 0, end_ms: 1000, text: text.into() };
        let mut sentences = [said("Hello."), said(text)];
        correct(&mut sentences, uncertain, &seconds, encode).unwrap();
        assert_eq!(sentences[0].text, "Hello.");
        sentences[1].text.clone()
    }

    #[test]
    fn what_is_seen_decides_between_words_that_sound_alike() {
        let mad = |by| perhaps(3, "Mad,", &[("bad", -0.1), ("bed", by)]);
        assert_eq!(corrected("Loosen the Mad, please.", &[mad(-2.0)]), "Loosen the Bed, please.");
        let plain = "Loosen the Mad, please.";
        assert_eq!(corrected(plain, &[mad(MIN_ALTERNATIVE_LOG_PROB - 1.0)]), plain, "too unlikely");
        assert_eq!(corrected(plain, &[perhaps(3, "mud", &[("bed", -2.0)])]), plain, "another word");
        let both = [mad(-2.0), perhaps(6, "pole.", &[("hole", -1.0)])];
        let text = corrected("Loosen the Mad, dig a pole.", &both);
        assert_eq!(text, "Loosen the Bed, dig a hole.", "one after the other");
        // Neither is seen without the other.
        let both = [perhaps(3, "mad", &[("hole", -1.0)]), perhaps(4, "pole", &[("bed", -1.0)])];
        assert_eq!(corrected("Loosen the mad pole.", &[]), "Loosen the mad pole.");
        assert_eq!(corrected("Loosen the mad pole", &both), "Loosen the hole bed");
        let into = |text: &str| corrected(text, &[perhaps(2, "into", &[("dig", -0.5)])]);
        assert_eq!(into("Now into the bed."), "Now dig the bed.", "a step");
        assert_eq!(into("Dig into the bed."), "Dig into the bed.");
    }

    #[test]
    fn words_that_say_nothing_and_forms_of_a_word_are_left_alone() {
        assert_eq!(replacement("bed", "Mad,"), Some("Bed,".into()));
        assert_eq!(replacement("élan", "MAD"), Some("Élan".into()));
        for (word, of) in [("the", "mad"), ("beds", "bed"), ("Bed", "bed."), ("bed", "--")] {
            assert_eq!(replacement(word, of), None, "{word} for {of}");
        }
    }

    #[test]
    fn talk_that_nothing_is_seen_of_stays() {
        let seconds =
            Features::new(2, [[1.0, 0.1].repeat(4), [1.0, 0.1].repeat(4)].concat()).unwrap();
        let mut said = [Sentence { start_ms: 0, end_ms: 1000, text: "My mad.".into() }];
        let encode = |texts: &[&str]| {
            let row = |text: &&str| [if text.contains("bed") { 2.0 } else { 0.0 }, 1.0];
            Features::new(2, texts.iter().flat_map(row).collect())
        };
        correct(&mut said, &[perhaps(1, "mad.", &[("bed", -0.5)])], &seconds, encode).unwrap();
        assert_eq!(said[0].text, "My mad.");
    }
}
