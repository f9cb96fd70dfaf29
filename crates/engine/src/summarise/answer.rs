//! A language model's answer: `Title: …` and `[mm:ss-mm:ss] step` lines; anything else is
//! rejected and counted, never guessed.

use crate::transcript::Sentence;
use crate::transcript::text::fold;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// In order of their start.
    pub steps: Vec<Sentence>,
    /// How many lines were neither a step nor the title.
    pub rejected: usize,
}

/// Of a step or title; a longer line is rejected.
const MAX_TEXT_BYTES: usize = 500;

/// Reads an answer about narration that lasts from `start_ms` to `end_ms`; times are clamped to
/// that, and a step that is not in it is rejected.
pub fn parse_answer(answer: &str, start_ms: u64, end_ms: u64) -> Answer {
    let mut parsed = Answer::default();
    let mut has_title = false;
    for line in answer.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if !has_title && is_title(line) {
            has_title = true;
            continue;
        }
        match step(line).and_then(|step| clamped(step, start_ms, end_ms)) {
            Some(step) => parsed.steps.push(step),
            None => parsed.rejected += 1,
        }
    }
    parsed.steps.sort_by_key(|step| (step.start_ms, step.end_ms));
    parsed
}

fn is_title(line: &str) -> bool {
    let line = line.trim_matches(['*', '#', ' ']);
    let Some((head, title)) = line.split_at_checked(6) else { return false };
    let title = fold(title.trim_matches(['*', '"', ' ']));
    head.eq_ignore_ascii_case("title:") && (1..=MAX_TEXT_BYTES).contains(&title.len())
}

/// The step of a line `[mm:ss-mm:ss] text`.
fn step(line: &str) -> Option<Sentence> {
    let (times, text) = line.strip_prefix('[')?.split_once(']')?;
    let (start, end) = times.split_once(['-', '–'])?;
    let (start_ms, end_ms) = (clock(start)?, clock(end)?);
    let text = fold(text);
    let right =
        start_ms < end_ms && text.len() <= MAX_TEXT_BYTES && text.chars().any(char::is_alphabetic);
    right.then_some(Sentence { text, start_ms, end_ms })
}

/// The milliseconds of `mm:ss` or `h:mm:ss`.
fn clock(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.trim().split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    let mut seconds: u64 = 0;
    for (i, part) in parts.iter().enumerate() {
        let digits = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let number: u64 = part.parse().ok().filter(|_| digits)?;
        if i > 0 && number > 59 {
            return None;
        }
        seconds = seconds * 60 + number;
    }
    Some(seconds * 1000)
}

fn clamped(step: Sentence, start_ms: u64, end_ms: u64) -> Option<Sentence> {
    // Times are whole seconds: the last one may reach past the end.
    let start = step.start_ms.max(start_ms);
    let end = step.end_ms.min(end_ms);
    (start < end).then_some(Sentence { start_ms: start, end_ms: end, ..step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn takes_what_was_asked_for_and_counts_the_rest() {
        let answer = "Sure! Here you go:\nTitle: Vegan taco\n\n[00:10-00:20] Chop the onion.\n\
            [0:05–0:09] Wash it.\n[1:00:00-1:00:05] Too late.\n[00:30-00:20] Backwards.\n[00:61-01:70] No.\n\
            [00:20-00:40]\n- [00:20-00:40] Marked.\n00:20-00:40 Bare.\n[00:50-02:00] Fry it.\n";
        let parsed = parse_answer(answer, 6_000, 60_500);
        let steps: Vec<_> =
            parsed.steps.iter().map(|s| (s.start_ms, s.end_ms, s.text.as_str())).collect();
        let expected = [
            (6_000, 9_000, "Wash it."),
            (10_000, 20_000, "Chop the onion."),
            (50_000, 60_500, "Fry it."),
        ];
        assert_eq!(steps, expected);
        assert_eq!(parsed.rejected, 7);
    }

    proptest! {
        #[test]
        fn steps_are_sound_whatever_is_answered(answer in "(\\[?[0-9:-]{0,12}\\]?[ a-zé\n]{0,8}){0,20}") {
            let parsed = parse_answer(&answer, 1_000, 90_000);
            for step in parsed.steps {
                prop_assert!(1_000 <= step.start_ms && step.start_ms < step.end_ms && step.end_ms <= 90_000);
            }
        }

        #[test]
        fn any_text_is_read(answer: String) {
            parse_answer(&answer, 0, u64::MAX);
        }
    }
}
