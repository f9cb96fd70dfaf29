//! Captions into sentences: cut at punctuation where there is any, else at pauses and at words that
//! begin something new.

use super::caption::{Caption, Line, Sentence};

/// In text without punctuation a longer silence ends a sentence.
const PAUSE_MS: u64 = 700;
/// In punctuated text only a longer silence ends a sentence.
const LONG_PAUSE_MS: u64 = 3000;
/// Text without punctuation is cut at the next joint from this length on, in words.
const LONG_WORDS: usize = 18;
/// Whatever the punctuation.
const MAX_WORDS: usize = 60;

/// A word and when it is said.
#[derive(Clone, Debug)]
struct Word<'a> {
    text: &'a str,
    start_ms: u64,
    end_ms: u64,
    /// Whether it is the first of its caption.
    opens_caption: bool,
}

/// The sentences said in these captions. Every word is in exactly one, in order.
pub fn sentences(captions: &[Caption]) -> Vec<Sentence> {
    let words: Vec<Word> = captions.iter().flat_map(words).collect();
    let style = Style::of(&words);
    let mut sentences: Vec<Sentence> = Vec::new();
    let mut from = 0;
    for i in 1..=words.len() {
        if i == words.len() || style.cuts(&words[from..i], &words[i]) {
            sentences.push(joined(&words[from..i]));
            from = i;
        }
    }
    apart(&mut sentences);
    sentences
}

/// How the text is written.
struct Style {
    /// Sentences end in punctuation.
    punctuated: bool,
    /// Sentences begin with a capital.
    capitals: bool,
}

impl Style {
    fn of(words: &[Word]) -> Self {
        let ends = words.iter().filter(|w| ends_sentence(w.text)).count();
        let upper = |w: &&Word| w.text.starts_with(char::is_uppercase);
        let capitals = words.iter().filter(upper).count();
        Self {
            punctuated: ends * 40 >= words.len() && ends > 0,
            capitals: capitals * 30 >= words.len() && capitals * 2 < words.len(),
        }
    }

    /// Whether a sentence ends between what is said so far and the next word.
    fn cuts(&self, so_far: &[Word], next: &Word) -> bool {
        let Some(last) = so_far.last() else { return false };
        let pause = next.start_ms.saturating_sub(last.end_ms);
        let capital =
            next.opens_caption && self.capitals && next.text.starts_with(char::is_uppercase);
        if so_far.len() >= MAX_WORDS || ends_sentence(last.text) {
            return true;
        }
        if self.punctuated {
            return pause > LONG_PAUSE_MS || capital && pause > PAUSE_MS;
        }
        pause > PAUSE_MS
            || capital
            || so_far.len() >= LONG_WORDS && is_joint(last, next, pause)
            || so_far.len() >= LONG_WORDS * 2
    }
}

/// Whether a long run of words without punctuation may be cut here.
fn is_joint(last: &Word, next: &Word, pause: u64) -> bool {
    const OPENERS: [&str; 14] = [
        "now", "so", "then", "and", "next", "okay", "ok", "alright", "after", "once", "but",
        "first", "finally", "i'm",
    ];
    const NEVER_LAST: [&str; 22] = [
        "the", "a", "an", "of", "to", "my", "your", "our", "some", "this", "in", "into", "with",
        "and", "or", "for", "on", "at", "it's", "i", "we", "you",
    ];
    let is_in = |word: &Word, list: &[&str]| list.iter().any(|o| word.text.eq_ignore_ascii_case(o));
    let fits = is_in(next, &OPENERS) || pause > 250 || next.opens_caption;
    fits && !is_in(last, &NEVER_LAST)
}

/// Whether the word closes a sentence: `.`, `!`, `?`, `…`, also inside quotes; not `tbsp.` or `1.`.
fn ends_sentence(word: &str) -> bool {
    const SHORT: [&str; 20] = [
        "mr.", "mrs.", "ms.", "dr.", "st.", "vs.", "approx.", "tbsp.", "tsp.", "oz.", "lb.",
        "lbs.", "no.", "etc.", "e.g.", "i.e.", "min.", "pt.", "qt.", "fig.",
    ];
    let bare = word.trim_end_matches(['"', '\'', '”', '’', ')', ']']);
    let closes = bare.ends_with(['.', '!', '?', '…', '。', '！', '？', '।', '؟']);
    closes && !SHORT.iter().any(|short| bare.eq_ignore_ascii_case(short))
}

/// The words of a caption with times: the file's own, else by their share of the characters.
fn words(caption: &Caption) -> Vec<Word<'_>> {
    let lengths = caption.lines.iter().map(|line| line.text.len() + 1);
    let total = lengths.sum::<usize>().saturating_sub(1);
    let length = caption.end_ms - caption.start_ms.min(caption.end_ms);
    let at = |bytes: usize| caption.start_ms + length * bytes as u64 / total.max(1) as u64;
    let mut words: Vec<Word> = Vec::new();
    let mut before = 0;
    for line in &caption.lines {
        for (place, text) in places(&line.text) {
            let start_ms = said_at(line, place).unwrap_or_else(|| at(before + place));
            let end_ms = at(before + place + text.len());
            words.push(Word { text, start_ms, end_ms, opens_caption: words.is_empty() });
        }
        before += line.text.len() + 1;
    }
    let timed = caption.lines.iter().any(|line| !line.words.is_empty());
    in_order(&mut words, caption, timed);
    words
}

/// When the file says that the word at this place of the line begins.
fn said_at(line: &Line, place: usize) -> Option<u64> {
    let found = line.words.binary_search_by_key(&place, |(_, at)| *at).ok()?;
    Some(line.words[found].0)
}

/// The words of a text and where they begin in it.
fn places(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(move |word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// Keeps the words within their caption and in order; where the file times words, each ends when it
/// has been said rather than when the next begins, so that pauses can be seen.
fn in_order(words: &mut [Word], caption: &Caption, timed: bool) {
    let mut now = caption.start_ms;
    for word in words.iter_mut() {
        word.start_ms = word.start_ms.clamp(now, caption.end_ms.max(now));
        now = word.start_ms;
    }
    let mut next = caption.end_ms;
    for word in words.iter_mut().rev() {
        let said = if timed { word.start_ms + speaking_ms(word.text) } else { word.end_ms };
        word.end_ms = said.clamp(word.start_ms, next.max(word.start_ms));
        next = word.start_ms;
    }
}

/// How long a word takes to say at an easy pace.
fn speaking_ms(word: &str) -> u64 {
    200 + 80 * word.chars().count() as u64
}

fn joined(words: &[Word]) -> Sentence {
    let text = words.iter().map(|word| word.text).collect::<Vec<_>>().join(" ");
    let start_ms = words.first().map_or(0, |word| word.start_ms);
    let end_ms = words.last().map_or(start_ms, |word| word.end_ms).max(start_ms + 1);
    Sentence { start_ms, end_ms, text }
}

/// Makes every sentence end before the next begins.
fn apart(sentences: &mut [Sentence]) {
    for i in 1..sentences.len() {
        let (before, from) = sentences.split_at_mut(i);
        let (last, next) = (&mut before[i - 1], &mut from[0]);
        next.start_ms = next.start_ms.max(last.start_ms + 1);
        next.end_ms = next.end_ms.max(next.start_ms + 1);
        last.end_ms = last.end_ms.min(next.start_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cues: &[(u64, u64, &str)], expected: &[(u64, u64, &str)]) {
        let cues: Vec<Caption> =
            cues.iter().map(|(s, e, text)| Caption::plain(*s, *e, text)).collect();
        let found = sentences(&cues);
        let found: Vec<_> = found.iter().map(|s| (s.start_ms, s.end_ms, s.text.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn cuts_where_a_sentence_ends_inside_a_cue() {
        check(
            &[(0, 2000, "Chop the onion. Now"), (2000, 3000, "fry it.")],
            &[(0, 1578, "Chop the onion."), (1684, 3000, "Now fry it.")],
        );
    }

    #[test]
    fn cuts_at_pauses_without_punctuation() {
        check(
            &[(0, 1000, "chop the onion"), (1100, 2000, "very fine"), (3000, 4000, "fry it")],
            &[(0, 2000, "chop the onion very fine"), (3000, 4000, "fry it")],
        );
    }

    #[test]
    fn short_forms_and_numbers_end_nothing() {
        let text = "Add 1.5 tbsp. sugar to it.";
        check(&[(0, 27000, text)], &[(0, 27000, text)]);
    }

    #[test]
    fn long_speech_without_stops_is_cut() {
        let cue = |i: u64| (i * 2000, i * 2000 + 2000, "and then i stir the pot a while");
        let cues: Vec<_> = (0..20).map(cue).collect();
        let cues: Vec<Caption> =
            cues.iter().map(|(s, e, text)| Caption::plain(*s, *e, text)).collect();
        let longest = sentences(&cues).iter().map(|s| s.text.split(' ').count()).max();
        assert!(longest <= Some(LONG_WORDS * 2));
    }
}
