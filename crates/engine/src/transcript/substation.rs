//! ASS and SSA: the `Dialogue:` lines, with the columns as `Format:` names them.

use super::SubtitleFormat;
use super::caption::{Caption, Line, Parsed, time};
use super::text::spoken;

pub const FORMAT: SubtitleFormat = SubtitleFormat {
    name: "ASS",
    extensions: &["ass", "ssa"],
    is_automatic: false,
    read: |text| {
        // A `-->` makes it SRT, whose captions may say "Dialogue:".
        (text.contains("Dialogue:") && !text.contains("-->")).then(|| captions(text))
    },
};

/// The captions of the text, and how many had times that could not be read.
fn captions(text: &str) -> Parsed {
    let mut columns = Columns { start: 1, end: 2, count: 10 };
    let mut captions = Vec::new();
    let mut bad = 0;
    let mut in_events = !text.contains("[Events]");
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_events = line.eq_ignore_ascii_case("[events]");
        } else if let Some(format) = line.strip_prefix("Format:").filter(|_| in_events) {
            columns = Columns::read(format).unwrap_or(columns);
        } else if let Some(dialogue) = line.strip_prefix("Dialogue:") {
            match columns.caption(dialogue) {
                Some(caption) if caption.lines.is_empty() => {}
                Some(caption) => captions.push(caption),
                None => bad += 1,
            }
        }
    }
    (captions, bad)
}

/// Which column holds what; the text is always the last.
#[derive(Clone, Copy)]
struct Columns {
    start: usize,
    end: usize,
    count: usize,
}

impl Columns {
    fn read(format: &str) -> Option<Self> {
        let names: Vec<&str> = format.split(',').map(str::trim).collect();
        let place = |name: &str| names.iter().position(|n| n.eq_ignore_ascii_case(name));
        Some(Self { start: place("Start")?, end: place("End")?, count: names.len() })
    }

    fn caption(self, dialogue: &str) -> Option<Caption> {
        let fields: Vec<&str> = dialogue.splitn(self.count, ',').collect();
        let text = fields.get(self.count.checked_sub(1)?)?;
        let lines = if is_drawing(text) { Vec::new() } else { lines(text) };
        Some(Caption {
            start_ms: time(fields.get(self.start)?)?,
            end_ms: time(fields.get(self.end)?)?,
            lines,
        })
    }
}

/// Whether the text draws shapes (`{\p1}m 0 0 l 10 0`) instead of saying something.
fn is_drawing(text: &str) -> bool {
    (1..=9).any(|n| text.contains(&format!("\\p{n}")))
}

fn lines(text: &str) -> Vec<Line> {
    let lines = text.split("\\N").map(spoken).filter(|line| !line.is_empty());
    lines.map(Line::plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_dialogue_with_commas_and_overrides() {
        let text = "[Script Info]\nTitle: x\n[V4+ Styles]\nFormat: Name, Fontname\n[Events]\n\
            Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n\
            Comment: 0,0:00:00.00,0:00:01.00,D,,0,0,0,,hidden\n\
            Dialogue: 0,0:00:01.50,0:00:03.00,D,,0,0,0,,{\\i1}Salt, pepper{\\i0}\\Nand oil\n\
            Dialogue: 0,0:00:04.00,0:00:05.00,D,,0,0,0,,{\\p1}m 0 0 l 10 0\n\
            Dialogue: 0,never,0:00:05.00,D,,0,0,0,,lost\n";
        let (captions, bad) = captions(text);
        assert_eq!((captions.len(), bad), (1, 1));
        assert_eq!((captions[0].start_ms, captions[0].end_ms), (1500, 3000));
        assert_eq!(captions[0].lines[0].text, "Salt, pepper");
        assert_eq!(captions[0].lines[1].text, "and oil");
    }
}
