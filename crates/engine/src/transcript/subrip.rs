//! SubRip, read tolerantly: a line with `-->` opens a caption, whatever is around it. WebVTT is read
//! by the same code.

use super::SubtitleFormat;
use super::caption::{Caption, Line, Parsed, time};
use super::text::{fold, spoken};

pub const FORMAT: SubtitleFormat = SubtitleFormat {
    name: "SRT",
    extensions: &["srt"],
    is_automatic: false,
    read: |text| text.contains("-->").then(|| captions(text)),
};

pub const WEBVTT: SubtitleFormat = SubtitleFormat { name: "VTT", extensions: &["vtt"], ..FORMAT };

/// The captions of the text, and how many had a time line that could not be read.
pub fn captions(text: &str) -> Parsed {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let opens: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].contains("-->")).collect();
    let mut captions = Vec::with_capacity(opens.len());
    for (n, open) in opens.iter().enumerate() {
        let end = opens.get(n + 1).copied().unwrap_or(lines.len());
        if let Some((start_ms, end_ms)) = times(lines[*open]) {
            let lines = body(&lines[open + 1..end], end < lines.len());
            captions.push(Caption { start_ms, end_ms, lines });
        }
    }
    let bad = opens.len() - captions.len();
    captions.retain(|caption| !caption.lines.is_empty());
    (captions, bad)
}

/// Start and end of a `-->` line; WebVTT's settings after the end are ignored.
fn times(line: &str) -> Option<(u64, u64)> {
    let (start, rest) = line.split_once("-->")?;
    let whole = time(rest);
    let end = whole.or_else(|| time(rest.split_whitespace().next()?))?;
    Some((time(start)?, end))
}

/// The lines of a caption, without the number of the one after it.
fn body(lines: &[&str], another_follows: bool) -> Vec<Line> {
    let mut lines = lines;
    if another_follows
        && let Some((last, before)) = lines.split_last()
        && is_index(last, before.last())
    {
        lines = before;
    }
    let lines = lines.iter().take_while(|line| !is_note(line)).map(|line| read_line(line));
    lines.filter(|line| !line.text.is_empty()).collect()
}

/// Whether the line is the number or name of the next caption: it stands alone after a blank line.
fn is_index(line: &str, before: Option<&&str>) -> bool {
    let number = line.trim().bytes().all(|b| b.is_ascii_digit());
    let alone = before.is_none_or(|before| before.trim().is_empty());
    !line.is_empty() && (number && alone || alone && before.is_some() && !line.contains(' '))
}

/// Whether the line opens a WebVTT block that is not shown.
fn is_note(line: &str) -> bool {
    ["NOTE", "STYLE", "REGION"].iter().any(|word| {
        line.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }) && line.trim() == line
        && !line.ends_with('.')
}

/// One line with the word times that auto captions carry: `chop<00:00:01.200><c> it</c>`.
fn read_line(line: &str) -> Line {
    let mut text = String::new();
    let mut words = Vec::new();
    let mut at = None;
    let mut timed = false;
    for part in line.split_inclusive('>') {
        let (said, tag) = match part.rfind('<') {
            Some(open) => (&part[..open], part[open + 1..].strip_suffix('>')),
            None => (part, None),
        };
        push(&mut text, &mut words, at, said);
        match tag.map(|tag| (tag, tag.starts_with(|c: char| c.is_ascii_digit()))) {
            Some((tag, true)) => {
                at = time(tag).or(at);
                timed |= at.is_some();
            }
            Some((tag, false)) => push(&mut text, &mut words, at, &format!("<{tag}>")),
            None => {}
        }
    }
    if timed { Line { text, words } } else { Line::plain(spoken(line)) }
}

/// Appends what is said, noting when it begins where that is known.
fn push(text: &mut String, words: &mut Vec<(u64, usize)>, at: Option<u64>, said: &str) {
    let said = fold(&spoken(said));
    if said.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push(' ');
    }
    if let Some(at) = at {
        words.push((at, text.len()));
    }
    text.push_str(&said);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Start, end and text of every caption, lines joined by `|`.
    fn read(text: &str) -> Vec<(u64, u64, String)> {
        let line = |l: &Line| l.text.clone();
        let joined = |c: &Caption| c.lines.iter().map(line).collect::<Vec<_>>().join("|");
        captions(text).0.iter().map(|c| (c.start_ms, c.end_ms, joined(c))).collect()
    }

    #[test]
    fn reads_subrip_however_it_is_written() {
        let two = vec![(1000, 2000, "Chop it.".to_string()), (3000, 4000, "Fry|it.".to_string())];
        let cases = [
            "1\n00:00:01,000 --> 00:00:02,000\nChop it.\n\n2\n00:00:03,000 --> 00:00:04,000\nFry\nit.\n",
            "00:01.000 --> 00:02.000\nChop it.\n\n00:03.000 --> 00:04.000\nFry\nit.",
            "1\n00:00:01.0-->00:00:02.0\nChop it.\n2\n00:00:03.0 -->00:00:04.0\nFry\nit.",
            "WEBVTT\nKind: captions\n\nNOTE hello\n\nintro\n00:01.000 --> 00:02.000 align:start\n<v Bob>Chop it.\n\nNOTE no\n\nx-2\n00:03.000 --> 00:04.000\nFry\n\nit.\n",
        ];
        for case in &cases[..2] {
            assert_eq!(read(case), two, "{case}");
        }
        assert_eq!(read(cases[3]), two);
        assert_eq!(read(cases[2])[1], two[1]);
    }

    #[test]
    fn counts_time_lines_that_say_nothing() {
        let (found, bad) = captions("a --> b\nHello\n\n00:00:01,000 --> 00:00:02,000\nChop\n");
        assert_eq!((found.len(), bad), (1, 1));
    }

    #[test]
    fn a_number_that_is_spoken_stays() {
        let text = "1\n00:00:01,000 --> 00:00:02,000\n42\n\n2\n00:00:03,000 --> 00:00:04,000\nx\n";
        assert_eq!(read(text)[0].2, "42");
    }

    #[test]
    fn word_times_are_kept() {
        let line = read_line("hello<00:00:00.400><c> nice</c><00:00:00.800><c> guys</c>");
        assert_eq!(line.text, "hello nice guys");
        assert_eq!(line.words, [(400, 6), (800, 11)]);
    }
}
