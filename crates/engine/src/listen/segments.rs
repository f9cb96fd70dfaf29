//! From a window's tokens to utterances with the file's times.

use std::ops::Range;

use super::decode::{Alternatives, Text};
use super::vocabulary::{TIMESTAMP_CS, Vocabulary};
use super::windows::Window;
use crate::media::audio::SPEECH_RATE;
use crate::transcript::Caption;

const TIMESTAMP_SAMPLES: usize = SPEECH_RATE / 100 * TIMESTAMP_CS as usize;
/// A time this near to where speech begins or ends means that moment. This and the next two are in
/// samples and were chosen by hand.
const MAX_SNAP: u64 = SPEECH_RATE as u64 * 6 / 10;
/// A pause this near to where a sentence should end is its end.
const MAX_PAUSE_DISTANCE: u64 = SPEECH_RATE as u64;
/// A pause that ends a sentence even where nothing written says so.
const MIN_SENTENCE_PAUSE: u64 = SPEECH_RATE as u64;

/// What the timestamps mark off in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// In samples of the window.
    pub range: Range<usize>,
    pub tokens: Vec<u32>,
    /// Of each token.
    pub alternatives: Vec<Alternatives>,
}

/// A sentence of a segment.
#[derive(Clone, Debug)]
pub struct Utterance {
    pub caption: Caption,
    /// For each word of the caption other words, each with its log probability less that of the word.
    pub alternatives: Vec<Vec<(String, f32)>>,
}

/// The segments that the times among the tokens mark off. A last one without an end lasts as long
/// as the window.
pub fn segments(text: &Text, vocabulary: &Vocabulary, window: usize) -> Vec<Segment> {
    let mut segments = Vec::new();
    let (mut start, mut from) = (0, 0);
    let mut close = |said: Range<usize>, range: Range<usize>| {
        if !said.is_empty() {
            let alternatives = text.alternatives.get(said.clone()).unwrap_or_default().to_vec();
            segments.push(Segment { range, tokens: text.tokens[said].to_vec(), alternatives });
        }
    };
    for (at, token) in text.tokens.iter().enumerate() {
        if vocabulary.is_time(*token) {
            let time = ((token - vocabulary.time_zero()) as usize * TIMESTAMP_SAMPLES).min(window);
            close(from..at, start..time);
            (start, from) = (time, at + 1);
        }
    }
    close(from..text.tokens.len(), start..window);
    segments
}

/// The utterances of a window's segments, in the file's times. Text where nobody speaks was made up by
/// the model and is left out.
pub fn utterances(
    segments: &[Segment],
    window: &Window,
    vocabulary: &Vocabulary,
) -> Vec<Utterance> {
    let mut utterances = Vec::new();
    let mut free = 0;
    for segment in segments {
        let words = words(segment, vocabulary);
        let said = spoken(segment, window, free);
        if !words.is_empty()
            && let Some(said) = said
        {
            free = said.last().map_or(free, |part| part.end);
            utterances.extend(sentences(&punctuated(words, &said), &said));
        }
    }
    utterances
}

#[derive(Clone, Debug, Default)]
struct Word {
    text: String,
    alternatives: Vec<(String, f32)>,
}

impl Word {
    /// With the space after it.
    fn letters(&self) -> usize {
        self.text.len() + 1
    }
}

/// The words of a segment. Alternatives of a word are known where they are one token that is a word by
/// itself.
fn words(segment: &Segment, vocabulary: &Vocabulary) -> Vec<Word> {
    let text = vocabulary.text(&segment.tokens);
    let plain = |text: &str| Word { text: text.into(), alternatives: Vec::new() };
    let mut words: Vec<Word> = text.split_whitespace().map(plain).collect();
    let begins: Vec<usize> = (0..segment.tokens.len())
        .filter(|at| *at == 0 || vocabulary.begins_word(segment.tokens[*at]))
        .collect();
    // Where tokens and words do not go together (a script without spaces), nothing is known.
    if begins.len() == words.len() {
        for (word, at) in words.iter_mut().zip(begins) {
            let alternatives = segment.alternatives.get(at).into_iter().flatten();
            let whole = alternatives.filter_map(|(id, by)| Some((vocabulary.word(*id)?, *by)));
            word.alternatives = whole.collect();
        }
    }
    words
}

/// Where in the file a segment is spoken, not before `free`: the spans of speech that it overlaps,
/// clipped to it. None if there is no speech in it.
fn spoken(segment: &Segment, window: &Window, free: u64) -> Option<Vec<Range<u64>>> {
    let start = window.in_file(segment.range.start).max(free);
    // The end is before the sound that follows: at a join that is the end of the piece before.
    let end = window.in_file(segment.range.end.saturating_sub(1)) + 1;
    let mut said = Vec::new();
    for speech in &window.speech {
        // A speaker who has just begun began with this segment, one about to stop ends with it.
        let from =
            if start > speech.start && start - speech.start < MAX_SNAP && free <= speech.start {
                speech.start
            } else {
                start.max(speech.start)
            };
        let to = if end < speech.end && speech.end - end < MAX_SNAP {
            speech.end
        } else {
            end.min(speech.end)
        };
        let touches = end > speech.start && start < speech.end;
        if touches && from < to {
            said.push(from..to);
        }
    }
    (!said.is_empty()).then_some(said)
}

/// The words with a full stop where the voice pauses: at a comma, and where it pauses for long. Silences are
/// cut short in a window, so the model does not see them.
fn punctuated(mut words: Vec<Word>, said: &[Range<u64>]) -> Vec<Word> {
    let total: u64 = said.iter().map(|part| part.end - part.start).sum();
    let letters: usize = words.iter().map(Word::letters).sum();
    let mut passed = 0;
    for two in said.windows(2) {
        passed += two[0].end - two[0].start;
        let mut before = 0;
        let far = |word: &Word| {
            before += word.letters();
            (total * before as u64 / letters.max(1) as u64).abs_diff(passed)
        };
        let far: Vec<u64> = words.iter().map(far).collect();
        let inner = 0..words.len().saturating_sub(1);
        let near = |after: &dyn Fn(&str) -> bool| {
            let fits = |i: &usize| far[*i] < MAX_PAUSE_DISTANCE && after(&words[*i].text);
            inner.clone().filter(fits).min_by_key(|i| far[*i])
        };
        if near(&ends_sentence).is_none() {
            let long = two[1].start - two[0].end >= MIN_SENTENCE_PAUSE;
            let anywhere = || near(&|_| true).filter(|_| long);
            if let Some(last) = near(&|word| word.ends_with(',')).or_else(anywhere) {
                let text = words[last].text.trim_end_matches(',').to_owned();
                words[last].text = text + ".";
            }
        }
    }
    words
}

/// An utterance for each sentence of a segment. Where one ends inside is estimated by the share of
/// letters before it, and by a pause if there is one near.
fn sentences(words: &[Word], said: &[Range<u64>]) -> Vec<Utterance> {
    let total: u64 = said.iter().map(|part| part.end - part.start).sum();
    let length = |words: &[Word]| words.iter().map(Word::letters).sum::<usize>();
    let letters = length(words);
    let mut utterances: Vec<Utterance> = Vec::new();
    let (mut start, mut before) = (said.first().map_or(0, |part| part.start), 0);
    for sentence in words.split_inclusive(|word| ends_sentence(&word.text)) {
        before += length(sentence);
        let (end, next) = match before == letters {
            true => said.last().map_or((start, start), |part| (part.end, part.end)),
            false => boundary(said, total * before as u64 / letters as u64),
        };
        let text: Vec<&str> = sentence.iter().map(|word| word.text.as_str()).collect();
        let caption = Caption::plain(ms(start), ms(end), &text.join(" "));
        let alternatives = sentence.iter().map(|word| word.alternatives.clone()).collect();
        utterances.push(Utterance { caption, alternatives });
        start = next.max(start);
    }
    utterances
}

fn ends_sentence(word: &str) -> bool {
    let bare = word.trim_end_matches(['"', '\'', '”', '’', ')']);
    bare.ends_with(['.', '!', '?', '…', '。', '！', '？'])
}

/// The end of what comes before and the start of what comes after, about when so many samples of the
/// spans have passed.
fn boundary(said: &[Range<u64>], samples: u64) -> (u64, u64) {
    let mut passed = 0;
    let pauses = said.windows(2).map(|two| {
        passed += two[0].end - two[0].start;
        (passed.abs_diff(samples), (two[0].end, two[1].start))
    });
    match pauses.min_by_key(|(far, _)| *far) {
        Some((far, pause)) if far < MAX_PAUSE_DISTANCE => pause,
        _ => (place(said, samples), place(said, samples)),
    }
}

/// The moment at which so many samples of the spans have passed.
fn place(said: &[Range<u64>], mut samples: u64) -> u64 {
    for part in said {
        let length = part.end - part.start;
        if samples < length {
            return part.start + samples;
        }
        samples -= length;
    }
    said.last().map_or(0, |part| part.end)
}

fn ms(samples: u64) -> u64 {
    samples * 1000 / SPEECH_RATE as u64
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // one span is meant, not its numbers
mod tests {
    use super::*;

    const S: u64 = SPEECH_RATE as u64;

    #[test]
    fn sentences_end_at_pauses_where_there_are_some() {
        let check = |said: &[Range<u64>], expected: &[(u64, u64, &str)]| {
            let words = ["Chop", "it", "up.", "Then", "fry", "it."];
            let words = words.map(|text| Word { text: text.into(), alternatives: Vec::new() });
            let found = sentences(&words, said);
            let cues = found.iter().map(|utterance| &utterance.caption);
            let found: Vec<_> =
                cues.map(|c| (c.start_ms, c.end_ms, c.lines[0].text.as_str())).collect();
            assert_eq!(found, expected);
        };
        check(&[0..4 * S], &[(0, 1920, "Chop it up."), (1920, 4000, "Then fry it.")]);
        let pause = [0..2 * S, 5 * S..7 * S];
        check(&pause, &[(0, 2000, "Chop it up."), (5000, 7000, "Then fry it.")]);
    }

    #[test]
    fn where_the_voice_pauses_a_sentence_ends() {
        let check = |text: &str, said: &[Range<u64>], expected: &str| {
            let word = |text: &str| Word { text: text.into(), alternatives: Vec::new() };
            let words = punctuated(text.split(' ').map(word).collect(), said);
            let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
            assert_eq!(words.join(" "), expected);
        };
        let short = [0..2 * S, S * 27 / 10..5 * S];
        let long = [0..2 * S, 4 * S..6 * S];
        check("chop it all up, that looks lovely.", &short, "chop it all up. that looks lovely.");
        check("chop it all up that looks lovely.", &short, "chop it all up that looks lovely.");
        check("chop it all up that looks lovely.", &long, "chop it all up. that looks lovely.");
        check("chop it up. Now fry, then eat it.", &long, "chop it up. Now fry, then eat it.");
        check("chop it up, now fry it.", &[0..4 * S], "chop it up, now fry it.");
        check("chop", &long, "chop");
    }

    fn window() -> Window {
        let mut window = Window { samples: vec![0.0; 20 * S as usize], ..Window::default() };
        let piece = |from: u64, at: u64, length: u64| super::super::windows::WindowPart {
            in_window: (from * S) as usize,
            in_file: at * S,
            length: (length * S) as usize,
        };
        window.parts = vec![piece(0, 10, 5), piece(5, 30, 15)];
        window.speech = vec![S * 21 / 2..S * 29 / 2, S * 61 / 2..S * 40];
        window
    }

    fn spoken_at(from: u64, to: u64, free: u64) -> Option<Vec<Range<u64>>> {
        let range = (from * S / 10) as usize..(to * S / 10) as usize;
        let spoken = spoken(
            &Segment { range, tokens: Vec::new(), alternatives: Vec::new() },
            &window(),
            free,
        );
        let tenths = |part: &Range<u64>| part.start * 10 / S..part.end * 10 / S;
        spoken.map(|parts| parts.iter().map(tenths).collect())
    }

    #[test]
    fn times_lead_back_to_where_the_voice_is() {
        // Begun too late and ended too early by a little: the whole span is meant.
        assert_eq!(spoken_at(8, 42, 0), Some(vec![105..145]));
        // A beginning in the silence before a join means the voice after it.
        assert_eq!(spoken_at(48, 80, 0), Some(vec![305..330]));
        // Not before what was said already.
        assert_eq!(spoken_at(50, 80, 32 * S), Some(vec![320..330]));
        // Over both spans.
        assert_eq!(spoken_at(0, 100, 0), Some(vec![105..145, 305..350]));
        // Where nobody speaks.
        assert_eq!(spoken_at(0, 4, 0), None);
    }
}
