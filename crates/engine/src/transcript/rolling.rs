//! Automatic captions that roll: every caption repeats the line before and adds one. Each line once.

use super::caption::{Caption, Line};

/// Automatic captions put one of this length or less between two others.
const MAX_BRIDGE_MS: u64 = 50;

/// Whether the captions roll: at least three tenths of them repeat what stood there and add to it, or are
/// the short bridges between such captions.
pub fn rolls(captions: &[Caption]) -> bool {
    let rolling = captions.windows(2).filter(|pair| rolls_on(&pair[0], &pair[1])).count();
    rolling > 0 && rolling * 10 >= (captions.len() - 1) * 3
}

fn rolls_on(before: &Caption, caption: &Caption) -> bool {
    let repeated = repeated(before, caption);
    let bridge =
        |caption: &Caption| caption.end_ms.saturating_sub(caption.start_ms) <= MAX_BRIDGE_MS;
    let adds = caption.lines.len() > repeated || caption.lines.len() < before.lines.len();
    (repeated > 0 && (adds || bridge(before) || bridge(caption)))
        || grows(before, caption).is_some()
}

/// How many lines at the top of the caption are the last lines of the one before.
fn repeated(before: &Caption, caption: &Caption) -> usize {
    if caption.start_ms > before.end_ms + 1000 {
        return 0;
    }
    // captions have two or three lines; the bound keeps hostile files cheap
    let most = before.lines.len().min(caption.lines.len()).min(8);
    let same = |k: usize| {
        let tail = before.lines.iter().skip(before.lines.len() - k);
        // a line with word times is being said now, not repeated
        tail.zip(&caption.lines).all(|(a, b)| a.text == b.text && b.words.is_empty())
    };
    (1..=most).rev().find(|k| same(*k)).unwrap_or(0)
}

/// Where the caption is the one before with words added to its last line: the first new byte.
fn grows(before: &Caption, caption: &Caption) -> Option<usize> {
    let ([before], [line]) = (before.lines.as_slice(), caption.lines.as_slice()) else {
        return None;
    };
    let added = line.text.strip_prefix(&before.text)?;
    (added.starts_with(' ') && line.words.is_empty()).then_some(before.text.len() + 1)
}

/// The captions with every line only where it is new; those that add nothing are left out.
pub fn unrolled(captions: &[Caption]) -> Vec<Caption> {
    let first = captions.first().cloned();
    let others =
        captions.windows(2).map(|pair| Caption { lines: added(&pair[0], &pair[1]), ..pair[1] });
    first.into_iter().chain(others).filter(|caption| !caption.lines.is_empty()).collect()
}

fn added(before: &Caption, caption: &Caption) -> Vec<Line> {
    if let Some(from) = grows(before, caption) {
        let new = |line: &Line| Line::plain(line.text[from..].to_string());
        return caption.lines.iter().map(new).collect();
    }
    caption.lines[repeated(before, caption)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::{from_bytes, subrip};
    use super::*;
    use proptest::prelude::*;

    fn stamp(ms: u64) -> String {
        let (s, ms) = (ms / 1000, ms % 1000);
        format!("{:02}:{:02}:{:02}.{ms:03}", s / 3600, s / 60 % 60, s % 60)
    }

    /// The words of a line with the times at which they are said.
    fn timed(words: &[String], start: u64, step: u64) -> String {
        let mut line = words[0].clone();
        for (i, word) in words.iter().enumerate().skip(1) {
            line += &format!("<{}><c> {word}</c>", stamp(start + i as u64 * step));
        }
        line
    }

    /// Auto captions as yt-dlp writes them: the new line below the old, then a bridge of 10 ms.
    fn roll(lines: &[Vec<String>], with_word_times: bool) -> String {
        let mut text = String::from("WEBVTT\nKind: captions\nLanguage: en\n\n");
        let mut now = 80;
        let mut above = String::from(" ");
        for words in lines {
            let (step, plain) = (300, words.join(" "));
            let end = now + step * words.len() as u64;
            let new = if with_word_times { timed(words, now, step) } else { plain.clone() };
            let place = "align:start position:0%";
            text += &format!("{} --> {} {place}\n{above}\n{new}\n\n", stamp(now), stamp(end));
            text += &format!("{} --> {} {place}\n{plain}\n \n\n", stamp(end), stamp(end + 10));
            (now, above) = (end + 10, plain);
        }
        text
    }

    fn lines() -> impl Strategy<Value = Vec<Vec<String>>> {
        // few different words, so that lines repeat by chance too
        let word = proptest::sample::select(vec!["stir", "it", "the", "now", "pan", "i'm"]);
        let line = proptest::collection::vec(word.prop_map(String::from), 1..7);
        proptest::collection::vec(line, 1..20)
    }

    proptest! {
        #[test]
        fn every_word_comes_back_once_and_in_order(lines in lines(), with_times: bool) {
            let rolled = roll(&lines, with_times);
            let sentences = from_bytes(rolled.as_bytes()).unwrap();
            let said: Vec<&str> =
                sentences.iter().flat_map(|s| s.text.split(' ')).collect();
            let expected: Vec<&str> = lines.iter().flatten().map(String::as_str).collect();
            prop_assert_eq!(said.join(" ").to_lowercase(), expected.join(" "));
            let last = subrip::captions(&rolled).0.last().unwrap().end_ms;
            for pair in sentences.windows(2) {
                prop_assert!(pair[0].end_ms <= pair[1].start_ms);
            }
            for sentence in &sentences {
                prop_assert!(sentence.start_ms < sentence.end_ms && sentence.end_ms <= last);
            }
        }

        #[test]
        fn a_line_keeps_the_time_of_its_cue(lines in lines()) {
            let (cues, _) = subrip::captions(&roll(&lines, true));
            let new = unrolled(&cues);
            prop_assert_eq!(new.len(), lines.len());
            for cue in new {
                let within = |(at, _): &(u64, usize)| (cue.start_ms..=cue.end_ms).contains(at);
                prop_assert!(cue.lines.iter().flat_map(|l| &l.words).all(within));
            }
        }
    }

    #[test]
    fn a_person_may_say_things_twice() {
        let cue = |s, text| Caption::plain(s, s + 1000, text);
        assert!(!rolls(&[
            cue(0, "Stir."),
            cue(1000, "Stir."),
            cue(2000, "Stir."),
            cue(3000, "Good.")
        ]));
    }

    #[test]
    fn lines_that_grow_are_unrolled() {
        let cue = |s, text| Caption::plain(s, s + 1000, text);
        let cues = [cue(0, "chop"), cue(1000, "chop the"), cue(2000, "chop the onion")];
        assert!(rolls(&cues));
        let new: Vec<String> = unrolled(&cues).iter().map(|c| c.lines[0].text.clone()).collect();
        assert_eq!(new, ["chop", "the", "onion"]);
    }
}
