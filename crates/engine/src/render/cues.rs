//! Step texts at their times in the result: SRT, WebVTT and ffmpeg's chapters.

use stitch_core::format::{one_line, timecode};

use super::plan::{Entry, Plan, Shown};
use crate::demonstrate::Demonstration;
use crate::transcript::Sentence;

/// One text per step in the result, or lines at the times of their words where a narrator speaks. A step
/// that nothing shows says so.
pub fn captions(demonstration: &Demonstration, plan: &Plan) -> Vec<Sentence> {
    let of_step = |whole: Sentence, shown: Shown| {
        let Some(step) = shown.step() else { return Vec::new() };
        if let Some(spoken) = demonstration.spoken(step) {
            return caption_lines(&spoken.words, whole.start_ms);
        }
        let text = demonstration.text(step);
        let text = text.trim();
        let gap = matches!(shown, Shown::Gap(_));
        let note = if gap { "\n(no video in this library shows this step)" } else { "" };
        vec![Sentence { text: format!("{}. {text}{note}", step + 1), ..whole }]
    };
    let whole = |(start_ms, end_ms)| Sentence { start_ms, end_ms, text: String::new() };
    let steps = plan
        .by_step()
        .filter_map(|entries| Some(of_step(whole(plan.entries_ms(entries)?), entries[0].shown)));
    steps.flatten().collect()
}

/// As in most subtitles.
const MAX_LINE_LETTERS: usize = 42;
/// A caption stays until the next one that follows so soon, so that it does not flicker.
const MAX_CAPTION_GAP_MS: u64 = 1000;

/// Spoken words as lines, each from its first word to its last; `from_ms` is where the words' times begin.
pub fn caption_lines(words: &[Sentence], from_ms: u64) -> Vec<Sentence> {
    let mut lines: Vec<Sentence> = Vec::new();
    for Sentence { start_ms, end_ms, text } in words {
        let (start_ms, end_ms) = (from_ms + start_ms, from_ms + end_ms);
        match lines.last_mut() {
            Some(line) if fits(&line.text, text) => {
                line.text = format!("{} {text}", line.text);
                line.end_ms = end_ms;
            }
            _ => lines.push(Sentence { start_ms, end_ms, text: text.clone() }),
        }
    }
    for i in 1..lines.len() {
        let next_ms = lines[i].start_ms;
        if next_ms.saturating_sub(lines[i - 1].end_ms) < MAX_CAPTION_GAP_MS {
            lines[i - 1].end_ms = next_ms;
        }
    }
    lines
}

/// Whether a line has room for another word; a sentence begins a line.
fn fits(line: &str, word: &str) -> bool {
    line.chars().count() + 1 + word.chars().count() <= MAX_LINE_LETTERS
        && !line.ends_with(['.', '!', '?'])
}

/// One text per step, and the title.
pub fn chapters(demonstration: &Demonstration, plan: &Plan) -> Vec<Sentence> {
    timed(plan, |shown| {
        Some(shown.step().map_or(demonstration.title.clone(), |step| {
            format!("{}. {}", step + 1, one_line(&demonstration.text(step)))
        }))
    })
}

/// The text of each step over all of its clips.
fn timed(plan: &Plan, text: impl Fn(Shown) -> Option<String>) -> Vec<Sentence> {
    let sentence = |entries: &[Entry]| {
        let (start_ms, end_ms) = plan.entries_ms(entries)?;
        Some(Sentence { start_ms, end_ms, text: text(entries[0].shown)? })
    };
    plan.by_step().filter_map(sentence).collect()
}

/// `hh:mm:ss`, the mark, and milliseconds.
fn clock(ms: u64, mark: char) -> String {
    format!("{}{mark}{:03}", timecode(ms), ms % 1000)
}

/// The lines of a text, without empty ones, which would end a cue.
fn lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// SubRip. Players take `<i>`, `{\an8}` and `\N` for markup, so a word joiner follows the first
/// character of each.
pub fn srt(texts: &[Sentence]) -> String {
    let mut file = String::new();
    for (i, cue) in texts.iter().enumerate() {
        let mut text = lines(&cue.text);
        for mark in ["<", "{", "\\"] {
            text = text.replace(mark, &format!("{mark}\u{2060}"));
        }
        let (start, end) = (clock(cue.start_ms, ','), clock(cue.end_ms, ','));
        file.push_str(&format!("{}\n{start} --> {end}\n{text}\n\n", i + 1));
    }
    file
}

pub fn vtt(texts: &[Sentence]) -> String {
    let mut file = String::from("WEBVTT\n\n");
    for cue in texts {
        let text = lines(&cue.text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let (start, end) = (clock(cue.start_ms, '.'), clock(cue.end_ms, '.'));
        file.push_str(&format!("{start} --> {end}\n{text}\n\n"));
    }
    file
}

/// Title and chapters as ffmpeg reads them.
pub fn metadata(title: &str, chapters: &[Sentence]) -> String {
    let mut file = format!(";FFMETADATA1\ntitle={}\n", escape(title));
    for chapter in chapters {
        file.push_str(&format!(
            "[CHAPTER]\nTIMEBASE=1/1000\nSTART={}\nEND={}\ntitle={}\n",
            chapter.start_ms,
            chapter.end_ms,
            escape(&chapter.text)
        ));
    }
    file
}

/// The value as ffmpeg's metadata file wants it, on one line.
fn escape(value: &str) -> String {
    let mut escaped = String::new();
    for letter in value.chars() {
        if matches!(letter, '=' | ';' | '#' | '\\') {
            escaped.push('\\');
        }
        escaped.push(if letter.is_control() { ' ' } else { letter });
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cue(text: &str) -> Vec<Sentence> {
        vec![Sentence { start_ms: 3_661_007, end_ms: 3_700_000, text: text.into() }]
    }

    #[test]
    fn texts_cannot_break_out_of_a_cue() {
        let evil = "<b>a</b> {\\an8}\n\n2\n00:00:00,000 --> 00:00:09,000\nb & c";
        assert_eq!(
            srt(&cue(evil)),
            "1\n01:01:01,007 --> 01:01:40,000\n<\u{2060}b>a<\u{2060}/b> {\u{2060}\\\u{2060}an8}\n2\n\
             00:00:00,000 --> 00:00:09,000\nb & c\n\n"
        );
        assert!(vtt(&cue(evil)).contains("&lt;b&gt;a&lt;/b&gt; {\\an8}"));
        assert!(vtt(&cue("a --> b")).contains("a --&gt; b"));
    }

    #[test]
    fn chapter_titles_stay_on_one_escaped_line() {
        let file = metadata("a=b;c", &cue("x\n[CHAPTER] #1 \\"));
        assert!(file.contains("title=a\\=b\\;c\n"), "{file}");
        assert!(file.contains("title=x [CHAPTER] \\#1 \\\\\n"), "{file}");
    }
}
