//! SBV, as YouTube exports subtitles: a line of two times, then the lines that are said.

use super::SubtitleFormat;
use super::caption::{Caption, Line, Parsed, time};
use super::text::spoken;

pub const FORMAT: SubtitleFormat = SubtitleFormat {
    name: "SBV",
    extensions: &["sbv"],
    is_automatic: false,
    // A `-->` makes it SRT, whatever is said in it.
    read: |text| if text.contains("-->") { None } else { captions(text) },
};

/// None if no line has two times.
fn captions(text: &str) -> Option<Parsed> {
    let mut captions: Vec<Caption> = Vec::new();
    for line in text.lines() {
        if let Some((start_ms, end_ms)) = times(line) {
            captions.push(Caption { start_ms, end_ms, lines: Vec::new() });
        } else if let Some(caption) = captions.last_mut() {
            caption
                .lines
                .extend(Some(spoken(line)).filter(|said| !said.is_empty()).map(Line::plain));
        }
    }
    let found = !captions.is_empty();
    captions.retain(|caption| !caption.lines.is_empty());
    found.then_some((captions, 0))
}

/// Start and end of a line such as `0:00:01.000,0:00:03.500`.
fn times(line: &str) -> Option<(u64, u64)> {
    let has_hours = |text: &&str| text.matches(':').count() == 2;
    let (start, end) = line.split_once(',')?;
    Some((time(Some(start).filter(has_hours)?)?, time(Some(end).filter(has_hours)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_youtube_exports() {
        let text = "0:00:01.500,0:00:03.000\nSalt, pepper\nand oil.\n\n0:00:04.000,0:00:05.000\n[Music]\n\n\
            1:00:00.000,1:00:02.250\nAdd 1,2 or 3.\n";
        let (captions, _) = (FORMAT.read)(text).unwrap();
        let lines = |c: &Caption| c.lines.iter().map(|line| line.text.clone()).collect::<Vec<_>>();
        let found: Vec<_> = captions.iter().map(|c| (c.start_ms, c.end_ms, lines(c))).collect();
        let expected = [
            (1500, 3000, vec!["Salt, pepper".to_owned(), "and oil.".to_owned()]),
            (3_600_000, 3_602_250, vec!["Add 1,2 or 3.".to_owned()]),
        ];
        assert_eq!(found, expected);
        assert!((FORMAT.read)("one,two\n1:20,1:30\n").is_none());
    }
}
