//! What is said: greetings, chatter, and steps in a presenter's words.

use stitch_engine::render::cues;
use stitch_engine::transcript::Sentence;

use crate::catalogue::{DomainData, Speech, Task, TaskSet, catalogue};
use crate::random::{SplitMix64, percent};

/// One sentence of the narration and when it is spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub start_ms: u64,
    pub end_ms: u64,
    pub text: String,
}

/// How long a sentence takes to say. Timing goes by words, not by a recording, so that a library is
/// the same with and without a voice; voices are made to fit.
pub fn spoken_ms(sentence: &str) -> u64 {
    sentence.split_whitespace().count() as u64 * 340 + 250
}

/// The same in every task set.
fn speech() -> &'static Speech {
    &catalogue(TaskSet::default()).speech
}

/// The sentences of step number `at` of `count`.
pub fn step(wording: &str, at: usize, count: usize, random: &mut SplitMix64) -> Vec<String> {
    let speech = speech();
    let sentences = match at {
        0 => &speech.first_step,
        _ if at + 1 == count => &speech.last_step,
        _ => &speech.middle_step,
    };
    let mut said = vec![sentence(&random.pick(sentences).replace("{}", wording))];
    if percent(random, 35) && wording.split(' ').count() < 10 {
        said.push(random.pick(&speech.remarks).clone());
    }
    said
}

/// The greeting that is spoken over the title.
pub fn greeting(
    domain: &DomainData,
    task: &Task,
    presenter: &str,
    random: &mut SplitMix64,
) -> Vec<String> {
    let speech = speech();
    let task = task.spoken_name.as_ref().unwrap_or(&task.name);
    let mut said = |list: &[String]| {
        let text = random.pick(list).replace("{presenter}", presenter).replace("{task}", task);
        let gerund = random.pick(&domain.gerunds);
        sentence(&text.replace("{gerund}", gerund))
    };
    vec![said(&speech.hellos), said(&speech.topics)]
}

/// Something said to the camera between two steps, which teaches nothing.
pub fn chatter(domain: &DomainData, random: &mut SplitMix64) -> String {
    let all = [&speech().chatter[..], &domain.chatter].concat();
    random.pick(&all).clone()
}

/// The last words.
pub fn farewell(random: &mut SplitMix64) -> Vec<String> {
    let speech = speech();
    vec![random.pick(&speech.farewells).clone(), random.pick(&speech.goodbyes).clone()]
}

/// The narration as SubRip subtitles, one cue a sentence.
pub fn srt(lines: &[Line]) -> String {
    let cue = |line: &Line| Sentence {
        start_ms: line.start_ms,
        end_ms: line.end_ms,
        text: two_lines(&line.text),
    };
    cues::srt(&lines.iter().map(cue).collect::<Vec<_>>())
}

/// A long sentence broken at the space nearest to its middle, as subtitles are.
fn two_lines(text: &str) -> String {
    let middle = text.len() / 2;
    let spaces = text.match_indices(' ').map(|(at, _)| at);
    match spaces.min_by_key(|at| at.abs_diff(middle)) {
        Some(at) if text.len() > 42 => format!("{}\n{}", &text[..at], &text[at + 1..]),
        _ => text.to_owned(),
    }
}

/// With a capital and a full stop.
pub fn sentence(text: &str) -> String {
    format!("{}.", capitalised(text))
}

pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn subtitles_read_as_players_expect_them() {
        let line = |start_ms, end_ms, text: &str| Line { start_ms, end_ms, text: text.to_owned() };
        let lines = [
            line(300, 2_000, "Hi everyone, Ada here."),
            line(3_725_042, 3_729_000, "Now I chop the onion into small pieces, nice and fine."),
        ];
        insta::assert_snapshot!(srt(&lines));
    }

    #[test]
    fn a_step_is_said_in_its_own_words() {
        let mut random = stream(3, "narration");
        for at in 0..3 {
            let said = step("chop the onion", at, 3, &mut random);
            assert!(said[0].contains("chop the onion"), "{said:?}");
            assert!(said[0].starts_with(char::is_uppercase) && said[0].ends_with('.'));
        }
    }
}
