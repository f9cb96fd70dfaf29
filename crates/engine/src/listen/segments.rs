//! From a window's tokens to captions with the file's times.

use std::ops::Range;

use super::cutting::Window;
use super::tokens::{TICK_CS, Tokens};
use crate::media::sound::HEARD_RATE;
use crate::transcript::{Cue, Line};

/// Samples of one timestamp's step.
const TICK: usize = HEARD_RATE / 100 * TICK_CS as usize;
/// A time this near to where somebody begins or stops speaking means that moment, in samples.
const NEAR: u64 = HEARD_RATE as u64 * 6 / 10;

/// Something said, in samples of its window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// When.
    pub range: Range<usize>,
    /// Its tokens.
    pub tokens: Vec<u32>,
}

/// The segments that the times among the tokens mark off. A last one without an end lasts as long
/// as the window.
pub fn segments(tokens: &[u32], vocabulary: &Tokens, window: usize) -> Vec<Segment> {
    let mut segments = Vec::new();
    let (mut start, mut said) = (0, Vec::new());
    for token in tokens {
        if !vocabulary.is_time(*token) {
            said.push(*token);
            continue;
        }
        let time = ((token - vocabulary.zero()) as usize * TICK).min(window);
        if !said.is_empty() {
            segments.push(Segment { range: start..time, tokens: std::mem::take(&mut said) });
        }
        start = time;
    }
    if !said.is_empty() {
        segments.push(Segment { range: start..window, tokens: said });
    }
    segments
}

/// The captions of a window's segments, in the file's times. What lies where nobody speaks was made
/// up and is left out.
pub fn cues(segments: &[Segment], window: &Window, vocabulary: &Tokens) -> Vec<Cue> {
    let mut cues = Vec::new();
    let mut free = 0;
    for segment in segments {
        let text = vocabulary.text(&segment.tokens);
        let words: Vec<&str> = text.split_whitespace().collect();
        let said = spoken(segment, window, free);
        if !words.is_empty()
            && let Some(said) = said
        {
            free = said.last().map_or(free, |part| part.end);
            cues.push(cue(&words, &said));
        }
    }
    cues
}

/// Where in the file a segment is spoken, not before `free`: the stretches of speech that it
/// touches, cut to it. None if there is no speech in it.
fn spoken(segment: &Segment, window: &Window, free: u64) -> Option<Vec<Range<u64>>> {
    let start = window.in_file(segment.range.start).max(free);
    // The end is before the sound that follows: at a join that is the end of the piece before.
    let end = window.in_file(segment.range.end.saturating_sub(1)) + 1;
    let mut said = Vec::new();
    for speech in &window.speech {
        // A speaker who has just begun began with this segment, one about to stop ends with it.
        let from = if start > speech.start && start - speech.start < NEAR && free <= speech.start {
            speech.start
        } else {
            start.max(speech.start)
        };
        let to = if end < speech.end && speech.end - end < NEAR {
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

/// A caption whose words are spread over the stretches by their length.
fn cue(words: &[&str], said: &[Range<u64>]) -> Cue {
    let total: u64 = said.iter().map(|part| part.end - part.start).sum();
    let letters: usize = words.iter().map(|word| word.len() + 1).sum();
    let mut line = Line::default();
    for word in words {
        let share = total * line.text.len() as u64 / letters.max(1) as u64;
        if !line.text.is_empty() {
            line.text.push(' ');
        }
        line.words.push((ms(place(said, share)), line.text.len()));
        line.text.push_str(word);
    }
    let start = said.first().map_or(0, |part| part.start);
    let end = said.last().map_or(start, |part| part.end);
    Cue { start_ms: ms(start), end_ms: ms(end), lines: vec![line] }
}

/// The moment at which so many samples of the stretches have passed.
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

/// Samples as milliseconds.
fn ms(samples: u64) -> u64 {
    samples * 1000 / HEARD_RATE as u64
}
